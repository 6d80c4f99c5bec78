#include "base/clock_heap.h"

#include <stdlib.h>

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
