/* Any key from any node, as locus.h says of calls: what was set and pushed is pulled, each float in
 * its place, in rows of any length and calls of any number of keys. Sums at random: stress.c. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

/* Lengths from one float to rows that are larger than a frame. */
static const struct locus_table mixed[] = {
    {.rows = 400, .length = 1},
    {.rows = 200, .length = 16},
    {.rows = 60, .length = 100},
    {.rows = 6, .length = 5000},
    {.rows = 2, .length = LOCUS_LENGTH_MAX},
};
enum { MIXED = sizeof mixed / sizeof *mixed };

/* Float i of the row of `key`: small integers, so that sums are exact. */
static float pattern(locus_key key, uint32_t i, unsigned version)
{
    return (float)((key * 31 + i * 7 + version * 1013) % 8192);
}

static void fill(const struct batch *b, unsigned version)
{
    BATCH_FOREACH(c, b)
    for (uint32_t i = 0; i < c.length; i++) c.row[i] = pattern(c.key, i, version);
}

/* Rows were set to version 1, and `pushes` times version 2 was pushed. */
static void check_rows(const struct batch *b, int pushes)
{
    BATCH_FOREACH(c, b)
    for (uint32_t i = 0; i < c.length; i++) {
        float expected = pattern(c.key, i, 1) + (float)pushes * pattern(c.key, i, 2);
        if (c.row[i] != expected)
            test_fail(__FILE__, __LINE__, "key %llu, float %u: %g, not %g",
                      (unsigned long long)c.key, i, (double)c.row[i], (double)expected);
    }
}

/* ---- everybody sets a part, everybody reads all ---- */

static void set_my_part(struct seat *s, const struct batch *all)
{
    BATCH_FOREACH(c, all)
    if ((int)(c.key % (unsigned)s->seats) == s->number)
        CHECK_EQ(locus_set(s->worker, &c.key, 1, c.row), 0);
}

static void pull_and_check(struct seat *s, struct batch *all, int pushes)
{
    memset(all->values, 0xff, all->floats * sizeof(float)); /* not numbers */
    CHECK_EQ(locus_pull(s->worker, all->keys, all->n, all->values), 0);
    check_rows(all, pushes);
    seat_barrier(s);
}

/* Each pushes twice, once without waiting. */
static void exchange(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    locus_ticket ticket;
    batch_shuffle(&all, s);
    fill(&all, 1);
    set_my_part(s, &all);
    seat_barrier(s);
    pull_and_check(s, &all, 0);
    fill(&all, 2);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    CHECK_EQ(locus_push_async(s->worker, all.keys, all.n, all.values, &ticket), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
    pull_and_check(s, &all, 2 * s->seats);
    struct locus_stats stats = stats_of(s->node);
    CHECK(stats.calls_waited > 0 && stats.calls_waited_s > 0);
}

TEST(access, every_node_pulls_what_all_set_and_pushed)
{
    static const struct {
        int nodes;
        unsigned workers, shards, tables; /* the longest rows only once */
    } of[] = {{2, 1, 1, MIXED}, {4, 1, 4, MIXED - 1}, {2, 4, 1, MIXED - 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct team t = {
            TEAM_OF(of[i].nodes, of[i].workers, of[i].shards, LOCUS_STATIC, mixed, of[i].tables)};
        team_run(&t, exchange);
    }
}

/* ---- long calls with keys that repeat ---- */

enum { LONG_CALL = 100000, LONG_ROWS = 30000, LONG_LENGTH = 4 };
static const struct locus_table long_table = {.rows = LONG_ROWS, .length = LONG_LENGTH};

static void draw_keys(int number, locus_key keys[LONG_CALL])
{
    unsigned seed = 77u + (unsigned)number;
    /* The half of them within 100 rows: these repeat hundreds of times in a call. */
    for (int i = 0; i < LONG_CALL; i++) {
        unsigned r = (unsigned)rand_r(&seed);
        keys[i] = r % (i % 2 ? 100 : LONG_ROWS);
    }
}

static void count_keys(const struct seat *s, locus_key keys[LONG_CALL], unsigned counts[LONG_ROWS])
{
    for (int number = 0; number < s->seats; number++) {
        draw_keys(number, keys);
        for (int i = 0; i < LONG_CALL; i++) counts[keys[i]]++;
    }
}

TEST_SEATS(access, call_of_a_hundred_thousand_keys_some_of_them_often, s,
           TEAM_OF(2, 2, 2, LOCUS_STATIC, &long_table, 1))
{
    CLOSED_BY(batch_free)
    struct batch b = batch_new(s->node, LONG_CALL, (size_t)LONG_CALL * LONG_LENGTH);
    CLOSED_BY(free_at) unsigned *counts = calloc(LONG_ROWS, sizeof *counts);
    CHECK(counts != NULL);
    draw_keys(s->number, b.keys);
    for (int i = 0; i < LONG_CALL * LONG_LENGTH; i++) b.values[i] = (float)(1 + i % LONG_LENGTH);
    CHECK_EQ(locus_push(s->worker, b.keys, LONG_CALL, b.values), 0);
    seat_barrier(s);
    count_keys(s, b.keys, counts);
    draw_keys(s->number, b.keys);
    CHECK_EQ(locus_pull(s->worker, b.keys, LONG_CALL, b.values), 0);
    for (int i = 0; i < LONG_CALL; i++)
        for (int f = 0; f < LONG_LENGTH; f++)
            CHECK_EQ(b.values[i * LONG_LENGTH + f], counts[b.keys[i]] * (unsigned)(1 + f));
}
