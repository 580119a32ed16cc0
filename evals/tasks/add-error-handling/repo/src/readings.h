/* Reading the log of a weather station; README.md describes the format. */
#ifndef READINGS_H
#define READINGS_H

#include <stddef.h>
#include <stdint.h>

#define READING_SIZE 12

struct reading {
    uint32_t minute;
    uint16_t station;
    int16_t tenths;
    uint32_t pascals;
};

struct readings {
    struct reading *items;
    size_t count;
};

enum readings_status {
    READINGS_OK = 0,
    READINGS_CANNOT_OPEN,   /* the file is not there or may not be read */
    READINGS_SHORT_RECORD,  /* the file ends within a record */
    READINGS_NO_MEMORY
};

/* Reads a whole log into *out, which readings_free() releases. */
enum readings_status readings_load(const char *path, struct readings *out);

void readings_free(struct readings *all);

/* What to tell the user about a status. */
const char *readings_error(enum readings_status status);

#endif
