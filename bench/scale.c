/*
 * scale.c - what a node costs among 4, 16, 64 and 256 of its kind, in simulation.
 *
 * Each cell is a process of its own: hundreds of nodes of the real library in one thread, on the
 * platform of platform.h. Virtual time does not depend on the machine, so a cell gives the same
 * figures each time, but for `engine` and memory, which is the cell's alone and goes back.
 *
 * Read scale/bench.h next, then scale/model.h, which says what is assumed; platform.c (how time
 * passes), node.c (what a node does).
 */
#include "scale/bench.h"
#include "scale/tree.h"
#include "scale/virtual.h"

#include "common/clock.h"
#include "common/machine.h"
#include "common/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const about =
    "Simulates clusters of 4 to 256 nodes with a load for each node that stays the same: the real library on virtual\n"
    "time, with a model of network and processors.\n"
    "A cell's name, for --only, is like: skewed nodes=64\n"
    "  first word    skewed, own, shared\n"
    "  keys          of shared: 10 to 10,000\n"
    "The simulation has one thread, whatever --threads says, and comes to the same figures each time: no --repetitions.";

static const struct kind kinds[] = {
    {SKEWED, 4, 0, true},       {SKEWED, 16, 0, true},      {SKEWED, 64, 0, false},
    {SKEWED, 256, 0, false},    {OWN, 4, 0, true},          {OWN, 16, 0, true},
    {OWN, 64, 0, false},        {OWN, 256, 0, false},       {SHARED, 4, 10, true},
    {SHARED, 16, 10, true},     {SHARED, 64, 10, false},    {SHARED, 256, 10, false},
    {SHARED, 4, 100, true},     {SHARED, 16, 100, false},   {SHARED, 64, 100, false},
    {SHARED, 256, 100, false},  {SHARED, 4, 1000, false},   {SHARED, 16, 1000, false},
    {SHARED, 64, 1000, false},  {SHARED, 256, 1000, false}, {SHARED, 4, 10000, false},
    {SHARED, 16, 10000, false}, {SHARED, 64, 10000, false},
    /* 256 of them: too much memory for most machines */
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct load load = {
    .rows = 2048, .length = 128, .keys = 100, .period_us = 1000, .offset = 100, .clocks = 600};
struct model model;

/* Shared rows change often beside how often they are synchronized, and a worker has time for all of
 * them in a clock. */
static struct load load_of(const struct kind *k)
{
    struct load l = load;
    if (k->workload != SHARED) return l;
    l.keys = l.rows = k->keys;
    l.period_us = k->keys > 100 ? k->keys : 100;
    l.clocks = l.clocks / (k->keys > 1000 ? 12 : k->keys > 100 ? 4 : 2);
    return l;
}

static void add_cell(const struct kind *k)
{
    static const char *const workloads[] = {"skewed", "own", "shared"};
    char keys[24] = "";
    if (k->keys) snprintf(keys, sizeof keys, " keys=%u", k->keys);
    struct cell *c = run_cell(k, k, k->in_quick || !run.quick, "%s nodes=%u%s",
                              workloads[k->workload], k->nodes, keys);
    *cell_count(c, "rows") = load.rows;
    *cell_count(c, "length") = load.length;
    *cell_count(c, "keys_a_clock") = load.keys;
    *cell_count(c, "period_us") = load.period_us;
    *cell_count(c, "offset") = load.offset;
    *cell_count(c, "clocks") = load.clocks;
}

/* ---- What nodes have done: the mean of all, a second, unless the name says else ---- */

/* What a node has done in the timed part, a second. */
#define RATE(n, field) \
    (((double)(n)->figures.field - (double)(n)->figures_before.field) / (n)->seconds)
#define STAT(n, field) ((double)((n)->used.field - (n)->before.field))

static void note_accesses(struct cell *c, const struct node *n, double share)
{
    double replica = STAT(n, pulled_replica) + STAT(n, pushed_replica);
    double remote = STAT(n, pulled_remote) + STAT(n, pushed_remote);
    double all = STAT(n, pulled_local) + STAT(n, pushed_local) + replica + remote;
    *cell_figure(c, "remote_share") += share * remote / all;
    *cell_figure(c, "replica_share") += share * replica / all;
}

/* Entries sent. */
static void note_entries(struct cell *c, const struct node *n, double share)
{
    for (unsigned o = 0; o < WIRE_OPERATIONS; o++) {
        const char *name = o == WIRE_SYNC      ? "entries_per_second"
                           : o == WIRE_ANSWER  ? "answers_per_second"
                           : o == WIRE_REFRESH ? "refreshes_per_second"
                           : o == WIRE_ROW     ? "rows_per_second"
                                               : "other_entries_per_second";
        *cell_figure(c, name) += share * RATE(n, entries[o]);
    }
}

static void note_node(struct cell *c, const struct node *n)
{
    unsigned nodes = n->kind->nodes;
    double shard = RATE(n, shard_ns) / 1e9, bytes = RATE(n, bytes_out),
           *shard_most = cell_figure(c, "shard_seconds_per_second_of_the_busiest"),
           *bytes_most = cell_figure(c, "bytes_sent_per_second_of_the_busiest");
    const struct {
        const char *name;
        double value;
    } figures[] = {
        {"seconds", n->seconds},
        {"clocks_per_second", (n->load.clocks - n->load.clocks / 3) / n->seconds},
        {"bytes_sent_per_second", bytes},
        {"messages_sent_per_second", RATE(n, frames_out)},
        {"heartbeats_per_second",
         nodes - 1 - n->peers}, /* of links that say nothing else: link.c */
        {"rounds_per_second", STAT(n, rounds) / n->seconds},
        {"relocated_in_per_second", STAT(n, relocated_in) / n->seconds},
        {"replicas_created_per_second", STAT(n, replicas_created) / n->seconds},
        {"replicas_of_a_key", n->copies / (double)n->looks / n->load.rows}, /* mean over time */
        {"seconds_since_heard", n->used.replica_staleness_mean_s}, /* of the owner, by replicas */
        {"shard_seconds_per_second", shard},                       /* by the model */
        {"polling_seconds_per_second", RATE(n, polling_ns) / 1e9},
        {"seconds_until_served", RATE(n, late_ns) / 1e9 / RATE(n, frames_in)}, /* a frame */
        {"engine_seconds_per_second_here", RATE(n, engine_ns) / 1e9}, /* this machine's processor */
        {"peers_spoken_with", n->peers},
        {"quiesce_seconds", n->quiesce_s},         /* after the last clock, */
        {"quiesce_messages", n->quiesce_messages}, /* and what a node sends for it */
    };
    for (unsigned i = 0; i < sizeof figures / sizeof *figures; i++)
        *cell_figure(c, figures[i].name) += figures[i].value / nodes;
    *shard_most = fmax(*shard_most, shard);
    *bytes_most = fmax(*bytes_most, bytes);
    note_accesses(c, n, 1.0 / nodes);
    note_entries(c, n, 1.0 / nodes);
}

/* The same by recursive doubling, in as much processor time as the busiest shard has. */
static void compare_with_tree(struct cell *c, const struct kind *k)
{
    double busiest = *cell_figure(c, "shard_seconds_per_second_of_the_busiest");
    struct tree_pace p = tree_pace(&model, k->nodes, k->keys, load.length, busiest);
    *cell_figure(c, "tree_staleness_seconds") = p.stale_s;
    *cell_figure(c, "tree_bytes_sent_per_second") = p.bytes_per_s;
    *cell_figure(c, "staler_than_by_tree") = *cell_figure(c, "hot_rows_staleness_seconds") /
                                             p.stale_s;
}

static void note_all(struct cell *c, const struct node *nodes, const struct kind *k, size_t memory)
{
    for (unsigned i = 0; i < k->nodes; i++) note_node(c, &nodes[i]);
    *cell_figure(c, "replicas_of_the_hottest_key") = nodes[0].holders / (double)nodes[0].looks;
    /* since the oldest update that a pull of a hot row does not show */
    if (k->workload != OWN) *cell_figure(c, "hot_rows_staleness_seconds") = lag_mean_s();
    *cell_figure(c, "bytes_of_memory") = (double)memory / k->nodes; /* of this process */
    if (k->workload == SHARED) compare_with_tree(c, k);
    for (unsigned i = 0; i < model_count; i++)
        *cell_figure(c, model_constants[i].name) = *constant_in(&model_constants[i], &model);
}

/* ---- A cell ---- */

static void simulate(struct cell *c)
{
    const struct kind *k = c->what;
    struct node *nodes = must_alloc(k->nodes * sizeof *nodes);
    size_t before = machine_resident_bytes();
    uint64_t began = clock_ns();
    platform_begin(k->nodes, &model);
    for (unsigned i = 0; i < k->nodes; i++) {
        nodes[i] = (struct node){.kind = k, .load = load_of(k), .rank = i};
        node_open(&nodes[i]);
    }
    for (unsigned i = 0; i < k->nodes; i++) virtual_start(i, node_run, &nodes[i]);
    if (!virtual_run()) fail("all nodes wait for each other");
    note_all(c, nodes, k, machine_resident_bytes() - before);
    for (unsigned i = 0; i < k->nodes; i++) must(locus_close(nodes[i].locus), "locus_close");
    platform_end();
    free(nodes);
    *cell_figure(c, "took_seconds") = (double)(clock_ns() - began) / 1e9;
}

static void measure(struct cell *c)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        simulate(c);
        run_report(c->where);
        fflush(NULL);
        _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return;
    fail("the simulation did not end well");
}

static void parse(int argc, char **argv)
{
    const char *changes = NULL, *wrong;
    const struct args_option more[] = {
        OPTION_TEXT("--model", "CHANGES", &changes, 0,
                    "other constants, like latency=50000,bandwidth=12.5"),
        OPTION_SMALL("--rows", "N", &load.rows, 1, 1 << 20, 0, "of a node"),
        OPTION_SMALL("--length", "N", &load.length, 1, 1 << 12, 0, "floats of a row"),
        OPTION_SMALL("--keys", "N", &load.keys, 1, 1 << 12, 0, "pulled and pushed a clock"),
        OPTION_SMALL("--period", "US", &load.period_us, 1, 1 << 20, 0, "of a clock"),
        OPTION_SMALL("--offset", "N", &load.offset, 1, 1 << 12, 0,
                     "clocks from an intent's signal to its start"),
        OPTION_SMALL("--clocks", "N", &load.clocks, 1, 1 << 20, 0,
                     "of a run; the first third is not measured"),
    };
    const struct program program = {.name = "scale",
                                    .about = about,
                                    .more = more,
                                    .more_count = sizeof more / sizeof *more,
                                    .quick = 1,
                                    .full = 1};
    run_parse(&program, argc, argv);
    run.repetitions = 1; /* it comes to the same each time */
    constants_init(model_constants, model_count, &model);
    if (!constants_change(model_constants, model_count, &model, changes, &wrong))
        fail_usage("--model %s: this is no constant with a number", wrong);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (run.quick) load.clocks = 90;
    for (unsigned i = 0; i < KINDS; i++) add_cell(&kinds[i]);
    run_begin();
    for (unsigned i = 0; i < KINDS; i++) run_measure(&kinds[i], measure);
    run_end();
    return 0;
}
