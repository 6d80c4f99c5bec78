/* Times the steps of one setting. */
#include "bench.h"

#include "../common/clock.h"

/* ---- Notes ---- */

struct usage usage_now(const struct bench *b, struct node_process *other)
{
    return (struct usage){.here = node_figures(b->node), .there = node_process_figures(other)};
}

void usage_note(struct cell *c, const struct usage *before, const struct usage *after)
{
    node_figures_add(&c->used.here, &before->here, &after->here);
    node_figures_add(&c->used.there, &before->there, &after->there);
}

/* ---- Calls ---- */

/* The calls of one step. With one in flight they are synchronous ones; with several, asynchronous,
 * and the oldest is waited for before another is made. */
struct caller {
    struct bench *bench;
    const struct step *step;
    const locus_key *keys; /* b->sequence of them */
    unsigned per_call;
    int rc; /* the first failure */
    struct latency *times;
    locus_ticket tickets[FLIGHT_MAX];
    uint64_t began[FLIGHT_MAX];
};

static void note(struct caller *c, int rc)
{
    if (rc != 0 && c->rc == 0) c->rc = rc;
}

static const locus_key *next_keys(struct caller *c)
{
    struct bench *b = c->bench;
    if (b->sequence_at + c->per_call > b->sequence) b->sequence_at = 0;
    const locus_key *keys = c->keys + b->sequence_at;
    b->sequence_at += c->per_call;
    return keys;
}

static void record(struct caller *c, uint64_t began, uint64_t now)
{
    uint64_t took = now - began;
    latency_record(c->times, took > c->bench->run.clock_cost ? took - c->bench->run.clock_cost : 0);
}

static int call(struct caller *c, const locus_key *keys, float *values)
{
    locus_worker *w = c->bench->worker;
    switch (c->step->kind) {
    case PULL: return locus_pull(w, keys, c->per_call, values);
    case PUSH: return locus_push(w, keys, c->per_call, values);
    default: return locus_set(w, keys, c->per_call, values);
    }
}

static int call_async(struct caller *c, const locus_key *keys, float *values, locus_ticket *ticket)
{
    locus_worker *w = c->bench->worker;
    switch (c->step->kind) {
    case PULL: return locus_pull_async(w, keys, c->per_call, values, ticket);
    case PUSH: return locus_push_async(w, keys, c->per_call, values, ticket);
    default: return locus_set_async(w, keys, c->per_call, values, ticket);
    }
}

static void call_and_wait(struct caller *c)
{
    const locus_key *keys = next_keys(c);
    uint64_t began = clock_ns();
    note(c, call(c, keys, c->bench->values));
    record(c, began, clock_ns());
}

static void finish(struct caller *c, unsigned place)
{
    if (c->began[place] == 0) return;
    note(c, locus_wait(c->bench->worker, c->tickets[place]));
    record(c, c->began[place], clock_ns());
    c->began[place] = 0;
}

static void call_ahead(struct caller *c, unsigned place)
{
    finish(c, place);
    c->began[place] = clock_ns();
    note(c, call_async(c, next_keys(c), c->bench->values + place * c->bench->values_per_call,
                       &c->tickets[place]));
}

/* For so long, at least a few calls however slow they are. Returns how many. */
static uint64_t calls_for(struct caller *c, uint64_t ns)
{
    uint64_t start = clock_ns(), calls = 0;
    unsigned flight = c->step->flight;
    for (; (clock_ns() - start < ns || calls < FLIGHT_MAX) && c->rc == 0; calls++) {
        if (flight == 1) {
            call_and_wait(c);
        } else {
            call_ahead(c, (unsigned)(calls % flight));
        }
    }
    for (unsigned i = 0; i < flight; i++) finish(c, (unsigned)((calls + i) % flight));
    return calls;
}

static void calls_measure(struct bench *b, unsigned length, unsigned batch, enum step_id step,
                          unsigned repetition)
{
    static struct latency times;
    struct cell *cell = &b->cells[length][batch][step];
    struct caller c = {b, &steps[step], b->keys[length], batches[batch], 0, &times, {0}, {0}};
    bool single = batches[batch] == 1 && steps[step].flight == 1;
    struct usage before = usage_now(b, b->other);
    cell->calls += calls_for(&c, b->warm_ns);
    latency_clear(&times);
    uint64_t start = clock_ns();
    uint64_t calls = calls_for(&c, single ? b->single_ns : b->timed_ns);
    double seconds = (double)(clock_ns() - start) / 1e9;
    must(c.rc, steps[step].name);
    struct usage after = usage_now(b, b->other);
    cell->calls += calls;
    cell->bytes_per_s[repetition] = (double)(calls * c.per_call * row_bytes(length)) / seconds;
    times_note(&cell->times, &times, repetition);
    usage_note(cell, &before, &after);
    cell->measured = true;
}

/* Ones, so that pushed values stay small numbers, whatever was received into the buffer before. */
static void values_reset(struct bench *b)
{
    for (size_t i = 0; i < FLIGHT_MAX * b->values_per_call; i++) b->values[i] = 1;
}

static void step_measure(struct bench *b, unsigned length, unsigned batch, enum step_id step,
                         unsigned repetition)
{
    if (!step_selected(b, length, batch, step)) return;
    if (steps[step].flight == 0) {
        raw_measure(b, length, batch, step, repetition);
        return;
    }
    if (steps[step].kind != PULL) values_reset(b);
    calls_measure(b, length, batch, step, repetition);
}

void setting_measure(struct bench *b, unsigned length, unsigned batch)
{
    b->values_per_call = batches[batch] * lengths[length];
    for (unsigned r = 0; r < b->run.repetitions; r++) {
        for (unsigned i = 0; i < STEPS; i++)
            step_measure(b, length, batch, (enum step_id)run_turn(r, i, STEPS), r);
        /* Node 1 waits in the next barrier then: none is waited in for long. */
        must(locus_barrier(b->worker), "locus_barrier");
    }
}
