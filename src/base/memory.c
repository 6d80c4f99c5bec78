#include "base/memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t reserved_bytes(size_t bytes)
{
    return round_up(bytes ? bytes : 1, (size_t)sysconf(_SC_PAGESIZE));
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *memory_reserve(size_t bytes)
{
    size_t want = reserved_bytes(bytes);
    if (want < bytes) return NULL;
    if (want < MEMORY_CHUNK_BYTES) return map(want);
    if (want > SIZE_MAX - MEMORY_CHUNK_BYTES) return NULL;
    /* One chunk more than needed, and the unaligned ends given back. */
    char *p = map(want + MEMORY_CHUNK_BYTES);
    if (!p) return NULL;
    size_t before = (MEMORY_CHUNK_BYTES - (uintptr_t)p % MEMORY_CHUNK_BYTES) % MEMORY_CHUNK_BYTES;
    if (before) munmap(p, before);
    if (before < MEMORY_CHUNK_BYTES) munmap(p + before + want, MEMORY_CHUNK_BYTES - before);
    madvise(p + before, want, MADV_HUGEPAGE);
    return p + before;
}

void memory_release(void *p, size_t bytes)
{
    if (p) munmap(p, reserved_bytes(bytes));
}

void memory_discard(void *from, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = round_up((uintptr_t)from, page),
              end = ((uintptr_t)from + bytes) / page * page;
    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}
