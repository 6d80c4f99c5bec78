/*
 * home_rows.h - the rows whose home is this node, wherever they are, dealt in slices to its
 * workers.
 *
 * While all workers of all nodes are in a collective, after a quiesce, no row changes its value.
 * But rows still move, because intents become active that were signaled before, or by loaders
 * meanwhile. So the node that writes a row does not depend on where the row is: it is the row's
 * home, and each row has exactly one. If the row, or a replica, is at its home, it is copied;
 * otherwise it is pulled.
 *
 * Callers   workers' threads, in a collective
 * Memory    HOME_ROWS_BYTES, or one row, during a call
 * Waiting   for rows that are elsewhere
 * Life      home_rows_deal until it is false; home_rows_each for each slice
 */
#ifndef LOCUS_CHECKPOINT_HOME_ROWS_H
#define LOCUS_CHECKPOINT_HOME_ROWS_H

#include "worker/node.h"

/* Keys of a table with consecutive indices in a shard. */
struct slice {
    unsigned table, shard;
    uint64_t from, end; /* indices */
};

/* What was dealt last; zeroed at the beginning. The caller has a lock around it. */
bool home_rows_deal(const struct store *, struct slice *last, struct slice *next);

/* Calls `visit` for each row with any bit set, until it fails. 0 or a negative errno with the
 * sentence. */
typedef int home_rows_visit(void *context, unsigned table, uint64_t row, const float *values);
int home_rows_each(locus_worker *, const struct slice *, home_rows_visit *, void *context);

#endif
