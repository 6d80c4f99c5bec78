/*
 * sample.h - a worker's open samples: their keys, as far as they are decided, in the order of their
 * use.
 *
 * A handle consists of a place, its worker, and the place's generation, which is odd while a sample
 * is open there. So a handle that was finished, never given out, or belongs to another worker is
 * recognized.
 *
 *            samples_open                 sample_take (the worker)
 *   free -------------------> open: undecided --decide--> waiting in the ring --> given out
 *     ^                         |                          |    ^
 *     +-----samples_finish------+                          +----+ put off once (LONG_TERM)
 *
 * Callers   samples_open on the thread of the worker or a loader, all the rest on the worker's
 * Memory    64 places of about 120 bytes at a time, 8 bytes for each key of a sample, 16 to 32 more
 *           without replacement; kept for later samples up to SAMPLE_KEPT_KEYS, released when the
 *           worker closes
 * Waiting   for the latch of the free places, some nanoseconds
 * Life      samples_init, samples_open ... samples_finish, samples_close with the worker,
 *           samples_fini
 */
#ifndef LOCUS_WORKER_SAMPLE_H
#define LOCUS_WORKER_SAMPLE_H

#include "base/sets.h"

#include <stdbool.h>
#include <string.h>

enum { SAMPLE_KEPT_KEYS = 4096 };

struct sample {
    uint64_t generation;
    unsigned place;
    locus_distribution *distribution;
    locus_clock end;
    size_t size;      /* keys that it was prepared with */
    size_t undecided; /* keys still to be drawn when they are asked for */
    size_t head;      /* the ring: where the keys that wait begin, */
    size_t waiting;   /*   how many they are, */
    size_t fresh;     /*   and how many of them, the first ones, were not yet put off */
    locus_key *key;   /* [size], of `capacity` */
    size_t capacity;
    struct keyset drawn; /* without replacement */
    struct sample *next; /* that is free */
};

struct samples {
    unsigned worker;
    int latch; /* of what follows */
    unsigned places;
    struct sample *free;
    struct sample **block; /* [places / SAMPLE_BLOCK] */
    uint64_t openings;     /* of the worker */
    uint64_t drawn;        /* keys that were chosen when they were pulled; the worker's */
};

int samples_init(struct samples *, unsigned worker); /* 0 or -ENOMEM */
void samples_fini(struct samples *);
/* The worker closes: its samples end, and their memory is released. */
void samples_close(struct samples *);

/* A new sample without keys. 0, -ENOBUFS: LOCUS_SAMPLES_MAX are open, or -ENOMEM. */
int samples_open(struct samples *, struct sample **, locus_sample *handle);
/* NULL: no such sample is open. */
struct sample *samples_find(struct samples *, locus_sample handle);
void samples_finish(struct samples *, struct sample *);

/* Reserves memory for n keys, and for their set if they must be unique. 0 or -ENOMEM. */
int sample_reserve(struct sample *, size_t n, bool unique);

static inline size_t sample_left(const struct sample *s)
{
    return s->undecided + s->waiting;
}

static inline size_t sample_place(const struct sample *s, size_t i)
{
    size_t place = s->head + i;
    return place < s->size ? place : place - s->size;
}

static inline locus_key sample_first(const struct sample *s)
{
    return s->key[s->head];
}

/* Takes the first key that waits. */
static inline locus_key sample_take(struct sample *s)
{
    locus_key key = s->key[s->head];
    s->head = sample_place(s, 1);
    s->waiting--;
    s->fresh -= s->fresh > 0;
    return key;
}

/* Takes the first n keys that wait; none may be put off. Prefetches those after them, because a
 * loader wrote them. */
static inline void sample_take_all(struct sample *s, locus_key *keys, size_t n)
{
    size_t first = s->size - s->head < n ? s->size - s->head : n;
    memcpy(keys, s->key + s->head, first * sizeof *keys);
    memcpy(keys + first, s->key, (n - first) * sizeof *keys);
    s->head = sample_place(s, n);
    s->waiting -= n;
    __builtin_prefetch(s->key + s->head);
    __builtin_prefetch(s->key + sample_place(s, n < s->waiting ? n : s->waiting));
}

/* Puts a key off: behind those that wait. */
static inline void sample_append(struct sample *s, locus_key key)
{
    s->key[sample_place(s, s->waiting++)] = key;
}

/* The n keys were taken in this order, `fresh` of them not put off before, and could not be used:
 * puts them back. */
void sample_put_back(struct sample *, const locus_key *keys, size_t n, size_t fresh);

#endif
