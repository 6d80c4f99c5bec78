/* Times how rows move from node to node. */
#include "bench.h"

#include "../common/clock.h"

#include <inttypes.h>
#include <string.h>

enum { ASK_S = 60 };

uint64_t ask(uint64_t what, uint64_t number)
{
    const struct node_question q = {.what = what, .numbers = {number}};
    uint64_t answer;
    node_process_ask(bench.other, &q, &answer, sizeof answer, ASK_S);
    return answer;
}

/* ---- Takes ---- */

static void begin_other(const struct take *t)
{
    struct node_question q = {.what = NODE_TAKE};
    uint64_t begun;
    memcpy(q.numbers, t, sizeof *t);
    node_process_ask(bench.other, &q, &begun, sizeof begun, ASK_S);
}

static struct taken end_other(void)
{
    struct taken taken;
    node_process_ask(bench.other, &(struct node_question){.what = NODE_TAKEN}, &taken, sizeof taken,
                     ASK_S);
    return taken;
}

static struct taken take_there(const struct take *t)
{
    begin_other(t);
    return end_other();
}

/* What was measured: keys that moved, and how long that took. */
struct measured {
    struct taken here;
    uint64_t keys, ns;
    struct latency *times;
};

/* Node 1 has all rows before and after. */
static void take_some(const struct take *t, bool counts_back, struct measured *m)
{
    struct take back = *t;
    struct taken here = take_rows(&bench.node, t, m->times);
    back.count = here.keys;
    back.per_call = BLOCK_KEYS;
    back.flight = FLIGHT_MAX;
    back.until_ns = 0;
    struct taken there = take_there(&back);
    m->here.keys += here.keys;
    m->keys += here.keys + (counts_back ? there.keys : 0);
    m->ns += here.ns + (counts_back ? there.ns : 0);
}

/* First node 1 gives one half, then each takes the other's half, twice: node 1 has all rows again
 * in the end. */
static void take_both(const struct take *all, struct measured *m)
{
    struct take here = *all, there = *all;
    here.count = there.count = all->count / 2;
    m->here.keys += take_rows(&bench.node, &here, NULL).keys;
    for (int i = 1; i <= 2; i++) {
        here.first = i % 2 ? here.count : 0;
        there.first = i % 2 ? 0 : here.count;
        uint64_t began = clock_ns();
        begin_other(&there);
        struct taken taken = take_rows(&bench.node, &here, m->times);
        m->keys += taken.keys + end_other().keys;
        m->ns += clock_ns() - began;
        m->here.keys += taken.keys;
    }
    there.first = 0;
    take_there(&there);
}

static void take_once(unsigned length, const struct step *s, uint64_t until_ns, struct measured *m)
{
    struct take t = {.length = length,
                     .count = bench.node.count[length],
                     .per_call = s->kind == ONE_BY_ONE ? 1 : BLOCK_KEYS,
                     .flight = s->flight};
    if (s->kind == ONE_BY_ONE) t.until_ns = until_ns;
    if (s->kind == AT_ONCE)
        take_both(&t, m);
    else
        take_some(&t, s->kind == TO_AND_FRO, m);
}

static void take_for(unsigned length, const struct step *s, uint64_t ns, struct measured *m)
{
    uint64_t until = clock_ns() + ns;
    do take_once(length, s, until, m);
    while (clock_ns() < until);
}

/* Rows that did not have to move would make everything look fast. */
static void check_moves(const struct both *before, const struct both *after,
                        const struct measured *m)
{
    uint64_t moved = after->here.stats.relocated_in - before->here.stats.relocated_in;
    if (moved != m->here.keys)
        fail("node 0 asked for %" PRIu64 " rows of node 1, and %" PRIu64 " came", m->here.keys,
             moved);
}

static void both_access(unsigned length, bool begin)
{
    struct node *n = &bench.node;
    ask(begin ? NODE_ACCESS : NODE_REST, length);
    if (begin)
        background_begin(&n->background, n->keys[length], n->count[length]);
    else
        background_end(&n->background);
}

static uint64_t accesses(void)
{
    return bench.node.background.done + ask(NODE_ACCESSES, 0);
}

void relocate_measure(struct cell *c, const struct step *s, const struct setting *at)
{
    static struct latency times;
    struct measured warm = {.times = &times}, m = {.times = &times};
    if (s->is_busy) both_access(at->length, true);
    take_for(at->length, s, bench.warm_ns, &warm);
    latency_clear(&times);
    struct both before = both_now(bench.node.locus, bench.other);
    uint64_t done = accesses(), began = clock_ns();
    take_for(at->length, s, bench.timed_ns, &m);
    uint64_t lasted = clock_ns() - began;
    done = accesses() - done;
    struct both after = both_now(bench.node.locus, bench.other);
    if (s->is_busy) both_access(at->length, false);
    check_moves(&before, &after, &m);
    *cell_count(c, "calls") += times.calls;
    cell_times(c, &times);
    *cell_figure(c, "rows_per_second") = (double)m.keys / (double)m.ns * 1e9;
    if (s->is_busy) *cell_figure(c, "accesses_per_second") = (double)done / (double)lasted * 1e9;
    note_used(c, &before, &after);
}

/* Wherever the rows are: node 1 has them now. */
void gather_there(unsigned length)
{
    take_there(&(struct take){.length = length,
                              .count = bench.node.count[length],
                              .per_call = BLOCK_KEYS,
                              .flight = FLIGHT_MAX});
}
