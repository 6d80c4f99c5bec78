/* A node of a cell: opens, writes its rows, does its part, tells what it measured. */
#include "bench.h"

#include "../common/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 };

/* _exit, because what runs at a usual exit may wait for a cluster that is in trouble. */
static _Noreturn void end(void)
{
    fflush(NULL);
    _exit(1);
}

void must(int rc, const char *call)
{
    if (rc == 0) return;
    const char *message = locus_error();
    fprintf(stderr, "adaptive: %s: %s%s%s\n", call, locus_strerror(rc), *message ? ": " : "", message);
    end();
}

void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != NULL) return memset(memory, 0, bytes);
    fprintf(stderr, "adaptive: no memory for %zu MiB more\n", bytes >> 20);
    end();
}

void sleep_until(uint64_t ns)
{
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* ---- Opening ---- */

static void open_node(struct node *n, const char *rendezvous)
{
    struct locus_table table = {.rows = rows_of(n->cell, n->is_quick),
                                .length = n->cell->length ? n->cell->length : 128};
    struct locus_config c;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.technique = n->cell->technique;
    c.act_immediately = n->cell->immediate;
    c.rank = n->rank;
    c.size = (int)n->cell->nodes;
    c.rendezvous = rendezvous;
    c.join_timeout_s = 20;
    must(locus_open(&c, &n->locus), "cannot open a cluster: locus_open");
    must(locus_worker_open(n->locus, &n->worker), "locus_worker_open");
}

/* A row that was never written has no memory; moving or copying it would be too cheap. */
static void write_own_rows(struct node *n)
{
    uint32_t length = locus_length(n->locus, 0);
    float *rows = must_alloc((size_t)CHUNK * length * sizeof *rows);
    locus_key keys[CHUNK];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, CHUNK)) > 0; from = keys[count - 1] + 1)
        must(locus_set(n->worker, keys, count, rows), "locus_set");
    free(rows);
}

locus_key *keys_elsewhere(struct node *n, size_t *count)
{
    uint64_t rows = locus_keys(n->locus);
    locus_key *keys = must_alloc(rows * sizeof *keys), own[CHUNK], next = 0;
    size_t some;
    *count = 0;
    for (locus_key from = 0; (some = locus_owned(n->locus, from, own, CHUNK)) > 0; from = next)
        for (size_t i = 0; i < some; i++, next++)
            for (; next < own[i]; next++) keys[(*count)++] = next;
    for (; next < rows; next++) keys[(*count)++] = next;
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
    uint64_t replica = s->pulled_replica + s->pushed_replica, remote = s->pulled_remote + s->pushed_remote;
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

static void close_node(struct node *n)
{
    must(locus_worker_close(n->worker), "locus_worker_close");
    must(locus_close(n->locus), "locus_close");
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
    write_own_rows(&n);
    node_process_question(&q);
    n.base_ns = q.numbers[0];
    node_process_answer(&done, sizeof done);
    must(locus_quiesce(n.worker), "locus_quiesce");
    run(&n);
    node_process_question(&q);
    node_process_answer(&outcome, sizeof outcome);
    node_process_question(&q);
    node_process_answer(&done, sizeof done);
    close_node(&n);
    return 0;
}
