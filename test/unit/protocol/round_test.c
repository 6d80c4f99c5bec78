/* When rounds begin that only synchronize. Time stands but for what the tests let
 * pass. */
#include "protocol/holders.h"
#include "protocol/location.h"
#include "protocol/owner.h"
#include "world.h"

#include "test.h"

enum { NODES = 2, KEYS = 64, LENGTH = 4 };
#define ROUND_NS UINT64_C(1000)

static locus_key key_of_home(struct world *w, unsigned home)
{
    locus_key key = 0;
    while (row_ref_home(store_row_ref(&w->node[0].store, key)) != home) key++;
    return key;
}

static size_t bytes_to(const struct world *w, unsigned peer)
{
    const struct world_link *l = &w->link[0][peer];
    size_t bytes = 0;
    for (unsigned i = 0; i < l->count; i++)
        bytes += l->frame[(l->first + i) % WORLD_FRAMES_MAX].header.body_bytes;
    return bytes;
}

enum { CLOCKS_A_PAUSE = 10 };

/* Node 0 has a replica of a row of node 1's; `other` is another row there, which it is going to
 * want. */
struct piggyback {
    struct world *w;
    struct shard *s;
    struct row_ref shared;
    uint64_t other;
    struct intent_stream *stream;
};

static void all_turn(struct world *w)
{
    for (int i = 0; i < 3; i++) {
        for (unsigned n = 0; n < w->nodes; n++) shard_turn(&w->node[n].shard, w->now_ns);
        world_deliver_all(w);
    }
}

static void change_shared(struct piggyback *r)
{
    static const float one[LENGTH] = {1};
    CHECK_EQ(row_add(r->shared, one), 1);
}

/* The replica changes, and the pacer's next moment has come. */
static void change_and_pause(struct piggyback *r)
{
    r->w->now_ns = r->s->pacer->due_ns;
    r->w->node[0].clock[0] += CLOCKS_A_PAUSE;
    change_shared(r);
}

static struct piggyback open_piggyback(void)
{
    struct piggyback r = {
        .w = world_new_managed(LOCUS_ADAPTIVE, NODES, KEYS, LENGTH, 1, 1 << 20, 1)};
    locus_key key = key_of_home(r.w, 1), other = key + 1;
    r.s = &r.w->node[0].shard;
    r.s->pacer->round_ns = ROUND_NS;
    r.shared = store_row_ref(&r.w->node[0].store, key);
    while (row_ref_home(store_row_ref(&r.w->node[0].store, other)) != 1) other++;
    r.other = keyspace_index(&r.w->node[0].store.keyspace, other);
    for (unsigned n = NODES; n-- > 0;)
        shard_intent(&r.w->node[n].shard,
                     &(struct intent_event){.kind = INTENT_BEGINS, .index = r.shared.index});
    all_turn(r.w);
    r.stream = intents_open_stream(r.s->intents, 0);
    for (int i = 0; i < 3; i++) {
        change_and_pause(&r);
        all_turn(r.w);
    }
    CHECK_EQ(r.s->pacer->ahead[0], 2 * CLOCKS_A_PAUSE);
    for (int i = 0; i < PACER_JUDGED_ROUNDS; i++) pacer_carries(r.s->pacer, 1, 1);
    CHECK(r.s->pacer->rounds_are_sparse);
    return r;
}

static void close_piggyback(struct piggyback *r)
{
    all_turn(r->w);
    stream_close(r->stream, true);
    world_free(&r->w);
}

/* An intent that is `ahead` clocks beyond the lookahead. */
static void intend(struct piggyback *r, locus_clock ahead)
{
    locus_clock start = r->w->node[0].clock[0] + r->s->rounds->lookahead[0] + ahead;
    CHECK_EQ(stream_add(r->stream, start, start + 1, false, r->other), 0);
    stream_publish(r->stream);
}

static int wanted(const struct piggyback *r)
{
    return (int)r->s->records.state[r->other].wanted;
}

TEST(rounds, for_an_intent_that_begins_now_do_not_wait_for_the_pacer)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    uint64_t before = r.s->counters.rounds;
    change_shared(&r);
    r.w->now_ns = r.s->pacer->due_ns - 1;
    CHECK_EQ(shard_turn(r.s, r.w->now_ns), r.s->pacer->due_ns);
    CHECK_EQ(r.s->counters.rounds, before);
    shard_intent(r.s, &(struct intent_event){.kind = INTENT_BEGINS, .index = r.other});
    shard_turn(r.s, r.w->now_ns);
    CHECK_EQ(r.s->counters.rounds, before + 1);
    world_deliver_all(r.w);
}

TEST(rounds, that_synchronize_take_along_intents_of_the_next_two_pauses)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    uint64_t before = r.s->counters.rounds;
    r.w->node[0].clock[0] += CLOCKS_A_PAUSE;
    intend(&r, 2 * CLOCKS_A_PAUSE - 1);
    shard_turn(r.s, r.w->now_ns); /* the pacer does not allow it, and nothing waits */
    CHECK_EQ(wanted(&r), 0);
    r.w->now_ns = r.s->pacer->due_ns;
    shard_turn(r.s, r.w->now_ns); /* now it does, but still nothing waits */
    CHECK_EQ(wanted(&r), 0);
    change_shared(&r);
    r.s->pacer->due_ns++;
    shard_turn(r.s, r.w->now_ns); /* the other way round */
    CHECK_EQ(wanted(&r), 0);
    r.s->pacer->due_ns--;
    shard_turn(r.s, r.w->now_ns);
    CHECK_EQ(wanted(&r), 1);
    CHECK_EQ(r.s->counters.rounds, before + 1);
    /* and its end */
    CHECK_EQ(bytes_to(r.w, 1),
             wire_entry_bytes(0) + wire_entry_bytes(LENGTH) + wire_entry_bytes(0));
}

/* The last entry with an intent that is on its way, NULL: none is. */
static const struct wire_entry *begin_to(struct world *w, unsigned from, unsigned to)
{
    const struct world_link *l = &w->link[from][to];
    const struct wire_entry *e, *last = NULL;
    const char *why;
    for (unsigned i = 0; i < l->count; i++) {
        const struct world_frame *f = &l->frame[(l->first + i) % WORLD_FRAMES_MAX];
        struct wire_cursor c = wire_cursor(&f->header, f->body);
        while ((e = wire_next(&c, &why)))
            if (e->operation == WIRE_SYNC && e->flags == WIRE_BEGIN) last = e;
    }
    return last;
}

/* Node 0 asks the home, node 1, for the row, which node 2 owns. Returns the key. */
static locus_key ask_home(struct world *w, uint32_t slack_us)
{
    locus_key key = key_of_home(w, 1);
    struct wire_entry e = {
        .operation = WIRE_SYNC, .owner = 1, .flags = WIRE_BEGIN, .slack_us = slack_us, .key = key};
    shard_intent(&w->node[2].shard,
                 &(struct intent_event){.kind = INTENT_BEGINS,
                                        .index = keyspace_index(&w->node[2].store.keyspace, key)});
    shard_turn(&w->node[2].shard, w->now_ns);
    world_deliver_all(w);
    CHECK(location_of(&w->node[2].shard, store_row_ref(&w->node[2].store, key)).is_here);
    w->link[1][2].until_ns = w->link[2][0].until_ns = w->link[2][1].until_ns = 7;
    CHECK(world_receive(w, 1, 0, e) == NULL);
    return key;
}

/* For how long that waits, and its answer. */
static void check_waits(uint32_t slack_us, uint64_t on_ns, uint64_t answer_ns)
{
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, 3, KEYS, LENGTH, 1, 1 << 20, 1);
    const char *why;
    ask_home(w, slack_us);
    CHECK_EQ(w->link[1][2].until_ns, on_ns);
    CHECK(world_deliver(w, 1, 2, &why));
    CHECK_EQ(w->link[2][0].until_ns, answer_ns);
}

TEST(rounds, what_piggybacks_and_its_answer_wait_no_longer_than_its_slack)
{
    const uint64_t most = UINT64_C(1000) * WIRE_SLACK_US_MAX;
    check_waits(0, 0, 0);
    check_waits(1, 0, 0);
    check_waits(1000, 500000, 500000);
    check_waits(UINT32_MAX, most, most); /* nobody believes that */
}

/* The owner of the shared row, a while later; its rounds carry few intents. */
static struct shard *sparse_owner(struct piggyback *r)
{
    struct shard *owner = &r->w->node[1].shard;
    r->w->now_ns += 1000000;
    owner->pacer->rounds_are_sparse = true;
    return owner;
}

static struct holder *owner_holder(const struct piggyback *r)
{
    const struct shard *owner = &r->w->node[1].shard;
    return holder_find(record_find(&owner->records, r->shared.index), 0);
}

static void change_main_copy(struct piggyback *r)
{
    static const float one[LENGTH] = {1};
    struct shard *owner = &r->w->node[1].shard;
    shard_write(owner, shard_row_ref(owner, r->shared.index), one, ROW_ADD);
}

TEST(rounds, that_put_off_what_is_recent_do_not_hold_up_what_waits_for_the_end_of_one)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    struct shard *owner = sparse_owner(&r);
    struct pacer *g = owner->pacer;
    change_main_copy(&r);
    shard_turn(owner, r.w->now_ns);
    uint64_t before = owner->counters.rounds;
    CHECK(owner->backlog->peer[0].is_under_way);
    g->lasts_ns = 80000, g->due_ns = r.w->now_ns;
    change_main_copy(&r);
    /* a recall waits for the end of that round, and for the pacer */
    shard_intent(owner, &(struct intent_event){.kind = INTENT_ENDS, .index = r.shared.index});
    shard_turn(owner, r.w->now_ns);
    CHECK_EQ(owner->counters.rounds, before);
    world_deliver_all(r.w);
    shard_turn(owner, r.w->now_ns);
    CHECK_EQ(owner->counters.rounds, before + 1);
    all_turn(r.w);
}

/* The answer to its next update brings it the row; if none comes, a refresh does. */
TEST(rounds, bring_no_row_to_who_writes_it_until_two_pauses_have_passed)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    struct shard *owner = &r.w->node[1].shard;
    struct pacer *g = owner->pacer;
    const uint64_t pause_ns = 4000000;
    for (int writes = 1; writes >= 0; writes--) {
        owner_holder(&r)->writes = writes;
        owner_holder(&r)->brought_us = (uint32_t)(r.w->now_ns / 1000);
        uint64_t before = owner->counters.rounds;
        change_main_copy(&r);
        for (int quarter = 1; quarter <= 12; quarter++) {
            g->lasts_ns = pause_ns, g->due_ns = r.w->now_ns += pause_ns / 4;
            shard_turn(owner, r.w->now_ns);
            if (quarter < 8) CHECK_EQ(owner->counters.rounds - before, !writes);
        }
        CHECK_EQ(owner->counters.rounds, before + 1);
        all_turn(r.w);
    }
}

TEST(rounds, quiesce_waits_for_what_was_asked_for_an_intent_that_has_expired)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    shard_intent(r.s, &(struct intent_event){.kind = INTENT_BEGINS, .index = r.other});
    shard_turn(r.s, r.w->now_ns);
    CHECK(begin_to(r.w, 0, 1) != NULL);
    CHECK_EQ(r.s->replicas->awaited, 0);
    shard_intent(r.s, &(struct intent_event){.kind = INTENT_ENDS, .index = r.other});
    CHECK_EQ(r.s->replicas->awaited, 1);
    shard_intent(r.s, &(struct intent_event){.kind = INTENT_BEGINS, .index = r.other});
    shard_intent(r.s, &(struct intent_event){.kind = INTENT_ENDS, .index = r.other});
    CHECK_EQ(r.s->replicas->awaited, 1);
    world_deliver_all(r.w);
    CHECK_EQ(r.s->replicas->awaited, 0);
    CHECK(r.s->backlog->waiting > 0 || !location_of(r.s, shard_row_ref(r.s, r.other)).is_replica);
}

/* Its node says so at once. */
static void say_intent(struct world *w, unsigned node, uint64_t index, bool begins)
{
    struct shard *s = &w->node[node].shard;
    if (begins)
        shard_intent(s, &(struct intent_event){.kind = INTENT_BEGINS, .index = index});
    else
        shard_intent(s, &(struct intent_event){.kind = INTENT_ENDS, .index = index});
    s->pacer->due_ns = 0;
    shard_turn(s, w->now_ns);
    world_deliver_all(w);
}

/* It waits in the list of a holder that leaves; by then it is for another, whose turn is over. */
TEST(rounds, a_recall_for_another_holder_than_first_is_not_forgotten)
{
    CLOSED_BY(world_free)
    struct world *w = world_new_managed(LOCUS_ADAPTIVE, 3, KEYS, LENGTH, 1, 1 << 20, 1);
    struct shard *owner = &w->node[1].shard;
    struct row_ref shared = store_row_ref(&w->node[0].store, key_of_home(w, 1));
    w->now_ns = 1;
    shard_intent(owner, &(struct intent_event){.kind = INTENT_BEGINS, .index = shared.index});
    say_intent(w, 0, shared.index, true);
    say_intent(w, 2, shared.index, true);
    for (int i = 0; i < PACER_JUDGED_ROUNDS; i++) pacer_carries(owner->pacer, 1, 1);
    owner->pacer->due_ns = 1000;
    shard_intent(owner, &(struct intent_event){.kind = INTENT_ENDS, .index = shared.index});
    say_intent(w, 0, shared.index, false); /* a recall for node 2 */
    say_intent(w, 0, shared.index, true);
    say_intent(w, 2, shared.index, false);
    CHECK_EQ(shard_turn(owner, w->now_ns), 1000);
    uint64_t before = owner->counters.rounds;
    w->now_ns = 1000;
    while (shard_turn(owner, w->now_ns) == w->now_ns) continue;
    CHECK_EQ(owner->counters.rounds, before + 1);
    all_turn(w);
    CHECK(location_of(&w->node[0].shard, shared).is_here);
}

/* The thread reads the clock, handles what has come, and then has its turn, with the time that it
 * has read. */
TEST(rounds, that_end_after_the_clock_was_read_count_for_the_lookahead)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    locus_clock first = r.s->rounds->lookahead[0];
    change_and_pause(&r);
    shard_turn(r.s, r.w->now_ns);
    r.w->node[0].clock[0] += 1000;
    r.w->now_ns += 1000000;
    world_deliver_all(r.w);
    shard_turn(r.s, r.w->now_ns - 1000);
    CHECK(r.s->rounds->lookahead[0] > 2 * first);
}

TEST(rounds, are_not_judged_where_intents_are_acted_on_at_once)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    struct pacer *g = r.s->pacer;
    r.w->node[0].plan.config.act_immediately = true;
    g->rounds_are_sparse = false; /* nor can it have become so */
    uint64_t rounds = g->rounds;
    change_and_pause(&r);
    intend(&r, 1000000);
    shard_turn(r.s, r.w->now_ns);
    CHECK_EQ(wanted(&r), 1);
    CHECK(begin_to(r.w, 0, 1) != NULL);
    CHECK_EQ(g->rounds, rounds);
}

/* What was expected of the worker before. */
TEST(rounds, take_nothing_along_for_a_worker_that_opened_again)
{
    CLOSED_BY(close_piggyback) struct piggyback r = open_piggyback();
    stream_close(r.stream, true);
    all_turn(r.w);
    r.w->node[0].clock[0] = 0;
    r.stream = intents_open_stream(r.s->intents, 0);
    r.w->now_ns += UINT64_C(3600000000000);
    intend(&r, 2 * CLOCKS_A_PAUSE - 1);
    change_shared(&r);
    shard_turn(r.s, r.w->now_ns);
    CHECK_EQ(wanted(&r), 0);
}
