/*
 * clock_heap.h - a heap of items that are due at a clock, the earliest on top.
 *
 * Callers   not two threads at once
 * Memory    16 bytes each, from malloc; given back at fini
 * Waiting   never
 * Life      zeros are an empty heap; clock_heap_add, clock_heap_drop, clock_heap_fini
 */
#ifndef LOCUS_BASE_CLOCK_HEAP_H
#define LOCUS_BASE_CLOCK_HEAP_H

#include "locus.h"

#include <stdbool.h>

struct clock_due {
    locus_clock at;
    void *what;
};

struct clock_heap {
    struct clock_due *due; /* due[0] is the earliest */
    size_t count, capacity;
};

/* false: no memory, and nothing was done. */
bool clock_heap_add(struct clock_heap *, locus_clock at, void *what);
/* Removes the earliest; the heap is not empty. */
void clock_heap_drop(struct clock_heap *);
void clock_heap_fini(struct clock_heap *);

/* INT64_MAX: nothing is due. */
static inline locus_clock clock_heap_first(const struct clock_heap *h)
{
    return h->count ? h->due[0].at : INT64_MAX;
}

#endif
