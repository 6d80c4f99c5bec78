/* Tables and JSON lines. */
#include "bench.h"

#include "../common/table.h"

#include <math.h>

const char *const metric_names[METRICS] = {
    [SECONDS] = "seconds",
    [ACCESSES] = "accesses",
    [REMOTE] = "remote_share",
    [REPLICA] = "replica_share",
    [SENT] = "bytes_sent",
    [MESSAGES] = "messages_sent",
    [MOVED] = "relocated_in",
    [COPIED] = "replicas_created",
    [LEFT] = "replicas_left",
    [ROUNDS] = "rounds",
    [HEARD] = "seconds_since_heard",
    [STALE] = "staleness_seconds",
    [SHARD_CPU] = "shards_cpu_seconds",
    [CPU] = "cpu_seconds",
    [PUSHES] = "pushes_per_second",
    [PULL_X] = "pull_64_ratio_to_array",
    [PUSH_X] = "push_64_ratio_to_array",
    [PULL1_X] = "pull_1_ratio_to_array",
    [PUSH1_X] = "push_1_ratio_to_array",
    [SHORTEST] = "shortest_seconds",
    [P50] = "p50_seconds",
    [P99] = "p99_seconds",
    [P999] = "p999_seconds",
};

void report_start(const struct bench *b)
{
    FILE *out = b->run.report;
    run_title(&b->run, "adaptive: what intent brings, and what replicas cost");
    fprintf(
        out,
        "nodes    processes on this machine's loopback, one worker each; a cluster for every cell\n"
        "skewed   a batch of %d keys a clock, Zipf 1.1 over 131072 rows of 128 floats, pulled and pushed; intent\n"
        "         `offset` clocks ahead; own: each node has a slice of the rows, the same otherwise\n"
        "method   median of %u repetitions, mean of the nodes. heard: time since the owner's last frame, of replicas;\n"
        "         stale: age of what a replica shows, by stamps in rows; shards: their threads' processor time\n",
        BATCH_KEYS, b->run.repetitions);
    run_end_title(&b->run, "so short that these figures say that it runs, not how well");
}

static double median(const struct bench *b, unsigned number, enum metric m)
{
    return over_repetitions(b, number, m).median;
}

static void add(struct table *t, const struct bench *b, unsigned number, enum metric m,
                const char *format, double unit)
{
    double value = median(b, number, m);
    table_add_if(t, !isnan(value), format, value / unit);
}

static void add_epoch(struct table *t, const void *bench, unsigned number)
{
    const struct bench *b = bench;
    add(t, b, number, SECONDS, "%.2f", 1);
    add(t, b, number, REMOTE, "%.3f %%", 0.01);
    add(t, b, number, REPLICA, "%.1f %%", 0.01);
    add(t, b, number, SENT, "%.2f", 1e6);
    add(t, b, number, MESSAGES, "%.0f", 1);
    add(t, b, number, MOVED, "%.0f", 1);
    add(t, b, number, COPIED, "%.0f", 1);
    add(t, b, number, LEFT, "%.0f", 1);
    add(t, b, number, ROUNDS, "%.0f", 1);
    add(t, b, number, HEARD, "%.2f", 1e-3);
    add(t, b, number, SHARD_CPU, "%.3f", 1);
    add(t, b, number, CPU, "%.3f", 1);
}

static void add_replicas(struct table *t, const void *bench, unsigned number)
{
    const struct bench *b = bench;
    double s = median(b, number, SECONDS);
    add(t, b, number, PUSHES, "%.2f", 1e6);
    add(t, b, number, STALE, "%.1f", 1e-3);
    add(t, b, number, HEARD, "%.2f", 1e-3);
    add(t, b, number, SENT, "%.3f", 1e6 * s);
    add(t, b, number, MESSAGES, "%.1f", s);
    add(t, b, number, ROUNDS, "%.1f", s);
    add(t, b, number, SHARD_CPU, "%.2f %%", 0.01 * s);
    add(t, b, number, PULL_X, "%.2fx", 1);
    add(t, b, number, PUSH_X, "%.2fx", 1);
    add(t, b, number, PULL1_X, "%.2fx", 1);
    add(t, b, number, PUSH1_X, "%.2fx", 1);
    add(t, b, number, SHORTEST, "%.1f", 1e-6);
    add(t, b, number, P50, "%.2f", 1e-6);
    add(t, b, number, P99, "%.1f", 1e-6);
    add(t, b, number, P999, "%.1f", 1e-6);
}

static void json_cell(const struct bench *b, unsigned number)
{
    char name[CELL_NAME];
    cells.name(number, name);
    run_json(&b->run, name);
    json_count(b->run.json, "repetitions", b->run.repetitions);
    for (unsigned m = 0; m < METRICS; m++)
        if (!isnan(median(b, number, (enum metric)m)))
            results_spread(b->run.json, metric_names[m],
                           over_repetitions(b, number, (enum metric)m));
    json_end(b->run.json);
}

static bool is_epoch(const void *bench, unsigned number)
{
    const struct bench *b = bench;
    return b->results[number].measured && cell_at(number)->workload <= TURNS;
}

static bool is_other(const void *bench, unsigned number)
{
    const struct bench *b = bench;
    return b->results[number].measured && cell_at(number)->workload > TURNS;
}

static const struct cells_table epochs = {
    .columns = "lrrrrrrrrrrrr",
    .header = (const char *const[]){"a node", "s", "remote", "replica", "MB sent", "messages",
                                    "moved", "copied", "left", "rounds", "heard ms", "shards s",
                                    "cpu s"},
    .show = is_epoch,
    .add = add_epoch,
};
static const struct cells_table others = {
    .columns = "lrrrrrrrrrrrrrrr",
    .header = (const char *const[]){"a node", "M pushes/s", "stale ms", "heard ms", "MB/s",
                                    "messages/s", "rounds/s", "shards", "pull 64", "push 64",
                                    "pull 1", "push 1", "min us", "p50", "p99", "p99.9"},
    .show = is_other,
    .add = add_replicas,
};

void report_cells(const struct bench *b)
{
    cells_print(&b->run, &cells, &epochs, b);
    cells_print(&b->run, &cells, &others, b);
    for (unsigned i = 0; i < cells.count; i++)
        if (b->results[i].measured) json_cell(b, i);
    fflush(b->run.report);
}
