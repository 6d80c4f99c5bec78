#include "worker/sample_pool.h"

#include <errno.h>
#include <stdlib.h>

int pool_fill(struct pool *p, const struct target *t, struct random *r, size_t size)
{
    if (size > p->capacity) {
        locus_key *larger = malloc(size * sizeof *larger);
        if (!larger) return -ENOMEM;
        free(p->key);
        p->key = larger;
        p->capacity = size;
    }
    target_draw_many(t, r, p->key, size);
    p->size = size;
    p->next = 0;
    p->uses = POOL_USES;
    return 0;
}

void pool_fini(struct pool *p)
{
    free(p->key);
    *p = (struct pool){0};
}

/* The next key of the traversal: each of the remaining keys is equally likely, so all of them come
 * in a random order. */
static locus_key next_key(struct pool *p, struct random *r)
{
    uint64_t rest;
    size_t i = p->next + random_below(r, p->size - p->next, &rest);
    locus_key key = p->key[i];
    p->key[i] = p->key[p->next];
    return p->key[p->next++] = key;
}

static void begin_traversal(struct pool *p)
{
    p->next = 0;
    p->uses--;
}

static size_t take_any(struct pool *p, struct random *r, locus_key *keys, size_t n)
{
    size_t taken = p->size - p->next < n ? p->size - p->next : n;
    for (size_t i = 0; i < taken; i++) keys[i] = next_key(p, r);
    if (p->next == p->size) begin_traversal(p);
    return taken;
}

/* Keys that the sample already has are skipped for the rest of the traversal. If they were kept for
 * later samples, they would come more and more often, especially a key of great weight, which is in
 * the pool many times but in a sample at most once. */
static size_t take_other(struct pool *p, struct random *r, struct keyset *drawn, locus_key *keys,
                         size_t n)
{
    size_t taken = 0;
    while (taken < n && p->next < p->size) {
        locus_key key = next_key(p, r);
        if (keyset_add(drawn, key)) keys[taken++] = key;
    }
    if (p->next == p->size) begin_traversal(p);
    return taken;
}

size_t pool_take(struct pool *p, struct random *r, struct keyset *drawn, locus_key *keys, size_t n)
{
    size_t taken = 0;
    while (taken < n && p->uses > 0) {
        bool is_whole = p->next == 0;
        size_t more = drawn ? take_other(p, r, drawn, keys + taken, n - taken)
                            : take_any(p, r, keys + taken, n - taken);
        taken += more;
        if (drawn && is_whole && taken < n) break; /* all of the pool's keys are in the sample */
    }
    return taken;
}
