/*
 * two_nodes.c - what a worker pays for rows that another node holds, and what it costs to bring
 * them here, next to raw TCP connections in the same run: the cells, and measuring them.
 *
 * Three processes: node 0, which is the benchmark itself; node 1, which does what it is asked; and
 * the other end of the raw connections that serve as floors. There are two clusters, one after the
 * other. In the first, partitioned statically, node 0's worker accesses rows of node 1. In the
 * second rows move: both nodes have two workers, of which one takes rows, and the other one accesses
 * rows meanwhile where the step says so. In each setting every step is timed in every repetition,
 * floors and locus in turn. One step in one setting is a cell.
 *
 * Read two_nodes/bench.h next; flight.c and relocate.c say how calls are timed.
 */
#include "two_nodes/bench.h"

#include "common/clock.h"
#include "common/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const about =
    "Times pull, push and set of another node's rows, and localize of them, against raw TCP: two\n"
    "processes on loopback.\n"
    "A cell's name, for --only, is like: pull flight=8 length=128 keys=1024\n"
    "  first word    pull push set, with flight=1 (synchronous) or flight=8 (asynchronous); idle;\n"
    "                localize, with keys=1 or keys=1000; blocks, exchange (8 calls of 1000 keys in flight);\n"
    "                pingpong spinning, pingpong blocking, both also pinned;\n"
    "                stream, with write=64KiB or write=1MiB\n"
    "  further ones  length=16 128 1000; keys=1 64 1024 (keys a call); busy (rows are accessed while\n"
    "                they move)\n"
    "Both nodes have one worker, two where rows move, whatever --threads says.";

/* Neighbours run one after the other, so the floors are close to the calls in time.
 * name, kind, phase, flight, spins, pinned, bytes, busy */
static const struct step steps[] = {
    {"pingpong spinning", PINGPONG, ACCESS, 0, true, false, 0, false},
    {"pull flight=1", PULL, ACCESS, 1, false, false, 0, false},
    {"push flight=1", PUSH, ACCESS, 1, false, false, 0, false},
    {"set flight=1", SET, ACCESS, 1, false, false, 0, false},
    {"pingpong spinning pinned", PINGPONG, ACCESS, 0, true, true, 0, false},
    {"pull flight=8", PULL, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"stream write=64KiB", STREAM, ACCESS, 0, false, false, 64 << 10, false},
    {"stream write=64KiB pinned", STREAM, ACCESS, 0, false, true, 64 << 10, false},
    {"push flight=8", PUSH, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"stream write=1MiB", STREAM, ACCESS, 0, false, false, 1 << 20, false},
    {"stream write=1MiB pinned", STREAM, ACCESS, 0, false, true, 1 << 20, false},
    {"set flight=8", SET, ACCESS, FLIGHT_MAX, false, false, 0, false},
    {"pingpong blocking", PINGPONG, ACCESS, 0, false, false, 0, false},
    {"pingpong blocking pinned", PINGPONG, ACCESS, 0, false, true, 0, false},

    {"pingpong spinning", PINGPONG, RELOCATION, 0, true, false, 0, false},
    {"localize keys=1", ONE_BY_ONE, RELOCATION, 1, false, false, 0, false},
    {"pingpong spinning pinned", PINGPONG, RELOCATION, 0, true, true, 0, false},
    {"localize keys=1000", BY_BLOCKS, RELOCATION, 1, false, false, 0, false},
    {"stream write=64KiB", STREAM, RELOCATION, 0, false, false, 64 << 10, false},
    {"stream write=64KiB pinned", STREAM, RELOCATION, 0, false, true, 64 << 10, false},
    {"blocks", TO_AND_FRO, RELOCATION, FLIGHT_MAX, false, false, 0, false},
    {"stream write=1MiB", STREAM, RELOCATION, 0, false, false, 1 << 20, false},
    {"stream write=1MiB pinned", STREAM, RELOCATION, 0, false, true, 1 << 20, false},
    {"exchange", AT_ONCE, RELOCATION, FLIGHT_MAX, false, false, 0, false},
    {"localize keys=1 busy", ONE_BY_ONE, RELOCATION, 1, false, false, 0, true},
    {"localize keys=1000 busy", BY_BLOCKS, RELOCATION, 1, false, false, 0, true},
    {"blocks busy", TO_AND_FRO, RELOCATION, FLIGHT_MAX, false, false, 0, true},
    {"exchange busy", AT_ONCE, RELOCATION, FLIGHT_MAX, false, false, 0, true},
};
enum { STEPS = sizeof steps / sizeof *steps, KEYS_MOST = 1024 };

static const struct setting settings[] = {
    {ACCESS, 0, 1},         {ACCESS, 0, 64},        {ACCESS, 0, KEYS_MOST}, {ACCESS, 1, 1},
    {ACCESS, 1, 64},        {ACCESS, 1, KEYS_MOST}, {ACCESS, 2, 1},         {ACCESS, 2, 64},
    {ACCESS, 2, KEYS_MOST}, {RELOCATION, 0, 1},     {RELOCATION, 1, 1},     {RELOCATION, 2, 1},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

const uint32_t lengths[LENGTHS] = {16, 128, 1000};
struct bench bench;
static struct cell *idle;

size_t row_bytes(unsigned length)
{
    return lengths[length] * sizeof(float);
}

/* ---- Cells ---- */

static bool is_floor(const struct step *s)
{
    return s->kind == PINGPONG || s->kind == STREAM;
}

/* Streams say nothing about few keys. */
static bool is_possible(const struct setting *at, const struct step *s)
{
    if (s->phase != at->phase) return false;
    return s->kind != STREAM || at->phase == RELOCATION || at->keys == KEYS_MOST;
}

static bool is_shown(const struct setting *at)
{
    return !run.quick || (lengths[at->length] == 128 && at->keys != 64);
}

static struct cell *add_cell(const struct setting *at, const struct step *s)
{
    char keys[24] = "";
    if (at->phase == ACCESS) snprintf(keys, sizeof keys, " keys=%u", at->keys);
    struct cell *c = run_cell(s, at, is_shown(at), "%s length=%" PRIu32 "%s", s->name,
                              lengths[at->length], keys);
    cell_text(c, "step", s->name);
    *cell_count(c, "length") = lengths[at->length];
    *cell_count(c, "row_bytes") = row_bytes(at->length);
    if (at->phase == ACCESS) *cell_count(c, "keys_per_call") = at->keys;
    cell_count(c, "calls");
    return c;
}

/* Floors are measured, too, when a call that is compared with them is chosen. */
static void add_setting(const struct setting *at)
{
    struct cell *floors[STEPS];
    unsigned count = 0;
    bool any = false;
    for (const struct step *s = steps; s < steps + STEPS; s++) {
        if (!is_possible(at, s)) continue;
        struct cell *c = add_cell(at, s);
        if (is_floor(s))
            floors[count++] = c;
        else
            any |= c->is_chosen;
    }
    for (unsigned i = 0; i < count; i++) floors[i]->is_chosen |= any;
}

/* ---- What both processes use ---- */

struct both both_now(const locus *node, struct node_process *other)
{
    return (struct both){node_figures(node), node_process_figures(other)};
}

static void note_node(struct cell *c, const char *node, const struct node_figures *before,
                      const struct node_figures *after)
{
#define USED(figure) (after->figure - before->figure)
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"cpu_ns", USED(cpu_ns)},
        {"sleeps", USED(switches_voluntary)},
        {"switches", USED(switches_voluntary) + USED(switches_involuntary)},
        {"messages_sent", USED(stats.messages_sent)},
        {"messages_received", USED(stats.messages_received)},
        {"bytes_sent", USED(stats.bytes_sent)},
        {"bytes_received", USED(stats.bytes_received)},
        {"relocated_in", USED(stats.relocated_in)},
        {"forwards", USED(stats.forwards)},
    };
#undef USED
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s_%s", node, figures[i].name);
        *cell_count(c, name) += figures[i].value;
    }
}

void note_used(struct cell *c, const struct both *before, const struct both *after)
{
    note_node(c, "node0", &before->here, &after->here);
    note_node(c, "node1", &before->there, &after->there);
}

/* ---- Floors: raw connections that carry as many bytes as the calls ---- */

static void ping_pong(struct cell *c, int fd, const struct raw_task *t)
{
    enum { TRIPS_MIN = 8 };
    static struct latency times;
    uint64_t *calls = cell_count(c, "calls");
    *calls += raw_round_trips(fd, t, bench.values, bench.warm_ns, TRIPS_MIN, &times);
    latency_clear(&times);
    *calls += raw_round_trips(fd, t, bench.values, bench.timed_ns / 2, TRIPS_MIN, &times);
    cell_times(c, &times);
}

static void measure_floor(struct cell *c, const struct step *s, const struct setting *at)
{
    enum { HEADER = 40 }; /* of a call, and of each key, each way */
    const struct raw_task t = {
        .kind = s->kind == PINGPONG ? RAW_PINGPONG : RAW_STREAM,
        .request = HEADER + (uint64_t)at->keys * HEADER,
        .answer = HEADER + (uint64_t)at->keys * (HEADER + row_bytes(at->length)),
        .write = s->bytes,
        .spins = s->spins,
        .pinned = s->pinned,
    };
    if (!raw_can(&t)) return;
    struct both before = both_now(NULL, bench.raw);
    int fd = raw_open(bench.raw, &t);
    if (s->kind == PINGPONG) {
        ping_pong(c, fd, &t);
    } else {
        raw_receive_for(fd, &t, bench.values, bench.warm_ns);
        *cell_figure(c, "bytes_per_second") =
            raw_receive_for(fd, &t, bench.values, bench.timed_ns / 2);
    }
    raw_close(fd);
    struct both after = both_now(NULL, bench.raw);
    note_used(c, &before, &after);
}

/* ---- The run ---- */

static void measure(struct cell *c)
{
    const struct step *s = c->what;
    const struct setting *at = c->where;
    if (is_floor(s))
        measure_floor(c, s, at);
    else if (at->phase == ACCESS)
        access_measure(c, s, at);
    else
        relocate_measure(c, s, at);
}

/* Both workers sleep. The kernel's own background work is in no process; asking node 1 costs it one
 * wake-up. */
static void measure_idle(void)
{
    if (!idle->is_chosen) return;
    clock_sleep_until(clock_ns() + 50000000); /* whoever polls after work is done with it */
    struct both before = both_now(bench.node.locus, bench.other);
    clock_sleep_until(clock_ns() + (run.quick ? 300000000 : UINT64_C(5000000000)));
    struct both after = both_now(bench.node.locus, bench.other);
    *cell_figure(idle, "seconds") = (double)(after.here.time_ns - before.here.time_ns) / 1e9;
    note_used(idle, &before, &after);
    run_report(NULL);
}

static void measure_phase(enum phase phase)
{
    char rendezvous[CLUSTER_RENDEZVOUS];
    bool any = phase == ACCESS && idle->is_chosen;
    for (unsigned i = 0; i < SETTINGS; i++)
        any |= settings[i].phase == phase && run_has(&settings[i]);
    if (!any) return;
    cluster_rendezvous(rendezvous);
    bench.other = cluster_start_node(1, rendezvous, phase);
    node_open(&bench.node, phase, 0, rendezvous);
    for (unsigned i = 0; i < SETTINGS; i++) {
        if (settings[i].phase != phase || !run_has(&settings[i])) continue;
        if (phase == RELOCATION) gather_there(settings[i].length);
        run_measure(&settings[i], measure);
    }
    if (phase == ACCESS) measure_idle(); /* last: what work leaves behind would show */
    node_process_dismiss(bench.other);
    ask(NODE_LEAVE, 0);
    node_close(&bench.node);
    node_process_end(bench.other, 20);
}

int main(int argc, char **argv)
{
    const uint64_t ms = 1000000;
    const size_t values_bytes = FLIGHT_MAX * KEYS_MOST * row_bytes(LENGTHS - 1);
    struct cluster_node n;
    if (cluster_is_node(argc, argv, &n)) return other_node(&n);
    if (node_process_is(argc, argv, RAW_PEER)) raw_peer(values_bytes);
    run_parse(&(struct program){.name = "two_nodes", .about = about, .quick = 1, .full = 3}, argc,
              argv);
    bench.warm_ns = (run.quick ? 2 : 30) * ms;
    bench.timed_ns = (run.quick ? 8 : 150) * ms;
    bench.single_ns = (run.quick ? 20 : 500) * ms;
    for (unsigned i = 0; i < SETTINGS; i++) add_setting(&settings[i]);
    idle = run_cell(NULL, NULL, true, "idle");
    run_begin();
    node_process_limit(run.quick ? 180 : 240 + 100 * run.repetitions);
    bench.values = must_alloc(values_bytes);
    bench.raw = raw_start();
    measure_phase(ACCESS);
    measure_phase(RELOCATION);
    raw_stop(bench.raw);
    free(bench.values);
    run_end();
    return 0;
}
