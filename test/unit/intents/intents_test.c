/* What becomes of intents between the thread that signals and the shard's events: begin and end of
 * each key. */
#include "intents/intents.h"

#include "test.h"

#include <errno.h>
#include <string.h>

enum { WORKERS = 2, KEYS = 5000, LOOKAHEAD = 10 };

/* A shard that counts: how often each key is wanted now, and how often it ever began to be. */
struct fixture {
    struct intents intents;
    locus_clock clock[WORKERS];
    const locus_clock *clocks[WORKERS];
    uint64_t node_keys;
    locus_clock lookahead, ahead;
    int wanted[KEYS];
    int kept[KEYS];
    long begun, ended;
    bool piggybacks;                    /* the last that began */
    locus_clock start[KEYS], end[KEYS]; /* of what began last */
};

static void hear(void *context, const struct intent_event *e, unsigned count)
{
    struct fixture *d = context;
    CHECK(count <= INTENTS_RUN);
    for (; count-- > 0; e++) {
        CHECK(e->index < KEYS);
        if (e->kind == INTENT_BEGINS) {
            d->wanted[e->index]++;
            d->begun++;
            d->piggybacks = e->piggybacks;
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

static void turn_to(struct fixture *d, intents_hear *to)
{
    for (unsigned w = 0; w < WORKERS; w++) {
        d->intents.worker[w].lookahead = d->lookahead;
        d->intents.worker[w].ahead = d->ahead;
    }
    intents_turn(&d->intents, to, d);
}

static void turn(struct fixture *d)
{
    turn_to(d, hear);
}

static void begin(struct fixture *d, uint64_t places)
{
    memset(d, 0, sizeof *d);
    d->lookahead = LOOKAHEAD;
    for (int w = 0; w < WORKERS; w++) d->clocks[w] = &d->clock[w];
    CHECK_EQ(intents_init(&d->intents, places, WORKERS, d->clocks, &d->node_keys), 0);
    turn(d);
}

static void fixture_begin(struct fixture *d)
{
    begin(d, KEYS);
}

static void fixture_end(struct fixture *d)
{
    intents_fini(&d->intents);
}

static void set_clock(struct fixture *d, unsigned worker, locus_clock now)
{
    __atomic_store_n(&d->clock[worker], now, __ATOMIC_SEQ_CST);
}

static int kept_keys(const struct fixture *d)
{
    int sum = 0;
    for (int i = 0; i < KEYS; i++) sum += d->kept[i];
    return sum;
}

/* Most keys find no place in the streams' tables. */
struct crowded {
    struct fixture fixture;
};

static void crowded_begin(struct crowded *c)
{
    begin(&c->fixture, 16);
}

static void crowded_end(struct crowded *c)
{
    fixture_end(&c->fixture);
}

/* As node.c does it; true: the shard must be woken. */
static bool signal_range(struct fixture *d, struct intent_stream *s, uint64_t first, uint64_t count,
                         locus_clock start, locus_clock end_clock)
{
    locus_clock now = d->clock[s->worker];
    stream_begin(s, start, end_clock, now, intents_lookahead(&d->intents, s->worker));
    for (uint64_t i = first; i < first + count; i++) CHECK_EQ(stream_add(s, i), 0);
    CHECK(!stream_came_late(s, now));
    if (start > now) __atomic_fetch_add(&d->node_keys, s->call.added, __ATOMIC_RELAXED);
    stream_publish(s);
    return s->call.added > 0 && intents_published(&d->intents, s->worker, start, now);
}

static bool signal_key(struct fixture *d, struct intent_stream *s, uint64_t index,
                       locus_clock start, locus_clock end_clock)
{
    return signal_range(d, s, index, 1, start, end_clock);
}

static void check_wanted(const struct fixture *d, uint64_t first, uint64_t count, int times)
{
    for (uint64_t i = 0; i < KEYS; i++)
        CHECK_EQ(d->wanted[i], i >= first && i < first + count ? times : 0);
}

/* The worker comes to `now`, and the shard looks. */
static void advance(struct fixture *d, unsigned worker, locus_clock now)
{
    set_clock(d, worker, now);
    turn(d);
}

/* Said again at each step, with another end, for some keys a nearer one than before: what is kept is
 * bounded by the keys, not by how often they were said. */
static void extend_again_and_again(struct fixture *d)
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
    advance(d, 0, 10 + STEPS - 1); /* of all that was said for a key the last end counts */
    for (uint64_t i = 0; i < KEYS; i++) CHECK(i < HALF ? d->wanted[i] == 0 : d->wanted[i] > 0);
    advance(d, 0, 10 + STEPS);
    check_wanted(d, 0, 0, 0);
    CHECK_EQ(d->intents.worker[0].active_keys, 0);
}

TEST_WITH(intents, extended_again_and_again_are_kept_once, fixture, d)
{
    extend_again_and_again(d);
    CHECK_EQ(d->begun, KEYS);
}

TEST_WITH(intents, extended_without_a_place_are_kept_once, crowded, c)
{
    extend_again_and_again(&c->fixture);
    CHECK(c->fixture.begun > 100L * KEYS);
}

/* ---- a model ---- */

enum { SAID_MAX = 400 };

/* What workers have said, and what has become of it. */
struct model {
    struct said {
        uint64_t first, count;
        locus_clock start, end;
        unsigned worker;
        bool has_begun;
    } said[SAID_MAX];
    unsigned count;
    struct intent_stream *own[WORKERS], *loader[WORKERS]; /* NULL: it is closed */
    uint64_t random;
    bool must_turn;
};

static unsigned below(struct model *m, unsigned n)
{
    m->random = m->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(m->random >> 33) % n;
}

/* Its life ends: so does all that it and its loaders have said. */
static void close_worker(struct model *m, unsigned w)
{
    if (m->loader[w]) stream_close(m->loader[w], false);
    if (m->own[w]) stream_close(m->own[w], true);
    m->own[w] = m->loader[w] = NULL;
    for (unsigned i = m->count; i-- > 0;)
        if (m->said[i].worker == w) m->said[i] = m->said[--m->count];
    m->must_turn = true;
}

/* Calls of all sizes: a chunk of a stream has about 500 words. */
static void say_some(struct fixture *d, struct model *m, unsigned w)
{
    if (m->count == SAID_MAX) return;
    struct said *s = &m->said[m->count++];
    uint64_t count = 1 + below(m, below(m, 8) ? 9 : 1100);
    locus_clock start = d->clock[w] + (locus_clock)(below(m, 3) ? below(m, 30) : 0);
    *s = (struct said){.first = below(m, KEYS - 1100),
                       .count = count,
                       .start = start,
                       .end = start + 1 + (locus_clock)below(m, 40),
                       .worker = w};
    bool by_loader = m->loader[w] && below(m, 2);
    m->must_turn |=
        signal_range(d, by_loader ? m->loader[w] : m->own[w], s->first, count, start, s->end);
}

static void do_some(struct fixture *d, struct model *m)
{
    unsigned w = below(m, WORKERS), what = below(m, 40);
    if (!m->own[w]) {
        set_clock(d, w, 0); /* before the shard has seen the last life's end, perhaps */
        m->own[w] = intents_open_stream(&d->intents, w);
    } else if (what == 0) {
        close_worker(m, w);
    } else if (what == 1 && !m->loader[w]) {
        m->loader[w] = intents_open_stream(&d->intents, w);
    } else if (what == 2 && m->loader[w]) {
        stream_close(m->loader[w], false);
        m->loader[w] = NULL;
    } else if (what < 20) {
        say_some(d, m, w);
    } else {
        set_clock(d, w, d->clock[w] + 1 + (locus_clock)(below(m, 10) ? 0 : below(m, 50)));
        m->must_turn |= intents_advanced(&d->intents, w, d->clock[w]);
    }
}

/* By the clocks of now: what is due has begun, and what is over has ended or never begins. */
static void check_model(const struct fixture *d, struct model *m)
{
    static bool is_wanted[KEYS];
    uint64_t waiting = 0;
    memset(is_wanted, 0, sizeof is_wanted);
    for (unsigned i = m->count; i-- > 0;) {
        struct said *s = &m->said[i];
        locus_clock now = d->clock[s->worker];
        s->has_begun |= s->start - now < LOOKAHEAD;
        if (now >= s->end)
            m->said[i] = m->said[--m->count];
        else if (!s->has_begun)
            waiting += s->count; /* those of them that do not go on from others */
        else
            memset(is_wanted + s->first, 1, s->count);
    }
    for (uint64_t i = 0; i < KEYS; i++) CHECK_EQ(d->wanted[i] > 0, is_wanted[i]);
    CHECK(d->node_keys <= waiting);
}

/* The shard looks only when it is woken, and sometimes late: whatever the order of things, keys are
 * wanted from the lookahead before a start to the end, and nothing is left of what is over. */
static void follow_model(struct fixture *d)
{
    static struct model m;
    unsigned turns = 0, steps = 20000;
    m = (struct model){.random = 7};
    for (unsigned i = 0; i < steps; i++) {
        do_some(d, &m);
        if (m.must_turn && below(&m, 3) == 0) continue; /* it is busy */
        if (m.must_turn || below(&m, 100) == 0) turn(d), turns++;
        m.must_turn = false;
        check_model(d, &m);
    }
    CHECK(d->begun > 10000 && turns < steps);
    for (unsigned w = 0; w < WORKERS; w++) close_worker(&m, w);
    turn(d);
    check_model(d, &m);
    CHECK_EQ(d->begun, d->ended);
}

TEST_WITH(intents, are_wanted_when_it_is_time_by_two_workers_with_loaders, fixture, d)
{
    follow_model(d);
}

TEST_WITH(intents, without_a_place_are_wanted_when_it_is_time, crowded, c)
{
    follow_model(&c->fixture);
}

/* ---- what is told ---- */

/* Whoever is told that a key begins may ask for its clocks, however many keys a batch has, and
 * however many batches begin together. */
TEST_WITH(intents, hear_of_the_clocks_of_what_begins, fixture, d)
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

/* ---- wants that go on ---- */

static bool has_written(const struct intent_stream *s)
{
    return s->call.added > 0;
}

/* It is written once, however often it is named; and the shard is told of two edges. */
TEST_WITH(intents, named_before_they_end_go_on_and_are_not_written, fixture, d)
{
    enum { STEPS = 1000, AHEAD = 50 };
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    for (int step = 0; step < STEPS; step++) {
        signal_key(d, s, 7, step + AHEAD, step + AHEAD + 1);
        CHECK_EQ(has_written(s), step == 0);
        signal_key(d, s, 7, step + AHEAD, step + AHEAD + 1); /* in the same call, or another */
        CHECK(!has_written(s));
        advance(d, 0, step);
        CHECK_EQ(d->wanted[7], step > AHEAD - LOOKAHEAD);
    }
    advance(d, 0, STEPS + AHEAD - 1);
    check_wanted(d, 7, 1, 1);
    advance(d, 0, STEPS + AHEAD);
    check_wanted(d, 0, 0, 0);
    CHECK_EQ(d->begun, 1);
    CHECK_EQ(d->ended, 1);
}

/* Named so soon after the end that the lookahead joins them; and one clock later. */
TEST_WITH(intents, that_the_lookahead_joins_go_on, fixture, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_range(d, s, 0, 2, 20, 30);
    signal_key(d, s, 0, 30 + LOOKAHEAD - 1, 60);
    CHECK(!has_written(s));
    signal_key(d, s, 1, 30 + LOOKAHEAD, 60);
    CHECK(has_written(s));
    signal_key(d, s, 0, 19, 20); /* earlier than what is known of it */
    CHECK(has_written(s));
    for (locus_clock now = 1; now <= 60; now++) {
        advance(d, 0, now);
        CHECK_EQ(d->wanted[0] > 0, now > 19 - LOOKAHEAD && now < 60);
        CHECK_EQ(d->wanted[1] > 0, (now > 10 && now < 30) || (now > 30 && now < 60));
    }
}

/* The shard reads what was named only after it is over; but it goes on. */
TEST_WITH(intents, that_go_on_are_heard_of_late, fixture, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_range(d, s, 0, 2, 2, 3);
    signal_key(d, s, 1, 3, 30);
    advance(d, 0, 20);
    check_wanted(d, 1, 1, 1);
    signal_range(d, s, 3, 2, 25 + LOOKAHEAD, 26 + LOOKAHEAD); /* known, and waits too long */
    turn(d);
    signal_key(d, s, 4, 26 + LOOKAHEAD, 80);
    advance(d, 0, 70);
    check_wanted(d, 4, 1, 1);
    advance(d, 0, 80);
    check_wanted(d, 0, 0, 0);
    CHECK_EQ(d->node_keys, 0);
}

/* A loader that is slow: what it raises, the worker has come to meanwhile. */
TEST_WITH(intents, that_may_have_ended_meanwhile_are_written, fixture, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_range(d, s, 0, 2, 0, 5);
    turn(d);
    stream_begin(s, 3, 9, 3, LOOKAHEAD);
    advance(d, 0, 5); /* the shard ends both */
    check_wanted(d, 0, 0, 0);
    for (uint64_t i = 0; i < 2; i++) CHECK_EQ(stream_add(s, i), 0);
    CHECK(!has_written(s) && !stream_came_late(s, 4) && stream_came_late(s, 5));
    for (uint64_t i = 0; i < 2; i++) CHECK_EQ(stream_write(s, i), 0);
    stream_publish(s);
    turn(d);
    check_wanted(d, 0, 2, 1);
    advance(d, 0, 9);
    check_wanted(d, 0, 0, 0);
}

/* What a refused call has placed is not there for the next one; what others have placed is. */
TEST_WITH(intents, of_a_call_that_is_undone_do_not_go_on, fixture, d)
{
    enum { MANY = 2000 };
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    signal_range(d, s, MANY, 10, 0, 50);
    stream_begin(s, 0, 50, 0, LOOKAHEAD);
    for (uint64_t i = 0; i < MANY; i++) CHECK_EQ(stream_add(s, i), 0);
    stream_undo(s);
    turn(d);
    check_wanted(d, MANY, 10, 1);
    signal_range(d, s, 0, MANY + 10, 0, 60);
    CHECK_EQ(s->call.added, MANY);
    turn(d);
    advance(d, 0, 59);
    check_wanted(d, 0, MANY + 10, 1);
    advance(d, 0, 60);
    check_wanted(d, 0, 0, 0);
}

/* A loader that closes takes its table with it, not what it has raised there. */
TEST_WITH(intents, of_a_loader_outlive_it, fixture, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0),
                         *own = intents_open_stream(&d->intents, 0);
    signal_range(d, s, 0, 10, 0, 5);
    signal_range(d, s, 5, 5, 5, 40);
    signal_range(d, s, 20, 10, 60, 61);
    signal_range(d, s, 20, 5, 61, 80);
    stream_close(s, false);
    turn(d);
    advance(d, 0, 5);
    check_wanted(d, 5, 5, 1);
    advance(d, 0, 40);
    check_wanted(d, 0, 0, 0);
    advance(d, 0, 61 - LOOKAHEAD);
    CHECK(d->wanted[20] > 0 && d->wanted[25] > 0);
    advance(d, 0, 61);
    check_wanted(d, 20, 5, 1);
    stream_close(own, true);
    turn(d);
    check_wanted(d, 0, 0, 0);
}

/* Clocks begin anew with the next life, for which the ends of this one lie far ahead. */
TEST_WITH(intents, of_a_closed_worker_are_not_raised_again, fixture, d)
{
    struct intent_stream *own = intents_open_stream(&d->intents, 0),
                         *loader = intents_open_stream(&d->intents, 0);
    set_clock(d, 0, 1000);
    signal_range(d, loader, 0, 10, 1000, 1010);
    signal_range(d, loader, 0, 10, 1005, 2000);
    signal_range(d, own, 5, 10, 1000, 1010);
    signal_range(d, own, 5, 10, 1005, 2000);
    turn(d);
    stream_close(loader, false);
    stream_close(own, true);
    set_clock(d, 0, 0);
    own = intents_open_stream(&d->intents, 0);
    signal_range(d, own, 3, 1, 0, 2);
    turn(d);
    check_wanted(d, 3, 1, 1);
    advance(d, 0, 2);
    check_wanted(d, 0, 0, 0);
}

TEST_WITH(intents, that_piggyback_begin_early_and_wake_nobody, fixture, d)
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

TEST_WITH(intents, that_begin_beyond_the_lookahead_piggyback, fixture, d)
{
    struct intent_stream *s = intents_open_stream(&d->intents, 0);
    static const locus_clock beyond_lookahead[] = {-1, 0, 39};
    for (int i = 0; i < 3; i++) {
        d->ahead = 0;
        signal_key(d, s, (uint64_t)i, LOOKAHEAD + beyond_lookahead[i], LOOKAHEAD + 100);
        d->ahead = 40;
        turn(d);
        CHECK_EQ(d->piggybacks, beyond_lookahead[i] >= 0);
    }
}

/* A leak checker looks on. */
TEST_WITH(intents, unread_at_the_end_are_freed, fixture, d)
{
    struct intent_stream *known = intents_open_stream(&d->intents, 0);
    turn(d);
    signal_range(d, known, 0, KEYS, 0, 5);
    signal_range(d, intents_open_stream(&d->intents, 1), 0, KEYS, 50, 55);
}

/* ---- for ever ---- */

static void check_kept(const struct fixture *d, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < KEYS; i++) CHECK_EQ(d->kept[i] > 0, i >= first && i < first + count);
}

TEST_WITH(intents, for_ever_are_taken_back_begun_or_not, fixture, d)
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
    struct fixture *d = context;
    hear(d, e, count);
    for (; count-- > 0; e++)
        if (e->index + 1 < KEYS) signal_range(d, restless, e->index + 1, 1, 0, LOCUS_FOREVER);
}

TEST_WITH(intents, that_come_as_fast_as_they_are_read_leave_a_turn_its_end, fixture, d)
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

/* ---- waking a shard that sleeps ---- */

TEST_WITH(intents, wake_the_shard_only_for_what_must_be_done_now, fixture, d)
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

TEST_WITH(intents, of_an_unlimited_lookahead_begin_at_once, fixture, d)
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
