#include "readings.h"

#include <stdio.h>
#include <stdlib.h>

static uint16_t little16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t little32(const unsigned char *bytes)
{
    return little16(bytes) | (uint32_t)little16(bytes + 2) << 16;
}

static struct reading decode(const unsigned char *record)
{
    struct reading one;

    one.minute = little32(record);
    one.station = little16(record + 4);
    one.tenths = (int16_t)little16(record + 6);
    one.pascals = little32(record + 8);
    return one;
}

enum readings_status readings_load(const char *path, struct readings *out)
{
    unsigned char record[READING_SIZE];
    size_t room = 0;
    FILE *file = fopen(path, "rb");

    out->items = NULL;
    out->count = 0;
    while (fread(record, 1, READING_SIZE, file) > 0) {
        if (out->count == room) {
            room = room ? room * 2 : 64;
            out->items = realloc(out->items, room * sizeof *out->items);
        }
        out->items[out->count++] = decode(record);
    }
    fclose(file);
    return READINGS_OK;
}

void readings_free(struct readings *all)
{
    free(all->items);
    all->items = NULL;
    all->count = 0;
}

const char *readings_error(enum readings_status status)
{
    switch (status) {
    case READINGS_OK:
        return "no error";
    case READINGS_CANNOT_OPEN:
        return "cannot be opened";
    case READINGS_SHORT_RECORD:
        return "ends within a record";
    case READINGS_NO_MEMORY:
        return "too large for the memory";
    }
    return "unknown error";
}
