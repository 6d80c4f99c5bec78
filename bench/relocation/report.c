/* Tables and JSON lines, as results come. */
#include "bench.h"

#include "../common/json.h"
#include "../common/raw.h"
#include "../common/report.h"
#include "../common/table.h"

#include <inttypes.h>

static void report_method(const struct bench *b)
{
    FILE *out = b->report;
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
        b->repetitions);
    fprintf(
        out,
        "         same repetition; of stream: row bytes as a share of its best stream. A call takes from when\n"
        "         it is made until all its rows are here, less %" PRIu64 " ns for the clock\n",
        b->clock_cost);
    fprintf(
        out,
        "costs    of a relocation, the way back included: processor time of both processes, how often a thread\n"
        "         left its processor, frames, requests that were forwarded\n");
}

void report_start(const struct bench *b)
{
    FILE *out = b->report;
    report_title(out, "relocation: what it costs to bring rows to the node that uses them");
    if (!b->options.demo) report_method(b);
    if (b->options.quick)
        fprintf(out, "quick    so short that these figures say that it runs, not how fast\n");
    fputc('\n', out);
    fflush(out);
}

/* ---- One length ---- */

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
    return c->calls >= (uint64_t)of * b->repetitions;
}

static double bytes_per_s(const struct bench *b, unsigned length, enum step_id step)
{
    double rate = over_repetitions(b, b->cells[length][step].per_s).median;
    return is_floor(step) ? rate : rate * (double)row_bytes(length);
}

static void add_times(struct table *t, const struct bench *b, unsigned length, enum step_id step)
{
    const struct cell *c = &b->cells[length][step];
    const struct step *s = &steps[step];
    bool has_times = s->kind != ONE_WAY, moves = !is_floor(step), known = floors_known(b, length);
    bool is_single = s->kind == ONE_BY_ONE || s->kind == ROUND_TRIP;
    table_add(t, "%s", s->name);
    table_add_if(t, has_times, "%.1f", (double)c->times.shortest / 1e3);
    table_add_if(t, has_times, "%.1f", over_repetitions(b, c->times.p50).median / 1e3);
    table_add_if(t, has_times && has_percentile(b, c, 100), "%.1f",
                 over_repetitions(b, c->times.p99).median / 1e3);
    table_add_if(t, has_times && has_percentile(b, c, 1000), "%.1f",
                 over_repetitions(b, c->times.p999).median / 1e3);
    table_add_if(t, known && is_single, "%.2fx", to_pingpong(b, length, c->times.p50).median);
    table_add_if(t, moves, "%.3f", over_repetitions(b, c->per_s).median / 1e6);
    table_add_if(t, moves || s->kind == ONE_WAY, "%.3f", bytes_per_s(b, length, step) / 1e9);
    table_add_if(t, known && moves, "%.0f %%", share_of_stream(b, length, step).median * 100);
    table_add_if(t, s->is_busy, "%.2f", over_repetitions(b, c->accesses_per_s).median / 1e6);
}

static void add_costs(struct table *t, const struct bench *b, unsigned length, enum step_id step)
{
    const struct cell *c = &b->cells[length][step];
    const struct node_figures *here = &c->used.here, *there = &c->used.there;
    if (is_floor(step)) return;
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
    json_begin(b->json, "relocation");
    json_text(b->json, "cell", name);
    json_count(b->json, "length", lengths[length]);
    json_count(b->json, "repetitions", b->repetitions);
    if (kind != ONE_WAY) {
        json_spread(b->json, "p50_ns", over_repetitions(b, c->times.p50));
        json_spread(b->json, "p99_ns", over_repetitions(b, c->times.p99));
        json_count(b->json, "shortest_ns", c->times.shortest);
        json_count(b->json, "calls", c->calls);
    }
    if (kind == ONE_WAY) json_spread(b->json, "bytes_per_second", over_repetitions(b, c->per_s));
    if (kind == ONE_BY_ONE)
        json_spread(b->json, "ratio_to_pingpong", to_pingpong(b, length, c->times.p50));
    if (!is_floor(step)) {
        json_spread(b->json, "relocations_per_second", over_repetitions(b, c->per_s));
        json_spread(b->json, "share_of_stream", share_of_stream(b, length, step));
        json_number(b->json, "node0_cpu_ns_per_relocation", per_move(c, c->used.here.cpu_ns));
        json_number(b->json, "node1_cpu_ns_per_relocation", per_move(c, c->used.there.cpu_ns));
    }
    if (steps[step].is_busy)
        json_spread(b->json, "accesses_per_second", over_repetitions(b, c->accesses_per_s));
    json_end(b->json);
}

/* In this order, whatever the order of measuring. */
static const enum step_id rows[][4] = {
    {LOCALIZE_1, LOCALIZE_BLOCK, BLOCKS, EXCHANGE},
    {LOCALIZE_1_BUSY, LOCALIZE_BLOCK_BUSY, BLOCKS_BUSY, EXCHANGE_BUSY},
    {PINGPONG, PINGPONG_PINNED, STEPS, STEPS},
    {STREAM_64K, STREAM_1M, STREAM_64K_PINNED, STREAM_1M_PINNED},
};

typedef void add_row(struct table *t, const struct bench *b, unsigned length, enum step_id step);

static void add_group(struct table *t, add_row *add, const struct bench *b, unsigned length,
                      const enum step_id *group)
{
    bool is_first = true;
    for (unsigned i = 0; i < 4; i++) {
        if (group[i] == STEPS || !b->cells[length][group[i]].measured) continue;
        if (is_first) table_gap(t);
        is_first = false;
        add(t, b, length, group[i]);
    }
}

static void print_table(struct table *t, add_row *add, const char *const *header, unsigned groups,
                        const struct bench *b, unsigned length)
{
    table_header(t, header);
    for (unsigned i = 0; i < groups; i++) add_group(t, add, b, length, rows[i]);
    table_print(t, b->report);
    fputc('\n', b->report);
}

void report_length(const struct bench *b, unsigned length)
{
    static const char *const times[] = {"time of a call", "min us",      "p50",      "p99",
                                        "p99.9",          "x",           "M rows/s", "GB/s",
                                        "of stream",      "M accesses/s"};
    static const char *const costs[] = {"cost of a relocation",
                                        "cpu us",
                                        "there",
                                        "switches",
                                        "there",
                                        "frames",
                                        "there",
                                        "forwards"};
    struct table time_table = table_new("lrrrrrrrrr"), cost_table = table_new("lrrrrrrr");
    fprintf(b->report, "rows of %" PRIu32 " floats\n\n", lengths[length]);
    print_table(&time_table, add_times, times, 4, b, length);
    if (!b->options.demo) print_table(&cost_table, add_costs, costs, 2, b, length);
    for (unsigned s = 0; s < STEPS; s++) {
        if (b->cells[length][s].measured) json_cell(b, length, (enum step_id)s);
    }
    fflush(b->report);
}
