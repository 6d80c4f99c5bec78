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
        b->run.repetitions);
    fprintf(
        out,
        "         ping-pong of the same repetition; of stream: row bytes as a share of its best stream\n");
    fprintf(out,
            "         A call takes from when it is made until it is done, less %" PRIu64
            " ns for the clock\n",
            b->run.clock_cost);
    fprintf(
        out,
        "costs    of a call, in both processes: processor time of all threads; how often one of them went to\n"
        "         sleep; how often one left its processor, to sleep or for another; node 0's frames\n");
}

void report_start(const struct bench *b)
{
    run_title(&b->run, "remote access: what a worker pays for rows that another node holds");
    if (!b->run.options.demo) report_method(b);
    run_end_title(&b->run, "so short that these figures say that it runs, not how fast");
}

/* ---- One setting ---- */

struct setting {
    const struct bench *bench;
    unsigned length, batch;
};

static const struct cell *cell_of(const struct setting *s, unsigned step)
{
    return &s->bench->cells[s->length][s->batch][step];
}

static bool is_measured(const void *setting, unsigned step)
{
    return cell_of(setting, step)->measured;
}

static double per_call(const struct cell *c, uint64_t total)
{
    return c->calls > 0 ? (double)total / (double)c->calls : 0;
}

static struct spread cell_ratio(const struct bench *b, unsigned length, unsigned batch,
                                const struct cell *c)
{
    double floor[SPREAD_MAX];
    best_pingpong(b, length, batch, floor);
    return run_ratio(&b->run, c->times.p50, floor);
}

static struct spread cell_share(const struct bench *b, unsigned length, unsigned batch,
                                const struct cell *c)
{
    double floor[SPREAD_MAX];
    best_stream(b, length, batch, floor);
    return run_ratio(&b->run, c->bytes_per_s, floor);
}

/* A percentile of fewer calls than that says nothing. */
static bool has_p999(const struct bench *b, const struct cell *c)
{
    return c->calls >= UINT64_C(1000) * b->run.repetitions;
}

static void add_times(struct table *t, const void *setting, unsigned step)
{
    const struct setting *at = setting;
    const struct bench *b = at->bench;
    const struct cell *c = cell_of(at, step);
    const struct step *s = &steps[step];
    double rate = run_spread(&b->run, c->bytes_per_s).median;
    bool is_call = s->flight > 0, is_stream = s->kind == STREAM;
    bool floor_known = is_measured(at, PINGPONG_SPIN), share_known = is_measured(at, STREAM_64K);
    table_add(t, "%s", s->name);
    times_add(t, &b->run, &c->times, !is_stream, true, has_p999(b, c));
    table_add_if(t, floor_known && s->flight <= 1 && !is_stream, "%.2fx",
                 cell_ratio(b, at->length, at->batch, c).median);
    table_add_if(t, is_call, "%.1f", rate / (double)row_bytes(at->length) / 1e3);
    table_add_if(t, is_call || is_stream, "%.3f", rate / 1e9);
    table_add_if(t, share_known && is_call, "%.0f %%",
                 cell_share(b, at->length, at->batch, c).median * 100);
}

static void add_costs(struct table *t, const void *setting, unsigned step)
{
    const struct cell *c = cell_of(setting, step);
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

static void json_usage(struct json *f, const struct cell *c, const char *node,
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

static void json_traffic(struct json *f, const struct cell *c)
{
    const struct locus_stats *s = &c->used.here.stats;
    json_number(f, "messages_sent_per_call", per_call(c, s->messages_sent));
    json_number(f, "messages_received_per_call", per_call(c, s->messages_received));
    json_number(f, "bytes_sent_per_call", per_call(c, s->bytes_sent));
    json_number(f, "bytes_received_per_call", per_call(c, s->bytes_received));
}

static void json_cell(const struct bench *b, unsigned length, unsigned batch, enum step_id step)
{
    const struct cell *c = &b->cells[length][batch][step];
    const struct step *s = &steps[step];
    struct spread rate = run_spread(&b->run, c->bytes_per_s);
    char name[96];
    step_name(name, sizeof name, length, batch, step);
    run_json(&b->run, name);
    json_count(b->run.json, "length", lengths[length]);
    json_count(b->run.json, "keys_per_call", batches[batch]);
    json_count(b->run.json, "in_flight", s->flight);
    json_count(b->run.json, "repetitions", b->run.repetitions);
    if (s->kind != STREAM) {
        times_json(&b->run, &c->times, has_p999(b, c));
        json_count(b->run.json, "longest_ns", c->times.longest);
        json_count(b->run.json, "calls", c->calls);
    }
    if (s->kind != PINGPONG) results_spread(b->run.json, "bytes_per_second", rate);
    if (s->flight > 0)
        json_number(b->run.json, "keys_per_second", rate.median / (double)row_bytes(length));
    if (s->flight == 1)
        results_spread(b->run.json, "ratio_to_pingpong", cell_ratio(b, length, batch, c));
    if (s->flight > 0 && batch + 1 == BATCHES)
        results_spread(b->run.json, "share_of_stream", cell_share(b, length, batch, c));
    json_usage(b->run.json, c, "node0", &c->used.here);
    json_usage(b->run.json, c, "node1", &c->used.there);
    if (s->flight > 0) json_traffic(b->run.json, c);
    json_end(b->run.json);
}

/* In this order, whatever the order of measuring. */
static const unsigned steps_shown[][GROUP_STEPS] = {
    {PULL_1, PUSH_1, SET_1, STEPS},
    {PULL_8, PUSH_8, SET_8, STEPS},
    {PINGPONG_SPIN, PINGPONG_SPIN_PINNED, PINGPONG_BLOCK, PINGPONG_BLOCK_PINNED},
    {STREAM_64K, STREAM_1M, STREAM_64K_PINNED, STREAM_1M_PINNED},
};
static const struct groups groups = {STEPS, steps_shown, is_measured};

/* Streams have no costs a call: they come last, so that they leave no gap. */
static const struct groups_table times_table = {
    .columns = "lrrrrrrrr",
    .header = (const char *const[]){"time of a call", "min us", "p50", "p99", "p99.9", "x",
                                    "k keys/s", "GB/s", "of stream"},
    .count = 4,
    .add = add_times,
};
static const struct groups_table costs_table = {
    .columns = "lrrrrrrrr",
    .header = (const char *const[]){"cost of a call", "cpu us", "there", "sleeps", "there",
                                    "switches", "there", "frames out", "in"},
    .count = 3,
    .add = add_costs,
};

void report_setting(const struct bench *b, unsigned length, unsigned batch)
{
    const struct setting s = {b, length, batch};
    fprintf(b->run.report, "%u key%s a call, rows of %" PRIu32 " floats\n\n", batches[batch],
            batches[batch] == 1 ? "" : "s", lengths[length]);
    groups_print(&b->run, &groups, &times_table, &s);
    if (!b->run.options.demo) groups_print(&b->run, &groups, &costs_table, &s);
    for (unsigned step = 0; step < STEPS; step++) {
        if (is_measured(&s, step)) json_cell(b, length, batch, (enum step_id)step);
    }
    fflush(b->run.report);
}

/* ---- Idle ---- */

static void json_idle_node(const struct bench *b, const char *name, const struct node_figures *used)
{
    struct json *f = b->run.json;
    run_json(&b->run, name);
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
    json_idle_node(b, "idle node 0", &b->idle.used.here);
    json_idle_node(b, "idle node 1", &b->idle.used.there);
}
