#include "alloc.h"

#undef malloc
#undef calloc
#undef realloc
#undef free
#undef fopen
#undef fclose

long live_blocks;
long live_files;
long fail_after = -1;

static int refused(void)
{
    if (fail_after == 0)
        return 1;
    if (fail_after > 0)
        fail_after--;
    return 0;
}

void *counted_malloc(size_t size)
{
    void *block = refused() ? NULL : malloc(size);

    live_blocks += block != NULL;
    return block;
}

void *counted_calloc(size_t count, size_t size)
{
    void *block = refused() ? NULL : calloc(count, size);

    live_blocks += block != NULL;
    return block;
}

void *counted_realloc(void *block, size_t size)
{
    void *bigger = refused() ? NULL : realloc(block, size);

    live_blocks += bigger != NULL && block == NULL;
    return bigger;
}

void counted_free(void *block)
{
    live_blocks -= block != NULL;
    free(block);
}

FILE *counted_fopen(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    live_files += file != NULL;
    return file;
}

int counted_fclose(FILE *file)
{
    live_files--;
    return fclose(file);
}
