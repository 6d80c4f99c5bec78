/* When rounds begin that only synchronize, and what they take along. Time stands but for what the
 * tests let pass. */
#include "protocol/owner.h"
#include "world.h"

#include "test.h"

enum { CLOCKS_A_PAUSE = 10 };

/* Node 0 has a replica of a row of node 1's; `other` is another row there, which it is going to
 * want. Rounds carry few intents. */
struct scene {
    struct world *w;
    struct shard *s, *owner;
    locus_key shared, other;
    struct intent_stream *stream;
};

static void change_shared(struct scene *r)
{
    CHECK_EQ(row_add(world_ref(r->w, 0, r->shared), world_ones), ROW_ON_REPLICA);
}

/* The replica changes, and the pacer's next moment has come. */
static void change_and_pause(struct scene *r)
{
    r->w->now_ns = r->s->pacer->due_ns;
    r->w->node[0].clock[0] += CLOCKS_A_PAUSE;
    change_shared(r);
}

static struct scene scene(void)
{
    struct scene r = {.w = world_new(LOCUS_ADAPTIVE, 2)};
    r.s = &r.w->node[0].shard;
    r.owner = &r.w->node[1].shard;
    r.s->pacer->round_ns = 1000;
    r.other = r.shared = world_key(r.w, 1);
    do r.other++;
    while (row_ref_home(world_ref(r.w, 0, r.other)) != 1);
    for (unsigned n = 2; n-- > 0;) world_event(r.w, n, INTENT_BEGINS, r.shared);
    world_pass(r.w, 6, 0);
    r.stream = intents_open_stream(r.s->intents, 0);
    for (int i = 0; i < 3; i++) {
        change_and_pause(&r);
        world_pass(r.w, 6, 0);
    }
    CHECK_EQ(r.s->pacer->ahead[0], 2 * CLOCKS_A_PAUSE);
    for (int i = 0; i < PACER_JUDGED_ROUNDS; i++) pacer_carries(r.s->pacer, 1, 1);
    CHECK(r.s->pacer->rounds_are_sparse);
    return r;
}

static void scene_end(struct scene *r)
{
    world_pass(r->w, 6, 0);
    stream_close(r->stream, true);
    world_free(&r->w);
}

/* An intent that is `ahead` clocks beyond the lookahead. */
static void intend(struct scene *r, locus_clock ahead)
{
    locus_clock start = r->w->node[0].clock[0] + r->s->rounds->lookahead[0] + ahead;
    stream_begin(r->stream, start, start + 1, start, 0);
    CHECK_EQ(stream_write(r->stream, world_ref(r->w, 0, r->other).index), 0);
    stream_publish(r->stream);
}

static int wanted(const struct scene *r)
{
    return (int)r->s->records.state[world_ref(r->w, 0, r->other).index].wanted;
}

TEST(round, for_an_intent_that_begins_now_does_not_wait_for_the_pacer)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    uint64_t before = r.s->counters.rounds;
    change_shared(&r);
    r.w->now_ns = r.s->pacer->due_ns - 1;
    CHECK_EQ(shard_turn(r.s, r.w->now_ns), r.s->pacer->due_ns);
    CHECK_EQ(r.s->counters.rounds, before);
    world_event(r.w, 0, INTENT_BEGINS, r.other);
    world_turn(r.w, 0);
    CHECK_EQ(r.s->counters.rounds, before + 1);
    world_deliver_all(r.w);
}

TEST(round, that_synchronizes_takes_along_intents_of_the_next_two_pauses)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    uint64_t before = r.s->counters.rounds;
    r.w->node[0].clock[0] += CLOCKS_A_PAUSE;
    intend(&r, 2 * CLOCKS_A_PAUSE - 1);
    world_turn(r.w, 0); /* the pacer does not allow it, and nothing waits */
    CHECK_EQ(wanted(&r), 0);
    r.w->now_ns = r.s->pacer->due_ns;
    world_turn(r.w, 0); /* now it does, but still nothing waits */
    CHECK_EQ(wanted(&r), 0);
    change_shared(&r);
    r.s->pacer->due_ns++;
    world_turn(r.w, 0); /* the other way round */
    CHECK_EQ(wanted(&r), 0);
    r.s->pacer->due_ns--;
    world_turn(r.w, 0);
    CHECK_EQ(wanted(&r), 1);
    CHECK_EQ(r.s->counters.rounds, before + 1);
    CHECK_EQ(world_entries(r.w, 0, 1), 3); /* intent, update, and its end */
}

/* Node 0 asks the home, node 1, for a row that node 2 owns: for how long that waits there, and its
 * answer. */
TEST(round, what_piggybacks_and_its_answer_wait_no_longer_than_its_slack_at_each_node)
{
    const uint64_t most = 1000 * UINT64_C(1) * WIRE_SLACK_US_MAX;
    const struct {
        uint32_t slack_us;
        uint64_t ns;
    } cases[] = {{0, 0}, {1, 1000}, {1000, 1000000}, {UINT32_MAX, most /* nobody believes that */}};
    for (int i = 0; i < 4; i++) {
        CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 3);
        locus_key key = world_key(w, 1);
        struct wire_entry e = {.operation = WIRE_SYNC,
                               .owner = 1,
                               .flags = WIRE_BEGIN,
                               .slack_us = cases[i].slack_us,
                               .key = key};
        world_event(w, 2, INTENT_BEGINS, key);
        world_pass(w, 1, 0);
        CHECK(world_known(w, 2, key).is_here);
        w->link[1][2].until_ns = w->link[2][0].until_ns = 7;
        CHECK(world_receive(w, 1, 0, e) == NULL);
        CHECK_EQ(w->link[1][2].until_ns, cases[i].ns);
        world_travel(w, "12");
        CHECK_EQ(w->link[2][0].until_ns, cases[i].ns);
        CHECK_EQ(shard_can_wait_until(&w->node[0].shard, &e) > 0, i > 0);
        w->node[0].shard.quiescing = 1; /* then nothing waits */
        CHECK_EQ(shard_can_wait_until(&w->node[0].shard, &e), 0);
        w->node[0].shard.quiescing = 0;
    }
}

static void change_main_copy(struct scene *r)
{
    shard_write(r->owner, world_ref(r->w, 1, r->shared), world_ones, ROW_ADD);
}

TEST(round, that_puts_off_what_is_recent_does_not_hold_up_a_recall)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    r.w->now_ns += WORLD_MS;
    r.owner->pacer->rounds_are_sparse = true;
    change_main_copy(&r);
    world_turn(r.w, 1);
    uint64_t before = r.owner->counters.rounds;
    CHECK(r.owner->backlog->peer[0].is_under_way);
    r.owner->pacer->lasts_ns = 80000, r.owner->pacer->due_ns = r.w->now_ns;
    change_main_copy(&r);
    world_event(r.w, 1, INTENT_ENDS, r.shared); /* a recall waits for the end of that round */
    world_turn(r.w, 1);
    CHECK_EQ(r.owner->counters.rounds, before);
    world_deliver_all(r.w);
    world_turn(r.w, 1);
    CHECK_EQ(r.owner->counters.rounds, before + 1);
}

/* The answer to its next update brings it the row; if none comes, a refresh does. */
TEST(round, brings_no_row_to_who_writes_it_until_two_pauses_have_passed)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    const uint64_t pause_ns = 4 * WORLD_MS;
    for (int writes = 1; writes >= 0; writes--) {
        struct record *record = record_find(&r.owner->records, world_ref(r.w, 1, r.shared).index);
        holder_find(record, 0)->writes = writes;
        holder_find(record, 0)->brought_us = (uint32_t)(r.w->now_ns / 1000);
        uint64_t before = r.owner->counters.rounds;
        change_main_copy(&r);
        for (int quarter = 1; quarter <= 12; quarter++) {
            r.owner->pacer->lasts_ns = pause_ns;
            r.owner->pacer->due_ns = r.w->now_ns += pause_ns / 4;
            world_turn(r.w, 1);
            if (quarter < 8) CHECK_EQ(r.owner->counters.rounds - before, !writes);
        }
        CHECK_EQ(r.owner->counters.rounds, before + 1);
        world_pass(r.w, 6, 0);
    }
}

/* Its node says so at once. */
static void say(struct world *w, unsigned node, enum intent_kind kind, locus_key key)
{
    world_event(w, node, kind, key);
    w->node[node].shard.pacer->due_ns = 0;
    world_turn(w, node);
    world_deliver_all(w);
}

/* It waits in the list of a holder that leaves; by then it is for another, whose turn is over. */
TEST(round, of_a_recall_for_another_holder_than_first_is_not_forgotten)
{
    CLOSED_BY(world_free) struct world *w = world_new(LOCUS_ADAPTIVE, 3);
    struct shard *owner = &w->node[1].shard;
    locus_key shared = world_key(w, 1);
    w->now_ns = 1;
    world_event(w, 1, INTENT_BEGINS, shared);
    say(w, 0, INTENT_BEGINS, shared);
    say(w, 2, INTENT_BEGINS, shared);
    for (int i = 0; i < PACER_JUDGED_ROUNDS; i++) pacer_carries(owner->pacer, 1, 1);
    owner->pacer->due_ns = 1000;
    world_event(w, 1, INTENT_ENDS, shared);
    say(w, 0, INTENT_ENDS, shared); /* a recall for node 2 */
    say(w, 0, INTENT_BEGINS, shared);
    say(w, 2, INTENT_ENDS, shared);
    CHECK_EQ(shard_turn(owner, w->now_ns), 1000);
    uint64_t before = owner->counters.rounds;
    w->now_ns = 1000;
    while (shard_turn(owner, w->now_ns) == w->now_ns) continue;
    CHECK_EQ(owner->counters.rounds, before + 1);
    world_pass(w, 6, 0);
    CHECK(world_known(w, 0, shared).is_here);
}

/* The thread reads the clock, handles what has come, and then has its turn, with the time that it
 * has read. */
TEST(round, that_ends_after_the_clock_was_read_counts_for_the_lookahead)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    locus_clock first = r.s->rounds->lookahead[0];
    change_and_pause(&r);
    world_turn(r.w, 0);
    r.w->node[0].clock[0] += 1000;
    r.w->now_ns += WORLD_MS;
    world_deliver_all(r.w);
    shard_turn(r.s, r.w->now_ns - 1000);
    CHECK(r.s->rounds->lookahead[0] > 2 * first);
}

TEST(round, begins_for_an_intent_far_ahead_where_intents_are_acted_on_immediately)
{
    CLOSED_BY(scene_end) struct scene r = scene();
    r.w->node[0].plan.lab.is_immediate = true;
    r.s->pacer->rounds_are_sparse = false; /* nor can it have become so */
    uint64_t rounds = r.s->pacer->rounds;
    change_and_pause(&r);
    intend(&r, 1000000);
    world_turn(r.w, 0);
    CHECK_EQ(wanted(&r), 1);
    CHECK_EQ(world_entries(r.w, 0, 1), 3);
    CHECK_EQ(r.s->pacer->rounds, rounds); /* it is not judged */
}
