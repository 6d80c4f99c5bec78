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
        "nodes    two processes of one worker each, static partitioning, on this machine's loopback; node 0's\n"
        "         worker asks for uniform keys of node 1, whose worker waits in a barrier\n");
    fprintf(
        out,
        "floors   TCP between two processes, no delay, %s. ping-pong: 40 + 40 bytes a key there and\n",
        raw_congestion_control());
    fprintf(
        out,
        "         40 + (40 + row) bytes a key back; both ends poll (spinning) or sleep (blocking), where the\n"
        "         system puts them or pinned to two processors. stream: writes of 64 KiB or 1 MiB, one way\n");
    fprintf(
        out,
        "method   median of %u repetitions; floors and locus take turns. x: times the better spinning\n",
        b->repetitions);
    fprintf(
        out,
        "         ping-pong of the same repetition; of stream: row bytes as a share of its best stream\n");
    fprintf(out,
            "         A call takes from when it is made until it is done, less %" PRIu64
            " ns for the clock\n",
            b->clock_cost);
    fprintf(
        out,
        "costs    of a call, in both processes: processor time of all threads; how often one of them went to\n"
        "         sleep; how often one left its processor, to sleep or for another; node 0's frames\n");
}

void report_start(const struct bench *b)
{
    FILE *out = b->report;
    report_title(out, "remote access: what a worker pays for rows that another node holds");
    if (!b->options.demo) report_method(b);
    if (b->options.quick)
        fprintf(out, "quick    so short that these figures say that it runs, not how fast\n");
    fputc('\n', out);
    fflush(out);
}

/* ---- One setting ---- */

static double per_call(const struct cell *c, uint64_t total)
{
    return c->calls > 0 ? (double)total / (double)c->calls : 0;
}

static struct spread cell_ratio(const struct bench *b, unsigned length, unsigned batch,
                                const struct cell *c)
{
    double floor[SPREAD_MAX];
    best_pingpong(b, length, batch, floor);
    return ratio_to(b, c->times.p50, floor);
}

static struct spread cell_share(const struct bench *b, unsigned length, unsigned batch,
                                const struct cell *c)
{
    double floor[SPREAD_MAX];
    best_stream(b, length, batch, floor);
    return ratio_to(b, c->bytes_per_s, floor);
}

/* A percentile of fewer calls than that says nothing. */
static bool has_p999(const struct bench *b, const struct cell *c)
{
    return c->calls >= UINT64_C(1000) * b->repetitions;
}

static void add_percentiles(struct table *t, const struct bench *b, const struct cell *c,
                            bool has_times)
{
    table_add_if(t, has_times, "%.1f", (double)c->times.shortest / 1e3);
    table_add_if(t, has_times, "%.1f", over_repetitions(b, c->times.p50).median / 1e3);
    table_add_if(t, has_times, "%.1f", over_repetitions(b, c->times.p99).median / 1e3);
    table_add_if(t, has_times && has_p999(b, c), "%.1f",
                 over_repetitions(b, c->times.p999).median / 1e3);
}

static void add_times(struct table *t, const struct bench *b, unsigned length, unsigned batch,
                      enum step_id step)
{
    const struct cell *c = &b->cells[length][batch][step];
    const struct step *s = &steps[step];
    double rate = over_repetitions(b, c->bytes_per_s).median;
    bool is_call = s->flight > 0, is_stream = s->kind == STREAM;
    bool floor_known = b->cells[length][batch][PINGPONG_SPIN].measured;
    bool share_known = b->cells[length][batch][STREAM_64K].measured;
    table_add(t, "%s", s->name);
    add_percentiles(t, b, c, !is_stream);
    table_add_if(t, floor_known && s->flight <= 1 && !is_stream, "%.2fx",
                 cell_ratio(b, length, batch, c).median);
    table_add_if(t, is_call, "%.1f", rate / (double)row_bytes(length) / 1e3);
    table_add_if(t, is_call || is_stream, "%.3f", rate / 1e9);
    table_add_if(t, share_known && is_call, "%.0f %%",
                 cell_share(b, length, batch, c).median * 100);
}

static void add_costs(struct table *t, const struct bench *b, unsigned length, unsigned batch,
                      enum step_id step)
{
    const struct cell *c = &b->cells[length][batch][step];
    const struct node_figures *here = &c->used.here, *there = &c->used.there;
    bool is_call = steps[step].flight > 0;
    if (steps[step].kind == STREAM) return;
    table_add(t, "%s", steps[step].name);
    table_add(t, "%.1f", per_call(c, here->cpu_ns) / 1e3);
    table_add(t, "%.1f", per_call(c, there->cpu_ns) / 1e3);
    table_add(t, "%.2f", per_call(c, here->switches_voluntary));
    table_add(t, "%.2f", per_call(c, there->switches_voluntary));
    table_add(t, "%.2f", per_call(c, node_figures_switches(here)));
    table_add(t, "%.2f", per_call(c, node_figures_switches(there)));
    table_add_if(t, is_call, "%.2f", per_call(c, here->stats.messages_sent));
    table_add_if(t, is_call, "%.2f", per_call(c, here->stats.messages_received));
}

static void json_usage(FILE *f, const struct cell *c, const char *node,
                       const struct node_figures *used)
{
    const struct {
        const char *what;
        uint64_t value;
    } parts[] = {{"cpu_ns", used->cpu_ns},
                 {"sleeps", used->switches_voluntary},
                 {"switches", node_figures_switches(used)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s_per_call", node, parts[i].what);
        json_number(f, name, per_call(c, parts[i].value));
    }
}

static void json_traffic(FILE *f, const struct cell *c)
{
    const struct locus_stats *s = &c->used.here.stats;
    json_number(f, "messages_sent_per_call", per_call(c, s->messages_sent));
    json_number(f, "messages_received_per_call", per_call(c, s->messages_received));
    json_number(f, "bytes_sent_per_call", per_call(c, s->bytes_sent));
    json_number(f, "bytes_received_per_call", per_call(c, s->bytes_received));
}

static void json_times(const struct bench *b, const struct cell *c)
{
    json_spread(b->json, "p50_ns", over_repetitions(b, c->times.p50));
    json_spread(b->json, "p99_ns", over_repetitions(b, c->times.p99));
    if (has_p999(b, c)) json_spread(b->json, "p999_ns", over_repetitions(b, c->times.p999));
    json_count(b->json, "shortest_ns", c->times.shortest);
    json_count(b->json, "longest_ns", c->times.longest);
    json_count(b->json, "calls", c->calls);
}

static void json_cell(const struct bench *b, unsigned length, unsigned batch, enum step_id step)
{
    const struct cell *c = &b->cells[length][batch][step];
    const struct step *s = &steps[step];
    struct spread rate = over_repetitions(b, c->bytes_per_s);
    char name[96];
    step_name(name, sizeof name, length, batch, step);
    json_begin(b->json, "remote_access");
    json_text(b->json, "cell", name);
    json_count(b->json, "length", lengths[length]);
    json_count(b->json, "keys_per_call", batches[batch]);
    json_count(b->json, "in_flight", s->flight);
    json_count(b->json, "repetitions", b->repetitions);
    if (s->kind != STREAM) json_times(b, c);
    if (s->kind != PINGPONG) json_spread(b->json, "bytes_per_second", rate);
    if (s->flight > 0)
        json_number(b->json, "keys_per_second", rate.median / (double)row_bytes(length));
    if (s->flight == 1) json_spread(b->json, "ratio_to_pingpong", cell_ratio(b, length, batch, c));
    if (s->flight > 0 && batch + 1 == BATCHES)
        json_spread(b->json, "share_of_stream", cell_share(b, length, batch, c));
    json_usage(b->json, c, "node0", &c->used.here);
    json_usage(b->json, c, "node1", &c->used.there);
    if (s->flight > 0) json_traffic(b->json, c);
    json_end(b->json);
}

/* In this order, whatever the order of measuring. */
static const enum step_id rows[][4] = {
    {PULL_1, PUSH_1, SET_1, STEPS},
    {PULL_8, PUSH_8, SET_8, STEPS},
    {PINGPONG_SPIN, PINGPONG_SPIN_PINNED, PINGPONG_BLOCK, PINGPONG_BLOCK_PINNED},
    {STREAM_64K, STREAM_1M, STREAM_64K_PINNED, STREAM_1M_PINNED},
};

typedef void add_row(struct table *t, const struct bench *b, unsigned length, unsigned batch,
                     enum step_id step);

static void add_group(struct table *t, add_row *add, const struct bench *b, unsigned length,
                      unsigned batch, const enum step_id *group)
{
    bool is_first = true;
    for (unsigned i = 0; i < 4; i++) {
        if (group[i] == STEPS || !b->cells[length][batch][group[i]].measured) continue;
        if (is_first) table_gap(t);
        is_first = false;
        add(t, b, length, batch, group[i]);
    }
}

static void print_table(struct table *t, add_row *add, const char *const *header,
                        const struct bench *b, unsigned length, unsigned batch)
{
    /* Streams have no costs a call: they come last, so that they leave no gap. */
    unsigned groups = add == add_costs ? 3 : 4;
    table_header(t, header);
    for (unsigned i = 0; i < groups; i++) add_group(t, add, b, length, batch, rows[i]);
    table_print(t, b->report);
    fputc('\n', b->report);
}

void report_setting(const struct bench *b, unsigned length, unsigned batch)
{
    static const char *const times[] = {"time of a call", "min us", "p50",      "p99", "p99.9", "x",
                                        "k keys/s",       "GB/s",   "of stream"};
    static const char *const costs[] = {"cost of a call", "cpu us", "there",      "sleeps", "there",
                                        "switches",       "there",  "frames out", "in"};
    struct table time_table = table_new("lrrrrrrrr"), cost_table = table_new("lrrrrrrrr");
    fprintf(b->report, "%u key%s a call, rows of %" PRIu32 " floats\n\n", batches[batch],
            batches[batch] == 1 ? "" : "s", lengths[length]);
    print_table(&time_table, add_times, times, b, length, batch);
    if (!b->options.demo) print_table(&cost_table, add_costs, costs, b, length, batch);
    for (unsigned s = 0; s < STEPS; s++) {
        if (b->cells[length][batch][s].measured) json_cell(b, length, batch, (enum step_id)s);
    }
    fflush(b->report);
}

/* ---- Idle ---- */

static void json_idle_node(FILE *f, const char *name, const struct node_figures *used)
{
    json_begin(f, "remote_access");
    json_text(f, "cell", name);
    json_number(f, "seconds", (double)used->time_ns / 1e9);
    json_number(f, "cores", (double)used->cpu_ns / (double)used->time_ns);
    json_count(f, "sleeps", used->switches_voluntary);
    json_count(f, "messages_sent", used->stats.messages_sent);
    json_count(f, "messages_received", used->stats.messages_received);
    json_count(f, "bytes_sent", used->stats.bytes_sent);
    json_count(f, "bytes_received", used->stats.bytes_received);
    json_end(f);
}

void report_idle(const struct bench *b)
{
    if (!b->idle.measured) return;
    json_idle_node(b->json, "idle node 0", &b->idle.used.here);
    json_idle_node(b->json, "idle node 1", &b->idle.used.there);
}
