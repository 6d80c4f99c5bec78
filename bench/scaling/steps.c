/* What is timed. A call has BATCH keys, for all alike. */
#include "bench.h"

static void note(struct lane *l, int rc)
{
    if (rc != 0 && l->rc == 0) l->rc = rc;
}

static void pull(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += BATCH) note(l, locus_pull(l->worker, keys + i, BATCH, l->batch));
}

static void push(struct lane *l, const uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i += BATCH) note(l, locus_push(l->worker, keys + i, BATCH, l->batch));
}

static void array_read(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_read(l->floors, keys, n, l->batch);
}

static void array_add(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_add(l->floors, keys, n, l->batch);
}

static void atomic_read(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_atomic_read(l->floors, keys, n, l->batch);
}

static void atomic_add(struct lane *l, const uint64_t *keys, size_t n)
{
    floor_atomic_add(l->floors, keys, n, l->batch);
}

const struct step steps[STEPS] = {
    [ARRAY_READ] = {"array-read", array_read, false, false},
    [ATOMIC_READ] = {"atomic-read", atomic_read, false, false},
    [PULL] = {"pull", pull, false, true},
    [ARRAY_ADD] = {"array-add", array_add, true, false},
    [ATOMIC_ADD] = {"atomic-add", atomic_add, true, false},
    [PUSH] = {"push", push, true, true},
};
