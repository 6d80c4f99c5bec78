/* Tables and JSON lines, as results come. */
#include "bench.h"

#include "../common/groups.h"
#include "../common/raw.h"

#include <inttypes.h>

static void report_method(const struct bench *b)
{
    FILE *out = b->run.report;
    fprintf(
        out,
        "nodes    two processes on this machine's loopback; rows are named in random order, half of them at home at\n"
        "         either node. localize: node 0 takes rows of node 1, one call after the other. blocks: node 0 takes\n"
        "         all, then node 1 takes all back, 1000 rows a call, 8 calls in flight. exchange: both at once take\n"
        "         what the other has. busy: a second worker at each node pulls and pushes 64 of these rows a call\n");
    fprintf(
        out,
        "floors   TCP between two processes, no delay, %s. ping-pong: as many bytes as a localize of one\n",
        raw_congestion_control());
    fprintf(
        out,
        "         row there and back, both ends polling; stream: writes of 64 KiB or 1 MiB, one way\n");
    fprintf(
        out,
        "method   median of %u repetitions; floors and locus take turns. x: times the better ping-pong of the\n",
        b->run.repetitions);
    fprintf(
        out,
        "         same repetition; of stream: row bytes as a share of its best stream. A call takes from when\n"
        "         it is made until all its rows are here, less %" PRIu64 " ns for the clock\n",
        b->run.clock_cost);
    fprintf(
        out,
        "costs    of a relocation, the way back included: processor time of both processes, how often a thread\n"
        "         left its processor, frames, requests that were forwarded\n");
}

void report_start(const struct bench *b)
{
    run_title(&b->run, "relocation: what it costs to bring rows to the node that uses them");
    if (!b->run.options.demo) report_method(b);
    run_end_title(&b->run, "so short that these figures say that it runs, not how fast");
}

/* ---- One length ---- */

struct setting {
    const struct bench *bench;
    unsigned length;
};

static bool is_measured(const void *setting, unsigned step)
{
    const struct setting *s = setting;
    return s->bench->cells[s->length][step].measured;
}

/* Rows that came, at both nodes. */
static double per_move(const struct cell *c, uint64_t total)
{
    uint64_t moves = c->used.here.stats.relocated_in + c->used.there.stats.relocated_in;
    return moves > 0 ? (double)total / (double)moves : 0;
}

static bool floors_known(const struct bench *b, unsigned length)
{
    return b->cells[length][PINGPONG].measured && b->cells[length][STREAM_64K].measured;
}

/* A percentile of fewer calls than that says nothing. */
static bool has_percentile(const struct bench *b, const struct cell *c, unsigned of)
{
    return c->calls >= (uint64_t)of * b->run.repetitions;
}

static double bytes_per_s(const struct bench *b, unsigned length, enum step_id step)
{
    double rate = run_spread(&b->run, b->cells[length][step].per_s).median;
    return is_floor(step) ? rate : rate * (double)row_bytes(length);
}

static void add_times(struct table *t, const void *setting, unsigned step_number)
{
    const struct bench *b = ((const struct setting *)setting)->bench;
    unsigned length = ((const struct setting *)setting)->length;
    enum step_id step = (enum step_id)step_number;
    const struct cell *c = &b->cells[length][step];
    const struct step *s = &steps[step];
    bool has_times = s->kind != ONE_WAY, moves = !is_floor(step), known = floors_known(b, length);
    bool is_single = s->kind == ONE_BY_ONE || s->kind == ROUND_TRIP;
    table_add(t, "%s", s->name);
    times_add(t, &b->run, &c->times, has_times, has_percentile(b, c, 100),
              has_percentile(b, c, 1000));
    table_add_if(t, known && is_single, "%.2fx", to_pingpong(b, length, c->times.p50).median);
    table_add_if(t, moves, "%.3f", run_spread(&b->run, c->per_s).median / 1e6);
    table_add_if(t, moves || s->kind == ONE_WAY, "%.3f", bytes_per_s(b, length, step) / 1e9);
    table_add_if(t, known && moves, "%.0f %%", share_of_stream(b, length, step).median * 100);
    table_add_if(t, s->is_busy, "%.2f", run_spread(&b->run, c->accesses_per_s).median / 1e6);
}

static void add_costs(struct table *t, const void *setting, unsigned step)
{
    const struct setting *at = setting;
    const struct cell *c = &at->bench->cells[at->length][step];
    const struct node_figures *here = &c->used.here, *there = &c->used.there;
    if (is_floor((enum step_id)step)) return;
    table_add(t, "%s", steps[step].name);
    table_add(t, "%.2f", per_move(c, here->cpu_ns) / 1e3);
    table_add(t, "%.2f", per_move(c, there->cpu_ns) / 1e3);
    table_add(t, "%.3f", per_move(c, node_figures_switches(here)));
    table_add(t, "%.3f", per_move(c, node_figures_switches(there)));
    table_add(t, "%.3f", per_move(c, here->stats.messages_sent));
    table_add(t, "%.3f", per_move(c, there->stats.messages_sent));
    table_add(t, "%.3f", per_move(c, here->stats.forwards + there->stats.forwards));
}

static void json_cell(const struct bench *b, unsigned length, enum step_id step)
{
    const struct cell *c = &b->cells[length][step];
    enum step_kind kind = steps[step].kind;
    char name[96];
    step_name(name, sizeof name, length, step);
    run_json(&b->run, name);
    json_count(b->run.json, "length", lengths[length]);
    json_count(b->run.json, "repetitions", b->run.repetitions);
    if (kind != ONE_WAY) {
        times_json(&b->run, &c->times, false);
        json_count(b->run.json, "calls", c->calls);
    }
    if (kind == ONE_WAY)
        results_spread(b->run.json, "bytes_per_second", run_spread(&b->run, c->per_s));
    if (kind == ONE_BY_ONE)
        results_spread(b->run.json, "ratio_to_pingpong", to_pingpong(b, length, c->times.p50));
    if (!is_floor(step)) {
        results_spread(b->run.json, "relocations_per_second", run_spread(&b->run, c->per_s));
        results_spread(b->run.json, "share_of_stream", share_of_stream(b, length, step));
        json_number(b->run.json, "node0_cpu_ns_per_relocation", per_move(c, c->used.here.cpu_ns));
        json_number(b->run.json, "node1_cpu_ns_per_relocation", per_move(c, c->used.there.cpu_ns));
    }
    if (steps[step].is_busy)
        results_spread(b->run.json, "accesses_per_second", run_spread(&b->run, c->accesses_per_s));
    json_end(b->run.json);
}

/* In this order, whatever the order of measuring. */
static const unsigned steps_shown[][GROUP_STEPS] = {
    {LOCALIZE_1, LOCALIZE_BLOCK, BLOCKS, EXCHANGE},
    {LOCALIZE_1_BUSY, LOCALIZE_BLOCK_BUSY, BLOCKS_BUSY, EXCHANGE_BUSY},
    {PINGPONG, PINGPONG_PINNED, STEPS, STEPS},
    {STREAM_64K, STREAM_1M, STREAM_64K_PINNED, STREAM_1M_PINNED},
};
static const struct groups groups = {STEPS, steps_shown, is_measured};

static const struct groups_table times_table = {
    .columns = "lrrrrrrrrr",
    .header = (const char *const[]){"time of a call", "min us", "p50", "p99", "p99.9", "x",
                                    "M rows/s", "GB/s", "of stream", "M accesses/s"},
    .count = 4,
    .add = add_times,
};
static const struct groups_table costs_table = {
    .columns = "lrrrrrrr",
    .header = (const char *const[]){"cost of a relocation", "cpu us", "there", "switches", "there",
                                    "frames", "there", "forwards"},
    .count = 2,
    .add = add_costs,
};

void report_length(const struct bench *b, unsigned length)
{
    const struct setting s = {b, length};
    fprintf(b->run.report, "rows of %" PRIu32 " floats\n\n", lengths[length]);
    groups_print(&b->run, &groups, &times_table, &s);
    if (!b->run.options.demo) groups_print(&b->run, &groups, &costs_table, &s);
    for (unsigned step = 0; step < STEPS; step++) {
        if (is_measured(&s, step)) json_cell(b, length, (enum step_id)step);
    }
    fflush(b->run.report);
}
