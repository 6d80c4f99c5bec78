#include "worker/sample_stream.h"

#include "base/error.h"
#include "base/sync.h"
#include "store/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- pools ---- */

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
    *p = (struct pool){.key = p->key, .size = size, .capacity = p->capacity, .uses = POOL_USES};
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

/* Keys that the sample already has are skipped for the rest of the traversal. If they were kept for
 * later samples, they would come more and more often, especially a key of great weight, which is in
 * the pool many times but in a sample at most once. */
static size_t take_of_traversal(struct pool *p, struct random *r, struct keyset *drawn,
                                locus_key *keys, size_t n)
{
    size_t taken = 0;
    while (taken < n && p->next < p->size) {
        keys[taken] = next_key(p, r);
        taken += !drawn || keyset_add(drawn, keys[taken]);
    }
    if (p->next < p->size) return taken;
    p->next = 0;
    p->uses--;
    return taken;
}

size_t pool_take(struct pool *p, struct random *r, struct keyset *drawn, locus_key *keys, size_t n)
{
    size_t taken = 0;
    while (taken < n && p->uses > 0) {
        bool is_whole = p->next == 0;
        taken += take_of_traversal(p, r, drawn, keys + taken, n - taken);
        if (drawn && is_whole && taken < n) break; /* all of the pool's keys are in the sample */
    }
    return taken;
}

int preparer_intend(const struct preparer *p, const locus_key *keys, size_t n, locus_clock start,
                    locus_clock end)
{
    if (end == LOCUS_FOREVER) end--; /* no node keeps what was drawn once */
    if (end <= start) return 0;
    int rc = p->loader ? locus_loader_intent(p->loader, keys, n, start, end)
                       : locus_intent(p->worker, keys, n, start, end);
    return rc == -ENOBUFS || rc == -ENOMEM ? 0 : rc;
}

int pool_intend(struct pool *p, const struct preparer *who, locus_clock from, locus_clock to)
{
    p->from = from;
    p->to = to;
    return preparer_intend(who, p->key, p->size, from, to);
}

/* Extending by no less than an eighth of what was expected, or by all of what was guessed, keeps
 * extensions few. */
static locus_clock extension(const struct pool *p, locus_clock end, locus_clock left)
{
    locus_clock so_far = end - p->from, least = left > 0 ? so_far / 8 : so_far;
    return left > least ? left : least;
}

int pool_cover(struct pool *p, const struct preparer *who, locus_clock start, locus_clock end,
               locus_clock left)
{
    if (p->from == p->to) return pool_intend(p, who, start, clock_after(end, left));
    int rc = 0;
    if (start < p->from) {
        rc = preparer_intend(who, p->key, p->size, start, p->from);
        p->from = start;
    }
    if (rc == 0 && end > p->to) {
        locus_clock from = p->to;
        p->to = clock_after(end, extension(p, end, left));
        rc = preparer_intend(who, p->key, p->size, from, p->to);
    }
    return rc;
}

/* ---- rows that are here ---- */

static bool take(struct keyset *drawn, locus_key key)
{
    return !drawn || keyset_add(drawn, key);
}

static locus_key draw(struct local *l, const struct target *t, struct random *r)
{
    if (l->left == 0) {
        target_draw_many(t, r, l->ahead, LOCAL_AHEAD);
        l->left = LOCAL_AHEAD;
    }
    return l->ahead[--l->left];
}

/* The target's keys in the partition of one of them, by numbers: from ... end - 1. */
struct span {
    uint64_t from, end;
};

static struct span span_of(const struct keyspace *k, const struct partition *p,
                           const struct target *t, unsigned shard)
{
    uint64_t from = keyspace_count_below(k, t->first, shard) - p->first_number;
    uint64_t end = keyspace_count_below(k, t->first + t->count, shard) - p->first_number;
    uint64_t first = p->first_bucket, last = first + p->keys;
    /* signed: what lies before the partition has a number below 0 */
    return (struct span){(int64_t)from > (int64_t)first ? from : first, end < last ? end : last};
}

static bool search(const struct store *s, const struct target *t, struct keyset *drawn,
                   locus_key *key)
{
    struct row_ref at = store_row_ref(s, *key);
    const struct partition *p = at.partition;
    unsigned shard = keyspace_shard(&s->keyspace, *key);
    struct span span = span_of(&s->keyspace, p, t, shard);
    uint64_t number = row_ref_number(at);
    for (int tries = LOCAL_SEARCH; tries > 0; tries--) {
        uint64_t held = partition_held(p, number / 64) >> number % 64;
        number = held ? number + (unsigned)__builtin_ctzll(held) : (number | 63) + 1;
        if (number >= span.end) {
            number = span.from;
        } else if (held) {
            *key = keyspace_key(&s->keyspace, shard, number++ + p->first_number);
            if (target_is_possible(t, *key) && take(drawn, *key)) return true;
            if (number == span.end) number = span.from;
        }
    }
    return false;
}

bool local_draw(struct local *l, const struct store *s, const struct target *t, struct random *r,
                struct keyset *drawn, locus_key *key)
{
    for (int draws = LOCAL_DRAWS; draws > 0; draws--) {
        *key = draw(l, t, r);
        if (row_ref_was_held(store_row_ref(s, *key)) && take(drawn, *key)) return true;
    }
    return search(s, t, drawn, key);
}

/* ---- streams ---- */

/* Intents of pools that are forgotten end by themselves. */
void stream_seed(struct stream *s, uint64_t seed, uint64_t rank, uint64_t worker)
{
    latch_take(&s->latch);
    random_init(&s->random, seed, rank, worker);
    random_init(&s->filling, ~seed, rank, worker);
    s->filled = 0;
    s->ahead = 1;
    s->began = s->pool_clocks = 0;
    s->local.left = 0;
    latch_give(&s->latch);
}

void stream_fini(struct stream *s)
{
    for (unsigned i = 0; i < POOLS_MAX; i++) pool_fini(&s->pool[i]);
}

/* ---- independent sampling ---- */

static int draw_fresh(struct stream *s, const struct drawing *d, locus_key *keys, size_t n)
{
    if (d->drawn) return target_draw_unique(d->target, &s->random, d->drawn, keys, n);
    target_draw_many(d->target, &s->random, keys, n);
    return 0;
}

/* Intents that the manager would ignore are not signaled: those with an end in the past, and those
 * of samples from rows that are here. */
static int intend(const struct drawing *d, const locus_key *keys, size_t n)
{
    return n > 0 && d->intends && d->end > d->now
               ? preparer_intend(&d->who, keys, n, d->start, d->end)
               : 0;
}

int stream_draw_independent(struct stream *s, const struct drawing *d, locus_key *keys, size_t n)
{
    latch_take(&s->latch);
    int rc = draw_fresh(s, d, keys, n);
    latch_give(&s->latch);
    return rc ? rc : intend(d, keys, n);
}

/* ---- sample reuse ---- */

/* A longer time is not expected of a pool, so that sums stay far below the greatest clock. */
#define POOL_CLOCKS_MAX (INT64_C(1) << 40)

/* Intents ended with the worker that signaled them, and a new one's clock begins at 0. */
static void meet_worker(struct stream *s, const struct drawing *d)
{
    if (s->opening == d->opening) return;
    s->opening = d->opening;
    s->filled = 0;
    s->began = s->pool_clocks = 0;
}

static struct pool *nth_pool(struct stream *s, unsigned n)
{
    return &s->pool[(s->present + n) % POOLS_MAX];
}

/* At least twice a sample without replacement: with fewer keys most of a large sample could not
 * come from the pool. */
static size_t pool_size(const struct drawing *d, size_t n)
{
    return d->drawn && n > POOL_KEYS / 2 ? 2 * n : POOL_KEYS;
}

static locus_clock clocks_left(const struct stream *s, const struct pool *p)
{
    uint64_t all = (uint64_t)POOL_USES * p->size;
    return (locus_clock)((double)s->pool_clocks * (double)pool_left(p) / (double)all);
}

static size_t count_missing(const struct drawing *d, const struct pool *p)
{
    size_t missing = 0;
    for (size_t i = 0; i < p->size; i++) missing += !local_has_row(d->store, p->key[i]);
    return missing;
}

/* The present pool is used up: how long did it last, and are the rows of the next one here? */
static void end_pool(struct stream *s, const struct drawing *d)
{
    if (d->start > s->began) {
        locus_clock lasted = d->start - s->began;
        if (lasted > POOL_CLOCKS_MAX) lasted = POOL_CLOCKS_MAX;
        s->pool_clocks = s->pool_clocks > 0 ? s->pool_clocks + (lasted - s->pool_clocks) / 2
                                            : lasted;
    }
    s->began = d->start;
    s->present = (s->present + 1) % POOLS_MAX;
    s->filled--;
    const struct pool *p = nth_pool(s, 0);
    bool is_its_turn = s->filled > 0 && d->start <= d->now;
    if (d->rows_move && is_its_turn && s->ahead < POOLS_AHEAD_MAX &&
        count_missing(d, p) > p->size / 8)
        s->ahead++;
}

static int fill_next(struct stream *s, const struct drawing *d, size_t size)
{
    int rc = pool_fill(nth_pool(s, s->filled), d->target, &s->filling, size);
    if (rc == 0) s->filled++;
    return rc;
}

/* Fills pools ahead and intends their rows from about the time of their turn, rather too early than
 * too late. */
static int fill_ahead(struct stream *s, const struct drawing *d, size_t size)
{
    int rc = 0;
    while (rc == 0 && s->filled < 1 + s->ahead) {
        locus_clock before = (s->filled - 1) * s->pool_clocks;
        locus_clock from = clock_after(d->start, clocks_left(s, nth_pool(s, 0)) / 2 + before);
        locus_clock last = d->end > from ? d->end : clock_after(from, 1);
        rc = fill_next(s, d, size);
        if (rc == 0 && from < last && d->end > d->now)
            rc = pool_intend(nth_pool(s, s->filled - 1), &d->who, from,
                             clock_after(last, s->pool_clocks));
    }
    return rc;
}

/* Keys that may have left again since the pool was intended. */
static int intend_missing(const struct drawing *d, const locus_key *keys, size_t n)
{
    enum { TOGETHER = 64 };
    locus_key missing[TOGETHER];
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (!local_has_row(d->store, keys[i])) missing[count++] = keys[i];
        if (count == TOGETHER || i == n - 1) {
            rc = intend(d, missing, count);
            count = 0;
        }
    }
    return rc;
}

/* Takes at most n keys from the present pool, and sees to it that its rows are intended. */
static int take_from_pool(struct stream *s, const struct drawing *d, locus_key *keys, size_t n,
                          size_t *taken)
{
    struct pool *p = nth_pool(s, 0);
    locus_clock left = clocks_left(s, p);
    *taken = pool_take(p, &s->random, d->drawn, keys, n);
    int rc = 0;
    if (*taken > 0 && d->end > d->now) rc = pool_cover(p, &d->who, d->start, d->end, left);
    return rc == 0 && d->localize ? intend_missing(d, keys, *taken) : rc;
}

/* *reused: how many of the keys came from pools. The rest could not: all keys of a pool were in the
 * sample. */
static int draw_from_pools(struct stream *s, const struct drawing *d, locus_key *keys, size_t n,
                           size_t *reused)
{
    int rc = 0;
    size_t size = pool_size(d, n);
    *reused = 0;
    while (rc == 0 && *reused < n) {
        size_t taken = 0;
        if (s->filled == 0) {
            s->began = d->start;
            rc = fill_next(s, d, size);
        }
        if (rc == 0) rc = take_from_pool(s, d, keys + *reused, n - *reused, &taken);
        if (rc) break;
        *reused += taken;
        if (nth_pool(s, 0)->uses > 0) break;
        end_pool(s, d);
    }
    if (rc == 0 && s->filled > 0) rc = fill_ahead(s, d, size);
    return rc;
}

int stream_draw_reused(struct stream *s, const struct drawing *d, locus_key *keys, size_t n)
{
    size_t reused = 0;
    latch_take(&s->latch);
    meet_worker(s, d);
    int rc = draw_from_pools(s, d, keys, n, &reused);
    if (rc == 0 && reused < n) rc = draw_fresh(s, d, keys + reused, n - reused);
    latch_give(&s->latch);
    return rc ? rc : intend(d, keys + reused, n - reused);
}

/* ---- local sampling ---- */

int stream_draw_local(struct stream *s, const struct drawing *d, locus_key *keys, size_t n)
{
    size_t found = 0;
    locus_key key;
    latch_take(&s->latch);
    for (size_t i = 0; i < n; i++)
        if (local_draw(&s->local, d->store, d->target, &s->random, d->drawn, &key))
            keys[found++] = key;
    int rc = draw_fresh(s, d, keys + found, n - found);
    latch_give(&s->latch);
    return rc;
}

/* ---- distributions ---- */

int distribution_new(locus_distribution **out, locus_key first, const double *weights,
                     uint64_t count, unsigned workers)
{
    int rc = 0;
    size_t bytes = workers * sizeof(struct stream);
    locus_distribution *d = calloc(1, sizeof *d);
    if (!d) return -ENOMEM;
    if (weights)
        rc = target_init_weighted(&d->target, first, weights, count);
    else
        target_init_uniform(&d->target, first, count);
    d->stream = rc ? NULL : aligned_alloc(_Alignof(struct stream), bytes);
    if (!d->stream) {
        target_fini(&d->target);
        free(d);
        return -ENOMEM;
    }
    memset(d->stream, 0, bytes);
    d->streams = workers;
    *out = d;
    return 0;
}

void distribution_free(locus_distribution *d)
{
    for (unsigned i = 0; i < d->streams; i++) stream_fini(&d->stream[i]);
    target_fini(&d->target);
    free(d->stream);
    d->node = NULL;
    closed_keep(d, NULL, sizeof *d);
}

void distribution_seed(locus_distribution *d, uint64_t seed)
{
    for (unsigned i = 0; i < d->streams; i++) stream_seed(&d->stream[i], seed, d->rank, i);
}
