/* A node of a cell: opens, writes its rows, does its part, tells what it measured. */
#include "bench.h"

#include "../common/clock.h"
#include "../common/cluster.h"
#include "../common/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

void sleep_until(uint64_t ns)
{
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* ---- Opening ---- */

/* Accesses push what they have pulled: it stays zero. */
static float zero(locus_key key)
{
    (void)key;
    return 0;
}

static void open_node(struct node *n, const char *rendezvous)
{
    struct locus_table table = {.rows = rows_of(n->cell, n->is_quick),
                                .length = n->cell->length ? n->cell->length : 128};
    struct locus_config c =
        cluster_config(&table, 1, n->cell->technique, n->rank, (int)n->cell->nodes, rendezvous);
    c.act_immediately = n->cell->immediate;
    cluster_open(&c, &n->locus, &n->worker);
    rows_write_own(n->locus, n->worker, zero);
}

locus_key *keys_elsewhere(struct node *n, size_t *count)
{
    uint64_t rows = locus_keys(n->locus);
    locus_key *keys = must_alloc(rows * sizeof *keys);
    *count = rows_elsewhere(n->locus, 0, rows, keys);
    return keys;
}

/* ---- The timed part ---- */

void timed_begin(struct node *n)
{
    n->until_s = shards_cpu_s();
    n->before = node_figures(n->locus);
}

static double share(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : NAN;
}

void timed_end(struct node *n)
{
    struct node_figures now = node_figures(n->locus), used = node_figures_between(&n->before, &now);
    const struct locus_stats *s = &used.stats;
    double *v = n->outcome->value;
    uint64_t replica = s->pulled_replica + s->pushed_replica,
             remote = s->pulled_remote + s->pushed_remote;
    uint64_t all = s->pulled_local + s->pushed_local + replica + remote;
    if (isnan(v[SECONDS])) v[SECONDS] = (double)used.time_ns / 1e9;
    v[ACCESSES] = (double)all;
    v[REMOTE] = share(remote, all);
    v[REPLICA] = share(replica, all);
    v[SENT] = (double)s->bytes_sent;
    v[MESSAGES] = (double)s->messages_sent;
    v[MOVED] = (double)s->relocated_in;
    v[COPIED] = (double)s->replicas_created;
    v[LEFT] = (double)now.stats.replicas_now;
    v[ROUNDS] = (double)s->rounds;
    v[HEARD] = now.stats.replica_staleness_mean_s;
    v[SHARD_CPU] = shards_cpu_s() - n->until_s;
    v[CPU] = (double)used.cpu_ns / 1e9;
}

/* ---- Doing what is asked ---- */

static void run(struct node *n)
{
    switch (n->cell->workload) {
    case SKEWED:
    case OWN: epoch_run(n); break;
    case TURNS: turns_run(n); break;
    case ARRIVAL: arrival_run(n); break;
    default: replicas_run(n);
    }
}

int node_main(int argc, char **argv)
{
    static struct outcome outcome;
    const uint64_t done = 0;
    struct node n = {.outcome = &outcome, .is_quick = argc > 3};
    struct node_question q = {0};
    n.cell = argc > 2 ? cell_at((unsigned)strtoul(argv[0], NULL, 10)) : NULL;
    if (!n.cell) return 2;
    n.rank = (int)strtol(argv[1], NULL, 10);
    for (unsigned m = 0; m < METRICS; m++) outcome.value[m] = NAN;
    open_node(&n, argv[2]);
    node_process_question(&q);
    n.base_ns = q.numbers[0];
    node_process_answer(&done, sizeof done);
    must(locus_quiesce(n.worker), "locus_quiesce");
    run(&n);
    node_process_question(&q);
    node_process_answer(&outcome, sizeof outcome);
    node_process_question(&q);
    node_process_answer(&done, sizeof done);
    cluster_close(n.locus, n.worker);
    return 0;
}
