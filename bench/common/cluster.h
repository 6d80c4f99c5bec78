/*
 * cluster.h - opening and closing this process's node of a cluster on this machine, and the other
 * nodes, which are processes of their own.
 *
 * Callers   the thread that becomes the worker
 * Memory    the library's
 * Waiting   for the other nodes, 20 seconds at the most. What goes wrong ends the program with a
 *           sentence
 * Life      cluster_config, cluster_open, cluster_close
 */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H

#include "node_process.h"

#include "locus.h"

enum { CLUSTER_RENDEZVOUS = 32 };
/* Where the nodes of a new cluster meet. */
void cluster_rendezvous(char address[CLUSTER_RENDEZVOUS]);

/* Starts this program once more, as the node of that rank. */
struct node_process *cluster_start_node(unsigned rank, const char *rendezvous, unsigned number);
/* What it is told: for main(), first of all. --quick is as in the benchmark. */
struct cluster_node {
    int rank;
    const char *rendezvous;
    unsigned number; /* the benchmark's */
};
bool cluster_is_node(int argc, char **argv, struct cluster_node *);

/* The defaults, but for what is named. More may be set before cluster_open(). */
struct locus_config cluster_config(const struct locus_table *tables, size_t table_count,
                                   enum locus_technique technique, int rank, int size,
                                   const char *rendezvous);
void cluster_open(const struct locus_config *config, locus **node, locus_worker **worker);
void cluster_close(locus *node, locus_worker *worker);

#endif
