#include "report.h"

long tenths_per_100km(const struct van *van)
{
    /* ml/m is l/km: 100 times that on 100 km, 10 times that in tenths. */
    return van->metres ? van->millilitres * 1000 / van->metres : 0;
}

static void print_row(FILE *out, const char *name, const struct van *van)
{
    long tenths = tenths_per_100km(van);

    fprintf(out, "%-8s %4d %8ld km %3ld.%ld\n", name, van->trips, van->metres / 1000, tenths / 10, tenths % 10);
}

void report_print(FILE *out, const struct fleet *fleet)
{
    struct van total = fleet_totals(fleet);
    size_t i;

    for (i = 0; i < fleet->count; i++)
        print_row(out, fleet->vans[i].name, &fleet->vans[i]);
    print_row(out, "all", &total);
}
