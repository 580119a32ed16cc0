/* growing FOLDER: the second allocation fails, after some readings are already there. Not asked of code that allocates
 * only once, which then simply reads everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readings.h"

extern long live_blocks;
extern long live_files;
extern long fail_after;

int main(int argc, char **argv)
{
    struct readings all;
    char path[4096];
    FILE *file;
    int i;
    enum readings_status status;

    snprintf(path, sizeof path, "%s/growing.log", argc > 1 ? argv[1] : ".");
    file = fopen(path, "wb");
    if (!file)
        return 99;
    for (i = 0; i < 12 * 5000; i++)
        fputc(i % 251, file);
    fclose(file);
    memset(&all, 0x5a, sizeof all);
    fail_after = 1;
    status = readings_load(path, &all);
    if (status == READINGS_NO_MEMORY && all.items == NULL && all.count == 0 && live_blocks == 0 && live_files == 0) {
        printf("hidden checks passed\n");
        return 0;
    }
    if (status == READINGS_OK && all.count == 5000) {
        printf("hidden checks passed\n");
        return 0;
    }
    printf("memory that runs out half-way: status %d, count %lu, %ld blocks and %ld files left\n", (int)status,
           (unsigned long)all.count, live_blocks, live_files);
    return 1;
}
