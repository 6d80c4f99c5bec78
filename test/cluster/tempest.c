/*
 * Everything at once: every call of a worker and its loaders, at random, on clusters of 1 to 4
 * nodes with 1 to 4 shards, under any technique, with rows of 1 to 100,000 floats; and every sum is
 * exact afterwards.
 *
 * A round is a cluster, and follows from its number alone, which is printed: LOCUS_TEMPEST=NUMBER
 * begins with that one. (What the threads make of it differs each time.) While it blows, every row
 * read must lie between what the reader has pushed itself and what all have begun to push, and be
 * whole; when all have quiesced, every node must read the same sums. In some rounds each seat waits
 * for the others' clocks at each of its own, and rows must also hold what all did before the bound.
 */
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SEATS_MAX = 16,
    CALL_KEYS = 64,
    FLIGHTS = 6,
    PREPARED = 8, /* samples that wait for their worker */
    CLOCKS_A_PHASE = 8,
    CLOCKS_MAX = 3 * CLOCKS_A_PHASE + 1,
    SAMPLE_KEYS = 200,
    TABLES = 5,
};

/* The last one is overwritten, each row by one seat; the others are added to. */
static const struct locus_table tables[TABLES] = {
    {.rows = 2000, .length = 1},
    {.rows = 300, .length = 7},
    {.rows = 40, .length = 1000},
    {.rows = 4, .length = 100000},
    {.name = "set", .rows = 64, .length = 5},
};
enum { SET_FIRST = 2344, KEYS = SET_FIRST + 64, DRAWN = 2000 /* what samples are drawn from */ };

struct round {
    unsigned number, seed;
    struct team team;
    unsigned phases, steps;
    unsigned few; /* of so many keys of a table, mostly; 0: all alike */
    enum locus_conformity level;
    unsigned flags;
    bool has_loaders, reopens;
    /* bounds: clocks that a seat comes to in a phase, 0: it advances at random, and never waits */
    unsigned clocks;
    locus_clock staleness;
    pthread_barrier_t meeting;
    /* Atomic; of a set row: the value. */
    int64_t begun[KEYS], done[KEYS];
    int64_t at_clock[CLOCKS_MAX][KEYS]; /* what workers did at that clock */
};

struct sailor {
    struct seat *seat;
    struct round *round;
    locus_worker *w;
    locus_distribution *distribution;
    int64_t own[KEYS]; /* pushed, or set; also what is under way */
    locus_clock fresh; /* all copies here hold what was begun before this clock */
    struct batch flight[FLIGHTS], calm;
    locus_ticket ticket[FLIGHTS];
    /* The loader's thread and its worker's. */
    pthread_mutex_t mutex;
    locus_sample prepared[PREPARED];
    bool stops;
};

static int64_t load(const int64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

/* ---- keys ---- */

static locus_key first_of(int table)
{
    locus_key first = 0;
    for (int t = 0; t < table; t++) first += tables[t].rows;
    return first;
}

static locus_key draw_key(struct sailor *s, unsigned *seed)
{
    static const unsigned char table_of[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 4, 4, 4, 4, 3};
    unsigned dice = (unsigned)rand_r(seed), table = table_of[dice % 16];
    /* Long rows are rare: a call of many would be all there is. */
    if (table == 3 && rand_r(seed) % 8) table = 0;
    unsigned rows = (unsigned)tables[table].rows, few = s->round->few;
    if (few && few < rows && rand_r(seed) % 16) rows = few;
    return first_of((int)table) + (unsigned)rand_r(seed) % rows;
}

static unsigned draw_size(struct sailor *s)
{
    return seat_random(s->seat, 4) ? seat_random(s->seat, 6) : seat_random(s->seat, CALL_KEYS);
}

static bool is_set_row(locus_key key)
{
    return key >= SET_FIRST;
}

static bool is_mine(const struct sailor *s, locus_key key)
{
    return is_set_row(key) && (int)(key % (unsigned)s->seat->seats) == s->seat->number;
}

/* Keys to read, or, with `pushes`, to add to. */
static void draw_call(struct sailor *s, struct batch *b, bool pushes)
{
    unsigned n = draw_size(s);
    bool has_long = false;
    batch_clear(b);
    for (unsigned i = 0; i < n; i++) {
        locus_key key = draw_key(s, &s->seat->seed);
        bool is_long = key >= first_of(3) && key < first_of(4);
        if ((pushes && is_set_row(key)) || (is_long && has_long)) continue;
        has_long |= is_long;
        batch_add(b, key);
    }
}

/* ---- what a row may show ---- */

static void check_row(const struct sailor *s, locus_key key, const float *row, uint32_t length,
                      int64_t least)
{
    int64_t most = load(&s->round->begun[key]);
    if (!(row[0] >= (float)least && row[0] <= (float)most))
        test_fail(__FILE__, __LINE__, "round %u: key %llu is %g, not %lld to %lld",
                  s->round->number, (unsigned long long)key, (double)row[0], (long long)least,
                  (long long)most);
    for (uint32_t i = 1; i < length; i++)
        if (row[i] != row[0])
            test_fail(__FILE__, __LINE__,
                      "round %u: key %llu is torn: float %u is %g, the first %g", s->round->number,
                      (unsigned long long)key, i, (double)row[i], (double)row[0]);
}

/* By the last bound: workers that were at such a clock are past it. */
static int64_t bounded(const struct sailor *s, locus_key key)
{
    int64_t sum = 0;
    for (locus_clock c = 0; c < s->fresh; c++) sum += load(&s->round->at_clock[c][key]);
    return sum;
}

static int64_t least_of(const struct sailor *s, locus_key key)
{
    int64_t own = !is_set_row(key) || is_mine(s, key) ? s->own[key] : 0, all = bounded(s, key);
    return own > all ? own : all;
}

static void check_rows(const struct sailor *s, const struct batch *b)
{
    BATCH_FOREACH(c, b) check_row(s, c.key, c.row, c.length, least_of(s, c.key));
}

/* ---- changes ---- */

static void begin_push(struct sailor *s, locus_key key, int64_t number)
{
    __atomic_fetch_add(&s->round->begun[key], number, __ATOMIC_SEQ_CST);
}

/* It is made, or under way, and the worker's clock has not advanced since. */
static void note_change(struct sailor *s, locus_key key, int64_t number)
{
    struct round *r = s->round;
    __atomic_fetch_add(&r->done[key], number, __ATOMIC_SEQ_CST);
    if (r->clocks)
        __atomic_fetch_add(&r->at_clock[locus_current_clock(s->w)][key], number, __ATOMIC_SEQ_CST);
}

static void note_push(struct sailor *s, locus_key key, int64_t number)
{
    s->own[key] += number;
    note_change(s, key, number);
}

static void fill(float *row, uint32_t length, float number)
{
    for (uint32_t i = 0; i < length; i++) row[i] = number;
}

static void draw_updates(struct sailor *s, struct batch *b)
{
    draw_call(s, b, true);
    BATCH_FOREACH(c, b)
    {
        int number = 1 + (int)seat_random(s->seat, 3);
        fill(c.row, c.length, (float)number);
        begin_push(s, c.key, number);
    }
}

static void note_updates(struct sailor *s, const struct batch *b)
{
    BATCH_FOREACH(c, b) note_push(s, c.key, (int64_t)c.row[0]);
}

/* A locus_change. */
static void add_to_row(void *number, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] += *(const float *)number;
}

static void change(struct sailor *s, const struct batch *b)
{
    BATCH_FOREACH(c, b)
    {
        int rc = locus_change_local(s->w, c.key, add_to_row, &c.row[0]);
        if (rc == -EAGAIN) rc = locus_push(s->w, &c.key, 1, c.row);
        CHECK_EQ(rc, 0);
    }
}

/* What an earlier call still reads is not touched. */
static struct batch *free_flight(struct sailor *s, int *f)
{
    *f = (int)seat_random(s->seat, FLIGHTS);
    CHECK_EQ(locus_wait(s->w, s->ticket[*f]), 0);
    CHECK(locus_done(s->w, s->ticket[*f]));
    s->ticket[*f] = 0;
    return &s->flight[*f];
}

static void push_something(struct sailor *s)
{
    int f;
    struct batch *b = free_flight(s, &f);
    draw_updates(s, b);
    switch (seat_random(s->seat, 3)) {
    case 0: change(s, b); break;
    case 1: CHECK_EQ(locus_push(s->w, b->keys, b->n, b->values), 0); break;
    default: CHECK_EQ(locus_push_async(s->w, b->keys, b->n, b->values, &s->ticket[f]), 0);
    }
    note_updates(s, b);
}

static void set_something(struct sailor *s)
{
    int f;
    struct batch *b = free_flight(s, &f);
    batch_clear(b);
    for (unsigned i = draw_size(s) + 1; i > 0; i--) {
        locus_key key = SET_FIRST + seat_random(s->seat, 64);
        if (!is_mine(s, key)) continue;
        bool repeats = false; /* no order among the keys of a call */
        BATCH_FOREACH(c, b) repeats |= c.key == key;
        if (repeats) continue;
        s->own[key]++;
        begin_push(s, key, 1);
        fill(batch_add(b, key), tables[4].length, (float)s->own[key]);
    }
    if (seat_random(s->seat, 2))
        CHECK_EQ(locus_set(s->w, b->keys, b->n, b->values), 0);
    else
        CHECK_EQ(locus_set_async(s->w, b->keys, b->n, b->values, &s->ticket[f]), 0);
    BATCH_FOREACH(c, b) note_change(s, c.key, 1);
}

/* ---- reading ---- */

static void pull_something(struct sailor *s)
{
    locus_ticket ticket;
    if (seat_random(s->seat, 4) == 0) {
        CHECK_EQ(locus_wait_all(s->w), 0);
        memset(s->ticket, 0, sizeof s->ticket);
    }
    draw_call(s, &s->calm, false);
    if (seat_random(s->seat, 2)) {
        CHECK_EQ(locus_pull(s->w, s->calm.keys, s->calm.n, s->calm.values), 0);
    } else {
        CHECK_EQ(locus_pull_async(s->w, s->calm.keys, s->calm.n, s->calm.values, &ticket), 0);
        CHECK_EQ(locus_wait(s->w, ticket), 0);
    }
    check_rows(s, &s->calm);
}

static void look_at_something(struct sailor *s)
{
    draw_call(s, &s->calm, false);
    locus_prefetch(s->w, s->calm.keys, s->calm.n);
    BATCH_FOREACH(c, &s->calm)
    {
        int rc = locus_pull_local(s->w, c.key, c.row);
        CHECK(rc == 0 || rc == -EAGAIN);
        if (rc == 0) check_row(s, c.key, c.row, c.length, least_of(s, c.key));
    }
}

/* Values change while they are looked at, as locus.h says. */
__attribute__((no_sanitize("thread"))) static void check_view(const struct sailor *s, locus_key key,
                                                              const float *row)
{
    float value = *(const volatile float *)row;
    CHECK(value >= 0 && value <= (float)load(&s->round->begun[key]));
}

/* Inside nothing waits: a call is refused as a whole, or done. */
static void read_in_place(struct sailor *s)
{
    struct batch *b = &s->calm;
    bool nests = seat_random(s->seat, 2);
    locus_read_begin(s->w);
    if (nests) locus_read_begin(s->w);
    draw_call(s, b, false);
    BATCH_FOREACH(c, b)
    {
        const float *row = locus_view(s->w, c.key);
        if (row) check_view(s, c.key, row);
    }
    int rc = locus_pull(s->w, b->keys, b->n, b->values);
    CHECK(rc == 0 || rc == -EDEADLK);
    if (rc == 0) check_rows(s, b);
    if (nests) locus_read_end(s->w);
    draw_updates(s, b);
    rc = locus_push(s->w, b->keys, b->n, b->values);
    CHECK(rc == 0 || rc == -EDEADLK);
    if (rc == 0) note_updates(s, b);
    CHECK_EQ(locus_quiesce(s->w), -EDEADLK);
    locus_read_end(s->w);
}

/* ---- where rows are ---- */

static void localize_something(struct sailor *s)
{
    int f;
    struct batch *b = free_flight(s, &f);
    draw_call(s, b, false);
    if (seat_random(s->seat, 2))
        CHECK_EQ(locus_localize(s->w, b->keys, b->n), 0);
    else
        CHECK_EQ(locus_localize_async(s->w, b->keys, b->n, &s->ticket[f]), 0);
}

static void intend_something(struct sailor *s)
{
    locus_clock now = locus_current_clock(s->w), start = now + seat_random(s->seat, 8);
    locus_clock end = seat_random(s->seat, 50) ? start + 1 + seat_random(s->seat, 6) : INT64_MAX;
    draw_call(s, &s->calm, false);
    CHECK_EQ(locus_intent(s->w, s->calm.keys, s->calm.n, start, end), 0);
}

/* ---- samples ---- */

static locus_sample take_prepared(struct sailor *s)
{
    locus_sample sample = 0;
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < PREPARED && !sample; i++) {
        sample = s->prepared[i];
        s->prepared[i] = 0;
    }
    pthread_mutex_unlock(&s->mutex);
    return sample;
}

static void push_to_sampled(struct sailor *s, const locus_key *keys, size_t n)
{
    float ones[SAMPLE_KEYS];
    fill(ones, (uint32_t)n, 1);
    for (size_t i = 0; i < n; i++) begin_push(s, keys[i], 1);
    CHECK_EQ(locus_push(s->w, keys, n, ones), 0);
    for (size_t i = 0; i < n; i++) note_push(s, keys[i], 1);
}

static void sample_something(struct sailor *s)
{
    locus_key keys[SAMPLE_KEYS];
    float rows[SAMPLE_KEYS];
    size_t n = 1 + seat_random(s->seat, SAMPLE_KEYS), portion;
    locus_sample sample = take_prepared(s);
    locus_clock start = locus_current_clock(s->w);
    if (sample)
        n = SAMPLE_KEYS;
    else
        CHECK_EQ(locus_prepare_sample(s->w, s->distribution, n, start, start + 2, &sample), 0);
    for (size_t left = n; left > 0 && seat_random(s->seat, 20); left -= portion) {
        portion = 1 + seat_random(s->seat, (unsigned)left);
        bool has_rows = seat_random(s->seat, 4) > 0;
        CHECK_EQ(locus_pull_sample(s->w, sample, portion, keys, has_rows ? rows : NULL), 0);
        for (size_t i = 0; i < portion && has_rows; i++)
            check_row(s, keys[i], &rows[i], 1, least_of(s, keys[i]));
        if (seat_random(s->seat, 2)) push_to_sampled(s, keys, portion);
    }
    CHECK_EQ(locus_finish_sample(s->w, sample), 0);
}

/* ---- the loader ---- */

static void prepare_ahead(struct sailor *s, locus_loader *l, locus_clock start)
{
    for (int i = 0; i < PREPARED; i++) {
        pthread_mutex_lock(&s->mutex);
        bool is_free = s->prepared[i] == 0;
        pthread_mutex_unlock(&s->mutex);
        locus_sample sample;
        if (!is_free) continue;
        CHECK_EQ(
            locus_loader_prepare_sample(l, s->distribution, SAMPLE_KEYS, start, start + 3, &sample),
            0);
        pthread_mutex_lock(&s->mutex);
        s->prepared[i] = sample;
        pthread_mutex_unlock(&s->mutex);
        return;
    }
}

/* As many calls for each clock of its worker, as a loader's batches are: with more it would ask
 * shards that a sanitizer slows down for more than they can do. */
enum { CALLS_A_CLOCK = 8 };

static void *load_ahead(void *sailor)
{
    struct sailor *s = sailor;
    unsigned seed = s->round->seed ^ 77u * (unsigned)(s->seat->number + 1);
    locus_loader *l;
    CHECK_EQ(locus_loader_open(s->w, &l), 0);
    for (int64_t calls = 0; !__atomic_load_n(&s->stops, __ATOMIC_ACQUIRE);) {
        locus_key keys[CALL_KEYS];
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        if (calls > CALLS_A_CLOCK * (locus_current_clock(s->w) + 1)) continue;
        calls++;
        size_t n = (size_t)rand_r(&seed) % CALL_KEYS;
        for (size_t i = 0; i < n; i++) keys[i] = draw_key(s, &seed);
        locus_clock start = locus_current_clock(s->w) + rand_r(&seed) % 10;
        CHECK_EQ(locus_loader_intent(l, keys, n, start, start + 1 + rand_r(&seed) % 5), 0);
        if (rand_r(&seed) % 8 == 0) prepare_ahead(s, l, start);
    }
    CHECK_EQ(locus_loader_close(l), 0);
    return NULL;
}

/* ---- a seat's part ---- */

static void ask_something(struct sailor *s)
{
    struct locus_stats stats;
    struct locus_histogram times;
    locus_key keys[CALL_KEYS];
    CHECK_EQ(locus_stats_read(s->seat->node, &stats), 0);
    CHECK_EQ(locus_histogram_read(s->seat->node, seat_random(s->seat, 4), &times), 0);
    size_t n = locus_owned(s->seat->node, seat_random(s->seat, KEYS), keys, CALL_KEYS);
    for (size_t i = 1; i < n; i++) CHECK(keys[i] > keys[i - 1] && keys[i] < KEYS);
}

static void step(struct sailor *s)
{
    unsigned dice = seat_random(s->seat, 100);
    if (dice < 25)
        push_something(s);
    else if (dice < 45)
        pull_something(s);
    else if (dice < 52)
        look_at_something(s);
    else if (dice < 58)
        set_something(s);
    else if (dice < 64)
        read_in_place(s);
    else if (dice < 70)
        localize_something(s);
    else if (dice < 80)
        intend_something(s);
    else if (dice < 87)
        sample_something(s);
    else if (dice < 98 && !s->round->clocks)
        locus_advance_clock(s->w);
    else
        ask_something(s);
}

/* All copies hold what everybody began before the clock; it is looked at at once, and by all reads
 * until the next. */
static void wait_for_clock(struct sailor *s)
{
    locus_clock fresh = locus_advance_clock(s->w) - s->round->staleness;
    CHECK_EQ(locus_bound(s->w, s->round->staleness), 0);
    if (fresh > s->fresh) s->fresh = fresh;
    pull_something(s);
}

/* As many clocks for each seat, which would wait for those of others for ever else. */
static void blow_by_clocks(struct sailor *s)
{
    unsigned steps = s->round->steps / s->round->clocks + 1;
    for (unsigned c = 0; c < s->round->clocks; c++) {
        for (unsigned i = 0; i < steps; i++) step(s);
        wait_for_clock(s);
    }
}

static void blow(struct sailor *s)
{
    pthread_t loader;
    if (s->round->has_loaders) {
        s->stops = false;
        CHECK_EQ(pthread_create(&loader, NULL, load_ahead, s), 0);
    }
    if (s->round->clocks) blow_by_clocks(s);
    for (unsigned i = 0; i < s->round->steps && !s->round->clocks; i++) step(s);
    if (s->round->has_loaders) {
        __atomic_store_n(&s->stops, true, __ATOMIC_RELEASE);
        CHECK_EQ(pthread_join(loader, NULL), 0);
    }
    memset(s->prepared, 0, sizeof s->prepared); /* they end with the worker, or never */
}

/* Nobody writes: every copy of every row is what all have done. */
static void compare(struct sailor *s)
{
    struct batch *b = &s->calm;
    for (locus_key key = 0; key < KEYS;) {
        batch_clear(b);
        for (unsigned i = 0; i < CALL_KEYS && key < KEYS; key++, i++) {
            batch_add(b, key);
            if (tables[3].rows && key >= first_of(3) && key < first_of(4)) i = CALL_KEYS;
        }
        CHECK_EQ(locus_pull(s->w, b->keys, b->n, b->values), 0);
        BATCH_FOREACH(c, b)
        {
            int64_t sum = load(&s->round->done[c.key]);
            if (c.row[0] != (float)sum)
                test_fail(__FILE__, __LINE__, "round %u: key %llu is %g at node %d, not %lld",
                          s->round->number, (unsigned long long)c.key, (double)c.row[0],
                          s->seat->rank, (long long)sum);
            check_row(s, c.key, c.row, c.length, sum);
        }
    }
}

static void meet(struct sailor *s)
{
    int rc = pthread_barrier_wait(&s->round->meeting);
    CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* Somebody's worker closes and opens anew, while nobody is in a collective. */
static void reopen(struct sailor *s, unsigned phase)
{
    meet(s);
    if (phase % (unsigned)s->seat->seats == (unsigned)s->seat->number) {
        memset(s->ticket, 0, sizeof s->ticket);
        CHECK_EQ(locus_worker_close(s->w), 0);
        CHECK_EQ(locus_worker_open(s->seat->node, &s->w), 0);
        s->seat->worker = s->w;
    }
    meet(s);
}

static void sail(struct seat *seat)
{
    CLOSED_BY(free_at) struct sailor *s = calloc(1, sizeof *s);
    static double weight[DRAWN]; /* equal in all */
    CHECK(s != NULL);
    s->seat = seat;
    s->round = seat->team->shared;
    s->w = seat->worker;
    seat->seed ^= s->round->seed;
    pthread_mutex_init(&s->mutex, NULL);
    for (int i = 0; i < FLIGHTS; i++)
        s->flight[i] = batch_new(seat->node, CALL_KEYS, 100000 + CALL_KEYS * 1000);
    s->calm = batch_new(seat->node, CALL_KEYS, 100000 + CALL_KEYS * 1000);
    meet(s);
    if (seat->number == 0)
        for (int i = 0; i < DRAWN; i++) weight[i] = 1.0 / (i + 1);
    meet(s);
    CHECK_EQ(locus_distribution_weighted(seat->node, 0, weight, DRAWN, s->round->level,
                                         s->round->flags, &s->distribution),
             0);
    for (unsigned phase = 0; phase < s->round->phases; phase++) {
        blow(s);
        CHECK_EQ(locus_quiesce(s->w), 0);
        memset(s->ticket, 0, sizeof s->ticket);
        compare(s);
        CHECK_EQ(locus_barrier(s->w), 0);
        if (s->round->reopens) reopen(s, phase);
    }
    meet(s);
    locus_distribution_free(s->distribution);
    for (int i = 0; i < FLIGHTS; i++) batch_free(&s->flight[i]);
    batch_free(&s->calm);
    pthread_mutex_destroy(&s->mutex);
}

/* ---- rounds ---- */

static unsigned draw(struct round *r, unsigned bound)
{
    return (unsigned)rand_r(&r->seed) % bound;
}

static void plan(struct round *r, unsigned number)
{
    *r = (struct round){.number = number, .seed = number * 2654435761u};
    rand_r(&r->seed);
    r->team = (struct team){.nodes = 1 + (int)draw(r, 4),
                            .workers = 1 + draw(r, 3),
                            .shards = 1 + draw(r, 4),
                            .technique = draw(r, 3) ? LOCUS_ADAPTIVE
                                                    : draw(r, LOCUS_FULL_REPLICATION + 1),
                            .act_immediately = draw(r, 8) == 0,
                            /* a storm is long, and a sanitizer slow: only who hangs is lost */
                            .peer_timeout_s = 60,
                            .max_rounds_per_second = draw(r, 8) ? 0 : 50 + draw(r, 400),
                            .tables = tables,
                            .table_count = TABLES,
                            .shared = r};
    r->phases = 1 + draw(r, 3);
    r->steps = 20 + draw(r, IS_SANITIZED ? 120 : 400);
    r->few = draw(r, 2) ? 1 + draw(r, 20) : 0;
    r->level = draw(r, LOCUS_NON_CONFORM + 1);
    r->flags = draw(r, 3) ? 0 : LOCUS_WITHOUT_REPLACEMENT;
    r->has_loaders = draw(r, 2);
    r->reopens = draw(r, 3) == 0;
    if (draw(r, 2)) return;
    r->clocks = 1 + draw(r, CLOCKS_A_PHASE);
    r->staleness = draw(r, 2) ? draw(r, 4) : 0;
    r->reopens = false; /* clocks would begin anew */
}

static void sail_round(unsigned number)
{
    static struct round r;
    plan(&r, number);
    printf(
        "round %u: %d nodes, %u workers, %u shards, technique %d%s%s, %u keys preferred, %u x %u steps, sampling %d, bounds of %u clocks\n",
        number, r.team.nodes, r.team.workers, r.team.shards, (int)r.team.technique,
        r.has_loaders ? ", loaders" : "", r.team.max_rounds_per_second ? ", limited rounds" : "",
        r.few, r.phases, r.steps, (int)r.level, r.clocks);
    fflush(stdout);
    CHECK_EQ(pthread_barrier_init(&r.meeting, NULL, (unsigned)r.team.nodes * r.team.workers), 0);
    team_run(&r.team, sail);
    pthread_barrier_destroy(&r.meeting);
}

/* The same rounds in every check; others in each soak. */
static unsigned first_round(void)
{
    const char *text = getenv("LOCUS_TEMPEST");
    if (text) return (unsigned)strtoul(text, NULL, 10);
    return test_seconds() > 5 ? (unsigned)time(NULL) % 1000000 : 1;
}

TEST(tempest, leaves_exact_sums)
{
    double end = now_s() + test_seconds();
    for (unsigned number = first_round(); now_s() < end; number++) sail_round(number);
}
