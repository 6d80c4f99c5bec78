/* Times how rows move from node to node. */
#include "bench.h"

#include "../common/clock.h"

#include <inttypes.h>
#include <string.h>

enum { ASK_S = 60 };

uint64_t ask(struct bench *b, uint64_t what, uint64_t number)
{
    const struct node_question q = {.what = what, .numbers = {number}};
    uint64_t answer;
    node_process_ask(b->other, &q, &answer, sizeof answer, ASK_S);
    return answer;
}

/* ---- Takes ---- */

static void begin_other(struct bench *b, const struct take *t)
{
    struct node_question q = {.what = NODE_TAKE};
    uint64_t begun;
    memcpy(q.numbers, t, sizeof *t);
    node_process_ask(b->other, &q, &begun, sizeof begun, ASK_S);
}

static struct taken end_other(struct bench *b)
{
    struct taken taken;
    node_process_ask(b->other, &(struct node_question){.what = NODE_TAKEN}, &taken, sizeof taken,
                     ASK_S);
    return taken;
}

static struct taken take_there(struct bench *b, const struct take *t)
{
    begin_other(b, t);
    return end_other(b);
}

/* What was measured: keys that moved, and how long that took. */
struct measured {
    struct taken here;
    uint64_t keys, ns;
    struct latency *times;
};

/* Node 1 has all rows before and after. */
static void take_some(struct bench *b, const struct take *t, bool counts_back, struct measured *m)
{
    struct take back = *t;
    struct taken here = take_rows(&b->node, t, b->run.clock_cost, m->times);
    back.count = here.keys;
    back.per_call = BLOCK_KEYS;
    back.flight = FLIGHT_MAX;
    back.until_ns = 0;
    struct taken there = take_there(b, &back);
    m->here.keys += here.keys;
    m->keys += here.keys + (counts_back ? there.keys : 0);
    m->ns += here.ns + (counts_back ? there.ns : 0);
}

/* First node 1 gives one half, then each takes the other's half, twice: node 1 has all rows again
 * in the end. */
static void take_both(struct bench *b, const struct take *all, struct measured *m)
{
    struct take here = *all, there = *all;
    here.count = there.count = all->count / 2;
    m->here.keys += take_rows(&b->node, &here, 0, NULL).keys;
    for (int i = 1; i <= 2; i++) {
        here.first = i % 2 ? here.count : 0;
        there.first = i % 2 ? 0 : here.count;
        uint64_t began = clock_ns();
        begin_other(b, &there);
        struct taken taken = take_rows(&b->node, &here, b->run.clock_cost, m->times);
        m->keys += taken.keys + end_other(b).keys;
        m->ns += clock_ns() - began;
        m->here.keys += taken.keys;
    }
    there.first = 0;
    take_there(b, &there);
}

static void take_once(struct bench *b, unsigned length, const struct step *s, uint64_t until_ns,
                      struct measured *m)
{
    struct take t = {.length = length,
                     .count = b->node.count[length],
                     .per_call = s->kind == ONE_BY_ONE ? 1 : BLOCK_KEYS,
                     .flight = s->flight};
    if (s->kind == ONE_BY_ONE) t.until_ns = until_ns;
    if (s->kind == AT_ONCE)
        take_both(b, &t, m);
    else
        take_some(b, &t, s->kind == TO_AND_FRO, m);
}

static void take_for(struct bench *b, unsigned length, const struct step *s, uint64_t ns,
                     struct measured *m)
{
    uint64_t until = clock_ns() + ns;
    do take_once(b, length, s, until, m);
    while (clock_ns() < until);
}

/* Rows that did not have to move would make everything look fast. */
static void check_moves(const struct node_figures *before, const struct node_figures *after,
                        const struct measured *m)
{
    uint64_t moved = after->stats.relocated_in - before->stats.relocated_in;
    if (moved != m->here.keys)
        fail("node 0 asked for %" PRIu64 " rows of node 1, and %" PRIu64 " came", m->here.keys,
             moved);
}

static void both_access(struct bench *b, unsigned length, bool begin)
{
    ask(b, begin ? NODE_ACCESS : NODE_REST, length);
    if (begin)
        background_begin(&b->node.background, b->node.keys[length], b->node.count[length]);
    else
        background_end(&b->node.background);
}

static uint64_t accesses(struct bench *b)
{
    return background_done(&b->node.background) + ask(b, NODE_ACCESSES, 0);
}

void relocate_measure(struct bench *b, struct setting at, unsigned step, unsigned repetition)
{
    static struct latency times;
    const struct step *s = &steps[step];
    struct cell *c = &b->cells[step];
    struct measured warm = {.times = &times}, m = {.times = &times};
    if (s->is_busy) both_access(b, at.length, true);
    take_for(b, at.length, s, b->warm_ns, &warm);
    latency_clear(&times);
    struct node_figures here = node_figures(b->node.locus), there = node_process_figures(b->other);
    uint64_t done = accesses(b), began = clock_ns();
    take_for(b, at.length, s, b->timed_ns, &m);
    uint64_t lasted = clock_ns() - began;
    done = accesses(b) - done;
    struct node_figures here_after = node_figures(b->node.locus),
                        there_after = node_process_figures(b->other);
    if (s->is_busy) both_access(b, at.length, false);
    check_moves(&here, &here_after, &m);
    times_note(&c->times, &times, repetition);
    c->per_s[repetition] = (double)m.keys / (double)m.ns * 1e9;
    c->accesses_per_s[repetition] = (double)done / (double)lasted * 1e9;
    c->calls += times.calls;
    node_figures_add(&c->here, &here, &here_after);
    node_figures_add(&c->there, &there, &there_after);
    c->measured = true;
}

/* Wherever the rows are: node 1 has them now. */
void gather_there(struct bench *b, unsigned length)
{
    take_there(b, &(struct take){.length = length,
                                 .count = b->node.count[length],
                                 .per_call = BLOCK_KEYS,
                                 .flight = FLIGHT_MAX});
}

/* ---- A setting ---- */

void setting_measure(struct bench *b, struct setting at)
{
    memset(b->cells, 0, sizeof b->cells);
    if (at.phase == RELOCATION) gather_there(b, at.length);
    for (unsigned r = 0; r < b->run.repetitions; r++) {
        for (unsigned i = 0; i < STEPS; i++) {
            unsigned step = run_turn(r, i, STEPS);
            if (!step_selected(b, at, step)) continue;
            if (is_floor(&steps[step]))
                floor_measure(b, at, step, r);
            else if (at.phase == ACCESS)
                access_measure(b, at, step, r);
            else
                relocate_measure(b, at, step, r);
        }
    }
}
