/* What is assumed, tables, JSON lines, the drawing. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/table.h"

#include <math.h>

const char *const metric_names[METRICS] = {
    [SECONDS] = "seconds",
    [CLOCKS] = "clocks_per_second",
    [REMOTE] = "remote_share",
    [REPLICA] = "replica_share",
    [BYTES] = "bytes_sent_per_second",
    [MESSAGES] = "messages_sent_per_second",
    [HEARTBEATS] = "heartbeats_per_second",
    [ROUNDS] = "rounds_per_second",
    [MOVED] = "relocated_in_per_second",
    [COPIED] = "replicas_created_per_second",
    [COPIES] = "replicas_of_a_key",
    [HOLDERS] = "replicas_of_the_hottest_key",
    [HEARD] = "seconds_since_heard",
    [STALE] = "hot_rows_staleness_seconds",
    [SHARD] = "shard_seconds_per_second",
    [POLLING] = "polling_seconds_per_second",
    [SHARD_MAX] = "shard_seconds_per_second_of_the_busiest",
    [BYTES_MAX] = "bytes_sent_per_second_of_the_busiest",
    [LATE] = "seconds_until_served",
    [ENGINE] = "engine_seconds_per_second_here",
    [PEERS] = "peers_spoken_with",
    [UPDATES] = "entries_per_second",
    [ANSWERS] = "answers_per_second",
    [REFRESHES] = "refreshes_per_second",
    [ROWS] = "rows_per_second",
    [OTHERS] = "other_entries_per_second",
    [QUIESCE] = "quiesce_seconds",
    [QUIESCE_MESSAGES] = "quiesce_messages",
    [MEMORY] = "bytes_of_memory",
    [TREE_STALE] = "tree_staleness_seconds",
    [TREE_BYTES] = "tree_bytes_sent_per_second",
    [TREE_GAIN] = "staler_than_by_tree",
};

static void print_model(const struct bench *b)
{
    struct table t = table_new("lrlll");
    static const char *const header[] = {"model", "", "", "", "from"};
    table_header(&t, header);
    for (unsigned i = 0; i < model_count(); i++) {
        struct model_constant c = model_constant(&b->model, i);
        table_add(&t, "%s", c.name);
        table_add(&t, "%g", c.value);
        table_add(&t, "%s", c.unit);
        table_add(&t, "%s", c.what);
        table_add(&t, "%s", c.source);
    }
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

void report_start(const struct bench *b)
{
    const struct load *l = &b->load;
    FILE *out = b->run.report;
    fprintf(out, "locus, scale: what a node costs among many, simulated\n\n");
    fprintf(out, "machine  %s; load %.1f: matters for `here` and `took` only\n", machine_name(),
            machine_load());
    fprintf(
        out,
        "nodes    the library in one thread on virtual time: a worker and a shard each, each on its own processor\n"
        "load     of each node, whatever their number: %u rows of %u floats; a batch of %u keys every %u us, Zipf\n"
        "         1.1, pulled and pushed, intent %u clocks ahead; %u clocks, of which the first third is not counted\n"
        "skewed   all nodes draw from all rows; own: each node from a slice of its own; shared: all nodes keep a few\n"
        "         rows, and change all of them each clock (100 us for 100 rows and fewer, 1 us a row else)\n",
        l->rows, l->length, l->keys, l->period_us, l->offset, l->clocks);
    if (l->max_rounds)
        fprintf(out, "rounds   at most %u a second that only synchronize\n", l->max_rounds);
    fputc('\n', out);
    print_model(b);
    fflush(out);
}

static void add(struct table *t, const struct result *r, enum metric m, const char *format,
                double unit)
{
    table_add_if(t, !isnan(r->value[m]), format, r->value[m] / unit);
}

static bool is_measured(const void *bench, unsigned number)
{
    return ((const struct bench *)bench)->results[number].measured;
}

static void add_cost(struct table *t, const void *bench, unsigned number)
{
    const struct result *r = &((const struct bench *)bench)->results[number];
    add(t, r, CLOCKS, "%.0f", 1);
    add(t, r, REMOTE, "%.3f %%", 0.01);
    add(t, r, REPLICA, "%.1f %%", 0.01);
    add(t, r, COPIES, "%.2f", 1);
    add(t, r, HOLDERS, "%.0f", 1);
    add(t, r, BYTES, "%.2f", 1e6);
    add(t, r, MESSAGES, "%.0f", 1);
    add(t, r, ROUNDS, "%.0f", 1);
    add(t, r, SHARD, "%.1f %%", 0.01);
    add(t, r, SHARD_MAX, "%.1f %%", 0.01);
    add(t, r, STALE, "%.2f", 1e-3);
    add(t, r, HEARD, "%.2f", 1e-3);
}

static void add_detail(struct table *t, const void *bench, unsigned number)
{
    const struct result *r = &((const struct bench *)bench)->results[number];
    add(t, r, UPDATES, "%.1f", 1e3);
    add(t, r, ANSWERS, "%.1f", 1e3);
    add(t, r, REFRESHES, "%.1f", 1e3);
    add(t, r, ROWS, "%.1f", 1e3);
    add(t, r, OTHERS, "%.1f", 1e3);
    add(t, r, MOVED, "%.0f", 1);
    add(t, r, COPIED, "%.0f", 1);
    add(t, r, BYTES_MAX, "%.2f", 1e6);
    add(t, r, LATE, "%.1f", 1e-6);
    add(t, r, PEERS, "%.0f", 1);
    add(t, r, QUIESCE, "%.2f", 1e-3);
    add(t, r, QUIESCE_MESSAGES, "%.0f", 1);
    add(t, r, POLLING, "%.1f %%", 0.01);
    add(t, r, ENGINE, "%.1f %%", 0.01);
    add(t, r, MEMORY, "%.1f", 1 << 20);
    table_add(t, "%.1f", r->host_s);
}

static void json_load(const struct bench *b)
{
    const struct load *l = &b->load;
    json_count(b->run.json, "rows", l->rows);
    json_count(b->run.json, "length", l->length);
    json_count(b->run.json, "keys_a_clock", l->keys);
    json_count(b->run.json, "period_us", l->period_us);
    json_count(b->run.json, "offset", l->offset);
    json_count(b->run.json, "clocks", l->clocks);
    json_count(b->run.json, "max_rounds_per_second", l->max_rounds);
}

static void json_cell(const struct bench *b, unsigned number)
{
    char name[CELL_NAME];
    const struct result *r = &b->results[number];
    cells.name(number, name);
    run_json(&b->run, name);
    for (unsigned m = 0; m < METRICS; m++) json_number(b->run.json, metric_names[m], r->value[m]);
    json_number(b->run.json, "took_seconds", r->host_s);
    json_load(b);
    for (unsigned i = 0; i < model_count(); i++) {
        struct model_constant c = model_constant(&b->model, i);
        json_number(b->run.json, c.name, c.value);
    }
    json_end(b->run.json);
}

static const struct cells_table costs = {
    .columns = "lrrrrrrrrrrrr",
    .header = (const char *const[]){"a node, a second", "clocks", "remote", "replica", "copies",
                                    "of hottest", "MB sent", "messages", "rounds", "shard",
                                    "busiest", "stale ms", "heard ms"},
    .show = is_measured,
    .add = add_cost,
};
static bool is_shared(const void *bench, unsigned number)
{
    return is_measured(bench, number) && cell_at(number)->workload == SHARED;
}

static void add_tree(struct table *t, const void *bench, unsigned number)
{
    const struct result *r = &((const struct bench *)bench)->results[number];
    add(t, r, SHARD, "%.1f %%", 0.01);
    add(t, r, SHARD_MAX, "%.1f %%", 0.01);
    add(t, r, STALE, "%.2f", 1e-3);
    add(t, r, TREE_STALE, "%.2f", 1e-3);
    add(t, r, TREE_GAIN, "%.2fx", 1);
    add(t, r, BYTES, "%.2f", 1e6);
    add(t, r, TREE_BYTES, "%.2f", 1e6);
}

static const struct cells_table trees = {
    .columns = "lrrrrrrr",
    .header = (const char *const[]){"owners, and recursive doubling", "shard", "busiest",
                                    "stale ms", "doubling", "times", "MB sent", "doubling"},
    .show = is_shared,
    .add = add_tree,
};
static const struct cells_table details = {
    .columns = "lrrrrrrrrrrrrrrrr",
    .header = (const char *const[]){"a node, a second", "k entries", "answers", "refreshes", "rows",
                                    "others", "moved", "copied", "busiest MB", "late us", "peers",
                                    "quiesce ms", "messages", "polls", "here", "MiB", "took s"},
    .show = is_measured,
    .add = add_detail,
};

void report_cells(const struct bench *b)
{
    cells_print(&b->run, &cells, &costs, b);
    cells_print(&b->run, &cells, &details, b);
    cells_print(&b->run, &cells, &trees, b);
    for (unsigned i = 0; i < cells.count; i++)
        if (b->results[i].measured) json_cell(b, i);
    fflush(b->run.report);
}
