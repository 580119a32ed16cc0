#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "parse.h"

static int failures;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("tests/unit.c:%d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

static void lines(void)
{
    struct trip trip;

    CHECK(parse_trip("V12 84 7.6\n", &trip) == 1);
    CHECK(strcmp(trip.van, "V12") == 0 && trip.metres == 84000 && trip.millilitres == 7600);
    CHECK(parse_trip("  V1\t0.5 0.125 # to the wash\n", &trip) == 1);
    CHECK(trip.metres == 500 && trip.millilitres == 125);
    CHECK(parse_trip("\n", &trip) == 0);
    CHECK(parse_trip("# Monday\n", &trip) == 0);
    CHECK(parse_trip("V12 84\n", &trip) == -1);
    CHECK(parse_trip("V12 84 7.6 9\n", &trip) == -1);
}

static void names(void)
{
    struct trip trip;

    CHECK(parse_trip("RENTAL-7 10 1\n", &trip) == 1);
    CHECK(strcmp(trip.van, "RENTAL-7") == 0);
    CHECK(parse_trip("RENTAL-77 10 1\n", &trip) == -1);
}

static void vans(void)
{
    struct fleet fleet = { NULL, 0, 0 };
    struct trip one = { "V1", 1000, 100 }, two = { "V2", 3000, 200 };

    CHECK(fleet_add(&fleet, &one) && fleet_add(&fleet, &two) && fleet_add(&fleet, &one));
    CHECK(fleet.count == 2);
    CHECK(fleet.vans[0].trips == 2 && fleet.vans[0].metres == 2000);
    CHECK(fleet_total(&fleet).millilitres == 400);
    fleet_free(&fleet);
}

int main(void)
{
    lines();
    names();
    vans();
    printf("%d failures\n", failures);
    return failures != 0;
}
