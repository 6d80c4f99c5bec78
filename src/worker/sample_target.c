#include "worker/sample_target.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

void target_init_uniform(struct target *t, locus_key first, uint64_t count)
{
    *t = (struct target){.first = first, .count = count, .possible = count};
}

/* State of the table's construction: how much of a cell each key, by its place, must still place,
 * and which have less or more than one. */
struct building {
    const double *weights;
    double *part;
    uint64_t *list; /* from the front: those with less than a cell; from the back: the others */
    uint64_t less, more, count, heaviest;
};

static uint64_t threshold_of(double part)
{
    uint64_t t = part < 1 ? (uint64_t)(part * 0x1p64) : UINT64_MAX;
    return t > 0 ? t : 1;
}

static void sort_in(struct building *b, uint64_t i)
{
    if (b->part[i] < 1)
        b->list[b->less++] = i;
    else
        b->list[b->count - ++b->more] = i;
}

static void find_parts(struct building *b)
{
    long double sum = 0;
    b->heaviest = 0;
    for (uint64_t i = 1; i < b->count; i++)
        if (b->weights[i] > b->weights[b->heaviest]) b->heaviest = i;
    /* By the heaviest first: a sum of the weights themselves may be infinite. */
    double most = b->weights[b->heaviest];
    for (uint64_t i = 0; i < b->count; i++) sum += b->part[i] = b->weights[i] / most;
    double scale = (double)((long double)b->count / sum);
    for (uint64_t i = 0; i < b->count; i++) {
        b->part[i] *= scale;
        sort_in(b, i);
    }
}

static void build(struct building *b, struct target_cell *cell)
{
    while (b->less > 0 && b->more > 0) {
        uint64_t small = b->list[--b->less], large = b->list[b->count - b->more--];
        /* one whose weight is 0 keeps nothing of its cell */
        cell[small] =
            (struct target_cell){b->weights[small] > 0 ? threshold_of(b->part[small]) : 0, large};
        b->part[large] = b->part[large] + b->part[small] - 1;
        sort_in(b, large);
    }
    /* What is left on one side has a whole cell but for rounding; nothing, if its weight is 0. */
    while (b->less + b->more > 0) {
        uint64_t i = b->less > 0 ? b->list[--b->less] : b->list[b->count - b->more--];
        bool possible = b->weights[i] > 0;
        cell[i] = (struct target_cell){possible ? UINT64_MAX : 0, possible ? i : b->heaviest};
    }
}

int target_init_weighted(struct target *t, locus_key first, const double *weights, uint64_t count)
{
    struct building b = {.weights = weights, .count = count};
    *t = (struct target){.first = first, .count = count};
    t->cell = calloc(count, sizeof *t->cell);
    b.part = calloc(count, sizeof *b.part);
    b.list = calloc(count, sizeof *b.list);
    int rc = t->cell && b.part && b.list ? 0 : -ENOMEM;
    if (rc == 0) {
        find_parts(&b);
        build(&b, t->cell);
        for (uint64_t i = 0; i < count; i++) t->possible += t->cell[i].threshold > 0;
    } else {
        target_fini(t);
    }
    free(b.part);
    free(b.list);
    return rc;
}

void target_fini(struct target *t)
{
    free(t->cell);
    t->cell = NULL;
}

void target_weights(const struct target *t, double *weights)
{
    for (uint64_t i = 0; i < t->count; i++) weights[i] = (double)t->cell[i].threshold;
    for (uint64_t i = 0; i < t->count; i++)
        if (t->cell[i].other != i)
            weights[t->cell[i].other] += 0x1p64 - (double)t->cell[i].threshold;
}

enum { DRAWN_TOGETHER = 16 };

void target_draw_many(const struct target *t, struct random *r, locus_key *keys, size_t n)
{
    struct random mine = *r; /* so that it stays in registers */
    struct target_chance chosen[DRAWN_TOGETHER];
    for (size_t i = 0; !t->cell && i < n; i++) keys[i] = target_draw(t, &mine);
    for (size_t done = 0, some; t->cell && done < n; done += some) {
        some = n - done < DRAWN_TOGETHER ? n - done : DRAWN_TOGETHER;
        for (size_t i = 0; i < some; i++) chosen[i] = target_choose(t, &mine);
        for (size_t i = 0; i < some; i++) keys[done + i] = target_key(t, chosen[i]);
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

static void sift_down(struct arrival *heap, size_t n)
{
    size_t i = 0;
    struct arrival moving = heap[0];
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
static void find_first(const struct target *t, struct random *r, const struct keyset *drawn,
                       const double *weights, struct arrival *heap, size_t n)
{
    for (size_t i = 0; i < n; i++) heap[i] = (struct arrival){INFINITY, 0};
    for (uint64_t i = 0; i < t->count; i++) {
        locus_key key = t->first + i;
        if (!target_is_possible(t, key) || keyset_has(drawn, key)) continue;
        double time = random_exponential(r);
        if (weights) time /= weights[i];
        if (time >= heap[0].time) continue;
        heap[0] = (struct arrival){time, key};
        sift_down(heap, n);
    }
    INVARIANT(heap[0].time < INFINITY,
              "a sample without replacement wants more keys than there are");
}

static void hand_out(struct arrival *heap, size_t n, struct keyset *drawn, locus_key *keys)
{
    while (n > 0) {
        locus_key latest = heap[0].key;
        heap[0] = heap[--n];
        if (n > 0) sift_down(heap, n);
        keys[n] = latest;
        keyset_add(drawn, latest);
    }
}

static int draw_in_one_pass(const struct target *t, struct random *r, struct keyset *drawn,
                            locus_key *keys, size_t n)
{
    struct arrival *heap = malloc(n * sizeof *heap);
    double *weights = t->cell ? calloc(t->count, sizeof *weights) : NULL;
    int rc = heap && (weights || !t->cell) ? 0 : -ENOMEM;
    if (rc == 0) {
        if (weights) target_weights(t, weights);
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
