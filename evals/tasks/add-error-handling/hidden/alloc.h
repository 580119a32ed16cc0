/* Goes in front of every file that is compiled: counts what is allocated and opened. */
#ifndef ALLOC_H
#define ALLOC_H

#include <stdio.h>
#include <stdlib.h>

void *counted_malloc(size_t size);
void *counted_calloc(size_t count, size_t size);
void *counted_realloc(void *block, size_t size);
void counted_free(void *block);
FILE *counted_fopen(const char *path, const char *mode);
int counted_fclose(FILE *file);

#define malloc counted_malloc
#define calloc counted_calloc
#define realloc counted_realloc
#define free counted_free
#define fopen counted_fopen
#define fclose counted_fclose
#endif
