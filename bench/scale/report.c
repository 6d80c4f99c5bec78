/* Lines of JSON. */
#include "bench.h"

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

static void json_load(struct json *j, const struct load *l)
{
    json_count(j, "rows", l->rows);
    json_count(j, "length", l->length);
    json_count(j, "keys_a_clock", l->keys);
    json_count(j, "period_us", l->period_us);
    json_count(j, "offset", l->offset);
    json_count(j, "clocks", l->clocks);
    json_count(j, "max_rounds_per_second", l->max_rounds);
}

void report_cells(struct bench *b)
{
    char name[CELL_NAME];
    for (unsigned i = 0; i < cells.count; i++) {
        const struct result *r = &b->results[i];
        if (!r->measured) continue;
        cells.name(i, name);
        run_cell(&b->run, name);
        for (unsigned m = 0; m < METRICS; m++)
            json_number(&b->run.json, metric_names[m], r->value[m]);
        json_number(&b->run.json, "took_seconds", r->host_s);
        json_load(&b->run.json, &b->load);
        for (unsigned c = 0; c < model_count(); c++) {
            struct model_constant constant = model_constant(&b->model, c);
            json_number(&b->run.json, constant.name, constant.value);
        }
        json_end(&b->run.json);
    }
}
