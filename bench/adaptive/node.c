/* A node of a cell: opens, writes its rows, does its part, tells what it measured. */
#include "bench.h"

#include "../common/rows.h"
#include "../common/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

void timed_begin(struct node *n)
{
    n->own_ns = clock_read(CLOCK_THREAD_CPUTIME_ID);
    n->before = node_figures(n->locus);
}

void timed_end(struct node *n)
{
    struct node_figures now = node_figures(n->locus);
    double own = (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - n->own_ns);
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
    note(n, "shards_cpu_seconds", (USED(cpu_ns) - own) / 1e9);
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
