/* Batches: distinct keys, and calls with helpers. Each beside a plain loop. */
#include "pair.h"

#include <string.h>

enum { LENGTH = 5, ROWS = 3000, BATCH = 20000 };

/* Each of the first keys often, the others seldom. */
static void draw(locus_key *keys, size_t n, uint64_t bound, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t number = seed >> 33;
        keys[i] = number % 4 ? number % 7 % bound : (number >> 2) % bound;
    }
}

static void check_distinct(size_t n, uint64_t bound)
{
    locus_key *keys = calloc(n, sizeof *keys), *distinct = calloc(n, sizeof *distinct);
    CLOSED_BY(free_at) int64_t *places = calloc(n, sizeof *places);
    CLOSED_BY(free_at) unsigned char *seen = calloc(bound, 1);
    size_t count = 77, expected = 0;
    CHECK(keys && distinct && places && seen);
    draw(keys, n, bound, n);
    CHECK_EQ(locus_distinct(keys, n, bound, distinct, places, &count), 0);
    for (size_t i = 0; i < n; i++) {
        if (!seen[keys[i]]) CHECK_EQ(distinct[expected++], keys[i]);
        seen[keys[i]] = 1;
        CHECK(places[i] >= 0 && (size_t)places[i] < expected);
        CHECK_EQ(distinct[places[i]], keys[i]);
    }
    CHECK_EQ(count, expected);
    free(keys);
    free(distinct);
}

/* Multiples of 2^56 share the upper bits of their hashes; the highest key is none below. */
static void check_collisions(void)
{
    locus_key keys[256], distinct[256];
    int64_t places[256];
    size_t count;
    for (uint64_t i = 0; i < 256; i++) keys[i] = i << 56;
    CHECK_EQ(locus_distinct(keys, 256, UINT64_MAX, distinct, places, &count), 0);
    CHECK_EQ(count, 256);
    for (int i = 0; i < 256; i++) CHECK_EQ(places[i], i);
}

TEST(batch, distinct_keeps_the_order_of_the_batch)
{
    static const size_t sizes[] = {1, 2, 3, 64, 1000, BATCH};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_distinct(sizes[i], 1);
        check_distinct(sizes[i], 10);
        check_distinct(sizes[i], 1 << 20);
    }
    check_collisions();
}

/* ---- calls with helpers ---- */

static const struct locus_table two_lengths[] = {{.rows = ROWS, .length = 3},
                                                 {.rows = ROWS, .length = 8}};

static uint32_t length_of(locus_key key)
{
    return key < ROWS ? 3 : 8;
}

struct batch {
    locus_key *keys;
    float *values, *expected;
};

static struct batch batch_of(uint64_t seed)
{
    struct batch b = {calloc(BATCH, sizeof *b.keys), floats_of(BATCH * 8), floats_of(2 * ROWS * 8)};
    CHECK(b.keys != NULL);
    draw(b.keys, BATCH, 2 * ROWS, seed);
    return b;
}

static void free_batch(struct batch *b)
{
    free(b->keys);
    free(b->values);
    free(b->expected);
}

/* What is missed, in any part, is asked for where it is. */
static void push_and_pull(locus *n, locus_worker *w)
{
    CLOSED_BY(free_batch) struct batch b = batch_of(5);
    CHECK_EQ(locus_use_threads(w, 4), 0);
    for (size_t i = 0, at = 0; i < BATCH; i++)
        for (uint32_t f = 0; f < length_of(b.keys[i]); f++, at++)
            b.expected[b.keys[i] * 8 + f] += b.values[at] = (float)(b.keys[i] % 100 + f);
    CHECK_EQ(locus_push(w, b.keys, BATCH, b.values), 0);
    memset(b.values, 0, BATCH * 8 * sizeof *b.values);
    CHECK_EQ(locus_pull(w, b.keys, BATCH, b.values), 0);
    for (size_t i = 0, at = 0; i < BATCH; i++)
        for (uint32_t f = 0; f < length_of(b.keys[i]); f++, at++)
            CHECK(b.values[at] == b.expected[b.keys[i] * 8 + f]);
    struct locus_stats s = stats_of(n);
    CHECK_EQ(s.pulled_local + s.pulled_replica + s.pulled_remote, BATCH);
    CHECK_EQ(s.pushed_local + s.pushed_replica + s.pushed_remote, BATCH);
}

TEST(batch, use_threads_changes_no_result)
{
    locus *n = node_of(two_lengths, 2, 2, 2);
    locus_worker *w = worker_of(n);
    CLOSED_BY(free_batch) struct batch b = batch_of(5);
    push_and_pull(n, w);
    CHECK_EQ(stats_of(n).pulled_local, BATCH);
    for (size_t i = 0, at = 0; i < BATCH; i++) {
        b.keys[i] = i % (2 * ROWS);
        for (uint32_t f = 0; f < length_of(b.keys[i]); f++) b.values[at++] = (float)i;
    }
    CHECK_EQ(locus_set(w, b.keys, BATCH, b.values), 0); /* the last one of a key counts */
    CHECK_EQ(locus_pull(w, b.keys, 2 * ROWS, b.expected), 0);
    for (size_t k = 0, at = 0; k < 2 * ROWS; k++) {
        size_t last = (BATCH - 1 - k) / (2 * ROWS) * (2 * ROWS) + k;
        for (uint32_t f = 0; f < length_of(k); f++) CHECK(b.expected[at++] == (float)last);
    }
    b.keys[BATCH - 1] = 2 * ROWS;
    REFUSED(locus_pull(w, b.keys, BATCH, b.values), -EINVAL, "key 6000 (position 19999)");
    close_both(n, w);
}

/* Half of the rows are the other node's. */
static void work_on_first(struct pair *p, int rank)
{
    if (rank == 0) push_and_pull(p->node[0], p->worker[0]);
}

TEST(batch, use_threads_fetches_rows_of_other_nodes)
{
    CLOSED_BY(pair_end) struct pair p;
    pair_init(&p, two_lengths, 2);
    p.config.technique = LOCUS_STATIC;
    p.config.workers = 2;
    pair_open(&p);
    pair_do(&p, work_on_first);
    CHECK(stats_of(p.node[0]).pulled_local > 0 && stats_of(p.node[0]).pulled_remote > 0);
}

/* Of one with as many workers and threads, after steps whose keys are different or not: values and
 * states. The first round writes the rows first. */
static float *stepped(unsigned workers, unsigned threads, bool repeats, enum locus_element element)
{
    const struct locus_table table = {
        .rows = BATCH, .length = LENGTH, .optimizer = LOCUS_MOMENTUM, .element = element};
    locus *n = node_of(&table, 1, workers, 1);
    locus_worker *w = worker_of(n);
    locus_key *keys = calloc(BATCH, sizeof *keys);
    float *rows = floats_of(BATCH * 2 * LENGTH);
    CHECK(keys != NULL);
    CHECK_EQ(locus_use_threads(w, threads), 0);
    for (size_t round = 1; round <= 3; round++) {
        for (size_t i = 0; i < BATCH; i++) keys[i] = i * 11 % (BATCH - 1);
        if (!repeats) keys[BATCH - 1] = BATCH - 1;
        for (size_t i = 0; i < BATCH * LENGTH; i++) rows[i] = 1 / (float)(i % 97 + round);
        CHECK_EQ(locus_push(w, keys, BATCH, rows), 0);
    }
    for (size_t i = 0; i < BATCH; i++) keys[i] = i;
    CHECK_EQ(locus_pull_state(w, keys, BATCH, rows), 0);
    free(keys);
    close_both(n, w);
    return rows;
}

TEST(batch, use_threads_changes_no_step)
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned workers = 1 + i % 2, repeats = i / 2 % 2;
        enum locus_element element = i / 4 ? LOCUS_BF16 : LOCUS_F32;
        float *alone = stepped(workers, 1, repeats, element),
              *helped = stepped(workers, 4, repeats, element);
        CHECK(alone[0] != 0);
        for (size_t f = 0; f < BATCH * 2 * LENGTH; f++) CHECK(alone[f] == helped[f]);
        free(alone);
        free(helped);
    }
}

/* ---- errors ---- */

TEST_ON_NODE(batch, calls_refuse_wrong_arguments, 10, LENGTH)
{
    locus_key keys[2] = {3, 10}, distinct[2] = {7, 7};
    int64_t places[2];
    size_t count = 9;
    REFUSED(locus_distinct(keys, 2, 10, distinct, places, &count), -EINVAL,
            "key 10 (position 1) is out of range: valid keys are 0 to 9");
    CHECK_EQ(distinct[0], 7);
    CHECK_EQ(count, 0);
    REFUSED(locus_distinct(keys, 1, 0, distinct, places, &count), -EINVAL, "the bound is 0");
    CHECK_EQ(locus_distinct(NULL, 0, 0, NULL, NULL, &count), 0);
    REFUSED(locus_distinct(keys, 1, 10, NULL, places, &count), -EINVAL, "`distinct` is NULL");
    REFUSED(locus_distinct(keys, (size_t)INT32_MAX + 1, 10, distinct, places, &count), -EINVAL,
            "at most 2147483647 keys");
    CHECK_EQ(locus_use_threads(w, 0), -EINVAL);
    REFUSED(locus_use_threads(w, LOCUS_THREADS_MAX + 1), -EINVAL,
            "locus_use_threads: 65 threads: must be 1 to 64");
    CHECK_EQ(locus_use_threads(NULL, 1), -EINVAL);
}
