/*
 * tree.h - what it would cost to synchronize rows that every node holds by recursive doubling, as
 * NuPS does for hot keys (NuPS, Section 3.2), with the constants of the same model.
 *
 * In each of log2(nodes) rounds a node exchanges the sums of all updates so far of all keys with
 * one other node. All nodes go on together, so one node's way is everybody's. What favours the tree
 * is assumed: sending, the way and receiving overlap within a round; no round waits for a slow
 * node.
 *
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef BENCH_SCALE_TREE_H
#define BENCH_SCALE_TREE_H

#include "model.h"

/* How old what is read is on average, when synchronizing takes that share of a node's processor:
 * since the oldest update that does not show, as node.c counts it. And what a node sends a second. */
struct tree_pace {
    double stale_s, bytes_per_s;
};
struct tree_pace tree_pace(const struct model *, unsigned nodes, unsigned keys, unsigned length,
                           double share);

#endif
