#include "sums.h"

#include "common/exact_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS = 300, /* but for the ledger's */
    LENGTH_MAX = 130,
    CALL_KEYS = 200,
    FLIGHTS = 16,
    /* sums stay below 2^24, where floats cease to be exact, however fast the machine */
    STEPS_MAX = 40000,
    FIRST_OF_FEW = 246, /* rows of 16 and of 130 floats */
    FEW = 7,
    SEATS_MAX = 16,
    STEPS_OF_A_CLOCK = 3,
    BF16_MAX = 256, /* so far whole numbers of 16 bits are exact */
    LEDGER = SUMS_TABLES - 1,
};

/* The last table is the ledger: a row a seat, a float a key. */
const struct locus_table sums_tables[SUMS_TABLES] = {
    {.rows = 150, .length = 1},
    {.rows = 100, .length = 16},
    {.rows = 50, .length = LENGTH_MAX},
    {.name = "ledger", .rows = SEATS_MAX, .length = KEYS}};

void sums_tables_with(enum locus_optimizer o, enum locus_element e,
                      struct locus_table to[SUMS_TABLES])
{
    memcpy(to, sums_tables, sizeof sums_tables);
    for (unsigned t = 0; t < LEDGER; t++) {
        to[t].optimizer = o;
        to[t].element = e;
        to[t].rule = exact_steps_rule(o);
    }
}

struct sums {
    struct seat *seat;
    enum locus_optimizer optimizer;
    enum locus_element element;
    enum sums_keys which;
    struct sums_clocks clocks;
    float pushed[KEYS];           /* to every float of the key's row */
    struct batch flight[FLIGHTS]; /* asynchronous pushes read them until they are done */
    locus_ticket ticket[FLIGHTS];
    struct batch pulled;
    float ledger[SEATS_MAX * KEYS];
};

static struct sums *sums_new(struct seat *seat, enum sums_keys which)
{
    struct sums *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->seat = seat;
    s->which = which;
    s->optimizer = seat->team->tables[0].optimizer;
    s->element = seat->team->tables[0].element;
    for (unsigned t = 0; t < LEDGER && s->optimizer; t++)
        CHECK_EQ(locus_table_steps(seat->node, t, EXACT_STEPS_BEFORE), 0);
    for (int i = 0; i < FLIGHTS; i++)
        s->flight[i] = batch_new(seat->node, CALL_KEYS, CALL_KEYS * LENGTH_MAX);
    s->pulled = batch_new(seat->node, CALL_KEYS, CALL_KEYS * LENGTH_MAX);
    return s;
}

static void sums_free(struct sums *s)
{
    for (int i = 0; i < FLIGHTS; i++) batch_free(&s->flight[i]);
    batch_free(&s->pulled);
    free(s);
}

static locus_key draw_key(struct sums *s)
{
    return s->which == SUMS_FEW_KEYS ? FIRST_OF_FEW + seat_random(s->seat, FEW)
                                     : seat_random(s->seat, KEYS);
}

/* Mostly a few keys, none at times, sometimes many; they repeat. */
static void draw_call(struct sums *s, struct batch *b)
{
    unsigned n = seat_random(s->seat, 4) ? seat_random(s->seat, 8)
                                         : seat_random(s->seat, CALL_KEYS);
    batch_clear(b);
    for (unsigned i = 0; i < n; i++) batch_add(b, draw_key(s));
}

/* A locus_change. */
static void add_to_row(void *update, float *row, uint32_t length)
{
    const float *from = update;
    for (uint32_t i = 0; i < length; i++) row[i] += from[i];
}

/* A locus_gradient. */
static void give_gradient(void *update, const float *values, float *gradient, uint32_t length)
{
    (void)values;
    memcpy(gradient, update, length * sizeof *gradient);
}

/* In place, what is here; the others are pushed. */
static void change_rows(const struct sums *s, const struct batch *b)
{
    locus_worker *w = s->seat->worker;
    BATCH_FOREACH(c, b)
    {
        int rc = s->optimizer ? locus_step_local(w, c.key, give_gradient, c.row)
                              : locus_change_local(w, c.key, add_to_row, c.row);
        if (rc == -EAGAIN) rc = locus_push(w, &c.key, 1, c.row);
        CHECK_EQ(rc, 0);
    }
}

/* Of a table with an optimizer a key's steps are all alike, for the state to be known. */
static unsigned number_of(locus_key key)
{
    return 1 + key % 3;
}

static float draw_number(struct sums *s, locus_key key)
{
    unsigned n = s->optimizer ? number_of(key) : 1 + seat_random(s->seat, 3);
    bool is_full = (s->pushed[key] + (float)n) * (float)s->seat->seats > BF16_MAX;
    return s->element == LOCUS_BF16 && is_full ? 0 : (float)n;
}

static void push_something(struct sums *s, int flight)
{
    struct batch *b = &s->flight[flight];
    locus_worker *w = s->seat->worker;
    CHECK_EQ(locus_wait(w, s->ticket[flight]), 0);
    draw_call(s, b);
    BATCH_FOREACH(c, b)
    {
        float number = draw_number(s, c.key);
        for (uint32_t i = 0; i < c.length; i++) c.row[i] = s->optimizer ? -number : number;
        s->pushed[c.key] += number;
    }
    s->ticket[flight] = 0;
    switch (seat_random(s->seat, 4)) {
    case 0: change_rows(s, b); break;
    case 1: CHECK_EQ(locus_push(w, b->keys, b->n, b->values), 0); break;
    default: CHECK_EQ(locus_push_async(w, b->keys, b->n, b->values, &s->ticket[flight]), 0);
    }
}

/* Petuum fetches what it misses. */
static void intend_missed(struct sums *s, struct batch *b)
{
    locus_clock now = locus_current_clock(s->seat->worker), staleness = s->clocks.staleness;
    bool stays = s->clocks.manner == SUMS_ESSP;
    BATCH_FOREACH(c, b)
    {
        if (locus_pull_local(s->seat->worker, c.key, c.row) == 0) continue;
        CHECK_EQ(locus_intent(s->seat->worker, &c.key, 1, now,
                              stays ? LOCUS_FOREVER : now + staleness + 1),
                 0);
    }
}

/* What this worker has pushed it sees, done or still under way. */
static void pull_something(struct sums *s)
{
    if (seat_random(s->seat, 2)) {
        CHECK_EQ(locus_wait_all(s->seat->worker), 0);
        memset(s->ticket, 0, sizeof s->ticket);
    }
    draw_call(s, &s->pulled);
    if (s->clocks.manner == SUMS_SSP || s->clocks.manner == SUMS_ESSP) intend_missed(s, &s->pulled);
    CHECK_EQ(locus_pull(s->seat->worker, s->pulled.keys, s->pulled.n, s->pulled.values), 0);
    BATCH_FOREACH(c, &s->pulled)
    {
        CHECK(c.row[0] >= s->pushed[c.key]);
        for (uint32_t i = 1; i < c.length; i++) CHECK(c.row[i] == c.row[0]);
    }
}

/* Rows come here, and are wanted elsewhere at the same time. */
static void localize_something(struct sums *s, int flight)
{
    struct batch *b = &s->flight[flight];
    locus_worker *w = s->seat->worker;
    CHECK_EQ(locus_wait(w, s->ticket[flight]), 0);
    draw_call(s, b);
    s->ticket[flight] = 0;
    if (seat_random(s->seat, 2))
        CHECK_EQ(locus_localize_async(w, b->keys, b->n, &s->ticket[flight]), 0);
    else
        CHECK_EQ(locus_localize(w, b->keys, b->n), 0);
}

/* Rows come here, or copies of them, some steps from now, for some steps. */
static void intend_something(struct sums *s)
{
    struct batch *b = &s->pulled;
    locus_clock now = locus_advance_clock(s->seat->worker);
    locus_clock start = now + (locus_clock)seat_random(s->seat, 30);
    draw_call(s, b);
    CHECK_EQ(locus_intent(s->seat->worker, b->keys, b->n, start,
                          start + 1 + (locus_clock)seat_random(s->seat, 30)),
             0);
}

/* What everybody pushed. */
static void add_ledger(struct sums *s, float sum[KEYS])
{
    struct seat *seat = s->seat;
    locus_key mine = (locus_key)KEYS + (locus_key)seat->number, rows[SEATS_MAX];
    CHECK(seat->seats <= SEATS_MAX);
    CHECK_EQ(locus_set(seat->worker, &mine, 1, s->pushed), 0);
    CHECK_EQ(locus_quiesce(seat->worker), 0);
    for (int i = 0; i < seat->seats; i++) rows[i] = (locus_key)KEYS + (locus_key)i;
    CHECK_EQ(locus_pull(seat->worker, rows, (size_t)seat->seats, s->ledger), 0);
    for (int i = 0; i < seat->seats; i++)
        for (int k = 0; k < KEYS; k++) sum[k] += s->ledger[i * KEYS + k];
}

static void compare_row(const struct sums *s, locus_key key, const float *row, float sum)
{
    uint32_t length = locus_length(s->seat->node, key);
    uint32_t stored = locus_state_length(s->seat->node, key);
    double number = number_of(key), steps = (double)sum / number;
    CHECK(length > 0);
    for (uint32_t i = 0; i < length; i++)
        if (row[i] != sum)
            test_fail(__FILE__, __LINE__, "key %llu: %.0f, but %.0f were pushed",
                      (unsigned long long)key, (double)row[i], (double)sum);
    for (uint32_t i = length; i < stored; i++) {
        double expected = exact_steps_state(s->optimizer, i / length - 1, steps, -number);
        if (!exact_steps_are_near(row[i], expected))
            test_fail(__FILE__, __LINE__, "key %llu: state %u is %.9g, but %.9g after %.0f steps",
                      (unsigned long long)key, i - length, (double)row[i], expected, steps);
    }
}

static void compare(struct sums *s)
{
    float sum[KEYS] = {0};
    locus_key keys[KEYS];
    size_t floats = 0;
    add_ledger(s, sum);
    for (locus_key k = 0; k < KEYS; k++) {
        keys[k] = k;
        floats += locus_state_length(s->seat->node, k);
    }
    float *rows = calloc(floats, sizeof *rows), *row = rows;
    CHECK(rows != NULL);
    CHECK_EQ(locus_pull_state(s->seat->worker, keys, KEYS, rows), 0);
    for (locus_key k = 0; k < KEYS; row += locus_state_length(s->seat->node, k++))
        compare_row(s, k, row, sum[k]);
    free(rows);
}

static void keep_or_not(struct sums *s, bool keeps)
{
    locus_worker *w = s->seat->worker;
    locus_key key[FEW];
    for (unsigned i = 0; i < FEW; i++) key[i] = FIRST_OF_FEW + i;
    CHECK_EQ(keeps ? locus_intent(w, key, FEW, 0, LOCUS_FOREVER) : locus_unintend(w, key, FEW), 0);
}

static void step_of_a_clock(struct sums *s, int flight)
{
    switch (seat_random(s->seat, 8)) {
    case 0:
    case 1:
    case 2: pull_something(s); break;
    case 3: localize_something(s, flight); break;
    default: push_something(s, flight);
    }
}

void sums_run_clocks(struct seat *seat, enum sums_keys which, struct sums_clocks c)
{
    struct sums *s = sums_new(seat, which);
    s->clocks = c;
    for (unsigned clock = 0; clock < c.clocks; clock++) {
        if (c.manner == SUMS_KEEPS && clock % 8 == 0) keep_or_not(s, seat_random(seat, 4));
        for (int i = 0; i < STEPS_OF_A_CLOCK; i++)
            step_of_a_clock(s, (int)(clock * STEPS_OF_A_CLOCK + (unsigned)i) % FLIGHTS);
        locus_advance_clock(seat->worker);
        CHECK_EQ(locus_bound(seat->worker, c.staleness), 0);
    }
    CHECK_EQ(locus_quiesce(seat->worker), 0);
    compare(s);
    sums_free(s);
}

void sums_run(struct seat *seat, enum sums_keys which, double seconds)
{
    struct sums *s = sums_new(seat, which);
    double end = now_s() + seconds;
    for (int step = 0; now_s() < end && step < STEPS_MAX; step++) switch (seat_random(seat, 8)) {
        case 6: intend_something(s); break;
        case 0: pull_something(s); break;
        case 1: localize_something(s, step % FLIGHTS); break;
        default: push_something(s, step % FLIGHTS);
        }
    CHECK_EQ(locus_quiesce(seat->worker), 0);
    compare(s);
    sums_free(s);
}
