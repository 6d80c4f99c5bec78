/*
 * metrics.h - serves a node's metrics over HTTP at LOCUS_METRICS (docs/reference/metrics.md): all
 * of locus_stats and the histograms, and their parts by peer, shard and worker; the hottest keys;
 * and what the node knows of one key, for `locus explain` (docs/reference/run-files.md). Without
 * LOCUS_METRICS a node has no thread and no port for it, and executes no additional instruction.
 *
 * Memory    httpd.h; half a mebibyte while the hottest keys are counted
 * Waiting   httpd_close for the answer under way
 * Life      metrics_listen before the node joins, so that the caller learns of an address that is
 *           not available; metrics_start when the node works; httpd_close before it leaves
 */
#ifndef LOCUS_OBSERVE_METRICS_H
#define LOCUS_OBSERVE_METRICS_H

#include "locus.h"
#include "observe/httpd.h"

/* The node of `rank` listens at the port of LOCUS_METRICS + rank. *fd is -1 if LOCUS_METRICS is not
 * set. 0, or a negative errno with the sentence in locus_error(). */
int metrics_listen(unsigned rank, int *fd);
/* Takes fd over; -1: nothing. Same results. */
int metrics_start(locus *, int fd, struct httpd **out);

/* GET /key?key=K, or with &table=T for row K of that table; `node` is a locus *. A question that
 * cannot be answered gets a status of HTTP that says so, and a sentence. It waits for the key's
 * shard, as reactor.h says. */
void explain_key(void *node, const struct httpd_request *, struct httpd_reply *);

/* Prometheus' exposition format, version 0.0.4. The kind of a name: "counter", "gauge", "histogram"
 * or "summary"; before its samples. `label`: name="value", or NULL. Histograms have their heads: of
 * times in powers of two of nanoseconds, shown in seconds, from a microsecond on; `sum_s` is the sum
 * of all; and of small numbers, each its own bucket. */
void exposition_head(struct httpd_reply *, const char *name, const char *kind, const char *help);
void exposition_sample(struct httpd_reply *, const char *name, const char *label, double value);
void exposition_times(struct httpd_reply *, const char *name, const char *help,
                      const struct locus_histogram *, double sum_s);
void exposition_numbers(struct httpd_reply *, const char *name, const char *help,
                        const struct locus_histogram *);

#endif
