/*
 * bound.h - bounded staleness, the worker's side: how far it is, and waiting for the others. What
 * shards say to each other about it: protocol/clocks.h.
 *
 * Callers   intent.c (by way of signaling.c), worker.c, on the worker's thread
 * Memory    none of its own
 * Waiting   locus_bound: until the copies are fresh enough or a node was lost
 * Life      none of its own
 */
#ifndef LOCUS_BOUND_H
#define LOCUS_BOUND_H

#include "node.h"

/* The worker opens (0), or closes (INT64_MAX). */
void bound_progress(locus_worker *, locus_clock);
/* Its clock has come to `now`, and was stored sequentially consistent. */
void bound_advanced(locus_worker *, locus_clock now);

#endif
