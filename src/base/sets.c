#include "base/sets.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */

/* ---- bitset ---- */

bool bitset_init(struct bitset *b, uint64_t bound)
{
    uint64_t words[BITSET_LEVELS_MAX] = {0}, total = 0;
    *b = (struct bitset){0};
    for (uint64_t bits = bound ? bound : 1;; bits = words[b->levels - 1]) {
        words[b->levels] = (bits + 63) / 64;
        total += words[b->levels++];
        if (words[b->levels - 1] == 1) break;
    }
    b->bytes = total * sizeof(uint64_t);
    uint64_t *next = b->memory = memory_reserve(b->bytes);
    if (!next) return false;
    for (unsigned l = 0; l < b->levels; next += words[l++]) b->level[l] = next;
    return true;
}

void bitset_fini(struct bitset *b)
{
    memory_release(b->memory, b->bytes);
    *b = (struct bitset){0};
}

void bitset_add(struct bitset *b, uint64_t member)
{
    for (unsigned l = 0; l < b->levels; l++, member /= 64) {
        uint64_t *word = &b->level[l][member / 64], before = *word;
        *word |= UINT64_C(1) << member % 64;
        if (before) return; /* the levels above know already */
    }
}

void bitset_remove(struct bitset *b, uint64_t member)
{
    for (unsigned l = 0; l < b->levels; l++, member /= 64) {
        uint64_t *word = &b->level[l][member / 64];
        *word &= ~(UINT64_C(1) << member % 64);
        if (*word) return;
    }
}

bool bitset_has(const struct bitset *b, uint64_t member)
{
    return b->level[0][member / 64] >> member % 64 & 1;
}

uint64_t bitset_lowest(const struct bitset *b)
{
    uint64_t member = 0;
    if (b->level[b->levels - 1][0] == 0) return BITSET_NONE;
    for (unsigned l = b->levels; l-- > 0;)
        member = member * 64 + (uint64_t)__builtin_ctzll(b->level[l][member]);
    return member;
}

/* ---- keyset ---- */

int keyset_begin(struct keyset *s, size_t n)
{
    size_t places = 16;
    while (places < 2 * n) places *= 2;
    if (places > s->capacity) {
        uint64_t *larger = malloc(places * sizeof *larger);
        if (!larger) return -ENOMEM;
        free(s->place);
        s->place = larger;
        s->capacity = places;
    }
    memset(s->place, 0, places * sizeof *s->place);
    s->mask = places - 1;
    return 0;
}

void keyset_fini(struct keyset *s)
{
    free(s->place);
    *s = (struct keyset){0};
}

/* ---- clock heap ---- */

enum { FIRST_CAPACITY = 16 };

static void sift_up(struct clock_heap *h, size_t i)
{
    struct clock_due moving = h->due[i];
    for (; i > 0 && h->due[(i - 1) / 2].at > moving.at; i = (i - 1) / 2)
        h->due[i] = h->due[(i - 1) / 2];
    h->due[i] = moving;
}

static void sift_down(struct clock_heap *h)
{
    struct clock_due moving = h->due[0];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < h->count && h->due[child + 1].at < h->due[child].at) child++;
        if (child >= h->count || h->due[child].at >= moving.at) break;
        h->due[i] = h->due[child];
        i = child;
    }
    h->due[i] = moving;
}

bool clock_heap_add(struct clock_heap *h, locus_clock at, void *what)
{
    if (h->count == h->capacity) {
        size_t capacity = h->capacity ? 2 * h->capacity : FIRST_CAPACITY;
        struct clock_due *larger = realloc(h->due, capacity * sizeof *larger);
        if (!larger) return false;
        h->due = larger;
        h->capacity = capacity;
    }
    h->due[h->count] = (struct clock_due){at, what};
    sift_up(h, h->count++);
    return true;
}

void clock_heap_drop(struct clock_heap *h)
{
    h->due[0] = h->due[--h->count];
    if (h->count > 0) sift_down(h);
}

void clock_heap_fini(struct clock_heap *h)
{
    free(h->due);
    *h = (struct clock_heap){0};
}
