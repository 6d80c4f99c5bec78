/* Rows that move while everybody uses them: what everybody reads, and what the statistics say. */
#include "team.h"

#include <time.h>

enum { ROWS = 1000, LENGTH = 16 };

static const struct locus_table rows_table[] = {{.rows = ROWS, .length = LENGTH}};

static struct team team_of(int nodes, unsigned shards)
{
    return (struct team){.nodes = nodes,
                         .workers = 1,
                         .shards = shards,
                         .is_managed = true,
                         .technique = LOCUS_RELOCATE,
                         .tables = rows_table,
                         .table_count = 1};
}

/* Each node in turn takes all rows, adds to each, and owns them all. */
static void go_round(struct seat *s)
{
    static const float one[LENGTH] = {1};
    struct batch all = batch_of_all(s->node);
    for (int round = 0; round < 2 * s->seats; round++) {
        if (round % s->seats == s->number) {
            CHECK_EQ(locus_localize(s->worker, all.keys, all.n), 0);
            struct locus_stats stats = stats_of(s->node);
            CHECK_EQ(stats.owned_now, ROWS);
            CHECK_EQ(locus_owned(s->node, 0, all.keys, ROWS), ROWS);
            for (size_t i = 0; i < all.n; i++)
                CHECK_EQ(locus_push(s->worker, &all.keys[i], 1, one), 0);
            CHECK_EQ(stats_of(s->node).pushed_remote, 0);
        }
        seat_barrier(s);
        CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
        BATCH_FOREACH(c, &all)
        {
            CHECK_EQ(c.row[0], round + 1);
            CHECK_EQ(c.row[1], 0);
        }
        seat_barrier(s);
    }
    struct locus_histogram h;
    CHECK_EQ(locus_histogram_read(s->node, LOCUS_RELOCATION_TIME, &h), 0);
    CHECK(h.sum > 0);
    batch_free(&all);
}

TEST(relocate, in_turn)
{
    struct team t = team_of(3, 2);
    team_run(&t, go_round);
}

/* Without localize nothing moves. */
static void only_access(struct seat *s)
{
    struct batch all = batch_of_all(s->node);
    CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
    CHECK_EQ(locus_pull(s->worker, all.keys, all.n, all.values), 0);
    struct locus_stats stats = stats_of(s->node);
    CHECK_EQ(stats.relocated_in + stats.relocated_out + stats.forwards, 0);
    batch_free(&all);
}

TEST(relocate, only_when_asked)
{
    struct team t = team_of(2, 1);
    team_run(&t, only_access);
}

/* What moves after quiesce would have been asked for by an intent that has expired. */
static void rest_after_quiesce(struct seat *s)
{
    struct batch all = batch_of_all(s->node);
    for (int round = 0; round < 20; round++) {
        locus_clock now = locus_current_clock(s->worker);
        CHECK_EQ(locus_intent(s->worker, all.keys, all.n, now, now + 1), 0);
        locus_advance_clock(s->worker);
        CHECK_EQ(locus_quiesce(s->worker), 0);
        uint64_t moved = stats_of(s->node).relocated_in;
        /* for a mistake to show; the right answer never depends on it */
        struct timespec moment = {.tv_nsec = 2000000};
        nanosleep(&moment, NULL);
        CHECK_EQ(stats_of(s->node).relocated_in, moved);
        seat_barrier(s);
    }
    batch_free(&all);
}

TEST(relocate, nothing_moves_after_quiesce_for_what_has_expired)
{
    struct team t = team_of(3, 2);
    team_run(&t, rest_after_quiesce);
}
