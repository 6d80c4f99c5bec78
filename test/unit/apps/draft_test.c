#include "draft.h"
#include "pools.h"
#include "rng.h"
#include "test.h"

enum { ROWS = 60, LENGTH = 5, STEPS = 300, KEYS = 16, COPIED = 6 };

/* What a step adds to the row of each of its keys, whole numbers: every sum is exact. Keys come
 * again, within both halves and across them. */
struct plan {
    size_t keys, copied;
    locus_key key[KEYS];
    float gain[KEYS];
};

static void make_plan(struct plan *p, struct rng *rng)
{
    p->copied = rng_below(rng, COPIED + 1);
    p->keys = p->copied + 1 + rng_below(rng, KEYS - p->copied);
    for (size_t i = 0; i < p->keys; i++) {
        p->key[i] = rng_below(rng, rng_below(rng, 2) ? 4 : ROWS);
        p->gain[i] = (float)rng_below(rng, 4);
    }
}

static void add_gain(void *gain, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] += *(const float *)gain;
}

/* `late`: keys that are not copied are known a moment before they are read. */
static void train(struct draft *d, struct plan *p, bool late)
{
    draft_begin(d, p->key, late ? p->copied : p->keys, p->copied);
    for (size_t i = 0; i < p->copied; i++) add_gain(&p->gain[i], d->now[i], LENGTH);
    for (size_t at = p->copied; at < p->keys; at += 3) {
        size_t n = p->keys - at < 3 ? p->keys - at : 3;
        if (late) draft_extend(d, at + n);
        draft_prefetch(d, at, n);
        draft_read(d, at, n);
        for (size_t i = at; i < at + n; i++) draft_change(d, i, add_gain, &p->gain[i]);
    }
    draft_end(d);
}

static void check_sums(const struct pool_member *m, const float *rows)
{
    double expected[ROWS] = {0};
    struct plan p;
    for (unsigned place = 0; place < m->total; place++) {
        struct rng rng;
        rng_init(&rng, 7, place);
        for (int step = 0; step < STEPS; step++) {
            make_plan(&p, &rng);
            for (size_t i = 0; i < p.keys; i++) expected[p.key[i]] += (double)p.gain[i];
        }
    }
    for (size_t i = 0; i < (size_t)ROWS * LENGTH; i++)
        CHECK(rows[i] == (float)expected[i / LENGTH]);
}

static void work(struct pool_member *m, void *unused)
{
    CLOSED_BY(draft_close) struct draft d;
    struct rng rng;
    struct plan p;
    locus_key key[ROWS];
    float rows[ROWS * LENGTH];
    (void)unused;
    rng_init(&rng, 7, m->place);
    draft_open(&d, m, KEYS, COPIED, LENGTH);
    for (int step = 0; step < STEPS; step++) {
        make_plan(&p, &rng);
        train(&d, &p, step % 2);
    }
    draft_flush(&d);
    pool_quiesce(m);
    for (locus_key k = 0; k < ROWS; k++) key[k] = k;
    CHECK_EQ(locus_pull(m->worker, key, ROWS, rows), 0);
    check_sums(m, rows);
    pool_quiesce(m);
}

TEST(draft, every_change_counts_once)
{
    struct locus_table table = {.rows = ROWS, .length = LENGTH};
    for (unsigned workers = 1; workers <= 3; workers++)
        pools_run(&table, 1, workers, false, work, NULL);
}
