/* In which order operations take effect: one worker's, and per key everybody's. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

/* ---- asynchronous operations of one worker on one key: program order ---- */

static const struct locus_table three[] = {
    {.rows = 64, .length = 1}, {.rows = 32, .length = 16}, {.rows = 16, .length = 300}};

/* CALLS is far beyond what may be in flight */
enum { CALLS = 200, CALL_KEYS = 6, CALL_FLOATS = CALL_KEYS * 300 };

/* Float i of a row is model + i: only this worker writes the keys of its part. */
struct script {
    struct seat *seat;
    locus_key keys[128];
    unsigned key_count;
    int model[128];
    struct batch batch[CALLS];
    int expected[CALLS][CALL_KEYS]; /* of pulls */
    locus_ticket ticket[CALLS];
    enum { SET, PUSH, PULL } kind[CALLS];
};

static void draw_call_keys(struct script *s, struct batch *b, int expected[CALL_KEYS])
{
    unsigned n = 1 + seat_random(s->seat, CALL_KEYS), first = seat_random(s->seat, s->key_count);
    batch_clear(b);
    for (unsigned i = 0; i < n; i++) {
        unsigned which = (first + i) % s->key_count;
        batch_add(b, s->keys[which]);
        expected[i] = (int)which;
    }
}

/* What the call writes, and what it does to the model; or what it must read. */
static void plan_call(struct script *s, int call)
{
    struct batch *b = &s->batch[call];
    int number = 1 + (int)seat_random(s->seat, 100);
    draw_call_keys(s, b, s->expected[call]);
    BATCH_FOREACH(c, b)
    {
        int *model = &s->model[s->expected[call][c.i]];
        if (s->kind[call] == SET) *model = number;
        if (s->kind[call] == PUSH) *model += number;
        for (uint32_t i = 0; i < c.length; i++)
            c.row[i] = (float)(s->kind[call] == SET    ? number + (int)i
                               : s->kind[call] == PUSH ? number
                                                       : -1);
        s->expected[call][c.i] = *model;
    }
}

static int do_call(struct script *s, int call)
{
    locus_worker *w = s->seat->worker;
    struct batch *b = &s->batch[call];
    locus_ticket *t = &s->ticket[call];
    bool is_sync = seat_random(s->seat, 8) == 0;
    *t = 0;
    switch (s->kind[call]) {
    case SET:
        return is_sync ? locus_set(w, b->keys, b->n, b->values)
                       : locus_set_async(w, b->keys, b->n, b->values, t);
    case PUSH:
        return is_sync ? locus_push(w, b->keys, b->n, b->values)
                       : locus_push_async(w, b->keys, b->n, b->values, t);
    default:
        return is_sync ? locus_pull(w, b->keys, b->n, b->values)
                       : locus_pull_async(w, b->keys, b->n, b->values, t);
    }
}

static void check_pull(const struct script *s, int call)
{
    BATCH_FOREACH(c, &s->batch[call])
    for (uint32_t i = 0; i < c.length; i++) {
        float expected = (float)(s->expected[call][c.i] + (int)i);
        if (c.row[i] != expected)
            test_fail(__FILE__, __LINE__, "call %d, key %llu, float %u: %g, not %g", call,
                      (unsigned long long)c.key, i, (double)c.row[i], (double)expected);
    }
}

static void play(struct script *s)
{
    for (int call = 0; call < CALLS; call++) {
        s->kind[call] = seat_random(s->seat, 3);
        plan_call(s, call);
        CHECK_EQ(do_call(s, call), 0);
    }
    unsigned first = seat_random(s->seat, CALLS);
    for (unsigned i = 0; i < CALLS; i++) {
        locus_ticket t = s->ticket[(first + i * 7) % CALLS];
        CHECK_EQ(locus_wait(s->seat->worker, t), 0);
        CHECK(locus_done(s->seat->worker, t));
        CHECK_EQ(locus_wait(s->seat->worker, t), 0);
    }
    for (int call = 0; call < CALLS; call++)
        if (s->kind[call] == PULL) check_pull(s, call);
}

static void write_and_read_my_keys(struct seat *seat)
{
    struct script *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->seat = seat;
    for (locus_key k = 0; k < locus_keys(seat->node); k++)
        if ((int)(k % (unsigned)seat->seats) == seat->number) s->keys[s->key_count++] = k;
    for (int call = 0; call < CALLS; call++)
        s->batch[call] = batch_new(seat->node, CALL_KEYS, CALL_FLOATS);

    struct batch all = batch_of_all(seat->node); /* rows begin as model 0: float i is i */
    for (locus_key k = 0; k < all.n; k++) {
        if ((int)(k % (unsigned)seat->seats) != seat->number) continue;
        for (uint32_t i = 0; i < locus_length(seat->node, k); i++) all.values[i] = (float)i;
        CHECK_EQ(locus_set(seat->worker, &k, 1, all.values), 0);
    }
    for (int round = 0; round < 8; round++) play(s);

    batch_free(&all);
    for (int call = 0; call < CALLS; call++) batch_free(&s->batch[call]);
    free(s);
}

TEST(order, operations_in_flight_on_one_key_take_effect_in_program_order)
{
    struct team t = {.nodes = 2, .workers = 2, .shards = 2, .tables = three, .table_count = 3};
    team_run(&t, write_and_read_my_keys);
}

/* ---- counters of all: own updates are visible, nothing goes back, no half rows ---- */

/* ---- sequential consistency per key ----
 *
 * Every write sets a value of its own. What a seat writes and reads, in its program order and
 * without repetitions, is a chain of values; the operations are sequentially consistent exactly
 * when there is one order of all values that all chains follow. */

enum { KEYS = 2, SEATS = 4, WRITES = 800, VALUES = SEATS * WRITES + 1, CHAIN = 4 * WRITES };

struct chain {
    int length;
    int value[CHAIN];
    /* in the chain; 0: not in it, as the first is the row's zero for everybody */
    int place[VALUES];
};

static struct chain chains[KEYS][SEATS];

static void follow(struct chain *c, int value)
{
    if (c->length && c->value[c->length - 1] == value) return;
    if (value == 0 || c->place[value])
        test_fail(__FILE__, __LINE__, "value %d was seen again after value %d", value,
                  c->value[c->length - 1]);
    CHECK(c->length < CHAIN);
    c->place[value] = c->length;
    c->value[c->length++] = value;
}

/* Both keys in one call, a row of one float each; the value is the same for both. */
static void write_and_read(struct seat *s)
{
    const locus_key *keys = s->team->shared;
    float row[KEYS];
    for (int k = 0; k < KEYS; k++) chains[k][s->number].length = 1;
    seat_barrier(s);
    for (int i = 0; i < WRITES; i++) {
        int value = 1 + s->number * WRITES + i;
        for (int k = 0; k < KEYS; k++) row[k] = (float)value;
        CHECK_EQ(locus_set(s->worker, keys, KEYS, row), 0);
        for (int k = 0; k < KEYS; k++) follow(&chains[k][s->number], value);
        for (unsigned reads = seat_random(s, 4); reads > 0; reads--) {
            CHECK_EQ(locus_pull(s->worker, keys, KEYS, row), 0);
            for (int k = 0; k < KEYS; k++) follow(&chains[k][s->number], (int)row[k]);
        }
    }
}

/* How many chains have something before `value`. */
static int count_before(struct chain *all, int value)
{
    int n = 0;
    for (int c = 0; c < SEATS; c++) n += all[c].place[value] > 0;
    return n;
}

/* Takes value after value that nothing comes before any more. What is left in the end goes in a
 * circle. */
static void check_one_order(struct chain *all)
{
    static int before[VALUES], ready[VALUES];
    int first = 0, last = 0;
    for (int v = 0; v < VALUES; v++) before[v] = count_before(all, v);
    ready[last++] = 0;
    while (first < last) {
        int v = ready[first++];
        for (int c = 0; c < SEATS; c++) {
            int place = all[c].place[v];
            if ((v != 0 && place == 0) || place + 1 >= all[c].length) continue;
            int next = all[c].value[place + 1];
            if (--before[next] == 0) ready[last++] = next;
        }
    }
    CHECK_EQ(last, VALUES);
}

static void check_consistency(int nodes)
{
    const struct locus_table table = {.rows = 16, .length = 1};
    locus_key keys[KEYS] = {3, 4};
    struct team t = {.nodes = nodes,
                     .workers = (unsigned)(SEATS / nodes),
                     .shards = 1,
                     .tables = &table,
                     .table_count = 1,
                     .shared = keys};
    memset(chains, 0, sizeof chains);
    team_run(&t, write_and_read);
    for (int k = 0; k < KEYS; k++) check_one_order(chains[k]);
}

TEST(order, writes_to_a_key_have_one_order_that_all_workers_see)
{
    check_consistency(2);
    check_consistency(4);
}
