/* Runs a cell, in a process of its own: its memory is the cell's alone, and goes back. */
#include "bench.h"
#include "tree.h"

#include "../common/clock.h"
#include "../common/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a node has done in the timed part, a second. */
static double rate(const struct node *n, double after, double before)
{
    return (after - before) / n->seconds;
}

#define RATE(n, field) rate((n), (double)(n)->figures.field, (double)(n)->figures_before.field)
#define STAT(n, field) ((double)((n)->used.field - (n)->before.field))

static void add_entries(const struct node *n, double *v)
{
    for (unsigned o = 0; o < WIRE_OPERATIONS; o++) {
        enum metric m = o == WIRE_SYNC      ? UPDATES
                        : o == WIRE_ANSWER  ? ANSWERS
                        : o == WIRE_REFRESH ? REFRESHES
                        : o == WIRE_ROW     ? ROWS
                                            : OTHERS;
        v[m] += RATE(n, entries[o]);
    }
}

static void add_accesses(const struct node *n, double *v)
{
    double replica = STAT(n, pulled_replica) + STAT(n, pushed_replica);
    double remote = STAT(n, pulled_remote) + STAT(n, pushed_remote);
    double all = STAT(n, pulled_local) + STAT(n, pushed_local) + replica + remote;
    v[REMOTE] += remote / all;
    v[REPLICA] += replica / all;
}

static void add_node(const struct node *n, double *v)
{
    v[SECONDS] += n->seconds;
    unsigned clocks = load_of(n->bench, n->cell).clocks;
    v[CLOCKS] += (clocks - clocks / 3) / n->seconds;
    v[BYTES] += RATE(n, bytes_out);
    v[MESSAGES] += RATE(n, frames_out);
    v[ROUNDS] += STAT(n, rounds) / n->seconds;
    v[PEERS] += n->peers;
    v[HEARTBEATS] += n->cell->nodes - 1 - n->peers;
    v[QUIESCE] += n->quiesce_s;
    v[QUIESCE_MESSAGES] += n->quiesce_messages;
    v[MOVED] += STAT(n, relocated_in) / n->seconds;
    v[COPIED] += STAT(n, replicas_created) / n->seconds;
    v[COPIES] += n->copies / (double)n->looks / load_of(n->bench, n->cell).rows;
    v[HEARD] += n->used.replica_staleness_mean_s;
    v[SHARD] += RATE(n, shard_ns) / 1e9;
    v[POLLING] += RATE(n, polling_ns) / 1e9;
    v[LATE] += RATE(n, late_ns) / 1e9 / RATE(n, frames_in);
    v[ENGINE] += RATE(n, engine_ns) / 1e9;
    v[SHARD_MAX] = fmax(v[SHARD_MAX], RATE(n, shard_ns) / 1e9);
    v[BYTES_MAX] = fmax(v[BYTES_MAX], RATE(n, bytes_out));
    add_accesses(n, v);
    add_entries(n, v);
}

static void compare_with_tree(const struct node *n, double *v)
{
    const struct bench *b = n->bench;
    v[TREE_STALE] = v[TREE_BYTES] = v[TREE_GAIN] = NAN;
    if (n->cell->workload != SHARED) return;
    struct tree_cost c = tree_cost(&b->model, n->cell->nodes, n->cell->keys, b->load.length);
    struct tree_pace p = tree_pace(&c, v[SHARD_MAX]);
    v[TREE_STALE] = p.stale_s;
    v[TREE_BYTES] = p.bytes_per_s;
    v[TREE_GAIN] = v[STALE] / p.stale_s;
}

static void sum_up(const struct node *nodes, unsigned count, struct result *r, size_t memory)
{
    double *v = r->value;
    for (unsigned i = 0; i < count; i++) add_node(&nodes[i], v);
    for (unsigned m = 0; m < METRICS; m++)
        if (m != SHARD_MAX && m != BYTES_MAX) v[m] /= count;
    v[HOLDERS] = nodes[0].holders / (double)nodes[0].looks;
    v[STALE] = nodes[0].cell->workload != OWN ? lag_mean_s() : NAN;
    v[MEMORY] = (double)memory / count;
    compare_with_tree(nodes, v);
    r->measured = true;
}

static void run(struct bench *b, unsigned number)
{
    const struct cell *c = cell_at(number);
    struct result *r = &b->results[number];
    struct node *nodes = must_alloc(c->nodes * sizeof *nodes);
    size_t before = machine_resident_bytes();
    uint64_t began = clock_ns();
    platform_begin(c->nodes, &b->model);
    for (unsigned i = 0; i < c->nodes; i++) {
        nodes[i] = (struct node){.bench = b, .cell = c, .rank = i};
        node_open(&nodes[i]);
    }
    for (unsigned i = 0; i < c->nodes; i++) platform_add_worker(i, node_run, &nodes[i]);
    if (!platform_run()) fail("all nodes wait for each other");
    sum_up(nodes, c->nodes, r, machine_resident_bytes() - before);
    for (unsigned i = 0; i < c->nodes; i++) must(locus_close(nodes[i].locus), "locus_close");
    platform_end();
    free(nodes);
    r->host_s = (double)(clock_ns() - began) / 1e9;
}

/* It comes to the same each time: there is one repetition. */
void cell_measure(void *bench, unsigned number, unsigned repetition)
{
    struct bench *b = bench;
    int status;
    (void)repetition;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run(b, number);
        _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return;
    fail("the simulation did not end well");
}
