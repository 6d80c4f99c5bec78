/* What stands at the end: the targets, and the picture. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/table.h"

#include <inttypes.h>
#include <math.h>

/* ---- Targets ---- */

static const double p50_target = 3, p99_target = 6, share_target = 0.6, idle_target = 0.005;
enum { TARGET_LENGTH = 1, HEARTBEAT_BYTES = 40 };

/* Judged as printed, with two digits. */
static bool at_most(double measured, double target)
{
    return round(measured * 100) <= round(target * 100);
}

static void add_latency(struct table *t, const struct bench *b)
{
    const struct cell *c = &b->cells[TARGET_LENGTH][0][PULL_1];
    double floor[SPREAD_MAX];
    if (!c->measured) return;
    best_pingpong(b, TARGET_LENGTH, 0, floor);
    double p50 = run_ratio(&b->run, c->times.p50, floor).median,
           p99 = run_ratio(&b->run, c->times.p99, floor).min;
    double floor_us = run_spread(&b->run, floor).median / 1e3;
    table_add(t, "pull of 1 row of 128 floats, p50");
    table_add(t, "at most %.0fx spinning ping-pong", p50_target);
    table_add(t, "%.2fx", p50);
    table_add(t, "%s", run_verdict(&b->run, at_most(p50, p50_target)));
    table_add(t, "%.1f us; ping-pong %.1f us", run_spread(&b->run, c->times.p50).median / 1e3,
              floor_us);
    table_add(t, "the same, p99, best of %u run%s", b->run.repetitions,
              b->run.repetitions == 1 ? "" : "s");
    table_add(t, "at most %.0fx that median", p99_target);
    table_add(t, "%.2fx", p99);
    table_add(t, "%s", run_verdict(&b->run, at_most(p99, p99_target)));
    table_add(t, "%.1f us; median of runs %.1f us", run_spread(&b->run, c->times.p99).min / 1e3,
              run_spread(&b->run, c->times.p99).median / 1e3);
}

static void add_share(struct table *t, const struct bench *b, enum step_id step,
                      enum step_id stream)
{
    const struct cell *cells = b->cells[TARGET_LENGTH][BATCHES - 1];
    double share = run_ratio(&b->run, cells[step].bytes_per_s, cells[stream].bytes_per_s).median;
    double rate = run_spread(&b->run, cells[step].bytes_per_s).median;
    table_add(t, "%s of 1024 rows of 128 floats, 8 in flight",
              steps[step].kind == PULL ? "pull" : "push");
    table_add(t, "at least %.0f %% of %s", share_target * 100, steps[stream].name);
    table_add(t, "%.0f %%", share * 100);
    table_add(t, "%s", run_verdict(&b->run, round(share * 100) >= share_target * 100));
    table_add(t, "%.2f GB/s, %.2f M keys/s; stream %.2f GB/s", rate / 1e9,
              rate / (double)row_bytes(TARGET_LENGTH) / 1e6,
              run_spread(&b->run, cells[stream].bytes_per_s).median / 1e9);
}

static void add_throughput(struct table *t, const struct bench *b, enum step_id step)
{
    static const enum step_id streams[] = {STREAM_64K, STREAM_1M, STREAM_64K_PINNED,
                                           STREAM_1M_PINNED};
    const struct cell *cells = b->cells[TARGET_LENGTH][BATCHES - 1];
    if (cells[step].measured) table_gap(t);
    for (unsigned i = 0; i < 4; i++) {
        if (cells[step].measured && cells[streams[i]].measured) add_share(t, b, step, streams[i]);
    }
}

static void add_idle_node(struct table *t, const struct bench *b, int node,
                          const struct node_figures *used)
{
    double seconds = (double)used->time_ns / 1e9,
           cores = (double)used->cpu_ns / (double)used->time_ns;
    table_add(t, "nothing to do, node %d", node);
    table_add(t, "below %.1f %% of a core", idle_target * 100);
    table_add(t, "%.2f %%", cores * 100);
    table_add(t, "%s", run_verdict(&b->run, cores < idle_target));
    table_add(t, "%.1f sleeps a second", (double)used->switches_voluntary / seconds);
}

/* A heartbeat is a header alone: anything else would make the bytes more. */
static void add_idle_messages(struct table *t, const struct bench *b)
{
    const struct locus_stats *s = &b->idle.used.here.stats;
    double seconds = (double)b->idle.used.here.time_ns / 1e9;
    uint64_t messages = s->messages_sent + s->messages_received,
             bytes = s->bytes_sent + s->bytes_received;
    table_add(t, "nothing to do, messages");
    table_add(t, "heartbeats only");
    table_add(t, "%.1f a second", (double)messages / seconds);
    table_add(t, "%s", run_verdict(&b->run, bytes == messages * HEARTBEAT_BYTES));
    table_add(t, "both ways together; %.1f bytes each",
              messages > 0 ? (double)bytes / (double)messages : 0);
}

void summary_targets(const struct bench *b)
{
    static const char *const header[] = {"targets", "", "measured", "", ""};
    struct table t = table_new("llrll");
    table_header(&t, header);
    add_latency(&t, b);
    add_throughput(&t, b, PULL_8);
    add_throughput(&t, b, PUSH_8);
    table_gap(&t);
    if (b->idle.measured) {
        add_idle_node(&t, b, 0, &b->idle.used.here);
        add_idle_node(&t, b, 1, &b->idle.used.there);
        add_idle_messages(&t, b);
    }
    table_print(&t, b->run.report);
    run_show_load(&b->run);
}

/* ---- The picture ---- */

static bool fill_group(const struct bench *b, struct plot_group *g, unsigned length, unsigned batch)
{
    static char labels[LENGTHS][16];
    static const char *const sections[BATCHES] = {"1 key a call", "64 keys a call",
                                                  "1024 keys a call"};
    static const enum step_id series[] = {PULL_1, PUSH_1, PINGPONG_BLOCK};
    const struct cell *cells = b->cells[length][batch];
    double floor[SPREAD_MAX];
    bool complete = true;
    best_pingpong(b, length, batch, floor);
    snprintf(labels[length], sizeof labels[length], "%" PRIu32, lengths[length]);
    g->section = sections[batch];
    g->label = labels[length];
    for (unsigned i = 0; i < 3; i++) {
        complete &= cells[series[i]].measured;
        g->values[i] = run_ratio(&b->run, cells[series[i]].times.p50, floor).median;
    }
    return complete;
}

void summary_svg(const struct bench *b)
{
    struct plot_group groups[LENGTHS * BATCHES] = {0};
    bool complete = true;
    for (unsigned i = 0; i < LENGTHS * BATCHES; i++)
        complete &= fill_group(b, &groups[i], i % LENGTHS, i / LENGTHS);
    if (!complete) {
        fprintf(b->run.report,
                "%s was not drawn: the picture needs pull, push and the floors for all lengths.\n",
                b->run.options.svg);
        return;
    }
    char subtitle[256];
    snprintf(
        subtitle, sizeof subtitle,
        "two nodes on loopback, next to a TCP ping-pong of as many bytes, one call at a time, median, %s; lower is better",
        machine_processor());
    plot_svg(&(struct plot){.title = "Remote access: time of a call",
                            .subtitle = subtitle,
                            .axis = "time of a call (ping-pong = 1)",
                            .label_name = "floats",
                            .unit = "x",
                            .baseline = "ping-pong, polling",
                            .series = {"pull", "push", "ping-pong, sleeping"},
                            .series_count = 3,
                            .groups = groups,
                            .group_count = LENGTHS * BATCHES},
             1, b->run.options.svg, b->run.report);
}
