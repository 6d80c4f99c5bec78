/* Rows that move between the shards of several nodes: who sends what to whom, in which order things
 * take effect, and what a peer may not send. Delivery is by hand; random storms are the simulator's
 * (test/sim). */
#include "protocol/location.h"
#include "test.h"
#include "world.h"

#include <errno.h>

enum { KEYS = 64, LENGTH = 5, WORKERS = 4, NODES = 4, CALLS = 8 };

#define WIDE ((size_t)1 << 20) /* a window that is never used up */

/* One key of one worker's request. */
struct call {
    struct request request;
    struct request_item item;
    float values[LENGTH];
};

static struct world *moving(unsigned nodes, uint64_t seed)
{
    return world_new_moving(nodes, KEYS, LENGTH, WORKERS, WIDE, seed);
}

static locus_key key_at_home(struct world *w, unsigned home)
{
    for (locus_key key = 0;; key++)
        if (row_ref_home(store_row_ref(&w->node[0].store, key)) == home) return key;
}

static struct location known(struct world *w, unsigned rank, locus_key key)
{
    return location_of(&w->node[rank].shard, store_row_ref(&w->node[rank].store, key));
}

/* `value` in all floats: what is pushed or set. */
static void ask(struct world *w, struct call *c, unsigned rank, unsigned worker, unsigned number,
                enum request_kind kind, locus_key key, float value)
{
    for (int i = 0; i < LENGTH; i++) c->values[i] = value;
    c->item = (struct request_item){.key = key, .values = c->values};
    world_request(&c->request, worker, number, kind, &c->item, 1);
    CHECK(shard_serve(&w->node[rank].shard, &c->request));
}

static void ask_localize(struct world *w, struct call *c, unsigned rank, unsigned worker,
                         unsigned number, locus_key key)
{
    ask(w, c, rank, worker, number, REQUEST_LOCALIZE, key, 0);
}

static void ask_pull(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key)
{
    ask(w, c, rank, worker, number, REQUEST_PULL, key, 0);
}

static void ask_push(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key, float value)
{
    ask(w, c, rank, worker, number, REQUEST_PUSH, key, value);
}

/* What may find no room: it is offered until it does. */
static void prepare(struct call *c, unsigned worker, enum request_kind kind, locus_key key)
{
    c->item = (struct request_item){.key = key, .values = c->values};
    world_request(&c->request, worker, 0, kind, &c->item, 1);
}

static bool is_done(const struct call *c)
{
    return !c->request.busy;
}

/* What was pulled: the same in all floats. */
static int pulled(const struct call *c)
{
    CHECK(is_done(c));
    for (int i = 1; i < LENGTH; i++) CHECK(c->values[i] == c->values[0]);
    return (int)c->values[0];
}

/* All frames of one link; they must be there. */
static void deliver(struct world *w, unsigned from, unsigned to)
{
    const char *why;
    CHECK(world_deliver(w, from, to, &why));
    do CHECK(why == NULL);
    while (world_deliver(w, from, to, &why));
}

/* Link by link: "120" is from 1 to 2, and from 2 to 0. */
static void travel(struct world *w, const char *nodes)
{
    for (; nodes[1] != '\0'; nodes++)
        deliver(w, (unsigned)(nodes[0] - '0'), (unsigned)(nodes[1] - '0'));
}

static unsigned entries(const struct world *w, unsigned from, unsigned to)
{
    const struct world_link *l = &w->link[from][to];
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++)
        n += l->frame[(l->first + i) % WORLD_FRAMES_MAX].header.count;
    return n;
}

/* From request to end, nothing else under way. */
static int run(struct world *w, unsigned rank, enum request_kind kind, locus_key key, float value)
{
    static struct call c;
    ask(w, &c, rank, 0, 0, kind, key, value);
    world_deliver_all(w);
    CHECK(is_done(&c));
    return kind == REQUEST_LOCALIZE ? 0 : pulled(&c);
}

static int value_at(struct world *w, unsigned rank, locus_key key)
{
    return run(w, rank, REQUEST_PULL, key, 0);
}

/* The row, to this node. */
static void bring(struct world *w, unsigned rank, locus_key key)
{
    run(w, rank, REQUEST_LOCALIZE, key, 0);
}

/* At rest: one owner, whose term says how often the row moved; nothing is remembered of requests
 * that are over. */
static void check_rest(struct world *w, locus_key key, unsigned owner, uint64_t term)
{
    for (unsigned rank = 0; rank < w->nodes; rank++) {
        struct shard *s = &w->node[rank].shard;
        CHECK_EQ(known(w, rank, key).is_here, rank == owner);
        CHECK(known(w, rank, key).term <= term);
        CHECK_EQ(records_in_use(&s->records), 0);
        CHECK_EQ(s->parked_bytes, 0);
        for (unsigned peer = 0; peer < w->nodes; peer++) CHECK_EQ(s->asked_bytes[peer], 0);
    }
    CHECK_EQ(known(w, owner, key).term, term);
    unsigned home = row_ref_home(store_row_ref(&w->node[0].store, key));
    CHECK_EQ(known(w, home, key).owner, owner);
    CHECK_EQ(known(w, home, key).term, term);
}

/* ---- messages ---- */

TEST(relocation, takes_two_messages_when_the_owner_is_known)
{
    struct world *w = moving(3, 1);
    locus_key key = key_at_home(w, 1);
    struct call c = {0};
    run(w, 2, REQUEST_SET, key, 7);
    ask_localize(w, &c, 0, 0, 0, key);
    deliver(w, 0, 1);
    CHECK(!known(w, 1, key).is_here);
    CHECK(!is_done(&c));
    deliver(w, 1, 0);
    CHECK(is_done(&c));
    CHECK(world_is_quiet(w));
    check_rest(w, key, 0, 1);
    CHECK_EQ(w->node[1].shard.counters.relocated_out, 1);
    CHECK_EQ(w->node[0].shard.counters.relocated_in, 1);
    CHECK_EQ(w->node[1].shard.histograms.hops[0], 2); /* of the set, too */
    CHECK_EQ(value_at(w, 0, key), 7);
    world_free(w);
}

TEST(relocation, goes_by_way_of_the_home_when_the_hint_is_the_home)
{
    struct world *w = moving(3, 2);
    locus_key key = key_at_home(w, 1);
    struct call c = {0};
    run(w, 2, REQUEST_SET, key, 7);
    bring(w, 2, key);
    ask_localize(w, &c, 0, 0, 0, key);
    deliver(w, 0, 1); /* the home sends it on */
    deliver(w, 1, 2);
    deliver(w, 2, 0); /* the row: three messages */
    CHECK(is_done(&c));
    CHECK_EQ(known(w, 1, key).owner, 2);
    deliver(w, 2, 1); /* the news */
    CHECK(world_is_quiet(w));
    check_rest(w, key, 0, 2);
    CHECK_EQ(w->node[1].shard.counters.forwards, 1);
    CHECK_EQ(w->node[2].shard.histograms.hops[1], 1);
    CHECK_EQ(value_at(w, 1, key), 7);
    world_free(w);
}

TEST(relocation, of_a_row_that_is_here_needs_none)
{
    struct world *w = moving(2, 3);
    struct call c = {0};
    ask_localize(w, &c, 1, 0, 0, key_at_home(w, 1));
    CHECK(is_done(&c));
    CHECK(world_is_quiet(w));
    check_rest(w, key_at_home(w, 1), 1, 0);
    world_free(w);
}

TEST(relocation, of_a_row_that_was_never_written_carries_no_values)
{
    struct world *w = moving(2, 4);
    locus_key key = key_at_home(w, 1);
    struct call c = {0};
    ask_localize(w, &c, 0, 0, 0, key);
    deliver(w, 0, 1);
    CHECK_EQ(w->link[1][0].frame[w->link[1][0].first].header.body_bytes, wire_entry_bytes(0));
    deliver(w, 1, 0);
    CHECK(is_done(&c));
    CHECK_EQ(store_held_rows(&w->node[0].store), 0);
    CHECK_EQ(value_at(w, 0, key), 0);
    CHECK_EQ(run(w, 1, REQUEST_PUSH, key, 3), 3);
    CHECK_EQ(value_at(w, 0, key), 3);
    check_rest(w, key, 0, 1);
    world_free(w);
}

/* ---- hints ---- */

/* Node 0 knows an owner of long ago; each node on the way knows the next one. */
TEST(relocation, a_chain_of_stale_hints_leads_to_the_owner)
{
    struct world *w = moving(NODES, 5);
    locus_key key = key_at_home(w, 3);
    run(w, 3, REQUEST_SET, key, 9);
    bring(w, 1, key);
    CHECK_EQ(value_at(w, 0, key), 9);
    CHECK_EQ(known(w, 0, key).owner, 1); /* learned from the answer */
    bring(w, 2, key);
    bring(w, 3, key);
    CHECK_EQ(known(w, 0, key).owner, 1);
    CHECK_EQ(known(w, 1, key).owner, 2);
    CHECK_EQ(known(w, 2, key).owner, 3);
    CHECK_EQ(value_at(w, 0, key), 9);
    CHECK_EQ(w->node[3].shard.histograms.hops[2], 1);
    CHECK_EQ(known(w, 0, key).owner, 3);
    check_rest(w, key, 3, 3);
    world_free(w);
}

/* However often the row has moved: at rest nobody is sent to a node twice. */
TEST(relocation, hops_at_rest_are_fewer_than_nodes)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct world *w = moving(NODES, seed);
        locus_key key = key_at_home(w, (unsigned)world_random(w, NODES));
        for (int i = 0; i < 30; i++) {
            unsigned rank = (unsigned)world_random(w, NODES);
            run(w, rank, world_random(w, 3) ? REQUEST_LOCALIZE : REQUEST_PULL, key, 0);
        }
        for (unsigned rank = 0; rank < NODES; rank++)
            for (unsigned hops = NODES - 1; hops < SHARD_HOPS; hops++)
                CHECK_EQ(w->node[rank].shard.histograms.hops[hops], 0);
        world_free(w);
    }
}

TEST(relocation, older_news_change_nothing)
{
    struct world *w = moving(3, 6);
    locus_key key = key_at_home(w, 2);
    struct call c = {0};
    bring(w, 1, key); /* term 1 */
    /* term 2: the news of it stay on their way from 1 to the home */
    ask_localize(w, &c, 0, 0, 0, key);
    travel(w, "0210");
    CHECK(is_done(&c));
    CHECK_EQ(known(w, 2, key).owner, 1);
    ask_localize(w, &c, 1, 0, 0, key); /* term 3, and its news from 0 come first */
    travel(w, "101");
    deliver(w, 0, 2);
    CHECK_EQ(known(w, 2, key).owner, 1);
    CHECK_EQ(known(w, 2, key).term, 3);
    deliver(w, 1, 2); /* what is older, at last */
    CHECK_EQ(known(w, 2, key).owner, 1);
    check_rest(w, key, 1, 3);
    world_free(w);
}

/* ---- requests that meet a row on its way ---- */

/* They follow it on the same link. */
TEST(relocation, requests_that_come_to_the_old_owner_are_served_behind_the_row)
{
    struct world *w = moving(3, 7);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0}, push = {0}, pull = {0};
    ask_localize(w, &taker, 0, 0, 0, key);
    ask_push(w, &push, 2, 0, 0, key, 4);
    ask_pull(w, &pull, 2, 1, 0, key);
    deliver(w, 0, 1);
    deliver(w, 2, 1);
    CHECK_EQ(entries(w, 1, 0), 3);
    travel(w, "102");
    CHECK(is_done(&taker) && is_done(&push));
    CHECK_EQ(pulled(&pull), 4);
    CHECK_EQ(w->node[0].shard.histograms.parked.sum, 0);
    CHECK_EQ(w->node[0].shard.histograms.hops[1], 2);
    check_rest(w, key, 0, 1);
    world_free(w);
}

/* The row goes from 2 to 0 and stays on its way. The home, 1, knows already, and sends there. */
static void begin_slow_move(struct world *w, locus_key key, struct call *taker)
{
    bring(w, 2, key);
    run(w, 2, REQUEST_SET, key, 100);
    ask_localize(w, taker, 0, 0, 0, key);
    travel(w, "0121");
    CHECK_EQ(known(w, 1, key).owner, 0);
    CHECK(!known(w, 0, key).is_here);
}

TEST(relocation, requests_that_come_before_the_row_are_parked_and_served_in_order)
{
    struct world *w = moving(3, 8);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0}, c[4] = {0};
    begin_slow_move(w, key, &taker);
    ask_pull(w, &c[0], 1, 0, 0, key);
    ask(w, &c[1], 1, 1, 0, REQUEST_SET, key, 20);
    ask_push(w, &c[2], 1, 2, 0, key, 3);
    ask_pull(w, &c[3], 1, 3, 0, key);
    deliver(w, 1, 0);
    CHECK_EQ(known(w, 0, key).owner, 0); /* it has learned that the row is on its way */
    CHECK_EQ(records_in_use(&w->node[0].shard.records), 1);
    w->now_ns += 5000;
    travel(w, "201");
    CHECK(is_done(&taker) && is_done(&c[1]) && is_done(&c[2]));
    CHECK_EQ(pulled(&c[0]), 100);
    CHECK_EQ(pulled(&c[3]), 23);
    CHECK_EQ(w->node[0].shard.histograms.parked.sum, 4 * 5000);
    check_rest(w, key, 0, 2);
    world_free(w);
}

/* What is parked behind a localize follows the row. */
TEST(relocation, a_parked_localize_takes_the_row_on_and_the_others_with_it)
{
    struct world *w = moving(3, 9);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0}, c[4] = {0};
    begin_slow_move(w, key, &taker);
    ask_push(w, &c[0], 1, 0, 0, key, 1);
    ask_localize(w, &c[1], 1, 1, 0, key);
    deliver(w, 1, 0);
    ask_pull(w, &c[2], 1, 2, 0, key); /* waits at 1: the row is wanted there */
    CHECK_EQ(entries(w, 1, 0), 0);
    ask_pull(w, &c[3], 2, 0, 0, key); /* to 0, as far as 2 knows */
    deliver(w, 2, 0);                 /* the row, and the pull behind it */
    CHECK(is_done(&taker));
    CHECK(!known(w, 0, key).is_here);
    deliver(w, 0, 1);
    CHECK(is_done(&c[0]) && is_done(&c[1]));
    CHECK_EQ(pulled(&c[2]), 101);
    deliver(w, 1, 2);
    CHECK_EQ(pulled(&c[3]), 101);
    check_rest(w, key, 1, 3);
    world_free(w);
}

/* Its own requests wait with it, and are served without a message. */
TEST(relocation, requests_of_the_node_that_the_row_goes_to_wait_for_it)
{
    struct world *w = moving(2, 10);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0}, again = {0}, push = {0}, pull = {0};
    ask_localize(w, &taker, 0, 0, 0, key);
    ask_push(w, &push, 0, 1, 0, key, 6);
    ask_localize(w, &again, 0, 2, 0, key);
    ask_pull(w, &pull, 0, 3, 0, key);
    CHECK_EQ(entries(w, 0, 1), 1);
    world_deliver_all(w);
    CHECK(is_done(&taker) && is_done(&push) && is_done(&again));
    CHECK_EQ(pulled(&pull), 6);
    CHECK_EQ(w->node[0].shard.counters.relocated_in, 1);
    check_rest(w, key, 0, 1);
    world_free(w);
}

/* A request goes out, and the row comes: what was asked elsewhere comes back. */
TEST(relocation, a_request_that_meets_the_row_at_home_again_is_served_there)
{
    struct world *w = moving(3, 11);
    locus_key key = key_at_home(w, 1);
    struct call push = {0}, taker = {0}, pull = {0};
    ask_localize(w, &taker, 0, 0, 0, key);
    deliver(w, 0, 1);
    ask_push(w, &push, 1, 0, 0, key, 2); /* to 0, behind the row */
    deliver(w, 1, 0);
    CHECK(is_done(&taker));
    CHECK(!is_done(&push));
    deliver(w, 0, 1);
    CHECK(is_done(&push));
    ask_push(w, &push, 0, 1, 0, key, 3);
    CHECK(is_done(&push));
    ask_localize(w, &taker, 1, 0, 0, key);
    deliver(w, 1, 0);
    ask_pull(w, &pull, 0, 0, 0, key);
    deliver(w, 0, 1); /* the row, and the pull behind it */
    deliver(w, 1, 0);
    CHECK_EQ(pulled(&pull), 5);
    check_rest(w, key, 1, 2);
    world_free(w);
}

/* ---- program order ---- */

TEST(relocation, what_a_worker_asks_of_a_key_waits_for_what_it_asked_before)
{
    struct world *w = moving(2, 12);
    locus_key key = key_at_home(w, 1);
    struct call push[2] = {0}, pull = {0}, other = {0};
    ask_push(w, &push[0], 0, 0, 0, key, 1);
    ask_push(w, &push[1], 0, 0, 1, key, 2);
    ask_pull(w, &pull, 0, 0, 2, key);
    CHECK_EQ(entries(w, 0, 1), 1);
    ask_pull(w, &other, 0, 1, 0, key); /* behind them, although another worker's: in order */
    for (int i = 0; i < 2; i++) {
        deliver(w, 0, 1);
        deliver(w, 1, 0);
    }
    CHECK(is_done(&push[0]) && is_done(&push[1]));
    CHECK(!is_done(&pull));
    world_deliver_all(w);
    CHECK_EQ(pulled(&pull), 3);
    CHECK_EQ(pulled(&other), 3);
    check_rest(w, key, 1, 0);
    world_free(w);
}

/* A push is under way to the owner, and another worker's localize behind it: the row comes back
 * with the push in it. */
TEST(relocation, a_row_that_comes_is_not_read_past_an_own_update_under_way)
{
    struct world *w = moving(2, 13);
    locus_key key = key_at_home(w, 1);
    struct call push = {0}, taker = {0}, pull = {0};
    ask_push(w, &push, 0, 0, 0, key, 8);
    ask_localize(w, &taker, 0, 1, 0, key);
    ask_pull(w, &pull, 0, 0, 1, key);
    CHECK_EQ(entries(w, 0, 1), 2);
    deliver(w, 0, 1);
    CHECK(!is_done(&pull));
    deliver(w, 1, 0);
    CHECK(is_done(&push) && is_done(&taker));
    CHECK_EQ(pulled(&pull), 8);
    CHECK(world_is_quiet(w));
    check_rest(w, key, 0, 1);
    world_free(w);
}

/* The row is here while an update of ours still runs after it: it must come before anybody here
 * reads. */
TEST(relocation, a_row_that_is_here_waits_for_own_updates_that_run_after_it)
{
    struct world *w = moving(3, 23);
    locus_key key = key_at_home(w, 1);
    struct call push = {0}, early = {0}, taker = {0}, again = {0}, pull = {0}, home = {0};
    run(w, 2, REQUEST_SET, key, 10);
    bring(w, 2, key);
    ask_localize(w, &home, 1, 0, 0, key);
    deliver(w, 1, 2); /* the row leaves 2 for 1 */
    ask_push(w, &push, 0, 0, 0, key, 4);
    ask_pull(w, &early, 0, 1, 1, key);
    deliver(w, 0, 1); /* sent on to 2, which has it no more */
    deliver(w, 2, 1);
    CHECK(is_done(&home));
    ask_localize(w, &taker, 0, 3, 0, key);
    deliver(w, 0, 1);
    deliver(w, 1, 0); /* the row is at 0; the push and the early pull are between 1 and 2 */
    CHECK(is_done(&taker) && !is_done(&push));
    ask_pull(w, &pull, 0, 2, 0, key);
    ask_localize(w, &again, 0, 3, 1, key);
    CHECK(!is_done(&pull));
    travel(w, "1210");
    CHECK(is_done(&push) && is_done(&again));
    CHECK_EQ(pulled(&early), 14);
    CHECK_EQ(pulled(&pull), 14);
    CHECK_EQ(w->node[0].shard.histograms.hops[3], 2);
    CHECK(world_is_quiet(w));
    check_rest(w, key, 0, 3);
    world_free(w);
}

/* ---- everybody at once ---- */

static void circle(unsigned nodes, uint64_t seed)
{
    struct world *w = moving(nodes, seed);
    locus_key key = key_at_home(w, (unsigned)world_random(w, nodes));
    static struct call taker[NODES][CALLS], push[NODES][CALLS];
    const char *why;
    int sum = 0;
    for (unsigned round = 0; round < CALLS; round++)
        for (unsigned rank = 0; rank < nodes; rank++) {
            ask_localize(w, &taker[rank][round], rank, 0, round, key);
            ask_push(w, &push[rank][round], rank, 1, round, key, 1);
            sum++;
            for (unsigned i = (unsigned)world_random(w, 4); i > 0; i--)
                world_step(w, &why), CHECK(why == NULL);
        }
    world_deliver_all(w);
    unsigned owner = nodes;
    uint64_t moves = 0;
    for (unsigned rank = 0; rank < nodes; rank++) {
        for (unsigned round = 0; round < CALLS; round++)
            CHECK(is_done(&taker[rank][round]) && is_done(&push[rank][round]));
        moves += w->node[rank].shard.counters.relocated_in;
        if (known(w, rank, key).is_here) owner = rank;
    }
    CHECK(owner < nodes);
    check_rest(w, key, owner, moves);
    CHECK_EQ(value_at(w, (owner + 1) % nodes, key), sum);
    world_free(w);
}

TEST(relocation, in_a_circle_ends_with_one_owner_and_every_update)
{
    for (uint64_t seed = 1; seed <= 150; seed++) circle(2 + seed % 3, seed);
}

/* ---- bounds and losses ---- */

TEST(relocation, who_waits_for_a_key_goes_on_when_there_is_credit_again)
{
    struct world *w = world_new_moving(2, KEYS, LENGTH, WORKERS,
                                       wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 14);
    locus_key key = key_at_home(w, 1), second = key + 1;
    while (row_ref_home(store_row_ref(&w->node[0].store, second)) != 1) second++;
    struct call push = {0}, pull = {0}, other = {0};
    ask_push(w, &push, 0, 0, 0, key, 1);
    ask_pull(w, &pull, 0, 0, 1, key); /* waits for the push */
    deliver(w, 0, 1);
    CHECK_EQ(w->node[0].shard.asked_bytes[1], w->node[0].shard.credit_bytes);
    prepare(&other, 1, REQUEST_PULL, second);
    CHECK(!shard_serve(&w->node[0].shard, &other.request)); /* no room */
    deliver(w, 1, 0);                                       /* room, and the pull takes it */
    CHECK(is_done(&push));
    CHECK(!shard_serve(&w->node[0].shard, &other.request));
    world_deliver_all(w);
    CHECK_EQ(pulled(&pull), 1);
    CHECK(shard_serve(&w->node[0].shard, &other.request));
    world_deliver_all(w);
    CHECK(is_done(&other));
    check_rest(w, key, 1, 0);
    world_free(w);
}

/* An answer makes room in one window, and what waited is to go through another one, which is used
 * up. */
TEST(relocation, who_waits_for_credit_is_looked_at_every_turn)
{
    struct world *w = world_new_moving(3, KEYS, LENGTH, WORKERS,
                                       wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 15);
    locus_key key = key_at_home(w, 1), second = key_at_home(w, 2);
    struct call taker = {0}, push = {0}, pull = {0}, other = {0}, late = {0};
    ask_push(w, &push, 0, 0, 0, key, 1);
    ask_pull(w, &pull, 0, 0, 1, key);
    ask_localize(w, &taker, 2, 0, 0, key);
    travel(w, "212");
    deliver(w, 0, 1); /* the push is sent on to 2 */
    deliver(w, 1, 2);
    ask_pull(w, &other, 0, 1, 0, second); /* uses the window of 2 up */
    deliver(w, 2, 0);                     /* the push's answer: the pull would go to 2 */
    CHECK(is_done(&push));
    CHECK(!is_done(&pull));
    CHECK(w->node[0].shard.stalled != 0);
    CHECK_EQ(entries(w, 0, 2), 1);
    travel(w, "020");
    CHECK(is_done(&other));
    /* There is room now, but not for those who come later. */
    prepare(&late, 2, REQUEST_PULL, second);
    CHECK(!shard_serve(&w->node[0].shard, &late.request));
    shard_turn(&w->node[0].shard, ++w->now_ns);
    CHECK(w->node[0].shard.stalled == 0);
    CHECK(!shard_serve(&w->node[0].shard, &late.request)); /* the pull has taken it */
    world_deliver_all(w);
    CHECK_EQ(pulled(&pull), 1);
    CHECK(shard_serve(&w->node[0].shard, &late.request));
    world_deliver_all(w);
    CHECK(is_done(&late));
    check_rest(w, key, 2, 1);
    world_free(w);
}

TEST(relocation, a_lost_node_ends_what_waits_and_what_is_parked)
{
    struct world *w = moving(3, 16);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0}, waits = {0}, parked = {0};
    begin_slow_move(w, key, &taker);
    ask_pull(w, &waits, 0, 1, 0, key);
    ask_pull(w, &parked, 1, 0, 0, key);
    deliver(w, 1, 0);
    for (unsigned rank = 0; rank < 2; rank++) shard_fail(&w->node[rank].shard, -ECONNRESET);
    CHECK(is_done(&taker) && is_done(&waits) && is_done(&parked));
    CHECK_EQ(w->node[0].last_rc, -ECONNRESET);
    world_deliver_all(w); /* the row comes, and nobody is there */
    world_free(w);        /* nothing leaks */
}

TEST(relocation, to_a_node_whose_link_has_failed_takes_the_row_away_all_the_same)
{
    struct world *w = moving(2, 17);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0};
    float row[64]; /* the compiler looks at longer copies, too */
    run(w, 1, REQUEST_SET, key, 5);
    ask_localize(w, &taker, 0, 0, 0, key);
    w->link[1][0].cut = true;
    deliver(w, 0, 1);
    CHECK(!known(w, 1, key).is_here);
    CHECK_EQ(row_read(store_row_ref(&w->node[1].store, key), row), -EAGAIN);
    world_free(w);
}

/* ---- what cannot be ---- */

TEST(relocation, a_row_that_cannot_be_fails_the_link_with_the_reason)
{
    struct world *w = moving(3, 18);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0};
    ask_localize(w, &taker, 0, 0, 0, key);
    const struct wire_entry row = {.operation = WIRE_ROW,
                                   .flags = WIRE_LOCALIZED,
                                   .origin = 1,
                                   .length = LENGTH,
                                   .tag = request_tag(&taker.request, 0),
                                   .key = key,
                                   .term = 1};
    struct wire_entry wrong = row;
    wrong.tag ^= 1 << REQUEST_ITEM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "never asked");
    wrong = row;
    wrong.key = key_at_home(w, 2);
    CHECK_STR(world_receive(w, 0, 1, wrong), "something else");
    wrong.key = key_at_home(w, 0);
    CHECK_STR(world_receive(w, 0, 1, wrong), "here already");
    wrong = row;
    wrong.length = LENGTH - 1;
    CHECK_STR(world_receive(w, 0, 1, wrong), "another length");
    wrong = row;
    wrong.owner = 2;
    CHECK_STR(world_receive(w, 0, 1, wrong), "another node");
    wrong = row;
    wrong.term = 0;
    CHECK_STR(world_receive(w, 0, 1, wrong), "passed on");
    wrong.term = UINT64_C(1) << DIRECTORY_TERM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "no possible term");
    wrong = row;
    wrong.encoding = WIRE_AS_REPLICA;
    wrong.length = 0;
    CHECK_STR(world_receive(w, 0, 1, wrong), "at once");
    wrong = row;
    wrong.flags |= WIRE_HOLDER;
    CHECK_STR(world_receive(w, 0, 1, wrong), "at once");
    wrong.flags = WIRE_LOCALIZED | WIRE_ANSWERS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "at once");
    CHECK(!known(w, 0, key).is_here);
    CHECK(world_receive(w, 0, 1, row) == NULL);
    CHECK(is_done(&taker));
    CHECK_STR(world_receive(w, 0, 1, row), "here already");
    world_free(w);
}

TEST(relocation, a_row_of_an_ownership_that_has_passed_on_is_refused)
{
    struct world *w = moving(3, 19);
    locus_key key = key_at_home(w, 1);
    struct call taker = {0};
    for (unsigned rank = 2; rank > 0; rank--) bring(w, rank, key); /* term 2 */
    CHECK_EQ(value_at(w, 0, key), 0);                              /* and 0 knows it */
    ask_localize(w, &taker, 0, 0, 0, key);
    struct wire_entry row = {.operation = WIRE_ROW,
                             .flags = WIRE_LOCALIZED,
                             .tag = request_tag(&taker.request, 0),
                             .key = key};
    for (row.term = 1; row.term <= 2; row.term++)
        CHECK_STR(world_receive(w, 0, 1, row), "passed on");
    CHECK(world_receive(w, 0, 1, row) == NULL);
    world_free(w);
}

TEST(relocation, news_that_cannot_be_fail_the_link_with_the_reason)
{
    struct world *w = moving(3, 20);
    locus_key here = key_at_home(w, 0), key = key_at_home(w, 1);
    const struct wire_entry news = {.operation = WIRE_LOCATION, .owner = 2, .key = key, .term = 5};
    struct wire_entry wrong = news;
    wrong.owner = 3;
    CHECK_STR(world_receive(w, 0, 1, wrong), "does not exist");
    wrong = news;
    wrong.length = 1;
    CHECK(world_receive(w, 0, 1, wrong) != NULL);
    wrong = news;
    wrong.term = UINT64_C(1) << DIRECTORY_TERM_BITS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "no possible term");
    wrong = news;
    wrong.key = KEYS;
    CHECK_STR(world_receive(w, 0, 1, wrong), "does not exist");
    CHECK_EQ(known(w, 0, key).owner, 1);
    CHECK(world_receive(w, 0, 1, news) == NULL);
    CHECK_EQ(known(w, 0, key).owner, 2);
    wrong = news;
    wrong.key = here; /* whoever says that a row is elsewhere: it is here */
    CHECK(world_receive(w, 0, 1, wrong) == NULL);
    CHECK(known(w, 0, here).is_here);
    world_free(w);
}

TEST(relocation, a_request_that_cannot_be_fails_the_link_with_the_reason)
{
    struct world *w = moving(3, 21);
    locus_key key = key_at_home(w, 1);
    const struct wire_entry push = {
        .operation = WIRE_PUSH, .owner = 1, .origin = 2, .hops = 1, .key = key, .length = LENGTH};
    struct wire_entry wrong = push;
    for (wrong.length = 0; wrong.length < 8; wrong.length++)
        if (wrong.length != LENGTH) CHECK_STR(world_receive(w, 1, 0, wrong), "another length");
    wrong = push;
    wrong.operation = WIRE_LOCALIZE;
    CHECK_STR(world_receive(w, 1, 0, wrong), "another length");
    wrong = push;
    wrong.origin = 3;
    CHECK_STR(world_receive(w, 1, 0, wrong), "does not exist");
    wrong = push;
    wrong.owner = 3;
    CHECK_STR(world_receive(w, 1, 0, wrong), "does not exist");
    wrong = push;
    wrong.origin = 1; /* ours, which we never sent */
    CHECK_STR(world_receive(w, 1, 0, wrong), "never asked");
    CHECK_EQ(value_at(w, 1, key), 0);
    CHECK(world_receive(w, 1, 0, push) == NULL); /* forwarded: not from its origin */
    CHECK_EQ(w->node[1].shard.histograms.hops[1], 1);
    world_free(w);
}

/* Two nodes that take each other for the owner would send it to and fro for ever. */
TEST(relocation, a_request_by_an_ownership_that_another_has_fails_the_link)
{
    struct world *w = moving(3, 24);
    locus_key key = key_at_home(w, 1);
    CHECK(world_receive(
              w, 0, 1,
              (struct wire_entry){.operation = WIRE_LOCATION, .owner = 2, .key = key, .term = 5}) ==
          NULL);
    const struct wire_entry pull = {
        .operation = WIRE_PULL, .owner = 0, .origin = 1, .key = key, .term = 5};
    struct wire_entry other = pull;
    CHECK_STR(world_receive(w, 0, 1, pull), "another node has");
    for (other.term = 4; other.term <= 6; other.term += 2)
        CHECK(world_receive(w, 0, 1, other) == NULL);
    /* the older one was sent on, the younger one waits for the row */
    CHECK_EQ(entries(w, 0, 2), 1);
    CHECK_EQ(records_in_use(&w->node[0].shard.records), 1);
    world_free(w);
}

TEST(relocation, more_parked_than_all_credit_allows_fails_the_link)
{
    enum { WINDOW = 1000, NODES_HERE = 3 };
    struct world *w = world_new_moving(NODES_HERE, KEYS, LENGTH, WORKERS, WINDOW, 25);
    locus_key key = key_at_home(w, 1);
    const struct wire_entry push = {
        .operation = WIRE_PUSH, .owner = 0, .origin = 1, .key = key, .term = 5, .length = LENGTH};
    size_t fit = NODES_HERE * NODES_HERE * WINDOW / wire_entry_bytes(LENGTH);
    for (size_t i = 0; i < fit; i++) CHECK(world_receive(w, 0, 1, push) == NULL);
    CHECK_STR(world_receive(w, 0, 1, push), "credit of all nodes");
    world_free(w);
}

TEST(relocation, where_rows_do_not_move_nobody_sends_one)
{
    struct world *w = world_new(2, KEYS, LENGTH, WORKERS, WIDE, 22);
    locus_key key = key_at_home(w, 1);
    CHECK_STR(
        world_receive(w, 0, 1, (struct wire_entry){.operation = WIRE_ROW, .key = key, .term = 1}),
        "technique does not know");
    CHECK_STR(world_receive(w, 0, 1,
                            (struct wire_entry){.operation = WIRE_LOCATION, .key = key, .term = 1}),
              "technique does not know");
    CHECK_EQ(run(w, 0, REQUEST_LOCALIZE, key, 0), 0); /* done, and nothing has moved */
    CHECK(known(w, 1, key).is_here);
    world_free(w);
}
