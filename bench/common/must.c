#include "must.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (memory != NULL) return memset(memory, 0, bytes);
    fail("no memory for %zu MiB more; --quick needs less", bytes >> 20);
}
