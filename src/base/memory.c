#include "base/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

enum {
    PAGE_BYTES = 4096, /* the smallest of any system */
    CHUNK_PAGES = MEMORY_CHUNK_BYTES / PAGE_BYTES,
    DENSE_PAGES = CHUNK_PAGES / 2,
    /* Neighbours of one kind are one map of the kernel's, which has 65,530 of them for a process:
     * huge pages may take half. */
    ISLANDS_MAX = 1 << 14,
};

/* Behind the chunks of a reservation: what is known of them. */
struct chunk {
    uint32_t touched; /* pages */
    uint32_t is_huge; /* changes under `kinds` */
};

struct known {
    size_t count;
    uint64_t *touched; /* a bit a page */
    struct chunk *chunk;
};

static pthread_mutex_t kinds = PTHREAD_MUTEX_INITIALIZER; /* of pages: one at a time changes them */
/* of this process: huge chunks without huge ones before them */
static size_t islands;

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static bool has_chunks(size_t bytes)
{
    return bytes >= MEMORY_CHUNK_BYTES;
}

static size_t chunks_in(size_t bytes)
{
    return round_up(bytes, MEMORY_CHUNK_BYTES) / MEMORY_CHUNK_BYTES;
}

static struct known known_of(void *memory, size_t bytes)
{
    size_t count = chunks_in(bytes);
    uint64_t *touched = (void *)((char *)memory + count * MEMORY_CHUNK_BYTES);
    return (struct known){count, touched, (void *)(touched + count * (CHUNK_PAGES / 64))};
}

static size_t reserved_bytes(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = chunks_in(bytes);
    if (!has_chunks(bytes)) return round_up(bytes ? bytes : 1, page);
    return count * MEMORY_CHUNK_BYTES +
           round_up(count * (CHUNK_PAGES / 8 + sizeof(struct chunk)), page);
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) return NULL;
    /* Where it fails, there are no huge pages. */
    madvise(p, bytes, MADV_NOHUGEPAGE);
    return p;
}

void *memory_reserve(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t want = reserved_bytes(bytes);
    if (!has_chunks(bytes)) return map(want);
    /* One chunk more than needed, and the unaligned ends given back. */
    char *p = map(want + MEMORY_CHUNK_BYTES);
    if (!p) return NULL;
    size_t before = (MEMORY_CHUNK_BYTES - (uintptr_t)p % MEMORY_CHUNK_BYTES) % MEMORY_CHUNK_BYTES;
    if (before) munmap(p, before);
    if (before < MEMORY_CHUNK_BYTES) munmap(p + before + want, MEMORY_CHUNK_BYTES - before);
    return p + before;
}

/* ---- the kinds of pages ---- */

static size_t huge_neighbours(struct known k, size_t i)
{
    return (i > 0 && k.chunk[i - 1].is_huge) + (i + 1 < k.count && k.chunk[i + 1].is_huge);
}

static void make_huge(char *at, struct known k, size_t i)
{
    pthread_mutex_lock(&kinds);
    size_t neighbours = huge_neighbours(k, i);
    bool is_allowed = !k.chunk[i].is_huge && (neighbours > 0 || islands < ISLANDS_MAX) &&
                      madvise(at, MEMORY_CHUNK_BYTES, MADV_HUGEPAGE) == 0;
    if (is_allowed) {
        islands += 1 - neighbours;
        __atomic_store_n(&k.chunk[i].is_huge, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&kinds);
    /* Older kernels do it by themselves later. */
    if (is_allowed) madvise(at, MEMORY_CHUNK_BYTES, MADV_COLLAPSE);
}

static void make_small(char *at, struct known k, size_t i)
{
    pthread_mutex_lock(&kinds);
    if (k.chunk[i].is_huge && madvise(at, MEMORY_CHUNK_BYTES, MADV_NOHUGEPAGE) == 0) {
        islands -= 1 - huge_neighbours(k, i);
        __atomic_store_n(&k.chunk[i].is_huge, 0, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&kinds);
}

/* ---- what is touched ---- */

static bool is_dense(const struct chunk *c)
{
    return __atomic_load_n(&c->touched, __ATOMIC_RELAXED) >= DENSE_PAGES;
}

static void touch_page(char *memory, struct known k, size_t page)
{
    uint64_t bit = UINT64_C(1) << page % 64;
    size_t i = page / CHUNK_PAGES;
    struct chunk *c = &k.chunk[i];
    if (__atomic_fetch_or(&k.touched[page / 64], bit, __ATOMIC_RELAXED) & bit) return;
    __atomic_fetch_add(&c->touched, 1, __ATOMIC_RELAXED);
    /* Behind a dense chunk dense ones are expected: rows are often written in order. */
    if (!__atomic_load_n(&c->is_huge, __ATOMIC_RELAXED) &&
        (is_dense(c) || (i > 0 && is_dense(c - 1))))
        make_huge(memory + i * MEMORY_CHUNK_BYTES, k, i);
}

void memory_touched(void *memory, size_t bytes, const void *from, size_t count)
{
    if (!has_chunks(bytes)) return;
    size_t first = (size_t)((const char *)from - (char *)memory), last = first + count - 1;
    struct known k = known_of(memory, bytes);
    for (size_t page = first / PAGE_BYTES; page <= last / PAGE_BYTES; page++) {
        uint64_t word = __atomic_load_n(&k.touched[page / 64], __ATOMIC_RELAXED);
        if (__builtin_expect(!(word >> page % 64 & 1), 0)) touch_page(memory, k, page);
    }
}

/* Some of its pages were given back: it begins anew. */
static void begin_anew(char *memory, struct known k, size_t i)
{
    for (size_t w = 0; w < CHUNK_PAGES / 64; w++)
        __atomic_store_n(&k.touched[i * (CHUNK_PAGES / 64) + w], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&k.chunk[i].touched, 0, __ATOMIC_RELAXED);
    if (__atomic_load_n(&k.chunk[i].is_huge, __ATOMIC_RELAXED))
        make_small(memory + i * MEMORY_CHUNK_BYTES, k, i);
}

void memory_discard(void *memory, size_t bytes, void *from, size_t count)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = round_up((uintptr_t)from, page),
              end = ((uintptr_t)from + count) / page * page;
    if (first >= end) return;
    size_t i = (first - (uintptr_t)memory) / MEMORY_CHUNK_BYTES,
           last = (end - 1 - (uintptr_t)memory) / MEMORY_CHUNK_BYTES;
    for (; has_chunks(bytes) && i <= last; i++) begin_anew(memory, known_of(memory, bytes), i);
    madvise((void *)first, end - first, MADV_DONTNEED);
}

void memory_release(void *memory, size_t bytes)
{
    if (!memory) return;
    if (has_chunks(bytes)) {
        struct known k = known_of(memory, bytes);
        pthread_mutex_lock(&kinds);
        for (size_t i = 0; i < k.count; i++)
            islands -= k.chunk[i].is_huge && (i == 0 || !k.chunk[i - 1].is_huge);
        pthread_mutex_unlock(&kinds);
    }
    munmap(memory, reserved_bytes(bytes));
}
