/* Lines of JSON. */
#include "bench.h"

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

/* Only what the cell has. */
static bool has(const struct result *r, enum metric m, unsigned repetitions)
{
    for (unsigned i = 0; i < repetitions; i++)
        if (isnan(r->value[m][i])) return false;
    return true;
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
            if (has(r, (enum metric)m, b->run.repetitions))
                run_values(&b->run, metric_names[m], r->value[m]);
        json_end(&b->run.json);
    }
}
