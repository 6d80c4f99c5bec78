#include "worker/sample.h"

#include "base/sync.h"

#include <errno.h>
#include <stdlib.h>

/* Places are made in blocks that never move, because the worker looks at its samples while a loader
 * opens others. */
enum {
    SAMPLE_BLOCK = 64,
    BLOCKS = LOCUS_SAMPLES_MAX / SAMPLE_BLOCK,
    PLACE_BITS = 12,
    WORKER_BITS = 10
};
_Static_assert(LOCUS_SAMPLES_MAX == 1 << PLACE_BITS, "a handle has room for every place");
_Static_assert(LOCUS_WORKERS_MAX <= 1 << WORKER_BITS, "and for every worker");

int samples_init(struct samples *s, unsigned worker)
{
    *s = (struct samples){.worker = worker, .openings = 1};
    s->block = calloc(BLOCKS, sizeof *s->block);
    return s->block ? 0 : -ENOMEM;
}

static void give_back_keys(struct sample *s)
{
    free(s->key);
    s->key = NULL;
    s->capacity = 0;
    keyset_fini(&s->drawn);
}

/* Generations go on, so that no old handle names a new sample. */
void samples_close(struct samples *s)
{
    s->free = NULL;
    for (unsigned i = s->places; i-- > 0;) {
        struct sample *sample = &s->block[i / SAMPLE_BLOCK][i % SAMPLE_BLOCK];
        sample->generation += sample->generation % 2;
        give_back_keys(sample);
        sample->next = s->free;
        s->free = sample;
    }
    s->openings++;
}

void samples_fini(struct samples *s)
{
    if (!s->block) return;
    samples_close(s);
    for (unsigned i = 0; i < BLOCKS; i++) free(s->block[i]);
    free(s->block);
    s->block = NULL;
}

static int add_block(struct samples *s)
{
    if (s->places == LOCUS_SAMPLES_MAX) return -ENOBUFS;
    struct sample *block = calloc(SAMPLE_BLOCK, sizeof *block);
    if (!block) return -ENOMEM;
    for (unsigned i = SAMPLE_BLOCK; i-- > 0;) {
        block[i].place = s->places + i;
        block[i].next = s->free;
        s->free = &block[i];
    }
    /* Release: a thread that finds the block sees it empty. Pairs with the acquire in
     * samples_find(). */
    __atomic_store_n(&s->block[s->places / SAMPLE_BLOCK], block, __ATOMIC_RELEASE);
    s->places += SAMPLE_BLOCK;
    return 0;
}

static void begin(struct sample *s, unsigned worker, locus_sample *handle)
{
    __atomic_store_n(&s->generation, s->generation + 1, __ATOMIC_RELAXED);
    *handle = (s->generation << WORKER_BITS | worker) << PLACE_BITS | s->place;
    s->size = s->undecided = s->head = s->waiting = s->fresh = 0;
}

int samples_open(struct samples *s, struct sample **out, locus_sample *handle)
{
    latch_take(&s->latch);
    int rc = s->free ? 0 : add_block(s);
    if (rc == 0) {
        *out = s->free;
        s->free = s->free->next;
        begin(*out, s->worker, handle);
    }
    latch_give(&s->latch);
    return rc;
}

struct sample *samples_find(struct samples *s, locus_sample handle)
{
    unsigned place = handle & (LOCUS_SAMPLES_MAX - 1);
    struct sample *block = __atomic_load_n(&s->block[place / SAMPLE_BLOCK], __ATOMIC_ACQUIRE);
    if (!block || (handle >> PLACE_BITS & ((1 << WORKER_BITS) - 1)) != s->worker) return NULL;
    struct sample *sample = &block[place % SAMPLE_BLOCK];
    uint64_t generation = handle >> (PLACE_BITS + WORKER_BITS);
    /* A loader may be opening this very place with a newer generation. The caller's own sample was
     * handed over to it completely. */
    bool is_open = generation % 2 == 1 &&
                   __atomic_load_n(&sample->generation, __ATOMIC_RELAXED) == generation;
    return is_open ? sample : NULL;
}

void samples_finish(struct samples *s, struct sample *sample)
{
    if (sample->capacity > SAMPLE_KEPT_KEYS) give_back_keys(sample);
    latch_take(&s->latch);
    __atomic_store_n(&sample->generation, sample->generation + 1, __ATOMIC_RELAXED);
    sample->next = s->free;
    s->free = sample;
    latch_give(&s->latch);
}

int sample_reserve(struct sample *s, size_t n, bool unique)
{
    if (n > s->capacity) {
        locus_key *larger = malloc(n * sizeof *larger);
        if (!larger) return -ENOMEM;
        free(s->key);
        s->key = larger;
        s->capacity = n;
    }
    s->size = n;
    return unique ? keyset_begin(&s->drawn, n) : 0;
}

void sample_put_back(struct sample *s, const locus_key *keys, size_t n, size_t fresh)
{
    for (size_t i = n; i-- > 0;) {
        s->head = s->head > 0 ? s->head - 1 : s->size - 1;
        s->key[s->head] = keys[i];
    }
    s->waiting += n;
    s->fresh += fresh;
}
