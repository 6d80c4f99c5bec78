/* Rows with replicas at every node: left alone, pushed at full speed by all, and compared with a
 * plain array. */
#include "bench.h"

#include "../common/clock.h"
#include "../common/floors.h"
#include "../common/keys.h"

#include <math.h>
#include <stdlib.h>

enum {
    DRAWS = 1 << 20,
    PROBES = 32,       /* the last rows: written all the time, to see how old their replicas are */
    STAMP_NS = 100000, /* a float holds a whole number of these for half an hour */
    CALLS_A_LOOK = 8,
    CALLS_A_SLICE = 200,
    SLICES_MAX = 99,
};

/* Every node wants every row, for ever. */
static void replicate_all(struct node *n)
{
    uint64_t rows = locus_keys(n->locus);
    locus_key *keys = must_alloc(rows * sizeof *keys);
    for (uint64_t i = 0; i < rows; i++) keys[i] = i;
    locus_clock now = locus_current_clock(n->worker);
    must(locus_intent(n->worker, keys, rows, now, INT64_MAX), "locus_intent");
    struct locus_stats s;
    uint64_t deadline = clock_ns() + UINT64_C(30000000000);
    do {
        clock_sleep_until(clock_ns() + 10000000);
        must(locus_stats_read(n->locus, &s), "locus_stats_read");
    } while (s.replicas_now + s.owned_now < rows && clock_ns() < deadline);
    must(locus_quiesce(n->worker), "locus_quiesce");
    free(keys);
}

/* ---- Left alone ---- */

static void run_idle(struct node *n)
{
    double s = seconds_of_part();
    must(locus_barrier(n->worker), "locus_barrier");
    clock_sleep_until(clock_ns() + (uint64_t)(s * 0.25e9));
    timed_begin(n);
    clock_sleep_until(clock_ns() + (uint64_t)(s * 1e9));
    timed_end(n);
    must(locus_barrier(n->worker), "locus_barrier");
}

/* ---- Pushed ---- */

/* This node's stamps are in float `rank` of the probes: the time at which it last pushed them. */
struct probes {
    locus_key keys[PROBES];
    float *rows;
    float stamp; /* ours */
    uint64_t next_ns;
    double age_s;
    uint64_t looks;
};

static void look_at_probes(struct node *n, struct probes *p)
{
    uint64_t now = clock_ns();
    uint32_t length = locus_length(n->locus, 0);
    if (now < p->next_ns) return;
    p->next_ns = now + 1000000;
    must(locus_pull(n->worker, p->keys, PROBES, p->rows), "locus_pull");
    float time = (float)((now - n->base_ns) / STAMP_NS);
    for (unsigned i = 0; i < PROBES; i++)
        for (unsigned other = 0; other < n->load->nodes; other++) {
            float stamp = p->rows[(size_t)i * length + other];
            if (other == (unsigned)n->rank || !(stamp > 0)) continue;
            p->age_s += (double)(time - stamp) * STAMP_NS / 1e9;
            p->looks++;
        }
    for (size_t i = 0; i < (size_t)PROBES * length; i++) p->rows[i] = 0;
    for (unsigned i = 0; i < PROBES; i++)
        p->rows[(size_t)i * length + (unsigned)n->rank] = time - p->stamp;
    must(locus_push(n->worker, p->keys, PROBES, p->rows), "locus_push");
    p->stamp = time;
}

/* Pushes for `s` seconds; returns the keys. */
static uint64_t push_for(struct node *n, double s, const locus_key *keys, const float *updates,
                         struct probes *p)
{
    uint64_t until = clock_ns() + (uint64_t)(s * 1e9), done = 0;
    size_t at = 0;
    for (unsigned call = 0;; call++) {
        must(locus_push(n->worker, keys + at, CALL_KEYS, updates), "locus_push");
        done += CALL_KEYS;
        at = (at + CALL_KEYS) % DRAWS;
        if (call % CALLS_A_LOOK) continue;
        look_at_probes(n, p);
        if (clock_ns() >= until) return done;
    }
}

static void run_pushed(struct node *n)
{
    struct probes p = {.rows = values_alloc(n, PROBES)};
    double s = seconds_of_part();
    locus_key *keys = must_alloc(DRAWS * sizeof *keys);
    float *updates = values_alloc(n, CALL_KEYS);
    keys_fill(keys, DRAWS, KEYS_UNIFORM, locus_keys(n->locus) - PROBES, 7 + (uint64_t)n->rank);
    for (unsigned i = 0; i < PROBES; i++) p.keys[i] = locus_keys(n->locus) - PROBES + i;
    must(locus_barrier(n->worker), "locus_barrier");
    push_for(n, s / 2, keys, updates, &p);
    p.age_s = 0;
    p.looks = 0;
    timed_begin(n);
    uint64_t began = clock_ns(), done = push_for(n, s, keys, updates, &p);
    note(n, "pushes_per_second", (double)done / (double)(clock_ns() - began) * 1e9);
    timed_end(n);
    note(n, "staleness_seconds", p.age_s / (double)p.looks);
    must(locus_quiesce(n->worker), "locus_quiesce");
    free(p.rows);
    free(updates);
    free(keys);
}

/* ---- Costs ---- */

struct costs {
    struct node *n;
    struct floors *floor;
    const locus_key *keys; /* DRAWS of them */
    float *values;
    size_t at;
};

/* Of replicas; of the array. */
enum access { PULL, PUSH, READ, ADD };

static void access_rows(struct costs *c, enum access a, const locus_key *keys, size_t count)
{
    switch (a) {
    case PULL: must(locus_pull(c->n->worker, keys, count, c->values), "locus_pull"); break;
    case PUSH: must(locus_push(c->n->worker, keys, count, c->values), "locus_push"); break;
    case READ: floor_read(c->floor, keys, count, c->values); break;
    case ADD: floor_add(c->floor, keys, count, c->values); break;
    }
}

/* Nanoseconds a key, of processor time: who else runs here does not count, the shard at work beside
 * it does. */
static double slice(struct costs *c, enum access a, size_t count)
{
    uint64_t began = clock_read(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < CALLS_A_SLICE * CALL_KEYS / count; i++) {
        access_rows(c, a, c->keys + c->at, count);
        c->at = (c->at + count) % DRAWS;
    }
    return (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - began) / (CALLS_A_SLICE * CALL_KEYS);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median ratio of slices that follow each other. A plain loop over an array needs no calls: 64
 * keys each. */
static double ratio(struct costs *c, enum access ours, enum access floor, size_t count, double s)
{
    double ratios[SLICES_MAX];
    unsigned slices = 0;
    uint64_t until = clock_ns() + (uint64_t)(s * 1e9);
    while (slices < SLICES_MAX && (slices < 3 || clock_ns() < until)) {
        double ns = slice(c, ours, count);
        ratios[slices++] = ns / slice(c, floor, CALL_KEYS);
    }
    qsort(ratios, slices, sizeof *ratios, by_value);
    return ratios[slices / 2];
}

static void note_single_pulls(struct costs *c, double s)
{
    static struct latency times;
    uint64_t until = clock_ns() + (uint64_t)(s * 1e9), began, now = 0;
    clock_measure();
    for (size_t i = 0; now < until; i = (i + 1) % DRAWS) {
        began = clock_ns();
        access_rows(c, PULL, c->keys + i, 1);
        now = latency_since(&times, began);
    }
    note_percentile(c->n, "p50_seconds", &times, 50);
    note_percentile(c->n, "p99_seconds", &times, 99);
    note_percentile(c->n, "p999_seconds", &times, 99.9);
}

/* Replicas only: rows whose main copy is at the other node. */
static locus_key *draw_elsewhere(struct node *n)
{
    size_t count;
    locus_key *elsewhere = keys_elsewhere(n, &count), *keys = must_alloc(DRAWS * sizeof *keys);
    keys_fill(keys, DRAWS, KEYS_UNIFORM, count, 7);
    for (size_t i = 0; i < DRAWS; i++) keys[i] = elsewhere[keys[i]];
    free(elsewhere);
    return keys;
}

/* Some 64 keys each 200 us: rounds go on, and leave the processors to what is measured. */
static void push_gently(struct node *n, const locus_key *keys, const float *updates, double s)
{
    uint64_t until = clock_ns() + (uint64_t)(s * 1e9);
    for (size_t at = 0; clock_ns() < until; at = (at + CALL_KEYS) % DRAWS) {
        must(locus_push(n->worker, keys + at, CALL_KEYS, updates), "locus_push");
        clock_sleep_until(clock_ns() + 200000);
    }
}

static void run_costs(struct node *n)
{
    double s = seconds_of_part();
    locus_key *keys = draw_elsewhere(n);
    struct costs c = {.n = n, .keys = keys, .values = values_alloc(n, CALL_KEYS)};
    if (n->rank == 0) c.floor = floors_new(locus_keys(n->locus), locus_length(n->locus, 0));
    must(locus_barrier(n->worker), "locus_barrier");
    timed_begin(n);
    if (n->rank == 0 && c.floor) {
        note(n, "pull_64_ratio_to_array", ratio(&c, PULL, READ, CALL_KEYS, s / 5));
        note(n, "push_64_ratio_to_array", ratio(&c, PUSH, ADD, CALL_KEYS, s / 5));
        note(n, "pull_1_ratio_to_array", ratio(&c, PULL, READ, 1, s / 5));
        note(n, "push_1_ratio_to_array", ratio(&c, PUSH, ADD, 1, s / 5));
        note_single_pulls(&c, s / 5);
    } else {
        push_gently(n, keys, c.values, s);
    }
    timed_end(n);
    must(locus_quiesce(n->worker), "locus_quiesce");
    if (c.floor) floors_free(c.floor);
    free(c.values);
    free(keys);
}

void replicas_run(struct node *n)
{
    replicate_all(n);
    if (n->load->workload == IDLE) run_idle(n);
    if (n->load->workload == PUSHED) run_pushed(n);
    if (n->load->workload == COSTS) run_costs(n);
}
