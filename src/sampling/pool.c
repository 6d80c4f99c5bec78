#include "sampling/pool.h"

#include <errno.h>
#include <stdlib.h>

int pool_fill(struct pool *p, const struct target *t, struct random *r, size_t size)
{
    if (size > p->room) {
        locus_key *larger = malloc(size * sizeof *larger);
        if (!larger) return -ENOMEM;
        free(p->key);
        p->key = larger;
        p->room = size;
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

/* One of the keys [next, end), each as likely as the others: that is a random order when all are taken so. */
static size_t choose(const struct pool *p, struct random *r, size_t end)
{
    uint64_t rest;
    return p->next + random_below(r, end - p->next, &rest);
}

static void swap(struct pool *p, size_t a, size_t b)
{
    locus_key key = p->key[a];
    p->key[a] = p->key[b];
    p->key[b] = key;
}

static void begin_traversal(struct pool *p)
{
    p->next = 0;
    p->uses--;
}

static size_t take_any(struct pool *p, struct random *r, locus_key *keys, size_t n)
{
    size_t taken = p->size - p->next < n ? p->size - p->next : n;
    for (size_t i = 0; i < taken; i++) {
        swap(p, p->next, choose(p, r, p->size));
        keys[i] = p->key[p->next++];
    }
    if (p->next == p->size) begin_traversal(p);
    return taken;
}

/* Keys that the sample has are put aside at the end, until this sample is complete. */
static size_t take_other(struct pool *p, struct random *r, struct keyset *drawn, locus_key *keys, size_t n)
{
    size_t taken = 0, end = p->size;
    while (taken < n && p->next < end) {
        size_t i = choose(p, r, end);
        if (keyset_add(drawn, p->key[i])) {
            swap(p, p->next, i);
            keys[taken++] = p->key[p->next++];
        } else {
            swap(p, i, --end);
        }
    }
    if (taken < n || p->next == p->size) begin_traversal(p);
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
