#include "cluster.h"

#include "must.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

enum { JOIN_S = 20 };
static const char role[] = "--node";

void cluster_rendezvous(char address[CLUSTER_RENDEZVOUS])
{
    snprintf(address, CLUSTER_RENDEZVOUS, "127.0.0.1:%u", node_process_port());
}

struct node_process *cluster_start_node(unsigned rank, const char *rendezvous, unsigned number)
{
    char name[16], rank_text[16], number_text[16];
    const char *const arguments[] = {
        role, rank_text, rendezvous, number_text, run.quick ? "--quick" : NULL, NULL};
    snprintf(name, sizeof name, "node %u", rank);
    snprintf(rank_text, sizeof rank_text, "%u", rank);
    snprintf(number_text, sizeof number_text, "%u", number);
    return node_process_start(name, arguments);
}

bool cluster_is_node(int argc, char **argv, struct cluster_node *n)
{
    if (argc < 5 || !node_process_is(argc, argv, role)) return false;
    *n = (struct cluster_node){(int)strtol(argv[2], NULL, 10), argv[3],
                               (unsigned)strtoul(argv[4], NULL, 10)};
    run.quick = argc > 5;
    return true;
}

struct locus_config cluster_config(const struct locus_table *tables, size_t table_count,
                                   enum locus_technique technique, int rank, int size,
                                   const char *rendezvous)
{
    struct locus_config c;
    locus_config_init(&c);
    c.tables = tables;
    c.table_count = table_count;
    c.technique = technique;
    c.rank = rank;
    c.size = size;
    c.rendezvous = rendezvous;
    c.join_timeout_s = JOIN_S;
    return c;
}

void cluster_open(const struct locus_config *config, locus **node, locus_worker **worker)
{
    must(locus_open(config, node), "cannot open a cluster: locus_open");
    must(locus_worker_open(*node, worker), "locus_worker_open");
}

void cluster_close(locus *node, locus_worker *worker)
{
    must(locus_worker_close(worker), "locus_worker_close");
    must(locus_close(node), "locus_close");
}
