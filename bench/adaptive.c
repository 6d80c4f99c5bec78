/*
 * adaptive.c - what intent brings, technique by technique, and what replicas cost: the cells, and
 * how they are measured.
 *
 * Each cell has a cluster of its own: processes on this machine's loopback, one worker each, opened
 * with the cell's technique. The benchmark itself is none of them; it starts them, tells them to
 * begin, and asks for what they measured. Read adaptive/bench.h next; epoch.c, replicas.c and
 * arrival.c say what a node does.
 */
#include "adaptive/bench.h"

#include "common/clock.h"
#include "common/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const about =
    "Runs accesses with intent on clusters of processes on loopback, with every technique and offset.\n"
    "A cell's name, for --only, is like: skewed nodes=2 adaptive offset=100 pace=1ms\n"
    "  first word    skewed, own (pace=1ms or pace=free; offset=1 ... 1000); turns;\n"
    "                idle, pushed, costs (keys=, length=); arrival (keys=1 1000, busy or idle)\n"
    "  techniques    adaptive, immediate (adaptive without action timing), replicate, relocate,\n"
    "                full-replication, static\n"
    "Every node has one worker, whatever --threads says.";

#define LOAD(w, n, t, now, o, us, quick) \
    { \
        .workload = (w), .nodes = (n), .technique = (t), .immediate = (now), .offset = (o), \
        .period_us = (us), .in_quick = (quick) \
    }
#define TECHNIQUES(w, n, quick) \
    LOAD(w, n, LOCUS_ADAPTIVE, false, 100, 1000, true), \
        LOAD(w, n, LOCUS_ADAPTIVE, true, 100, 1000, false), \
        LOAD(w, n, LOCUS_REPLICATE, false, 100, 1000, quick), \
        LOAD(w, n, LOCUS_RELOCATE, false, 100, 1000, quick), \
        LOAD(w, n, LOCUS_FULL_REPLICATION, false, 100, 1000, quick), \
        LOAD(w, n, LOCUS_STATIC, false, 100, 1000, quick)
#define OFFSET(o, quick) \
    LOAD(SKEWED, 2, LOCUS_ADAPTIVE, false, o, 0, quick), \
        LOAD(SKEWED, 2, LOCUS_ADAPTIVE, true, o, 0, false)
#define OFFSET_PACED(o) LOAD(SKEWED, 2, LOCUS_ADAPTIVE, false, o, 1000, false)
#define TWO_NODES(w, r, l, us, quick) \
    { \
        .workload = (w), .nodes = 2, .technique = LOCUS_ADAPTIVE, .rows = (r), .length = (l), \
        .period_us = (us), .in_quick = (quick) \
    }

static const struct load all[] = {
    TECHNIQUES(SKEWED, 2, true),
    TECHNIQUES(SKEWED, 4, false),
    TECHNIQUES(OWN, 2, true),
    TECHNIQUES(OWN, 4, false),
    LOAD(SKEWED, 3, LOCUS_ADAPTIVE, false, 100, 1000, false),
    LOAD(TURNS, 3, LOCUS_ADAPTIVE, false, 0, 0, true),
    OFFSET(1, true),
    OFFSET(3, false),
    OFFSET(10, false),
    OFFSET(30, false),
    OFFSET(100, false),
    OFFSET(300, false),
    OFFSET(1000, true),
    OFFSET_PACED(1),
    OFFSET_PACED(3),
    OFFSET_PACED(10),
    OFFSET_PACED(30),
    OFFSET_PACED(300),
    OFFSET_PACED(1000),
    TWO_NODES(IDLE, 10000, 128, 0, true),
    TWO_NODES(IDLE, 1000000, 16, 0, false),
    TWO_NODES(PUSHED, 10000, 128, 0, false),
    TWO_NODES(PUSHED, 100000, 128, 0, true),
    TWO_NODES(COSTS, 100000, 16, 0, false),  /* in the cache; */
    TWO_NODES(COSTS, 1000000, 16, 0, false), /* and as many as the local path has */
    /* the array is in the cache for the most part, replicas are not; */
    TWO_NODES(COSTS, 100000, 128, 0, true),
    TWO_NODES(COSTS, 1000000, 128, 0, false),
    TWO_NODES(ARRIVAL, 1, 0, 0, true),
    TWO_NODES(ARRIVAL, 1, 0, 1000, true),
    TWO_NODES(ARRIVAL, 1000, 0, 0, true),
    TWO_NODES(ARRIVAL, 1000, 0, 1000, true),
};
enum { LOADS = sizeof all / sizeof *all };

static void add_cell(const struct load *l)
{
    static const char *const techniques[] = {
        [LOCUS_ADAPTIVE] = "adaptive",
        [LOCUS_STATIC] = "static",
        [LOCUS_RELOCATE] = "relocate",
        [LOCUS_REPLICATE] = "replicate",
        [LOCUS_FULL_REPLICATION] = "full-replication",
    };
    static const char *const workloads[] = {"skewed", "own",   "turns",  "idle",
                                            "pushed", "costs", "arrival"};
    const char *technique = l->immediate ? "immediate" : techniques[l->technique],
               *workload = workloads[l->workload];
    bool is_shown = l->in_quick || !run.quick;
    if (l->workload <= OWN)
        run_cell(l, NULL, is_shown, "%s nodes=%u %s offset=%u pace=%s", workload, l->nodes,
                 technique, l->offset, l->period_us ? "1ms" : "free");
    else if (l->workload == TURNS)
        run_cell(l, NULL, is_shown, "%s nodes=%u %s", workload, l->nodes, technique);
    else if (l->workload == ARRIVAL)
        run_cell(l, NULL, is_shown, "%s keys=%" PRIu64 " %s", workload, l->rows,
                 l->period_us ? "idle" : "busy");
    else
        run_cell(l, NULL, is_shown, "%s keys=%" PRIu64 " length=%" PRIu32, workload, l->rows,
                 l->length);
}

static void ask_all(struct node_process **node, unsigned nodes, uint64_t what, void *answers,
                    size_t bytes)
{
    enum { ASK_S = 120 };
    struct node_question q = {.what = what, .numbers = {clock_ns()}};
    for (unsigned i = 0; i < nodes; i++) {
        if (what == NODE_LEAVE) node_process_dismiss(node[i]);
        node_process_ask(node[i], &q, (char *)answers + i * bytes, bytes, ASK_S);
    }
}

/* The mean of those that have it. */
static void note_means(struct cell *c, const struct outcome *outcomes, unsigned nodes)
{
    for (unsigned i = 0; i < nodes; i++)
        for (unsigned f = 0; f < outcomes[i].count; f++) {
            const char *name = outcomes[i].figure[f].name;
            unsigned have = 0;
            for (unsigned k = 0; k < nodes; k++)
                for (unsigned g = 0; g < outcomes[k].count; g++)
                    have += strcmp(outcomes[k].figure[g].name, name) == 0;
            *cell_figure(c, name) += outcomes[i].figure[f].value / have;
        }
}

static void measure(struct cell *c)
{
    const struct load *l = c->what;
    struct node_process *node[NODES_MAX];
    struct outcome outcomes[NODES_MAX];
    uint64_t done[NODES_MAX];
    char rendezvous[CLUSTER_RENDEZVOUS];
    cluster_rendezvous(rendezvous);
    for (unsigned i = 0; i < l->nodes; i++)
        node[i] = cluster_start_node(i, rendezvous, (unsigned)(l - all));
    ask_all(node, l->nodes, NODE_BEGIN, done, sizeof *done);
    ask_all(node, l->nodes, NODE_OUTCOME, outcomes, sizeof *outcomes);
    ask_all(node, l->nodes, NODE_LEAVE, done, sizeof *done);
    for (unsigned i = 0; i < l->nodes; i++) node_process_end(node[i], 20);
    note_means(c, outcomes, l->nodes);
}

int main(int argc, char **argv)
{
    struct cluster_node n;
    unsigned chosen = 0;
    if (cluster_is_node(argc, argv, &n))
        return n.number < LOADS ? node_main(&all[n.number], &n) : 2;
    run_parse(&(struct program){.name = "adaptive", .about = about, .quick = 1, .full = 3}, argc,
              argv);
    for (unsigned i = 0; i < LOADS; i++) add_cell(&all[i]);
    for (struct cell *c = NULL; (c = run_next(c));) chosen += c->is_chosen;
    run_begin();
    node_process_limit(run.quick ? 90 : 60 + 15.0 * chosen * run.repetitions);
    run_measure(NULL, measure);
    run_end();
    return 0;
}
