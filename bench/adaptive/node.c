/* A node of a cell: opens, writes its rows, does its part, tells what it measured. */
#include "bench.h"

#include "../common/rows.h"
#include "../common/run.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void note(struct node *n, const char *name, double value)
{
    if (isnan(value)) return;
    struct outcome *o = &n->outcome;
    snprintf(o->figure[o->count].name, sizeof o->figure->name, "%s", name);
    o->figure[o->count++].value = value;
}

void note_percentile(struct node *n, const char *name, const struct latency *times, double percent)
{
    note(n, name, (double)latency_percentile(times, percent) / 1e9);
}

double seconds_of_part(void)
{
    return run.quick ? 0.1 : 2;
}

/* ---- Opening ---- */

static uint64_t rows_of(const struct load *l)
{
    if (l->workload == ARRIVAL) return run.quick ? 20000 : 100000;
    if (l->rows) return run.quick && l->rows > 20000 ? 20000 : l->rows;
    return run.quick ? 8192 : 131072;
}

static void open_node(struct node *n, const char *rendezvous)
{
    struct locus_table table = {.rows = rows_of(n->load),
                                .length = n->load->length ? n->load->length : 128};
    struct locus_config c =
        cluster_config(&table, 1, n->load->technique, n->rank, (int)n->load->nodes, rendezvous);
    setenv("LOCUS_LAB", n->load->immediate ? "immediate" : "", 1);
    cluster_open(&c, &n->locus, &n->worker);
    rows_write_own(n->locus, n->worker, row_zero); /* accesses push what they have pulled */
}

locus_key *keys_elsewhere(struct node *n, size_t *count)
{
    uint64_t rows = locus_keys(n->locus);
    locus_key *keys = must_alloc(rows * sizeof *keys);
    *count = rows_elsewhere(n->locus, 0, rows, keys);
    return keys;
}

float *values_alloc(const struct node *n, size_t count)
{
    return must_alloc(count * locus_length(n->locus, 0) * sizeof(float));
}

/* ---- The timed part ---- */

static bool read_line(const char *task, const char *file, char line[64])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", task, file);
    FILE *f = fopen(path, "r");
    bool is_read = f && fgets(line, 64, f);
    if (f) fclose(f);
    return is_read;
}

/* The processor time of the shards' threads, which carry the library's name for them: the first
 * number of schedstat, nanoseconds. */
static double shards_cpu_s(void)
{
    glob_t tasks;
    char line[64];
    double sum = 0;
    if (glob("/proc/self/task/*", 0, NULL, &tasks)) return 0;
    for (size_t i = 0; i < tasks.gl_pathc; i++)
        if (read_line(tasks.gl_pathv[i], "comm", line) && strncmp(line, "locus-shard", 11) == 0 &&
            read_line(tasks.gl_pathv[i], "schedstat", line))
            sum += strtod(line, NULL) / 1e9;
    globfree(&tasks);
    return sum;
}

void timed_begin(struct node *n)
{
    n->shards_s = shards_cpu_s();
    n->before = node_figures(n->locus);
}

void timed_end(struct node *n)
{
    struct node_figures now = node_figures(n->locus);
#define USED(figure) ((double)(now.figure - n->before.figure))
    double replica = USED(stats.pulled_replica) + USED(stats.pushed_replica),
           remote = USED(stats.pulled_remote) + USED(stats.pushed_remote),
           all = USED(stats.pulled_local) + USED(stats.pushed_local) + replica + remote;
    note(n, "seconds", n->seconds > 0 ? n->seconds : USED(time_ns) / 1e9);
    note(n, "accesses", all);
    note(n, "remote_share", remote / all);
    note(n, "replica_share", replica / all);
    note(n, "bytes_sent", USED(stats.bytes_sent));
    note(n, "messages_sent", USED(stats.messages_sent));
    note(n, "relocated_in", USED(stats.relocated_in));
    note(n, "replicas_created", USED(stats.replicas_created));
    note(n, "replicas_left", (double)now.stats.replicas_now);
    note(n, "rounds", USED(stats.rounds));
    note(n, "seconds_since_heard", now.stats.replica_staleness_mean_s);
    note(n, "shards_cpu_seconds", shards_cpu_s() - n->shards_s);
    note(n, "cpu_seconds", USED(cpu_ns) / 1e9);
#undef USED
}

/* ---- Doing what is asked ---- */

static void do_part(struct node *n)
{
    switch (n->load->workload) {
    case SKEWED:
    case OWN: epoch_run(n); break;
    case TURNS: turns_run(n); break;
    case ARRIVAL: arrival_run(n); break;
    default: replicas_run(n);
    }
}

int node_main(const struct load *l, const struct cluster_node *told)
{
    static struct node n;
    const uint64_t done = 0;
    struct node_question q = {0};
    n.load = l;
    n.rank = told->rank;
    open_node(&n, told->rendezvous);
    node_process_question(&q);
    n.base_ns = q.numbers[0];
    node_process_answer(&done, sizeof done);
    must(locus_quiesce(n.worker), "locus_quiesce");
    do_part(&n);
    node_process_question(&q);
    node_process_answer(&n.outcome, sizeof n.outcome);
    node_process_question(&q);
    node_process_answer(&done, sizeof done);
    cluster_close(n.locus, n.worker);
    return 0;
}
