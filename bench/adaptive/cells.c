/* Opens a cell's cluster, lets it do its part, and collects what its nodes measured. */
#include "bench.h"

#include "../common/clock.h"
#include "../common/cluster.h"

#include <math.h>

enum { ASK_S = 120 };

static void start(const struct bench *b, unsigned number, unsigned nodes,
                  struct node_process **node)
{
    char cell[16], rank[16], rendezvous[CLUSTER_RENDEZVOUS], name[16];
    snprintf(cell, sizeof cell, "%u", number);
    cluster_rendezvous(rendezvous);
    for (unsigned i = 0; i < nodes; i++) {
        const char *const arguments[] = {
            "--node", cell, rank, rendezvous, b->run.options.quick ? "--quick" : NULL, NULL};
        snprintf(rank, sizeof rank, "%u", i);
        snprintf(name, sizeof name, "node %u", i);
        node[i] = node_process_start(name, arguments);
    }
}

static void ask_all(struct node_process **node, unsigned nodes, uint64_t what, void *answers,
                    size_t bytes)
{
    struct node_question q = {.what = what, .numbers = {clock_ns()}};
    for (unsigned i = 0; i < nodes; i++) {
        if (what == NODE_LEAVE) node_process_dismiss(node[i]);
        node_process_ask(node[i], &q, (char *)answers + i * bytes, bytes, ASK_S);
    }
}

static double mean(const struct outcome *outcomes, unsigned nodes, enum metric m)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < nodes; i++) {
        if (isnan(outcomes[i].value[m])) continue;
        sum += outcomes[i].value[m];
        count++;
    }
    return count ? sum / count : NAN;
}

void cell_measure(void *bench, unsigned number, unsigned repetition)
{
    struct bench *b = bench;
    unsigned nodes = cell_at(number)->nodes;
    struct node_process *node[NODES_MAX];
    struct outcome outcomes[NODES_MAX];
    uint64_t done[NODES_MAX];
    struct result *r = &b->results[number];
    start(b, number, nodes, node);
    ask_all(node, nodes, NODE_BEGIN, done, sizeof *done);
    ask_all(node, nodes, NODE_OUTCOME, outcomes, sizeof *outcomes);
    ask_all(node, nodes, NODE_LEAVE, done, sizeof *done);
    for (unsigned i = 0; i < nodes; i++) node_process_end_well(node[i], 20);
    for (unsigned m = 0; m < METRICS; m++)
        r->value[m][repetition] = mean(outcomes, nodes, (enum metric)m);
    r->measured = true;
}
