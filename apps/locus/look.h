/*
 * look.h - two looks at the metrics of nodes, and what happened between them.
 *
 * Callers   top.c, table.c
 * Memory    the caller's
 * Waiting   as scrape.h
 * Life      look_find, any number of look_again, look_free
 */
#ifndef LOCUS_TOP_LOOK_H
#define LOCUS_TOP_LOOK_H

#include "scrape.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOOK_NODES_MAX = 4096 };

/* What is counted, since the node was opened. */
struct look_sums {
    double local, replica, remote; /* accesses, in keys */
    double relocated, sent, late, cpu_s, shard_cpu_s, blocked_s;
};

/* A row: rates between the last two looks, and what stands now. */
struct look_row {
    char address[SCRAPE_ADDRESS_MAX];
    unsigned port_more; /* behind the address's port */
    unsigned rank;
    bool answers;
    unsigned looks;
    double at_s;
    struct look_sums sums, rate;
    double replicas, owned, staleness_s, clock, resident;
};

struct look {
    struct look_row *row; /* [count] */
    size_t count;
};

/* The nodes at the addresses: rank 0's ("host:port") stands for all that are at the ports behind it.
 * None: those of LOCUS_METRICS, in the environment or in that of this user's processes here. False:
 * no memory. */
bool look_find(struct look *, char *const *address, size_t count);
void look_again(struct look *);
void look_free(struct look *);

#endif
