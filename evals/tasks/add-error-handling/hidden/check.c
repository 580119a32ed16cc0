/* check FOLDER: runs readings_load on files in FOLDER. Allocations and open files are counted, and allocations made to
 * fail, through the macros of alloc.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readings.h"

extern long live_blocks;
extern long live_files;
extern long fail_after; /* allocations that still succeed, -1 for all */

static char path[4096];

static void fail(const char *why)
{
    printf("%s\n", why);
    exit(1);
}

static void write_bytes(const char *folder, const char *name, size_t size)
{
    FILE *file;
    size_t i;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file)
        exit(99);
    for (i = 0; i < size; i++)
        fputc((int)(i % 251), file);
    fclose(file);
}

static void expect(const char *what, enum readings_status status, size_t count)
{
    struct readings all;
    enum readings_status got;

    memset(&all, 0x5a, sizeof all);
    got = readings_load(path, &all);
    if (got != status) {
        printf("%s: status %d instead of %d\n", what, (int)got, (int)status);
        exit(1);
    }
    if (all.count != count)
        fail(what);
    if (status != READINGS_OK && all.items != NULL)
        fail("items are not NULL after an error");
    if (status == READINGS_OK)
        readings_free(&all);
    if (live_files != 0) {
        printf("%s: a file was left open\n", what);
        exit(1);
    }
    if (live_blocks != 0) {
        printf("%s: memory was not released\n", what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";

    snprintf(path, sizeof path, "%s/not-there", folder);
    expect("a missing file", READINGS_CANNOT_OPEN, 0);
    snprintf(path, sizeof path, "%s/no-folder/file", folder);
    expect("a missing folder", READINGS_CANNOT_OPEN, 0);

    write_bytes(folder, "log", 0);
    expect("an empty file", READINGS_OK, 0);
    write_bytes(folder, "log", 12 * 1000);
    expect("a thousand records", READINGS_OK, 1000);
    write_bytes(folder, "log", 12 * 64);
    expect("64 records", READINGS_OK, 64);

    write_bytes(folder, "log", 1);
    expect("one byte", READINGS_SHORT_RECORD, 0);
    write_bytes(folder, "log", 11);
    expect("eleven bytes", READINGS_SHORT_RECORD, 0);
    write_bytes(folder, "log", 12 * 3 + 5);
    expect("three records and five bytes", READINGS_SHORT_RECORD, 0);
    write_bytes(folder, "log", 12 * 500 + 11);
    expect("500 records and eleven bytes", READINGS_SHORT_RECORD, 0);

    write_bytes(folder, "log", 12 * 1000);
    fail_after = 0;
    expect("no memory at all", READINGS_NO_MEMORY, 0);
    fail_after = -1;
    expect("with memory again", READINGS_OK, 1000);
    printf("hidden checks passed\n");
    return 0;
}
