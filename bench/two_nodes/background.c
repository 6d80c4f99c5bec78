/* The worker that goes on accessing rows while they move. */
#include "bench.h"

#include <stdlib.h>

enum { CALL_KEYS = 64 };

/* xorshift */
static uint64_t draw(uint64_t *random, uint64_t below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % below;
}

/* Pulls and pushes in turn. What it pushes is zero, so that rows can be checked in the end. */
static void *access_rows(void *argument)
{
    struct background *a = argument;
    locus_key some[CALL_KEYS];
    float *pulled = a->values, *update = a->values + (size_t)CALL_KEYS * lengths[LENGTHS - 1];
    while (!atomic_load_explicit(&a->ends, memory_order_relaxed)) {
        for (int i = 0; i < CALL_KEYS; i++) some[i] = a->keys[draw(&a->random, a->count)];
        must(locus_pull(a->worker, some, CALL_KEYS, pulled), "locus_pull");
        must(locus_push(a->worker, some, CALL_KEYS, update), "locus_push");
        atomic_fetch_add_explicit(&a->done, 2 * CALL_KEYS, memory_order_relaxed);
    }
    return NULL;
}

void background_open(struct background *a, locus *node)
{
    a->random = 0x9E3779B97F4A7C15;
    a->values = must_alloc((size_t)2 * CALL_KEYS * row_bytes(LENGTHS - 1));
    must(locus_worker_open(node, &a->worker), "locus_worker_open");
}

void background_begin(struct background *a, const locus_key *keys, size_t count)
{
    a->keys = keys;
    a->count = count;
    a->ends = false;
    must(-pthread_create(&a->thread, NULL, access_rows, a), "pthread_create");
}

void background_end(struct background *a)
{
    a->ends = true;
    pthread_join(a->thread, NULL);
}

void background_close(struct background *a)
{
    must(locus_worker_close(a->worker), "locus_worker_close");
    free(a->values);
}
