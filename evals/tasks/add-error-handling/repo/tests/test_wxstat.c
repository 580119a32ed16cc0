/* Run from the top folder by `make test`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readings.h"
#include "summary.h"

static int failures;

#define CHECK(what) \
    do { \
        if (!(what)) { \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #what); \
            failures++; \
        } \
    } while (0)

static const char *LOG = "build/test.log";

static const unsigned char TWO[2 * READING_SIZE] = {
    0x40, 0x42, 0x0f, 0x00, 0x07, 0x00, 0xd7, 0x00, 0xcd, 0x8b, 0x01, 0x00,
    0x41, 0x42, 0x0f, 0x00, 0x07, 0x00, 0xec, 0xff, 0xce, 0x8b, 0x01, 0x00,
};

static void write_log(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(LOG, "wb");

    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        printf("cannot write %s\n", LOG);
        exit(1);
    }
}

static void two_records_are_read(void)
{
    struct readings all;

    write_log(TWO, sizeof TWO);
    CHECK(readings_load(LOG, &all) == READINGS_OK);
    CHECK(all.count == 2);
    CHECK(all.items[0].minute == 1000000 && all.items[0].station == 7);
    CHECK(all.items[0].tenths == 215 && all.items[0].pascals == 101325);
    CHECK(all.items[1].tenths == -20);
    readings_free(&all);
    CHECK(all.items == NULL && all.count == 0);
}

static void an_empty_log_has_no_readings(void)
{
    struct readings all;

    write_log(TWO, 0);
    CHECK(readings_load(LOG, &all) == READINGS_OK);
    CHECK(all.count == 0);
    readings_free(&all);
}

static void the_summary_knows_negative_temperatures(void)
{
    struct reading items[3] = {{0, 1, -20, 0}, {0, 1, 215, 0}, {0, 1, 0, 0}};
    struct readings all = {items, 3};
    struct summary sum = summarize(&all);

    CHECK(sum.lowest == -20 && sum.highest == 215 && sum.mean == 65);
}

int main(void)
{
    two_records_are_read();
    an_empty_log_has_no_readings();
    the_summary_knows_negative_temperatures();
    remove(LOG);
    printf("%s\n", failures ? "FAILED" : "all passed");
    return failures != 0;
}
