/*
 * pair.h - two nodes of a cluster in this process, with a worker each. For what a part does where
 * there are other nodes; several processes are test/cluster's.
 */
#ifndef LOCUS_TEST_PAIR_H
#define LOCUS_TEST_PAIR_H

#include "one_node.h"

struct pair {
    struct locus_config config;
    char address[32];
    locus *node[2];
    locus_worker *worker[2];
    void *context; /* the test's */
};

/* One worker and one shard a node, the adaptive technique; to be changed before it is opened. */
void pair_init(struct pair *, const struct locus_table *, size_t count);
void pair_open(struct pair *);
/* On both at once, each on a thread of its own: returns when both have. */
void pair_do(struct pair *, void (*each)(struct pair *, int rank));
/* Workers that are not NULL, then nodes. */
void pair_end(struct pair *);

/* The first key from `from` on whose home is that node. */
locus_key pair_key_of(const struct pair *, int home, locus_key from);
/* Brings the row to that node, and is back when it is there. */
void pair_bring(struct pair *, int rank, locus_key);

#endif
