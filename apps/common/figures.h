/*
 * figures.h - what a program says of itself: each figure has its name, its unit and its value in
 * one place, from which a line for people, a line of JSON and the report's curve are made.
 *
 *     const struct figure figures[] = {
 *         {"RMSE ", 8, 4, .name = "rmse", .curve = "RMSE of the test cells", .value = rmse},
 *         FIGURE_TOOK(seconds),
 *     };
 *     figures_say(json, "eval", "test     ", figures, 2);
 *
 * Callers   the first worker of rank 0, and main(); counters_take() every worker of every node, a
 *           collective, _begin() and _end() every worker of a node
 * Memory    the caller's
 * Waiting   for stdout; counters_take() for all workers, _begin() and _end() for the node's
 */
#ifndef APPS_FIGURES_H
#define APPS_FIGURES_H

#include "pool.h"

#include <stdbool.h>
#include <stddef.h>

struct figure {
    const char *label; /* before the value, for people; NULL: they are not shown it */
    int width, digits; /* of the value; negative digits: so many that count, as %g has them */
    const char *unit;  /* behind it; NULL: nothing */
    const char *name;  /* in JSON; NULL: it is not there */
    const char *curve; /* of the report; NULL: none */
    double value;
    const char *text; /* of JSON, instead of the value; NULL: there is none */
};

/* How long something took: last in its line. */
#define FIGURE_TOOK(seconds) \
    { \
        "(", 0, 1, " s)", .name = "seconds", .value = (seconds) \
    }

/* `head` begins the line of people, {"event":EVENT that of JSON. What is not a number is a dash. */
void figures_say(bool json, const char *event, const char *head, const struct figure *,
                 size_t count);

/* The counters of locus_stats: since the node was opened, and in training, without first values,
 * evaluations and checkpoints. Of a node, as they were last read, or summed over all; with the
 * baseline all are 0. */
struct counters {
    struct locus_stats whole, trained;
};

/* Training begins or goes on, and pauses or ends. All workers of a node call them with the first
 * worker's counters, and meet. */
void counters_begin(struct counters *, struct pool_member *);
void counters_end(struct counters *, struct pool_member *);
/* Of all nodes. replica_staleness_mean_s is the mean over all reads of replicas. */
struct counters counters_take(const struct counters *own, struct pool_member *);
/* The share of accesses that needed no network. */
double counters_local_share(const struct locus_stats *);
/* What happened between two readings; what is counted now, and not so far, is the later one's. */
struct locus_stats counters_change(const struct locus_stats *before,
                                   const struct locus_stats *after);
void counters_add(struct locus_stats *sum, const struct locus_stats *);
/* {"event":"stats",...}: in training; and "whole_..." since the opening. Or a line for people, who
 * see nothing of one node alone. */
void counters_show(const struct counters *, int nodes, bool json);

#endif
