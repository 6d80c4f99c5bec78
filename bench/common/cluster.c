#include "cluster.h"

#include "must.h"

#include <stdio.h>

enum { JOIN_S = 20 };

void cluster_rendezvous(char address[CLUSTER_RENDEZVOUS])
{
    snprintf(address, CLUSTER_RENDEZVOUS, "127.0.0.1:%u", node_process_port());
}

struct node_process *cluster_start_other(const char *rendezvous, const char *first,
                                         const char *second)
{
    const char *const arguments[] = {CLUSTER_OTHER_NODE, rendezvous, first, second, NULL};
    return node_process_start("node 1", arguments);
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
