/* Times the calls of node 0's worker for rows of node 1. */
#include "bench.h"

#include "../common/clock.h"

/* The calls of one step. With one in flight they are synchronous ones; with several, asynchronous,
 * and the oldest is waited for before another is made. */
struct caller {
    struct bench *bench;
    const struct step *step;
    const locus_key *keys;
    size_t count;
    unsigned per_call;
    size_t values_per_call;
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
    if (b->next_key + c->per_call > c->count) b->next_key = 0;
    const locus_key *keys = c->keys + b->next_key;
    b->next_key += c->per_call;
    return keys;
}

static void record(struct caller *c, uint64_t began, uint64_t now)
{
    uint64_t took = now - began;
    latency_record(c->times, took > c->bench->run.clock_cost ? took - c->bench->run.clock_cost : 0);
}

static int call(struct caller *c, const locus_key *keys, float *values)
{
    locus_worker *w = c->bench->node.worker;
    switch (c->step->kind) {
    case PULL: return locus_pull(w, keys, c->per_call, values);
    case PUSH: return locus_push(w, keys, c->per_call, values);
    default: return locus_set(w, keys, c->per_call, values);
    }
}

static int call_async(struct caller *c, const locus_key *keys, float *values, locus_ticket *ticket)
{
    locus_worker *w = c->bench->node.worker;
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
    note(c, locus_wait(c->bench->node.worker, c->tickets[place]));
    record(c, c->began[place], clock_ns());
    c->began[place] = 0;
}

static void call_ahead(struct caller *c, unsigned place)
{
    finish(c, place);
    c->began[place] = clock_ns();
    note(c, call_async(c, next_keys(c), c->bench->values + place * c->values_per_call,
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

/* Ones, so that pushed values stay small numbers, whatever was received into the buffer before. */
static void values_reset(struct caller *c)
{
    for (size_t i = 0; i < FLIGHT_MAX * c->values_per_call; i++) c->bench->values[i] = 1;
}

void access_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition)
{
    static struct latency times;
    struct cell *cell = &b->cells[step];
    struct caller c = {.bench = b,
                       .step = &steps[step],
                       .keys = b->node.keys[at.length],
                       .count = b->node.count[at.length],
                       .per_call = batches[at.batch],
                       .values_per_call = batches[at.batch] * lengths[at.length],
                       .times = &times};
    bool single = c.per_call == 1 && c.step->flight == 1;
    if (c.step->kind != PULL) values_reset(&c);
    struct node_figures here = node_figures(b->node.locus), there = node_process_figures(b->other);
    cell->calls += calls_for(&c, b->warm_ns);
    latency_clear(&times);
    uint64_t start = clock_ns();
    uint64_t calls = calls_for(&c, single ? b->single_ns : b->timed_ns);
    double seconds = (double)(clock_ns() - start) / 1e9;
    must(c.rc, c.step->name);
    struct node_figures here_after = node_figures(b->node.locus),
                        there_after = node_process_figures(b->other);
    cell->calls += calls;
    cell->per_s[repetition] = (double)(calls * c.per_call) / seconds;
    times_note(&cell->times, &times, repetition);
    node_figures_add(&cell->here, &here, &here_after);
    node_figures_add(&cell->there, &there, &there_after);
    cell->measured = true;
}
