/*
 * Everything at once: every call of a worker and its loaders, at random, on clusters of 1 to 4
 * nodes with 1 to 4 shards, in one process or in several, under any technique, with and without
 * optimizers, with rows of 1 to 100,000 floats; and every sum, and every optimizer's state, is
 * exact afterwards.
 *
 * A round is a cluster, and follows from its number alone, which is printed: LOCUS_STRESS=NUMBER
 * begins with that one. (What the threads make of it differs each time.) Meanwhile every row read
 * must lie between what the reader has pushed itself and what all have begun to push, and be
 * whole; when all have quiesced, every node must read the same sums. In some rounds each seat waits
 * for the others' clocks at each of its own, and rows must also hold what all did before the bound.
 */
#include "stress.h"

#include "common/exact_steps.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_KEYS = 64,
    FLIGHTS = 6,
    PREPARED = 8, /* samples that wait for their worker */
    CLOCKS_A_PHASE = 8,
    CLOCKS_MAX = 3 * CLOCKS_A_PHASE + 1,
    STEPS_MAX = 40000, /* sums stay below 2^24, where floats cease to be exact */
    BF16_MAX = 256,    /* so far whole numbers of 16 bits are exact */
    SAMPLE_KEYS = 200,
    TABLES = 5,
    LONG_LENGTH = 100000,
    ROOM = LONG_LENGTH + CALL_KEYS * 1000, /* floats of a call */
    STATES = 2,                            /* the most arrays of a row's state */
};

/* The last one is overwritten, each row by one seat; the others are added to. */
static const struct locus_table tables[TABLES] = {
    {.rows = 2000, .length = 1},
    {.rows = 300, .length = 7},
    {.rows = 40, .length = 1000},
    {.rows = 4, .length = LONG_LENGTH},
    {.name = "set", .rows = 64, .length = 5},
};
enum {
    FEW_FIRST = 2297, /* kept by some: rows of 7 and of 1000 floats */
    FEW = 7,
    SET_FIRST = 2344,
    KEYS = SET_FIRST + 64,
    DRAWN = 2000, /* what samples are drawn from */
};

/* In memory that the processes of its nodes share. */
struct round {
    struct stress plan;
    pthread_barrier_t meeting;
    /* Atomic; of a set row: the value. */
    int64_t begun[KEYS], done[KEYS];
    int64_t at_clock[CLOCKS_MAX][KEYS]; /* what workers did at that clock */
};

struct client {
    struct seat *seat;
    struct round *round;
    const struct stress *plan;
    locus_worker *w;
    locus_distribution *distribution;
    int64_t own[KEYS]; /* pushed, or set; also what is under way */
    locus_clock fresh; /* all copies here hold what was begun before this clock */
    struct batch flight[FLIGHTS], calm;
    float *states;
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

static locus_key draw_key(struct client *s, unsigned *seed)
{
    static const unsigned char table_of[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 4, 4, 4, 4, 3};
    unsigned dice = (unsigned)rand_r(seed), table = table_of[dice % 16];
    /* Long rows are rare: a call of many would be all there is. */
    if (table == 3 && rand_r(seed) % 8) table = 0;
    unsigned rows = (unsigned)tables[table].rows, few = s->plan->few;
    if (few && few < rows && rand_r(seed) % 16) rows = few;
    return first_of((int)table) + (unsigned)rand_r(seed) % rows;
}

static unsigned draw_size(struct client *s)
{
    return seat_random(s->seat, 4) ? seat_random(s->seat, 6) : seat_random(s->seat, CALL_KEYS);
}

static bool is_set_row(locus_key key)
{
    return key >= SET_FIRST;
}

static bool is_mine(const struct client *s, locus_key key)
{
    return is_set_row(key) && (int)(key % (unsigned)s->seat->seats) == s->seat->number;
}

/* Keys to read, or, with `pushes`, to add to. */
static void draw_call(struct client *s, struct batch *b, bool pushes)
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

static void check_row(const struct client *s, locus_key key, const float *row, uint32_t length,
                      int64_t least)
{
    int64_t most = load(&s->round->begun[key]);
    if (!(row[0] >= (float)least && row[0] <= (float)most))
        test_fail(__FILE__, __LINE__, "round %u: key %llu is %g, not %lld to %lld", s->plan->number,
                  (unsigned long long)key, (double)row[0], (long long)least, (long long)most);
    for (uint32_t i = 1; i < length; i++)
        if (row[i] != row[0])
            test_fail(__FILE__, __LINE__,
                      "round %u: key %llu is torn: float %u is %g, the first %g", s->plan->number,
                      (unsigned long long)key, i, (double)row[i], (double)row[0]);
}

/* By the last bound: workers that were at such a clock are past it. */
static int64_t bounded(const struct client *s, locus_key key)
{
    int64_t sum = 0;
    for (locus_clock c = 0; c < s->fresh; c++) sum += load(&s->round->at_clock[c][key]);
    return sum;
}

static int64_t least_of(const struct client *s, locus_key key)
{
    int64_t own = !is_set_row(key) || is_mine(s, key) ? s->own[key] : 0, all = bounded(s, key);
    return own > all ? own : all;
}

static void check_rows(const struct client *s, const struct batch *b)
{
    BATCH_FOREACH(c, b) check_row(s, c.key, c.row, c.length, least_of(s, c.key));
}

/* ---- changes ---- */

/* False: 16 bits would not be exact. */
static bool begin_change(struct client *s, locus_key key, int64_t number)
{
    int64_t *begun = &s->round->begun[key];
    bool is_small = s->plan->element == LOCUS_BF16 && !is_set_row(key);
    if (__atomic_add_fetch(begun, number, __ATOMIC_SEQ_CST) <= BF16_MAX || !is_small) return true;
    __atomic_fetch_sub(begun, number, __ATOMIC_SEQ_CST);
    return false;
}

/* It is made, or under way, and the worker's clock has not advanced since. */
static void note_change(struct client *s, locus_key key, int64_t number)
{
    struct round *r = s->round;
    __atomic_fetch_add(&r->done[key], number, __ATOMIC_SEQ_CST);
    if (r->plan.clocks)
        __atomic_fetch_add(&r->at_clock[locus_current_clock(s->w)][key], number, __ATOMIC_SEQ_CST);
}

static void fill(float *row, uint32_t length, float number)
{
    for (uint32_t i = 0; i < length; i++) row[i] = number;
}

/* Steps of an optimizer with a key are all alike, for the state to be known. */
static unsigned step_of(locus_key key)
{
    return 1 + (unsigned)key % 3;
}

static void add_update(struct client *s, struct batch *b, locus_key key)
{
    unsigned number = s->plan->optimizer ? step_of(key) : 1 + seat_random(s->seat, 3);
    if (!begin_change(s, key, number)) return;
    float *row = batch_add(b, key);
    fill(row, locus_length(s->seat->node, key),
         s->plan->optimizer ? -(float)number : (float)number);
}

static void draw_updates(struct client *s, struct batch *b)
{
    locus_key keys[CALL_KEYS];
    draw_call(s, b, true);
    size_t n = b->n;
    memcpy(keys, b->keys, n * sizeof *keys);
    batch_clear(b);
    for (size_t i = 0; i < n; i++) add_update(s, b, keys[i]);
}

static void note_updates(struct client *s, const struct batch *b)
{
    BATCH_FOREACH(c, b)
    {
        int64_t number = (int64_t)fabsf(c.row[0]);
        s->own[c.key] += number;
        note_change(s, c.key, number);
    }
}

/* A locus_change. */
static void add_to_row(void *number, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] += *(const float *)number;
}

/* A locus_gradient. */
static void give_gradient(void *number, const float *values, float *gradient, uint32_t length)
{
    (void)values;
    fill(gradient, length, *(const float *)number);
}

/* In place, what is here; the others are pushed. */
static void change(struct client *s, const struct batch *b)
{
    BATCH_FOREACH(c, b)
    {
        int rc = s->plan->optimizer ? locus_step_local(s->w, c.key, give_gradient, &c.row[0])
                                    : locus_change_local(s->w, c.key, add_to_row, &c.row[0]);
        if (rc == -EAGAIN) rc = locus_push(s->w, &c.key, 1, c.row);
        CHECK_EQ(rc, 0);
    }
}

/* What an earlier call still reads is not touched. */
static struct batch *free_flight(struct client *s, int *f)
{
    *f = (int)seat_random(s->seat, FLIGHTS);
    CHECK_EQ(locus_wait(s->w, s->ticket[*f]), 0);
    CHECK(locus_done(s->w, s->ticket[*f]));
    s->ticket[*f] = 0;
    return &s->flight[*f];
}

static void push_something(struct client *s)
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

static void set_something(struct client *s)
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
        begin_change(s, key, 1);
        fill(batch_add(b, key), tables[4].length, (float)s->own[key]);
    }
    if (seat_random(s->seat, 2))
        CHECK_EQ(locus_set(s->w, b->keys, b->n, b->values), 0);
    else
        CHECK_EQ(locus_set_async(s->w, b->keys, b->n, b->values, &s->ticket[f]), 0);
    BATCH_FOREACH(c, b) note_change(s, c.key, 1);
}

/* ---- reading ---- */

/* As with Petuum's SSP and ESSP: what is missed is fetched, for a while or for ever. */
static void intend_missed(struct client *s, const struct batch *b)
{
    locus_clock now = locus_current_clock(s->w);
    locus_clock end = s->plan->manner == STRESS_ESSP ? LOCUS_FOREVER : now + s->plan->staleness + 1;
    BATCH_FOREACH(c, b)
    if (locus_pull_local(s->w, c.key, c.row)) CHECK_EQ(locus_intent(s->w, &c.key, 1, now, end), 0);
}

static void pull_something(struct client *s)
{
    locus_ticket ticket;
    if (seat_random(s->seat, 4) == 0) {
        CHECK_EQ(locus_wait_all(s->w), 0);
        memset(s->ticket, 0, sizeof s->ticket);
    }
    draw_call(s, &s->calm, false);
    if (s->plan->manner == STRESS_SSP || s->plan->manner == STRESS_ESSP) intend_missed(s, &s->calm);
    if (seat_random(s->seat, 2)) {
        CHECK_EQ(locus_pull(s->w, s->calm.keys, s->calm.n, s->calm.values), 0);
    } else {
        CHECK_EQ(locus_pull_async(s->w, s->calm.keys, s->calm.n, s->calm.values, &ticket), 0);
        CHECK_EQ(locus_wait(s->w, ticket), 0);
    }
    check_rows(s, &s->calm);
}

static void look_at_something(struct client *s)
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
__attribute__((no_sanitize("thread"))) static void check_view(const struct client *s, locus_key key,
                                                              const float *row)
{
    float value = *(const volatile float *)row;
    CHECK(value >= 0 && value <= (float)load(&s->round->begun[key]));
}

/* Inside nothing waits: a call is refused as a whole, or done. */
static void read_in_place(struct client *s)
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

static void localize_something(struct client *s)
{
    int f;
    struct batch *b = free_flight(s, &f);
    draw_call(s, b, false);
    if (seat_random(s->seat, 2))
        CHECK_EQ(locus_localize(s->w, b->keys, b->n), 0);
    else
        CHECK_EQ(locus_localize_async(s->w, b->keys, b->n, &s->ticket[f]), 0);
}

/* As with NuPS: few keys are kept, and that is taken back now and then. */
static void keep_or_not(struct client *s)
{
    locus_key keys[FEW];
    for (unsigned i = 0; i < FEW; i++) keys[i] = FEW_FIRST + i;
    CHECK_EQ(seat_random(s->seat, 4) ? locus_intent(s->w, keys, FEW, 0, LOCUS_FOREVER)
                                     : locus_unintend(s->w, keys, FEW),
             0);
}

static void intend_something(struct client *s)
{
    if (s->plan->manner == STRESS_KEEPS && seat_random(s->seat, 2)) {
        keep_or_not(s);
        return;
    }
    locus_clock now = locus_current_clock(s->w), start = now + seat_random(s->seat, 8);
    locus_clock end = seat_random(s->seat, 50) ? start + 1 + seat_random(s->seat, 6)
                                               : LOCUS_FOREVER;
    draw_call(s, &s->calm, false);
    CHECK_EQ(locus_intent(s->w, s->calm.keys, s->calm.n, start, end), 0);
}

/* ---- samples ---- */

static locus_sample take_prepared(struct client *s)
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

static void push_to_sampled(struct client *s, const locus_key *keys, size_t n)
{
    struct batch *b = &s->calm;
    batch_clear(b);
    for (size_t i = 0; i < n; i++) add_update(s, b, keys[i]);
    CHECK_EQ(locus_push(s->w, b->keys, b->n, b->values), 0);
    note_updates(s, b);
}

static void sample_something(struct client *s)
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

static void prepare_ahead(struct client *s, locus_loader *l, locus_clock start)
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

static void *load_ahead(void *client)
{
    struct client *s = client;
    unsigned seed = s->plan->seed ^ 77u * (unsigned)(s->seat->number + 1);
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

static void ask_something(struct client *s)
{
    struct locus_stats stats;
    struct locus_histogram times;
    locus_key keys[CALL_KEYS];
    CHECK_EQ(locus_stats_read(s->seat->node, &stats), 0);
    CHECK_EQ(locus_histogram_read(s->seat->node, seat_random(s->seat, 4), &times), 0);
    size_t n = locus_owned(s->seat->node, seat_random(s->seat, KEYS), keys, CALL_KEYS);
    for (size_t i = 1; i < n; i++) CHECK(keys[i] > keys[i - 1] && keys[i] < KEYS);
}

static void step(struct client *s)
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
    else if (dice < 98 && !s->plan->clocks)
        locus_advance_clock(s->w);
    else
        ask_something(s);
}

/* All copies hold what everybody began before the clock; it is looked at at once, and by all reads
 * until the next. */
static void wait_for_clock(struct client *s)
{
    locus_clock fresh = locus_advance_clock(s->w) - s->plan->staleness;
    CHECK_EQ(locus_bound(s->w, s->plan->staleness), 0);
    if (fresh > s->fresh) s->fresh = fresh;
    pull_something(s);
}

/* As many clocks for each seat, which would wait for those of others for ever else. */
static void run_clocks(struct client *s)
{
    unsigned steps = s->plan->steps / s->plan->clocks + 1;
    for (unsigned c = 0; c < s->plan->clocks; c++) {
        for (unsigned i = 0; i < steps; i++) step(s);
        wait_for_clock(s);
    }
}

static void run_phase(struct client *s)
{
    pthread_t loader = {0};
    double end = now_s() + s->plan->seconds;
    if (s->plan->has_loaders) {
        s->stops = false;
        CHECK_EQ(pthread_create(&loader, NULL, load_ahead, s), 0);
    }
    if (s->plan->clocks) run_clocks(s);
    for (unsigned i = 0; !s->plan->clocks && i < STEPS_MAX; i++) {
        if (i >= s->plan->steps && now_s() >= end) break;
        step(s);
    }
    if (s->plan->has_loaders) {
        __atomic_store_n(&s->stops, true, __ATOMIC_RELEASE);
        CHECK_EQ(pthread_join(loader, NULL), 0);
    }
    memset(s->prepared, 0, sizeof s->prepared); /* they end with the worker, or never */
}

static void compare_states(struct client *s, const struct batch *b)
{
    const float *row = s->states;
    CHECK_EQ(locus_pull_state(s->w, b->keys, b->n, s->states), 0);
    BATCH_FOREACH(c, b)
    {
        double number = step_of(c.key), steps = (double)load(&s->round->done[c.key]) / number;
        uint32_t stored = locus_state_length(s->seat->node, c.key);
        CHECK(row[0] == c.row[0]);
        for (uint32_t i = c.length; i < stored; i++) {
            double right = exact_steps_state(s->plan->optimizer, i / c.length - 1, steps, -number);
            if (!exact_steps_are_near(row[i], right))
                test_fail(__FILE__, __LINE__,
                          "round %u: key %llu: state %u is %.9g, but %.9g after %.0f steps",
                          s->plan->number, (unsigned long long)c.key, i - c.length, (double)row[i],
                          right, steps);
        }
        row += stored;
    }
}

/* Nobody writes: every copy of every row is what all have done. */
static void compare(struct client *s)
{
    struct batch *b = &s->calm;
    for (locus_key key = 0; key < KEYS;) {
        batch_clear(b);
        for (unsigned i = 0; i < CALL_KEYS && key < KEYS; key++, i++) {
            batch_add(b, key);
            if (key >= first_of(3) && key < first_of(4)) i = CALL_KEYS;
        }
        CHECK_EQ(locus_pull(s->w, b->keys, b->n, b->values), 0);
        BATCH_FOREACH(c, b)
        {
            int64_t sum = load(&s->round->done[c.key]);
            if (c.row[0] != (float)sum)
                test_fail(__FILE__, __LINE__, "round %u: key %llu is %g at node %d, not %lld",
                          s->plan->number, (unsigned long long)c.key, (double)c.row[0],
                          s->seat->rank, (long long)sum);
            check_row(s, c.key, c.row, c.length, sum);
        }
        if (s->plan->optimizer) compare_states(s, b);
    }
}

static void meet(struct client *s)
{
    int rc = pthread_barrier_wait(&s->round->meeting);
    CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* All workers of a node close and open anew, or one, while nobody is in a collective. All have come
 * to one clock: who has passed it again is waited for. */
static void reopen(struct client *s, unsigned phase)
{
    bool is_node = phase % (unsigned)s->plan->nodes == (unsigned)s->seat->rank;
    bool reopens = is_node && (phase % 2 == 0 || s->seat->id == 0);
    locus_clock clock = locus_current_clock(s->w);
    meet(s);
    if (reopens) CHECK_EQ(locus_worker_close(s->w), 0);
    meet(s);
    if (reopens) {
        memset(s->ticket, 0, sizeof s->ticket);
        CHECK_EQ(locus_worker_open(s->seat->node, &s->w), 0);
        s->seat->worker = s->w;
        while (s->plan->clocks && locus_advance_clock(s->w) < clock) continue;
    }
    meet(s);
}

/* The same distribution for all. */
static locus_distribution *distribution_of(const struct client *s)
{
    double weight[DRAWN];
    locus_distribution *d;
    for (int i = 0; i < DRAWN; i++) weight[i] = 1.0 / (i + 1);
    CHECK_EQ(locus_distribution_weighted(s->seat->node, 0, weight, DRAWN, s->plan->level,
                                         s->plan->flags, &d),
             0);
    return d;
}

static struct client *client_new(struct seat *seat)
{
    struct client *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->seat = seat;
    s->round = seat->team->shared;
    s->plan = &s->round->plan;
    s->w = seat->worker;
    seat->seed ^= s->plan->seed;
    pthread_mutex_init(&s->mutex, NULL);
    for (int i = 0; i < FLIGHTS; i++) s->flight[i] = batch_new(seat->node, CALL_KEYS, ROOM);
    s->calm = batch_new(seat->node, SAMPLE_KEYS, ROOM);
    s->states = calloc((1 + STATES) * (size_t)ROOM, sizeof *s->states);
    CHECK(s->states != NULL);
    for (unsigned t = 0; t < TABLES - 1 && s->plan->optimizer; t++)
        CHECK_EQ(locus_table_steps(seat->node, t, EXACT_STEPS_BEFORE), 0);
    s->distribution = distribution_of(s);
    return s;
}

static void client_free(struct client *s)
{
    locus_distribution_free(s->distribution);
    for (int i = 0; i < FLIGHTS; i++) batch_free(&s->flight[i]);
    batch_free(&s->calm);
    pthread_mutex_destroy(&s->mutex);
    free(s->states);
    free(s);
}

static bool has_parent; /* this process is one of a node alone */

static void run_seat(struct seat *seat)
{
    struct client *s = client_new(seat);
    meet(s);
    if (has_parent && seat->id == 0) parent_tell("open");
    for (unsigned phase = 0; phase < s->plan->phases; phase++) {
        run_phase(s);
        CHECK_EQ(locus_quiesce(s->w), 0);
        memset(s->ticket, 0, sizeof s->ticket);
        compare(s);
        CHECK_EQ(locus_barrier(s->w), 0);
        if (s->plan->reopens) reopen(s, phase);
    }
    meet(s);
    client_free(s);
}

/* ---- rounds ---- */

int stress_new(const struct stress *plan)
{
    int fd;
    pthread_barrierattr_t among_processes;
    struct round *r = shared_new(sizeof *r, &fd);
    r->plan = *plan;
    pthread_barrierattr_init(&among_processes);
    pthread_barrierattr_setpshared(&among_processes, PTHREAD_PROCESS_SHARED);
    CHECK_EQ(
        pthread_barrier_init(&r->meeting, &among_processes, (unsigned)plan->nodes * plan->workers),
        0);
    munmap(r, sizeof *r);
    return fd;
}

/* Who waits for others' clocks is as slow as the slowest of all: only who hangs is lost. */
static struct team team_of(struct round *r, struct locus_table with[TABLES])
{
    const struct stress *p = &r->plan;
    memcpy(with, tables, sizeof tables);
    for (unsigned t = 0; t < TABLES - 1; t++) {
        with[t].optimizer = p->optimizer;
        with[t].element = p->element;
        with[t].rule = exact_steps_rule(p->optimizer);
    }
    return (struct team){
        TEAM_OF(p->nodes, p->workers, p->shards, p->technique, with, TABLES), .lab = p->lab,
        .peer_timeout_s = p->peer_timeout_s ? p->peer_timeout_s : HANG_S, .shared = r};
}

ROLE(stress_node)
{
    struct locus_table with[TABLES];
    int fd, rank;
    char address[ADDRESS_BYTES], listen[ADDRESS_BYTES] = "";
    CHECK(sscanf(arguments, "%d %d %31s %31s", &fd, &rank, address, listen) >= 3);
    struct team t = team_of(shared_of(fd, sizeof(struct round)), with);
    memcpy(t.address, address, sizeof address);
    if (*listen) t.listen = listen;
    has_parent = true;
    team_run_node(&t, rank, run_seat);
}

/* ---- all nodes in this process ---- */

static unsigned draw(struct stress *r, unsigned bound)
{
    return (unsigned)rand_r(&r->seed) % bound;
}

static struct stress plan_of(unsigned number)
{
    struct stress r = {.number = number, .seed = number * 2654435761u};
    rand_r(&r.seed);
    r.nodes = 1 + (int)draw(&r, 4);
    r.workers = 1 + draw(&r, 3);
    r.shards = 1 + draw(&r, 4);
    r.technique = draw(&r, 3) ? LOCUS_ADAPTIVE : draw(&r, LOCUS_FULL_REPLICATION + 1);
    const char *when = draw(&r, 8) ? "" : "immediate,";
    if (draw(&r, 8))
        snprintf(r.lab, sizeof r.lab, "%s", when);
    else
        snprintf(r.lab, sizeof r.lab, "%srounds=%u", when, 50 + draw(&r, 400));
    r.phases = 1 + draw(&r, 3);
    r.steps = 20 + draw(&r, IS_SANITIZED ? 120 : 400);
    r.few = draw(&r, 2) ? 1 + draw(&r, 20) : 0;
    r.level = draw(&r, LOCUS_NON_CONFORM + 1);
    r.flags = draw(&r, 3) ? 0 : LOCUS_WITHOUT_REPLACEMENT;
    r.has_loaders = draw(&r, 2);
    r.reopens = draw(&r, 3) == 0;
    r.manner = draw(&r, STRESS_MANNERS);
    r.optimizer = draw(&r, 2) ? draw(&r, LOCUS_ADAMW + 1) : LOCUS_NO_OPTIMIZER;
    r.element = draw(&r, 4) ? LOCUS_F32 : LOCUS_BF16;
    if (draw(&r, 2)) return r;
    r.clocks = 1 + draw(&r, CLOCKS_A_PHASE);
    r.staleness = draw(&r, 2) ? draw(&r, 4) : 0;
    return r;
}

static void run_round(const struct stress *p)
{
    struct locus_table with[TABLES];
    printf(
        "round %u: %d nodes, %u workers, %u shards, technique %d%s%s%s, %u keys preferred, %u x %u "
        "steps, sampling %d, manner %d, optimizer %d, element %d, bounds of %u clocks\n",
        p->number, p->nodes, p->workers, p->shards, (int)p->technique,
        p->has_loaders ? ", loaders" : "", *p->lab ? ", " : "", p->lab, p->few, p->phases, p->steps,
        (int)p->level, (int)p->manner, (int)p->optimizer, (int)p->element, p->clocks);
    fflush(stdout);
    int fd = stress_new(p);
    struct round *r = shared_of(fd, sizeof(struct round));
    struct team t = team_of(r, with);
    team_run(&t, run_seat);
    munmap(r, sizeof *r);
    close(fd);
}

/* The same rounds in every check; others in each soak. */
static unsigned first_round(void)
{
    const char *text = getenv("LOCUS_STRESS");
    if (text) return (unsigned)strtoul(text, NULL, 10);
    return test_seconds() > 5 ? (unsigned)time(NULL) % 1000000 : 1;
}

TEST(stress, in_one_process_leaves_exact_sums)
{
    double end = now_s() + test_seconds();
    for (unsigned number = first_round(); now_s() < end; number++) {
        struct stress p = plan_of(number);
        run_round(&p);
    }
}

/* ---- a process for each node ---- */

enum { UNBOUNDED = 1000000, NODES = 3 };

static void among_processes(enum locus_technique technique, enum stress_manner manner,
                            unsigned staleness, enum locus_optimizer optimizer,
                            enum locus_element element)
{
    struct stress p = {.nodes = NODES,
                       .workers = 2,
                       .shards = 2,
                       .technique = technique,
                       .optimizer = optimizer,
                       .element = element,
                       .manner = manner,
                       .number = (unsigned)technique,
                       .phases = 1};
    struct child c[NODES];
    char address[ADDRESS_BYTES];
    if (staleness == UNBOUNDED) {
        p.seconds = test_seconds() / 5.0;
        p.few = 20;
    } else {
        p.few = 2;
        p.phases = 2;
        p.reopens = true;
        p.clocks = IS_SANITIZED ? 2 : 6;
        p.staleness = staleness;
        p.steps = 4 * p.clocks;
    }
    int fd = stress_new(&p);
    address_new(address);
    for (int i = 0; i < NODES; i++) child_start(&c[i], "stress_node", "%d %d %s", fd, i, address);
    for (int i = 0; i < NODES; i++) child_wait(&c[i]);
}

#define AMONG_PROCESSES(name, ...) \
    TEST(stress, among_processes_##name) \
    { \
        among_processes(__VA_ARGS__); \
    }

AMONG_PROCESSES(ssp, LOCUS_REPLICATE, STRESS_SSP, 1, LOCUS_ADAM, LOCUS_F32)
AMONG_PROCESSES(essp, LOCUS_REPLICATE, STRESS_ESSP, 1, LOCUS_NO_OPTIMIZER, LOCUS_F32)
AMONG_PROCESSES(lockstep, LOCUS_ADAPTIVE, STRESS_SSP, 0, LOCUS_MOMENTUM, LOCUS_F32)
AMONG_PROCESSES(nups, LOCUS_RELOCATE, STRESS_KEEPS, 2, LOCUS_ADAGRAD, LOCUS_F32)
AMONG_PROCESSES(adaptive, LOCUS_ADAPTIVE, STRESS_KEEPS, 3, LOCUS_NO_OPTIMIZER, LOCUS_F32)
AMONG_PROCESSES(static, LOCUS_STATIC, STRESS_AT_RANDOM, 1, LOCUS_SGD, LOCUS_F32)
AMONG_PROCESSES(full, LOCUS_FULL_REPLICATION, STRESS_AT_RANDOM, 1, LOCUS_ROW_ADAGRAD, LOCUS_BF16)
AMONG_PROCESSES(static_unbounded, LOCUS_STATIC, STRESS_AT_RANDOM, UNBOUNDED, LOCUS_NO_OPTIMIZER,
                LOCUS_F32)
AMONG_PROCESSES(relocate_unbounded, LOCUS_RELOCATE, STRESS_AT_RANDOM, UNBOUNDED, LOCUS_ADAMW,
                LOCUS_F32)
AMONG_PROCESSES(replicate_unbounded, LOCUS_REPLICATE, STRESS_AT_RANDOM, UNBOUNDED,
                LOCUS_NO_OPTIMIZER, LOCUS_F32)
AMONG_PROCESSES(adaptive_unbounded, LOCUS_ADAPTIVE, STRESS_AT_RANDOM, UNBOUNDED, LOCUS_ADAM,
                LOCUS_F32)
