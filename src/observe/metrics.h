/*
 * metrics.h - serves a node's metrics over HTTP at LOCUS_METRICS (docs/reference/metrics.md): all
 * of locus_stats and the histograms, and their parts by peer, shard and worker. Without
 * LOCUS_METRICS a node has no thread and no port for it, and executes no additional instruction.
 *
 * Memory    httpd.h
 * Waiting   metrics_stop for the answer under way
 * Life      metrics_listen before the node joins, so that the caller learns of an address that is
 *           not available; metrics_start when the node works; metrics_stop before it leaves
 */
#ifndef LOCUS_OBSERVE_METRICS_H
#define LOCUS_OBSERVE_METRICS_H

#include "locus.h"

struct metrics;

/* The node of `rank` listens at the port of LOCUS_METRICS + rank. *fd is -1 if LOCUS_METRICS is not
 * set. 0, or a negative errno with the sentence in locus_error(). */
int metrics_listen(unsigned rank, int *fd);
/* Takes fd over; -1: nothing. Same results. */
int metrics_start(locus *, int fd, struct metrics **out);
void metrics_stop(struct metrics *); /* NULL is allowed */

#endif
