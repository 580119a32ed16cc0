#include <stdio.h>

#include "readings.h"
#include "summary.h"

static void print_degrees(const char *what, int tenths)
{
    printf("%s %.1f\n", what, tenths / 10.0);
}

int main(int argc, char **argv)
{
    struct readings all;
    struct summary sum;

    if (argc != 2) {
        fprintf(stderr, "usage: wxstat FILE\n");
        return 2;
    }
    readings_load(argv[1], &all);
    sum = summarize(&all);
    printf("readings %zu\n", sum.count);
    if (sum.count > 0) {
        print_degrees("lowest", sum.lowest);
        print_degrees("highest", sum.highest);
        print_degrees("mean", sum.mean);
    }
    readings_free(&all);
    return 0;
}
