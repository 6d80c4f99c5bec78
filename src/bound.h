/*
 * bound.h - the worker's side of bounded staleness: publishing its clock, and waiting for others.
 * For the messages between shards see protocol/clocks.h.
 *
 * Callers   intent.c (by way of signaling.c), worker.c, on the worker's thread
 * Memory    none of its own
 * Waiting   locus_bound: until the copies are fresh enough or a node is lost
 * Life      none of its own
 */
#ifndef LOCUS_BOUND_H
#define LOCUS_BOUND_H

#include "node.h"

/* The worker opens (0), or closes (INT64_MAX). */
void bound_progress(locus_worker *, locus_clock);
/* The worker's clock is now `now`, and was stored sequentially consistent. */
void bound_advanced(locus_worker *, locus_clock now);

#endif
