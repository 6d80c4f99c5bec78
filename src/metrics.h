/*
 * metrics.h - what a node tells of itself over HTTP when LOCUS_METRICS says where
 * (docs/metrics.md): all of locus_stats and the histograms, and by peer, by shard and by worker
 * what they are made of. A node that was not asked for it has no thread and no port for it, and
 * executes no further instruction.
 *
 * Callers   locus.c
 * Memory    httpd.h
 * Waiting   metrics_stop for the answer under way
 * Life      metrics_listen before the node joins, so that an address that cannot be had is said to
 *           whoever started it; metrics_start when it works; metrics_stop before it leaves
 */
#ifndef LOCUS_METRICS_H
#define LOCUS_METRICS_H

#include "locus.h"

struct metrics;

/* The node of `rank` listens at the port of LOCUS_METRICS + rank. *fd is -1 when nobody wants it.
 * 0, or a negative errno with the sentence in locus_error(). */
int metrics_listen(unsigned rank, int *fd);
/* Takes fd over; -1: nothing. Same results. */
int metrics_start(locus *, int fd, struct metrics **out);
void metrics_stop(struct metrics *); /* NULL is allowed */

#endif
