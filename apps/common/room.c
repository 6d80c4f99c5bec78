/* Apart from fail.c, instead of which a fuzzer has its own. */
#include "fail.h"

#include <stdint.h>
#include <stdlib.h>

void *resize_memory(void *memory, size_t count, size_t bytes, const char *things)
{
    void *resized = count <= SIZE_MAX / bytes ? realloc(memory, count * bytes) : NULL;
    if (!resized) fail("%zu %s find no memory", count, things);
    return resized;
}

void *make_room(void *list, size_t count, size_t *capacity, size_t bytes, const char *things)
{
    if (count < *capacity) return list;
    *capacity += *capacity / 2 + 1024;
    return resize_memory(list, *capacity, bytes, things);
}
