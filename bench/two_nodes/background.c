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
static void access_some(struct background *a, const locus_key *keys, size_t count, uint64_t *random)
{
    locus_key some[CALL_KEYS];
    float *pulled = a->values, *update = a->values + (size_t)CALL_KEYS * lengths[LENGTHS - 1];
    for (int i = 0; i < CALL_KEYS; i++) some[i] = keys[draw(random, count)];
    must(locus_pull(a->worker, some, CALL_KEYS, pulled), "locus_pull");
    must(locus_push(a->worker, some, CALL_KEYS, update), "locus_push");
    __atomic_store_n(&a->done, a->done + 2 * CALL_KEYS, __ATOMIC_RELAXED);
}

static bool wait_for_keys(struct background *a, const locus_key **keys, size_t *count)
{
    pthread_mutex_lock(&a->mutex);
    a->rests = a->keys == NULL;
    if (a->rests) pthread_cond_broadcast(&a->changed);
    while (!a->keys && !a->ends) pthread_cond_wait(&a->changed, &a->mutex);
    a->rests = false;
    *keys = a->keys;
    *count = a->count;
    bool goes_on = !a->ends;
    pthread_mutex_unlock(&a->mutex);
    return goes_on;
}

static void *run(void *argument)
{
    struct background *a = argument;
    uint64_t random = 0x9E3779B97F4A7C15;
    const locus_key *keys;
    size_t count;
    while (wait_for_keys(a, &keys, &count)) access_some(a, keys, count, &random);
    return NULL;
}

void background_open(struct background *a, locus *node)
{
    must(locus_worker_open(node, &a->worker), "locus_worker_open");
    a->values = must_alloc((size_t)2 * CALL_KEYS * row_bytes(LENGTHS - 1));
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->changed, NULL);
    must(-pthread_create(&a->thread, NULL, run, a), "pthread_create");
}

static void change(struct background *a, const locus_key *keys, size_t count, bool ends)
{
    pthread_mutex_lock(&a->mutex);
    a->keys = keys;
    a->count = count;
    a->ends = ends;
    pthread_cond_broadcast(&a->changed);
    while (!keys && !ends && !a->rests) pthread_cond_wait(&a->changed, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
}

void background_begin(struct background *a, const locus_key *keys, size_t count)
{
    change(a, keys, count, false);
}

void background_end(struct background *a)
{
    change(a, NULL, 0, false);
}

uint64_t background_done(const struct background *a)
{
    return __atomic_load_n(&a->done, __ATOMIC_RELAXED);
}

void background_close(struct background *a)
{
    change(a, NULL, 0, true);
    pthread_join(a->thread, NULL);
    must(locus_worker_close(a->worker), "locus_worker_close");
    pthread_mutex_destroy(&a->mutex);
    pthread_cond_destroy(&a->changed);
    free(a->values);
}
