/*
 * look.h - two looks at the metrics of nodes, and what happened between them.
 *
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

/* What is counted, since the node was opened; the first three are accesses, in keys. */
enum look_sum {
    LOOK_LOCAL,
    LOOK_REPLICA,
    LOOK_REMOTE,
    LOOK_RELOCATED,
    LOOK_LATE,
    LOOK_SENT,
    LOOK_CORES,
    LOOK_SHARD_CORES,
    LOOK_BLOCKED,
    LOOK_SUMS
};

enum { LOOK_BUCKETS_MAX = 48 };

/* A histogram of Prometheus'. */
struct look_histogram {
    unsigned buckets;
    double end[LOOK_BUCKETS_MAX], count[LOOK_BUCKETS_MAX]; /* count: up to the end */
};

/* Below it is half of something, and 99 of a hundred. */
enum look_part { LOOK_P50, LOOK_P99, LOOK_PARTS };

/* A row: rates between the last two looks, and what stands now. */
struct look_row {
    char address[SCRAPE_ADDRESS_MAX];
    unsigned port_more;   /* behind the address's port */
    unsigned rank, nodes; /* of so many */
    unsigned members;     /* of these, that are in the cluster now */
    unsigned lost, left, joined;
    bool answers;
    char why[SCRAPE_WHY_MAX]; /* it does not */
    unsigned looks;
    double at_s;
    double sum[LOOK_SUMS], rate[LOOK_SUMS];
    double waits; /* the share of its workers' time */
    double replicas, owned, staleness_s, clock, resident;
    struct look_histogram ages; /* of replicas, since the node was opened */
    double age_s[LOOK_PARTS];   /* of replicas between the last two looks */
};

struct look {
    struct look_row *row; /* [count] */
    size_t count;
};

/* The nodes at the addresses: rank 0's ("host:port") stands for all that are at the ports behind
 * it. None: those of LOCUS_METRICS, in the environment or in that of this user's processes here.
 * False: no memory. */
bool look_find(struct look *, char *const *address, size_t count);
void look_again(struct look *);
/* How many members these jobs have; those that have no row are on other hosts, or did not answer. */
size_t look_members(const struct look *);
void look_free(struct look *);

#endif
