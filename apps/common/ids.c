#include "ids.h"

#include "fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Fewer are left as they are, and so is what is used to an eighth. */
enum { BOUND_LEAST = 1 << 16, PART_LEAST = 8 };
enum { WORDS = 8, BITS = 64, PAGE = WORDS * BITS };

/* Which of so many ids there are, and how many are below them. */
struct page {
    uint64_t bits[WORDS];
    uint32_t before;
};

static uint32_t *id_at(uint32_t *ids, size_t i, size_t stride)
{
    return (uint32_t *)(void *)((char *)ids + i * stride);
}

static size_t mark(struct page **pages, uint32_t *ids, size_t count, size_t stride)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = *id_at(ids, i, stride);
        struct page **p = &pages[id / PAGE];
        if (!*p) *p = take_memory(1, sizeof **p);
        uint64_t *bits = &(*p)->bits[id % PAGE / BITS], bit = UINT64_C(1) << id % BITS;
        different += !(*bits & bit);
        *bits |= bit;
    }
    return different;
}

static void name_all(struct page **pages, size_t count, uint32_t plus, struct names *names)
{
    char text[16];
    for (size_t p = 0; p < count; p++) {
        if (!pages[p]) continue;
        pages[p]->before = names->count;
        for (uint32_t i = 0; i < PAGE; i++) {
            if (!(pages[p]->bits[i / BITS] >> i % BITS & 1)) continue;
            int length = snprintf(text, sizeof text, "%" PRIu32, (uint32_t)p * PAGE + i + plus);
            names_add(names, text, (size_t)length);
        }
    }
}

static uint32_t number_of(const struct page *p, uint32_t at)
{
    uint32_t number = p->before;
    for (uint32_t w = 0; w < at / BITS; w++) number += (uint32_t)__builtin_popcountll(p->bits[w]);
    uint64_t below = p->bits[at / BITS] & ((UINT64_C(1) << at % BITS) - 1);
    return number + (uint32_t)__builtin_popcountll(below);
}

bool ids_number(uint32_t *ids, size_t count, size_t stride, uint32_t *bound, uint32_t plus,
                struct names *names)
{
    if (*bound <= BOUND_LEAST) return false;
    size_t page_count = *bound / PAGE + 1;
    struct page **pages = calloc(page_count, sizeof *pages); /* of which little is touched */
    if (!pages) fail("%zu pages of ids find no memory", page_count);
    bool is_sparse = mark(pages, ids, count, stride) < *bound / PART_LEAST;
    if (is_sparse) {
        name_all(pages, page_count, plus, names);
        for (size_t i = 0; i < count; i++) {
            uint32_t *id = id_at(ids, i, stride);
            *id = number_of(pages[*id / PAGE], *id % PAGE);
        }
        *bound = names->count;
    }
    for (size_t p = 0; p < page_count; p++) free(pages[p]);
    free(pages);
    return is_sparse;
}
