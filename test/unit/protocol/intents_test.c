/* What becomes of intents between the thread that signals and the shard's events: begin and end of
 * each key. */
#include "protocol/intents.h"

#include "test.h"

#include <errno.h>
#include <string.h>

enum { WORKERS = 2, KEYS = 5000, LOOKAHEAD = 10 };

/* A shard that counts: how often each key is wanted now, and how often it ever began to be. */
struct desk {
    struct intents intents;
    locus_clock clock[WORKERS];
    const locus_clock *clocks[WORKERS];
    uint64_t node_keys;
    locus_clock lookahead, ahead;
    int wanted[KEYS];
    int kept[KEYS];
    long begun, ended;
    unsigned eighths;                   /* ahead, of the last that began */
    locus_clock start[KEYS], end[KEYS]; /* of what began last */
};

static void hear(void *context, const struct intent_event *e, unsigned count)
{
    struct desk *d = context;
    CHECK(count <= INTENTS_RUN);
    for (; count-- > 0; e++) {
        CHECK(e->index < KEYS);
        if (e->kind == INTENT_BEGINS) {
            d->wanted[e->index]++;
            d->begun++;
            d->eighths = e->eighths;
            d->start[e->index] = e->start;
            d->end[e->index] = e->end;
        } else if (e->kind == INTENT_ENDS) {
            CHECK(d->wanted[e->index]-- > 0);
            d->ended++;
        } else {
            d->kept[e->index] = e->kind == INTENT_KEEPS ? d->kept[e->index] + 1 : 0;
        }
    }
}

static void turn_to(struct desk *d, intents_hear *to)
{
    for (unsigned w = 0; w < WORKERS; w++) {
        d->intents.worker[w].lookahead = d->lookahead;
        d->intents.worker[w].ahead = d->ahead;
    }
    intents_turn(&d->intents, to, d);
}

static void turn(struct desk *d)
{
    turn_to(d, hear);
}

static void desk_begin(struct desk *d)
{
    memset(d, 0, sizeof *d);
    d->lookahead = LOOKAHEAD;
    for (int w = 0; w < WORKERS; w++) d->clocks[w] = &d->clock[w];
    CHECK_EQ(intents_init(&d->intents, WORKERS, d->clocks, &d->node_keys), 0);
    turn(d);
}

static void desk_end(struct desk *d)
{
    intents_fini(&d->intents);
}

static void set_clock(struct desk *d, unsigned worker, locus_clock now)
{
    __atomic_store_n(&d->clock[worker], now, __ATOMIC_SEQ_CST);
}

static int kept_keys(const struct desk *d)
{
    int sum = 0;
    for (int i = 0; i < KEYS; i++) sum += d->kept[i];
    return sum;
}

/* As signaling.c does it; true: the shard must be woken. */
static bool signal_range(struct desk *d, struct intent_stream *s, uint64_t first, uint64_t count,
                         locus_clock start, locus_clock end_clock)
{
    locus_clock now = d->clock[s->worker];
    bool waits = start > now;
    if (waits) __atomic_fetch_add(&d->node_keys, count, __ATOMIC_RELAXED);
    for (uint64_t i = first; i < first + count; i++)
        CHECK_EQ(stream_add(s, start, end_clock, waits, i), 0);
    stream_publish(s);
    return intents_published(&d->intents, s->worker, start, now);
}

static bool signal_key(struct desk *d, struct intent_stream *s, uint64_t index, locus_clock start,
                       locus_clock end_clock)
{
    return signal_range(d, s, index, 1, start, end_clock);
}

static void check_wanted(const struct desk *d, uint64_t first, uint64_t count, int times)
{
    for (uint64_t i = 0; i < KEYS; i++)
        CHECK_EQ(d->wanted[i], i >= first && i < first + count ? times : 0);
}

/* The worker comes to `now`, and the shard looks. */
static void advance(struct desk *d, unsigned worker, locus_clock now)
{
    set_clock(d, worker, now);
    turn(d);
}

/* ---- from start to end ---- */

/* Said again at each step, with another end, for some keys a nearer one than before: each ends when
 * its last intent does, and what is kept is bounded by the keys, not by how often they were
 * said. */
TEST_WITH(intents, an_intent_that_is_extended_again_and_again_is_kept_once, desk, d)
{
    enum { STEPS = 2000, HALF = KEYS / 2 };
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    size_t most = 0;
    for (int step = 0; step < STEPS; step++) {
        signal_range(d, s, 0, HALF, 0, 10 + step);
        signal_range(d, s, HALF, KEYS - HALF, 0, 10 + STEPS - step);
        turn(d);
        if (d->intents.worker[0].active_keys > most) most = d->intents.worker[0].active_keys;
    }
    CHECK(most < 50000);
    advance(d, 0, 10 + STEPS - 2);
    for (uint64_t i = 0; i < KEYS; i++) CHECK(d->wanted[i] > 0);
    advance(d, 0, 10 + STEPS - 1);
    for (uint64_t i = 0; i < KEYS; i++) CHECK(i < HALF ? d->wanted[i] == 0 : d->wanted[i] > 0);
    advance(d, 0, 10 + STEPS);
    for (uint64_t i = 0; i < KEYS; i++) CHECK_EQ(d->wanted[i], 0);
    CHECK_EQ(d->intents.worker[0].active_keys, 0);
}

/* Whoever is told that a key begins may ask for its clocks, however many keys a batch has, and
 * however many batches begin together. */
TEST_WITH(intents, tell_the_clocks_of_what_begins, desk, d)
{
    uint64_t first = 0;
    struct intent_stream *s = intents_open_stream(&d->intents, 1);
    for (uint64_t count = 1; first + count <= KEYS; first += count, count++)
        signal_range(d, s, first, count, 2, (locus_clock)(100 + count));
    turn(d);
    CHECK_EQ(d->begun, first);
    for (uint64_t count = 1, i = 0; i < first; count++) {
        for (uint64_t end_of = i + count; i < end_of; i++) {
            CHECK_EQ(d->start[i], 2);
            CHECK_EQ(d->end[i], 100 + count);
        }
    }
}

TEST_WITH(intents, are_found_by_key, desk, d)
{
    struct intent_found found[4];
    bool more;
    struct intent_stream *s[WORKERS] = {intents_open_stream(&d->intents, 0),
                                        intents_open_stream(&d->intents, 1)};
    signal_range(d, s[0], 0, 10, 0, 20);
    signal_range(d, s[1], 5, 10, 500, 600);
    turn(d);
    CHECK_EQ(intents_find(&d->intents, 20, found, 4, &more), 0);
    CHECK_EQ(intents_find(&d->intents, 7, found, 4, &more), 2);
    CHECK(!more);
    CHECK(found[0].is_active && found[0].worker == 0 && found[0].start == 0 && found[0].end == 20);
    CHECK(!found[1].is_active && found[1].worker == 1 && found[1].start == 500 &&
          found[1].end == 600);
    CHECK_EQ(intents_find(&d->intents, 7, found, 1, &more), 1);
    CHECK(more);
    advance(d, 0, 20);
    CHECK_EQ(intents_find(&d->intents, 7, found, 4, &more), 1);
}

TEST_WITH(intents, a_key_that_a_call_names_again_begins_once_and_counts_as_often, desk, d)
{
    enum { TIMES = 5, START = 100, NAMED = STREAM_SAID };
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    for (int call = 0; call < 2; call++) {
        d->node_keys += TIMES * NAMED;
        for (uint64_t i = 0; i < TIMES * NAMED; i++)
            CHECK_EQ(stream_add(s, START + call, START + 10, true, i % NAMED), 0);
        stream_publish(s);
    }
    turn(d);
    CHECK_EQ(d->node_keys, 2 * TIMES * NAMED);
    advance(d, 0, START);
    check_wanted(d, 0, NAMED, 2); /* of each call */
    CHECK_EQ(d->node_keys, 0);
    advance(d, 0, START + 10);
    check_wanted(d, 0, KEYS, 0);
    CHECK_EQ(d->ended, 2 * NAMED);
}

TEST_WITH(intents, what_piggybacks_begins_early_and_wakes_nobody, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    CHECK(!signal_key(d, s, 7, LOOKAHEAD + 20, LOOKAHEAD + 30));
    turn(d);
    check_wanted(d, 7, 1, 0);
    set_clock(d, 0, 1);
    CHECK(!intents_have_news(&d->intents));
    d->ahead = 19;
    turn(d);
    check_wanted(d, 7, 1, 0);
    d->ahead = 20;
    turn(d);
    check_wanted(d, 7, 1, 1);
    d->ahead = 0;
    CHECK(!signal_key(d, s, 8, LOOKAHEAD + 20, LOOKAHEAD + 30)); /* the lookahead is as it was */
    turn(d);
    check_wanted(d, 7, 1, 1);
    CHECK(!intents_advanced(&d->intents, 0, 20));
    CHECK(intents_advanced(&d->intents, 0, 21));
    advance(d, 0, 21);
    check_wanted(d, 7, 2, 1);
    advance(d, 0, LOOKAHEAD + 30);
    check_wanted(d, 7, 2, 0);
}

TEST_WITH(intents, what_piggybacks_tells_how_far_ahead_it_begins, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    static const locus_clock beyond_lookahead[] = {-1, 0, 4, 5, 10, 39};
    static const unsigned eighths[] = {0, 0, 0, 1, 2, 7};
    for (int i = 0; i < 6; i++) {
        d->ahead = 0;
        signal_key(d, s, (uint64_t)i, LOOKAHEAD + beyond_lookahead[i], LOOKAHEAD + 100);
        d->ahead = 40;
        d->eighths = 9;
        turn(d);
        CHECK_EQ(d->eighths, eighths[i]);
    }
}

TEST_WITH(intents, a_key_is_wanted_from_the_lookahead_before_its_start_to_its_end, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_key(d, s, 7, 100, 103);
    for (locus_clock now = 0; now < 120; now++) {
        advance(d, 0, now);
        CHECK_EQ(d->wanted[7], 100 - now < LOOKAHEAD && now < 103);
        CHECK_EQ(d->node_keys, 100 - now < LOOKAHEAD ? 0 : 1);
    }
    CHECK_EQ(d->begun, 1);
}

TEST_WITH(intents, that_overlap_repeat_or_extend_are_one_for_the_node, desk, d)
{
    struct intent_stream *a = intents_open_stream(&d->intents, 0),
                         *b = intents_open_stream(&d->intents, 1);
    signal_key(d, a, 3, 0, 5);
    signal_key(d, a, 3, 0, 5);  /* repeated */
    signal_key(d, a, 3, 4, 20); /* extended */
    signal_key(d, b, 3, 0, 2);  /* another worker's, by its own clock */
    turn(d);
    CHECK_EQ(d->wanted[3], 4);
    advance(d, 0, 5);
    CHECK_EQ(d->wanted[3], 2);
    advance(d, 1, 2);
    CHECK_EQ(d->wanted[3], 1);
    advance(d, 1, 1000);
    CHECK_EQ(d->wanted[3], 1);
    advance(d, 0, 19);
    CHECK_EQ(d->wanted[3], 1);
    advance(d, 0, 20);
    CHECK_EQ(d->wanted[3], 0);
    stream_close(a, true);
    stream_close(b, true);
    turn(d);
}

/* The shard slept, or the worker ran: nobody shall move a row for what is over. */
TEST_WITH(intents, that_expire_before_they_begin_never_begin, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_range(d, s, 0, 100, 50, 60);
    turn(d);
    CHECK_EQ(d->node_keys, 100);
    advance(d, 0, 60);
    CHECK_EQ(d->begun, 0);
    CHECK_EQ(d->node_keys, 0);
}

/* ---- streams ---- */

/* A chunk has about 500 words: calls of all sizes end before, at and behind its end, in every
 * phase. */
TEST_WITH(intents, of_calls_of_any_size_arrive_whole, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    long keys = 0;
    for (uint64_t count = 1; count < 1100; count += count < 520 ? 1 : 37) {
        signal_range(d, s, count, count, 0, 1);
        turn(d);
        check_wanted(d, count, count, 1);
        keys += (long)count;
        CHECK_EQ(d->begun, keys);
        advance(d, 0, 1);
        check_wanted(d, 0, 0, 0);
        set_clock(d, 0, 0);
    }
}

TEST_WITH(intents, of_a_desk_that_closes_with_streams_unread_leak_nothing, desk, d)
{
    struct intent_stream *known = intents_open_stream(&d->intents, 0);
    turn(d);
    signal_range(d, known, 0, KEYS, 0, 5);
    signal_range(d, intents_open_stream(&d->intents, 1), 0, KEYS, 50, 55);
}

/* ---- lives ---- */

/* Loader and worker both closed, and the shard sees all of it at once. */
TEST_WITH(intents, of_a_loader_that_nobody_has_read_end_with_the_worker, desk, d)
{
    struct intent_stream *worker = intents_open_stream(&d->intents, 0),
                         *first = intents_open_stream(&d->intents, 0);
    struct intent_stream *second = intents_open_stream(&d->intents, 0);
    turn(d);
    signal_range(d, first, 0, 1000, 0, 90);
    signal_range(d, second, 0, 700, 70, 90);
    signal_range(d, worker, 0, 10, 0, 90);
    stream_close(first, false);
    stream_close(second, false);
    stream_close(worker, true);
    turn(d);
    CHECK_EQ(d->begun, d->ended);
    check_wanted(d, 0, 0, 0);
    CHECK_EQ(d->node_keys, 0); /* nothing waits any more */
}

/* ---- for ever ---- */

static void check_kept(const struct desk *d, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < KEYS; i++) CHECK_EQ(d->kept[i] > 0, i >= first && i < first + count);
}

TEST_WITH(intents, for_ever_are_taken_back_begun_or_not, desk, d)
{
    struct intent_stream *one = intents_open_stream(&d->intents, 0),
                         *other = intents_open_stream(&d->intents, 1);
    turn(d);
    signal_range(d, one, 0, 100, 0, LOCUS_FOREVER);
    signal_range(d, other, 100, 100, 50, LOCUS_FOREVER);
    signal_range(d, other, 100, 100, 50, 60); /* ends by itself */
    turn(d);
    check_kept(d, 0, 100);
    signal_range(d, one, 50, 100, 0, INTENT_TAKES_BACK);
    turn(d);
    check_kept(d, 0, 50);
    advance(d, 1, 50);
    for (uint64_t i = 0; i < KEYS; i++) CHECK_EQ(d->kept[i] > 0, i < 50 || (i >= 150 && i < 200));
    check_wanted(d, 100, 100, 1);
    signal_range(d, one, 0, 200, 0, INTENT_TAKES_BACK);
    signal_range(d, one, 7, 1, 0, LOCUS_FOREVER); /* in this order */
    turn(d);
    check_kept(d, 7, 1);
    stream_close(one, true);
    stream_close(other, true);
    turn(d);
    CHECK_EQ(d->node_keys, 0);
}

/* While the shard reads, the worker signals as many again: the next turn's. */
static struct intent_stream *restless;
static void hear_and_signal(void *context, const struct intent_event *e, unsigned count)
{
    struct desk *d = context;
    hear(d, e, count);
    for (; count-- > 0; e++)
        if (e->index + 1 < KEYS) signal_range(d, restless, e->index + 1, 1, 0, LOCUS_FOREVER);
}

TEST_WITH(intents, that_come_as_fast_as_they_are_read_leave_a_turn_its_end, desk, d)
{
    enum { A_CHUNK = 200 };
    restless = intents_open_stream(&d->intents, 0);
    signal_range(d, restless, 0, 1, 0, LOCUS_FOREVER);
    int turns = 0;
    for (; intents_have_news(&d->intents); turns++) {
        int before = kept_keys(d);
        turn_to(d, hear_and_signal);
        CHECK(kept_keys(d) > before && kept_keys(d) <= before + A_CHUNK);
    }
    CHECK_EQ(kept_keys(d), KEYS);
    CHECK(turns >= KEYS / A_CHUNK);
    stream_close(restless, true);
    turn(d);
    CHECK(!intents_have_news(&d->intents));
}

/* A shard that is behind: what waits is counted off when it is read, whatever the turns. */
TEST_WITH(intents, that_ended_before_they_are_read_no_longer_wait, desk, d)
{
    enum { CLOCKS = 3000 };
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    for (locus_clock now = 0; now < CLOCKS; set_clock(d, 0, ++now))
        signal_range(d, s, 0, 3, now + 1, now + 3);
    CHECK_EQ(d->node_keys, 3 * CLOCKS);
    turn(d);
    CHECK_EQ(d->node_keys, 0);
    CHECK_EQ(d->begun, 2 * 3);
    CHECK_EQ(d->wanted[2], 2);
    stream_close(s, true);
    turn(d);
    CHECK_EQ(d->ended, d->begun);
}

/* The worker's id is opened again before the shard has seen the first life's end. */
TEST_WITH(intents, of_one_life_do_not_end_those_of_the_next, desk, d)
{
    struct intent_stream *first = intents_open_stream(&d->intents, 1);
    turn(d);
    signal_range(d, first, 0, 100, 0, 5);
    stream_close(first, true);
    set_clock(d, 1, 0);
    struct intent_stream *second = intents_open_stream(&d->intents, 1);
    signal_range(d, second, 200, 100, 0, 5);
    turn(d);
    check_wanted(d, 200, 100, 1);
    advance(d, 1, 5);
    check_wanted(d, 0, 0, 0);
    stream_close(second, true);
    turn(d);
}

/* The same with loaders, whose streams were opened and closed within either life. */
TEST_WITH(intents, of_a_loader_do_not_end_with_the_life_before, desk, d)
{
    struct intent_stream *first = intents_open_stream(&d->intents, 1),
                         *loader = intents_open_stream(&d->intents, 1);
    signal_range(d, loader, 0, 50, 0, 5);
    signal_range(d, loader, 50, 50, 40, 45);
    stream_close(loader, false);
    stream_close(first, true);
    struct intent_stream *second = intents_open_stream(&d->intents, 1);
    loader = intents_open_stream(&d->intents, 1);
    signal_range(d, loader, 100, 50, 0, 5);
    stream_close(loader, false);
    turn(d);
    check_wanted(d, 100, 50, 1);
    CHECK_EQ(d->node_keys, 0);
    stream_close(second, true);
    turn(d);
    check_wanted(d, 0, 0, 0);
}

TEST_WITH(intents, of_one_worker_do_not_end_with_another, desk, d)
{
    struct intent_stream *a = intents_open_stream(&d->intents, 0),
                         *b = intents_open_stream(&d->intents, 1);
    signal_range(d, a, 0, 10, 0, 50);
    signal_range(d, b, 10, 10, 0, 50);
    turn(d);
    stream_close(a, true);
    turn(d);
    check_wanted(d, 10, 10, 1);
    stream_close(b, true);
    turn(d);
    check_wanted(d, 0, 0, 0);
}

/* ---- waking a shard that sleeps ---- */

TEST_WITH(intents, wake_the_shard_only_for_what_must_be_done_now, desk, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    turn(d);
    CHECK(!intents_advanced(&d->intents, 0, 1000000));
    CHECK(!signal_key(d, s, 1, 100, 200)); /* far off: the worker's clock will wake it, */
    CHECK(!intents_advanced(&d->intents, 0, 90));
    /* although it has not looked: 100 < 91 + the lookahead */
    CHECK(intents_advanced(&d->intents, 0, 91));
    CHECK(!intents_advanced(&d->intents, 1, 91));
    CHECK(!signal_key(d, s, 1, 50, 60)); /* nearer: earlier */
    CHECK(!intents_advanced(&d->intents, 0, 40));
    CHECK(intents_advanced(&d->intents, 0, 41));
    CHECK(!signal_key(d, s, 1, 70, 80)); /* farther: as before */
    CHECK(intents_advanced(&d->intents, 0, 41));
    CHECK(signal_key(d, s, 1, LOOKAHEAD - 1, 20)); /* within the lookahead */
    CHECK(signal_key(d, s, 1, 0, 20));
    turn(d);
    CHECK_EQ(d->wanted[1], 2);
    CHECK(!intents_advanced(&d->intents, 0, 19)); /* next is their end */
    CHECK(intents_advanced(&d->intents, 0, 20));
    stream_close(s, true);
    turn(d);
    CHECK(!intents_advanced(&d->intents, 0, 1000000));
}

/* No intent is missed if the shard looks only when it is told to. */
TEST_WITH(intents, are_in_time_for_a_shard_that_sleeps_in_between, desk, d)
{
    uint64_t dice = 3;
    int turns = 0;
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    turn(d);
    for (locus_clock now = 1; now < 3000; now++) {
        dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bool wake = false;
        if (dice >> 60 == 0) wake = signal_key(d, s, (uint64_t)now, now + 200, now + 203);
        set_clock(d, 0, now);
        if (intents_advanced(&d->intents, 0, now)) wake = true;
        if (wake) {
            turn(d);
            turns++;
        }
        for (locus_clock key = now > 220 ? now - 220 : 1; key < now; key++) {
            if (d->wanted[key]) CHECK(key + 200 - now < LOOKAHEAD && now < key + 203);
            if (d->intents.worker[0].waiting.count + d->intents.worker[0].active.count == 0)
                CHECK(!d->wanted[key]);
        }
    }
    CHECK(d->begun > 100);
    CHECK(turns < 1500); /* some 190 intents, each with a begin and an end */
    set_clock(d, 0, 4000);
    turn(d);
    CHECK_EQ(d->begun, d->ended);
}

TEST_WITH(intents, of_an_unlimited_lookahead_begin_at_once, desk, d)
{
    d->lookahead = INT64_MAX;
    turn(d);
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    CHECK(signal_key(d, s, 1, INT64_MAX - 2, INT64_MAX - 1));
    turn(d);
    CHECK_EQ(d->wanted[1], 1);
    CHECK_EQ(d->node_keys, 0);
    stream_close(s, true);
    turn(d);
    CHECK_EQ(d->wanted[1], 0);
}
