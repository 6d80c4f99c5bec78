/* Every technique by its statistics: what moved, what was copied, what went remote. What is set, and
 * what stays where it is: the simulation of the protocol. */
#include "team.h"

#include <errno.h>

enum { NODES = 3, ROWS = 300, LENGTH = 8 };

static const struct locus_table rows_table[] = {{.rows = ROWS, .length = LENGTH}};

/* What all nodes counted: sums of fields of locus_stats, atomic. */
struct total {
    uint64_t pulled, pulled_remote, pushed_local, pushed_replica, pushed_remote, relocated_in,
        relocated_out, replicas_created, replicas_dropped, replicas_now, owned_now, intents_late;
};

static struct team team_of(enum locus_technique technique, int nodes, void *shared)
{
    return (struct team){TEAM_OF(nodes, 1, 2, technique, rows_table, 1), .shared = shared};
}

/* By one worker of each node. */
static void add_up(struct seat *s)
{
    struct total *t = s->team->shared;
    const struct locus_stats mine = stats_of(s->node);
#define ADD(to, n) __atomic_fetch_add(&t->to, n, __ATOMIC_RELAXED)
    ADD(pulled, mine.pulled_local + mine.pulled_replica + mine.pulled_remote);
    ADD(pulled_remote, mine.pulled_remote);
    ADD(pushed_local, mine.pushed_local);
    ADD(pushed_replica, mine.pushed_replica);
    ADD(pushed_remote, mine.pushed_remote);
    ADD(relocated_in, mine.relocated_in);
    ADD(relocated_out, mine.relocated_out);
    ADD(replicas_created, mine.replicas_created);
    ADD(replicas_dropped, mine.replicas_dropped);
    ADD(replicas_now, mine.replicas_now);
    ADD(owned_now, mine.owned_now);
    ADD(intents_late, mine.intents_late);
#undef ADD
}

static bool is_local(struct seat *s, locus_key key)
{
    float row[LENGTH];
    int rc = locus_pull_local(s->worker, key, row);
    CHECK(rc == 0 || rc == -EAGAIN);
    return rc == 0;
}

static void wait_until_local(struct seat *s, const locus_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) AWAIT(is_local(s, keys[i]));
}

static void intend_now(struct seat *s, const struct batch *b)
{
    locus_clock now = locus_current_clock(s->worker);
    CHECK_EQ(locus_intent(s->worker, b->keys, b->n, now, now + 1), 0);
}

static void end_intents(struct seat *s)
{
    locus_advance_clock(s->worker);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static void fill(const struct batch *b, float value)
{
    for (size_t i = 0; i < b->floats; i++) b->values[i] = value;
}

static void check_pulled(struct seat *s, struct batch *b, float value)
{
    fill(b, -1);
    CHECK_EQ(locus_pull(s->worker, b->keys, b->n, b->values), 0);
    for (size_t i = 0; i < b->floats; i++) CHECK(b->values[i] == value);
}

/* ---- one node at a time ---- */

/* Each node in turn intends, pushes and pulls all rows. */
static void in_turn(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    for (int turn = 0; turn < s->seats; turn++) {
        if (turn == s->number) {
            intend_now(s, &all);
            if (s->team->technique != LOCUS_STATIC) wait_until_local(s, all.keys, all.n);
            fill(&all, 1);
            CHECK_EQ(locus_push(s->worker, all.keys, all.n, all.values), 0);
            check_pulled(s, &all, (float)(turn + 1));
        }
        end_intents(s);
    }
    struct locus_stats now = stats_of(s->node);
    CHECK_EQ(now.replicas_now,
             s->team->technique == LOCUS_FULL_REPLICATION ? ROWS - now.owned_now : 0);
    add_up(s);
}

/* Of all nodes together, in rows; MOVED: to the first node what was not at home there, to each of
 * the others all of it. */
enum { OTHERS = (NODES - 1) * ROWS, ALL = NODES * ROWS, MOVED = -1 };
static const struct turns {
    enum locus_technique technique;
    int relocated, created, dropped, remote, pushed_here, pushed_replica, replicas;
} turns[] = {
    {LOCUS_ADAPTIVE, MOVED, 0, 0, 0, ALL, 0, 0},
    {LOCUS_RELOCATE, MOVED, 0, 0, 0, ALL, 0, 0},
    {LOCUS_REPLICATE, 0, OTHERS, OTHERS, 0, ROWS, OTHERS, 0},
    {LOCUS_STATIC, 0, 0, 0, OTHERS, ROWS, 0, 0},
    {LOCUS_FULL_REPLICATION, 0, OTHERS, 0, 0, ROWS, OTHERS, OTHERS},
};

TEST(techniques, stats_of_one_node_at_a_time)
{
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        const struct turns *right = &turns[i];
        struct total t = {0};
        struct team team = team_of(right->technique, NODES, &t);
        team_run(&team, in_turn);
        const struct total *s = &t;
        CHECK_EQ(s->owned_now, ROWS);
        if (right->relocated == MOVED)
            CHECK(s->relocated_in > OTHERS && s->relocated_in < ALL);
        else
            CHECK_EQ(s->relocated_in, 0);
        CHECK_EQ(s->relocated_in, s->relocated_out);
        if (right->technique != LOCUS_FULL_REPLICATION)
            CHECK_EQ(s->replicas_created, right->created);
        CHECK_EQ(s->replicas_dropped, right->dropped);
        CHECK_EQ(s->pulled_remote, right->remote);
        CHECK_EQ(s->pushed_remote, right->remote);
        CHECK_EQ(s->pushed_local, right->pushed_here);
        CHECK_EQ(s->pushed_replica, right->pushed_replica);
        CHECK_EQ(s->replicas_now, right->replicas);
        CHECK(s->pulled >= ALL);
        if (right->technique == LOCUS_ADAPTIVE) CHECK_EQ(s->intents_late, 0);
    }
}

/* ---- when to act ---- */

/* An intent for the far future, and one for now of the last key alone. */
static void look_ahead(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    locus_key last = ROWS - 1;
    if (s->number == 0) {
        CHECK_EQ(locus_intent(s->worker, all.keys, ROWS - 1, 1000000, 1000001), 0);
        CHECK_EQ(locus_intent(s->worker, &last, 1, 0, 1000001), 0);
        wait_until_local(s, &last, 1);
        if (s->team->lab) wait_until_local(s, all.keys, ROWS);
    }
    CHECK_EQ(locus_quiesce(s->worker), 0);
    if (s->number == 0 && !s->team->lab) CHECK(stats_of(s->node).relocated_in <= 1);
}

TEST(techniques, intent_is_acted_on_in_time_or_immediately)
{
    for (int immediately = 0; immediately <= 1; immediately++) {
        struct team team = team_of(LOCUS_ADAPTIVE, 2, NULL);
        if (immediately) team.lab = "immediate";
        team_run(&team, look_ahead);
    }
}

enum { ROUNDS_A_SECOND = 20 };

/* Intents begin and end all the time, and nobody waits for one. */
static void come_and_go(struct seat *s)
{
    float row[LENGTH];
    double began = now_s();
    uint64_t rounds = stats_of(s->node).rounds;
    do {
        locus_key key = seat_random(s, ROWS);
        locus_clock now = locus_advance_clock(s->worker);
        CHECK_EQ(locus_intent(s->worker, &key, 1, now, now + 2), 0);
        CHECK_EQ(locus_pull(s->worker, &key, 1, row), 0);
    } while (now_s() < began + 0.4);
    rounds = stats_of(s->node).rounds - rounds;
    CHECK((double)rounds <= s->team->shards * (ROUNDS_A_SECOND * (now_s() - began) + 2));
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

TEST(techniques, limited_rounds_are_those_of_intents_too)
{
    static const enum locus_technique technique[] = {LOCUS_ADAPTIVE, LOCUS_REPLICATE,
                                                     LOCUS_RELOCATE};
    for (int i = 0; i < 3; i++) {
        struct team team = team_of(technique[i], 2, NULL);
        team.lab = "rounds=20";
        team_run(&team, come_and_go);
    }
}
