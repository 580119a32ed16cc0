#include "summary.h"

struct summary summarize(const struct readings *all)
{
    struct summary sum = {0, 0, 0, 0};
    long long total = 0;
    size_t i;

    sum.count = all->count;
    for (i = 0; i < all->count; i++) {
        int tenths = all->items[i].tenths;

        if (i == 0 || tenths < sum.lowest)
            sum.lowest = tenths;
        if (i == 0 || tenths > sum.highest)
            sum.highest = tenths;
        total += tenths;
    }
    if (all->count > 0)
        sum.mean = (int)(total / (long long)all->count);
    return sum;
}
