/*
 * features.h - the given features of nodes: a line for each, with its name, a tab, and index:value
 * as LIBSVM has them (libsvm.h).
 *
 * A node's values are divided by the sum of their absolute values.
 *
 * Callers   main() loads; any thread reads
 * Memory    8 bytes a value
 * Waiting   for the disk
 */
#ifndef GNN_FEATURES_H
#define GNN_FEATURES_H

#include "network.h"

struct features {
    uint32_t nodes, count; /* of features: all indices are below it */
    uint64_t *start;       /* of each node's; one more for the end */
    uint32_t *index;
    float *value;
    struct names names; /* of features, where they were numbered anew (ids.h), else none */
};

/* Before network_finish(), when all other nodes are named: each must have a line. Gives up, with
 * file and line, when it is malformed. */
void features_load(struct features *, struct network *, const char *path);
void features_fini(struct features *);
uint64_t features_digest(const struct features *);

#endif
