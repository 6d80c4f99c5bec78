/*
 * figures.h - the figures of a node: the sums of what its shards, links and workers count
 * (base/figures.h), and what follows from them.
 *
 * Threads   any, while the node is open, and not while it leaves its cluster
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_WORKER_FIGURES_H
#define LOCUS_WORKER_FIGURES_H

#include "base/figures.h"
#include "worker/node.h"

struct figures {
    struct locus_stats stats;
    struct shard_counters shards;
    struct link_stats links;
    struct worker_counters workers;
};

void figures_read(const locus *, struct figures *);
/* The sum over a cluster's shards; adds those of its links to one peer. */
struct shard_counters figures_shards(struct cluster *);
void figures_add_peer(struct cluster *, unsigned peer, struct link_stats *to);

/* A row of the tables. */
struct figure {
    const char *report, *metric, *label, *help;
    enum figure_shown shown;
    bool is_real; /* not a count */
    size_t offset;
};
extern const struct figure figure_table[];
extern const size_t figure_rows;
double figure_value(const struct figure *, const struct figures *);

#endif
