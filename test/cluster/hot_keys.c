/*
 * NuPS' mix: hot keys are kept by every node, all others are where they are. Which accesses need no
 * network follows from the keys' frequencies then, and is counted.
 */
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Zipf 1.1 over so many keys: 10 of them are more frequent than 100 times the mean (NuPS, 5.1),
 * with about 40 % of all accesses. */
enum { NODES = 4, ROWS = 10000, LENGTH = 2, ACCESSES = 40000, CALL = 500, PASSES = 2 };
static const struct locus_table rows = {.rows = ROWS, .length = LENGTH};

struct shares {
    double factor;        /* keys are hot that are so often accessed, in times of the mean */
    unsigned count[ROWS]; /* accesses of each key, of each node */
    unsigned all, hot, hot_accesses;
    uint64_t pulled_local, pulled_replica, pulled_remote, relocated, replicas; /* of all nodes */
};

static void choose(struct shares *h, double factor)
{
    double sum = 0;
    *h = (struct shares){.factor = factor};
    for (int k = 0; k < ROWS; k++) sum += pow(k + 1, -1.1);
    for (int k = 0; k < ROWS; k++)
        h->all += h->count[k] = (unsigned)ceil(ACCESSES * pow(k + 1, -1.1) / sum);
    for (int k = 0; k < ROWS; k++) {
        if (!(h->count[k] > factor * h->all / ROWS)) continue;
        h->hot++; /* in descending order */
        h->hot_accesses += h->count[k];
    }
}

static void keep_hot(struct seat *s, const struct shares *h)
{
    locus_key key[ROWS];
    float row[LENGTH];
    for (unsigned k = 0; k < h->hot; k++) key[k] = k;
    CHECK_EQ(locus_intent(s->worker, key, h->hot, 0, LOCUS_FOREVER), 0);
    double end = now_s() + HANG_S;
    for (unsigned k = 0; k < h->hot; k++)
        while (locus_pull_local(s->worker, k, row)) {
            CHECK(now_s() < end);
            sleep_s(0.001);
        }
}

/* Every key as often as it is frequent. */
static void access_all(struct seat *s, const struct shares *h)
{
    locus_key key[CALL];
    float values[CALL * LENGTH], ones[CALL * LENGTH];
    size_t n = 0;
    for (int i = 0; i < CALL * LENGTH; i++) ones[i] = 1;
    for (locus_key k = 0; k < ROWS; k++) {
        for (unsigned i = 0; i < h->count[k]; i++) {
            key[n++] = k;
            if (n < CALL && (k < ROWS - 1 || i < h->count[k] - 1)) continue;
            CHECK_EQ(locus_pull(s->worker, key, n, values), 0);
            CHECK_EQ(locus_push(s->worker, key, n, ones), 0);
            n = 0;
        }
    }
}

static void add(uint64_t *sum, uint64_t number)
{
    __atomic_fetch_add(sum, number, __ATOMIC_RELAXED);
}

static void body(struct seat *s)
{
    struct shares *h = s->team->shared;
    float row[LENGTH];
    keep_hot(s, h);
    seat_barrier(s);
    struct locus_stats before = stats_of(s->node);
    for (int i = 0; i < PASSES; i++) access_all(s, h);
    struct locus_stats after = stats_of(s->node);
    add(&h->pulled_local, after.pulled_local - before.pulled_local);
    add(&h->pulled_replica, after.pulled_replica - before.pulled_replica);
    add(&h->pulled_remote, after.pulled_remote - before.pulled_remote);
    CHECK_EQ(locus_quiesce(s->worker), 0);
    after = stats_of(s->node);
    add(&h->relocated, after.relocated_in);
    add(&h->replicas, after.replicas_created);
    for (locus_key k = 0; k < ROWS; k += 97) {
        CHECK_EQ(locus_pull(s->worker, &k, 1, row), 0);
        CHECK(row[0] == (float)(NODES * PASSES * h->count[k]) && row[1] == row[0]);
    }
}

/* Of the accesses of hot keys all but those of the main copy's own node. */
static void check_shares(double factor, unsigned hot)
{
    static struct shares h;
    struct team team = {.nodes = NODES,
                        .workers = 1,
                        .shards = 1,
                        .is_managed = true,
                        .technique = LOCUS_RELOCATE,
                        .tables = &rows,
                        .table_count = 1,
                        .shared = &h};
    choose(&h, factor);
    CHECK_EQ(h.hot, hot);
    team_run(&team, body);
    double all = (double)(h.pulled_local + h.pulled_replica + h.pulled_remote),
           share = (double)h.pulled_replica / all,
           predicted = (double)h.hot_accesses / h.all * (NODES - 1) / NODES;
    CHECK(all == (double)NODES * PASSES * h.all);
    if (fabs(share - predicted) > 0.01 * predicted)
        test_fail(__FILE__, __LINE__, "%g of the pulls were on replicas, not %g", share, predicted);
    CHECK_EQ(h.relocated, 0);
    CHECK_EQ(h.replicas, (uint64_t)hot * (NODES - 1));
    if (hot == ROWS) CHECK_EQ(h.pulled_remote, 0);
}

TEST(hot_keys, reads_of_replicas_are_those_that_frequencies_predict)
{
    check_shares(100, 10);
}

TEST(hot_keys, with_nothing_kept_there_is_no_replica)
{
    check_shares(1e9, 0);
}

TEST(hot_keys, with_everything_kept_nothing_is_elsewhere)
{
    check_shares(0, ROWS);
}
