#include "worker/sample_target.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

void target_init_uniform(struct target *t, locus_key first, uint64_t count)
{
    *t = (struct target){.first = first, .count = count, .possible = count};
}

int target_init_weighted(struct target *t, locus_key first, const double *weights, uint64_t count)
{
    target_init_uniform(t, first, count);
    int rc = alias_init(&t->alias, weights, count);
    if (rc == 0) t->possible = t->alias.possible;
    return rc;
}

void target_fini(struct target *t)
{
    alias_fini(&t->alias);
}

enum { DRAWN_TOGETHER = 16 };

void target_draw_many(const struct target *t, struct random *r, locus_key *keys, size_t n)
{
    struct random mine = *r; /* so that it stays in registers */
    struct alias_chance chosen[DRAWN_TOGETHER];
    for (size_t i = 0; !t->alias.cell && i < n; i++) keys[i] = target_draw(t, &mine);
    for (size_t done = 0, some; t->alias.cell && done < n; done += some) {
        some = n - done < DRAWN_TOGETHER ? n - done : DRAWN_TOGETHER;
        for (size_t i = 0; i < some; i++) chosen[i] = alias_choose(&t->alias, &mine);
        for (size_t i = 0; i < some; i++)
            keys[done + i] = t->first + alias_index(&t->alias, chosen[i]);
    }
    *r = mine;
}

/*
 * The rest of a sample without replacement, in one pass: each key gets an exponentially distributed
 * arrival time with its weight as the rate, and the keys that arrive first are the sample, in that
 * order. Drawing one key after the other from the rest has the same distribution, because such
 * times have no memory (Efraimidis and Spirakis, 2006).
 */
struct arrival {
    double time;
    locus_key key;
};

static void sift_down(struct arrival *heap, size_t n, size_t i)
{
    struct arrival moving = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < n && heap[child + 1].time > heap[child].time) child++;
        if (child >= n || heap[child].time <= moving.time) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

/* The latest of the n is on top; those that nobody has taken yet arrive never. */
static void begin_arrivals(struct arrival *heap, size_t n)
{
    for (size_t i = 0; i < n; i++) heap[i] = (struct arrival){INFINITY, 0};
}

static void keep_if_early(struct arrival *heap, size_t n, struct arrival a)
{
    if (a.time >= heap[0].time) return;
    heap[0] = a;
    sift_down(heap, n, 0);
}

static void find_first(const struct target *t, struct random *r, const struct keyset *drawn,
                       const double *weights, struct arrival *heap, size_t n)
{
    begin_arrivals(heap, n);
    for (uint64_t i = 0; i < t->count; i++) {
        locus_key key = t->first + i;
        if (!target_is_possible(t, key) || keyset_has(drawn, key)) continue;
        double time = random_exponential(r);
        keep_if_early(heap, n, (struct arrival){weights ? time / weights[i] : time, key});
    }
    INVARIANT(heap[0].time < INFINITY,
              "a sample without replacement wants more keys than there are");
}

static void hand_out(struct arrival *heap, size_t n, struct keyset *drawn, locus_key *keys)
{
    while (n > 0) {
        locus_key latest = heap[0].key;
        heap[0] = heap[--n];
        if (n > 0) sift_down(heap, n, 0);
        keys[n] = latest;
        keyset_add(drawn, latest);
    }
}

static int draw_in_one_pass(const struct target *t, struct random *r, struct keyset *drawn,
                            locus_key *keys, size_t n)
{
    bool is_weighted = t->alias.cell != NULL;
    struct arrival *heap = malloc(n * sizeof *heap);
    double *weights = is_weighted ? calloc(t->count, sizeof *weights) : NULL;
    int rc = heap && (weights || !is_weighted) ? 0 : -ENOMEM;
    if (rc == 0) {
        if (weights) alias_weights(&t->alias, weights);
        find_first(t, r, drawn, weights, heap, n);
        hand_out(heap, n, drawn, keys);
    }
    free(weights);
    free(heap);
    return rc;
}

int target_draw_unique(const struct target *t, struct random *r, struct keyset *drawn,
                       locus_key *keys, size_t n)
{
    /* A pass costs some draws a key: only when about as many were in vain is it worth it. */
    uint64_t draws_left = 4 * (uint64_t)n + 64 + t->count / 4;
    size_t i = 0;
    while (i < n && draws_left-- > 0) {
        keys[i] = target_draw(t, r);
        i += keyset_add(drawn, keys[i]);
    }
    return i == n ? 0 : draw_in_one_pass(t, r, drawn, keys + i, n - i);
}
