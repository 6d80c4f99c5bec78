#include "arena.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES = 4 << 20,
    ALIGNMENT = 64,
    SIZES = 16,
    LARGE_BYTES = 256,
    RANGE_BYTES = 8192,
    RANGES_BYTES = 1 << 20
};

/* Blocks come in powers of two and are used again by size; the lists lie in the arena, too, so that
 * a copy has them. */
struct block {
    size_t size; /* number of the list */
    struct block *next;
};

struct head {
    size_t used;
    struct block *free[SIZES];
};

static bool is_open;
static union {
    struct head head;
    _Alignas(ALIGNMENT) char bytes[ARENA_BYTES];
} arena;

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void __real_free(void *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
void __wrap_free(void *);

static size_t ranges_used; /* of memory_reserve() */

void arena_open(void)
{
    is_open = true;
    ranges_used = 0;
    memset(&arena.head, 0, sizeof arena.head);
    arena.head.used = (sizeof arena.head + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void arena_close(void)
{
    is_open = false;
}

void *arena_outside(size_t bytes)
{
    return __real_calloc(1, bytes);
}

void arena_outside_free(void *p)
{
    __real_free(p);
}

static bool is_ours(const void *p)
{
    return (const char *)p >= arena.bytes && (const char *)p < arena.bytes + ARENA_BYTES;
}

static struct block *block_of(void *p)
{
    return (struct block *)(void *)((char *)p - ALIGNMENT);
}

static size_t size_of(size_t number)
{
    return (size_t)ALIGNMENT << number;
}

static void *take(size_t bytes)
{
    struct head *h = &arena.head;
    size_t number = 0;
    while (size_of(number) < bytes) number++;
    struct block *b = h->free[number];
    if (b) {
        h->free[number] = b->next;
    } else {
        b = (struct block *)(void *)(arena.bytes + h->used);
        h->used += ALIGNMENT + size_of(number);
        if (h->used > ARENA_BYTES) abort();
        b->size = number;
    }
    return (char *)b + ALIGNMENT;
}

static void give(void *p)
{
    struct block *b = block_of(p);
    b->next = arena.head.free[b->size];
    arena.head.free[b->size] = b;
}

void *__wrap_malloc(size_t bytes)
{
    return is_open ? take(bytes) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    if (!is_open) return __real_calloc(n, bytes);
    void *p = take(n * bytes);
    memset(p, 0, n * bytes);
    return p;
}

void *__wrap_realloc(void *p, size_t bytes)
{
    if (!is_open && !is_ours(p)) return __real_realloc(p, bytes);
    if (!p) return take(bytes);
    size_t before = size_of(block_of(p)->size);
    if (bytes <= before) return p;
    void *larger = take(bytes);
    memcpy(larger, p, before);
    give(p);
    return larger;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    if (!is_open) return __real_aligned_alloc(alignment, bytes);
    if (alignment > ALIGNMENT) abort();
    return take(bytes);
}

void __wrap_free(void *p)
{
    if (is_ours(p))
        give(p);
    else
        __real_free(p);
}

/* memory.h. The large ranges are those of rows, nearly all of them never touched: they are not
 * copied. */

static _Alignas(ALIGNMENT) char ranges[RANGES_BYTES];

void *memory_reserve(size_t bytes)
{
    if (bytes < RANGE_BYTES) return __wrap_calloc(1, bytes);
    char *range = ranges + ranges_used;
    ranges_used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (ranges_used > RANGES_BYTES) abort();
    memset(range, 0, bytes);
    return range;
}

void memory_release(void *p, size_t bytes)
{
    if (bytes < RANGE_BYTES) __wrap_free(p);
}

void memory_touched(void *memory, size_t bytes, const void *from, size_t count)
{
    (void)memory, (void)bytes, (void)from, (void)count;
}

void memory_discard(void *memory, size_t bytes, void *from, size_t count)
{
    /* a chunk without rows: what it holds does not matter */
    (void)memory, (void)bytes, (void)from, (void)count;
}

/* A copy has every block with its size, a large one up to its last byte that is not zero. */

static size_t content_bytes(const struct block *b)
{
    const uint64_t *content = (const void *)((const char *)b + ALIGNMENT);
    size_t words = size_of(b->size) / sizeof *content;
    if (size_of(b->size) < LARGE_BYTES) return size_of(b->size);
    while (words > 0 && content[words - 1] == 0) words--;
    return words * sizeof *content;
}

static size_t first_block(void)
{
    return (sizeof arena.head + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct block *block_at(size_t at)
{
    return (struct block *)(void *)(arena.bytes + at);
}

size_t arena_save(char *copy)
{
    char *to = copy;
    memcpy(to, &arena.head, sizeof arena.head);
    to += sizeof arena.head;
    for (size_t at = first_block(); at < arena.head.used;) {
        const struct block *b = block_at(at);
        size_t bytes = content_bytes(b);
        memcpy(to, &bytes, sizeof bytes);
        memcpy(to + sizeof bytes, b, sizeof *b);
        memcpy(to + sizeof bytes + sizeof *b, (const char *)b + ALIGNMENT, bytes);
        to += sizeof bytes + sizeof *b + bytes;
        at += ALIGNMENT + size_of(b->size);
    }
    return (size_t)(to - copy);
}

size_t arena_restore(const char *copy)
{
    const char *from = copy;
    memcpy(&arena.head, copy, sizeof arena.head);
    copy += sizeof arena.head;
    for (size_t at = first_block(); at < arena.head.used;) {
        struct block *b = block_at(at);
        size_t bytes;
        memcpy(&bytes, copy, sizeof bytes);
        memcpy(b, copy + sizeof bytes, sizeof *b);
        memcpy((char *)b + ALIGNMENT, copy + sizeof bytes + sizeof *b, bytes);
        memset((char *)b + ALIGNMENT + bytes, 0, size_of(b->size) - bytes);
        copy += sizeof bytes + sizeof *b + bytes;
        at += ALIGNMENT + size_of(b->size);
    }
    return (size_t)(copy - from);
}
