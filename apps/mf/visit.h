/*
 * visit.h - a worker's cells as training batches, prepared ahead by its loader (locus_feed_open()),
 * which signals intent for the columns; the intent for its rows the worker has from the start.
 *
 * By columns (NuPS, Section 5.1): cells go to nodes by row, and to a node's workers by column, or
 * where columns are long by row as well; each has about as many. An epoch takes the columns in a
 * random order, and the cells of each in a random order; VISIT_LANES columns at a time, in turn, so
 * that neighbours in a batch have nothing in common and a processor can compute them at once. The
 * columns' order is about the same on all nodes: all cells of a column are trained with at about
 * the same time, as on one node. With an order of its own for each node, what a column learned from
 * one node's rows has become old when the next one comes to it, and training takes more epochs. But
 * not quite the same: nodes that keep step would all want the same column at once, each train a
 * replica of it from the same beginning, and together take it much too far. So the order is cut
 * into lots, and in each lot every node begins elsewhere; a column goes from node to node.
 * (lab/programs/mf.md: what either is worth.)
 *
 * By blocks (Lapse, Appendix A): cells go to workers by row, and columns are cut into as many
 * blocks as there are workers. In the s-th part of an epoch, worker w takes block w + s; after each
 * part all workers meet, so no two have a row or a column at once.
 *
 * Callers   one worker's thread; the filling runs on its loader's
 * Memory    the worker's cells, and the batches
 * Waiting   visit_next() for the loader
 * Life      open; visit_next() until it returns NULL, after the last epoch; close, at any time
 */
#ifndef MF_VISIT_H
#define MF_VISIT_H

#include "mf.h"
#include "rng.h"

enum { VISIT_LANES = 4 }; /* columns that are visited in turn */

struct visit_batch {
    uint32_t columns, cells;
    locus_key *keys;  /* of the columns, once each; then of the row of each cell */
    uint32_t *column; /* of each cell: place of its column */
    float *values;    /* of each cell */
    uint32_t block;   /* of columns: MF_BLOCKS */
    bool begins_block, ends_block;
    bool is_last; /* of its epoch; it may have no cells */
};

/* The cells of a column. */
struct visit_group {
    uint32_t column;
    uint64_t turn; /* of this epoch's order */
    size_t first, end;
};

/* A column that is visited now. */
struct visit_lane {
    const struct visit_group *group; /* NULL: none */
    size_t at;                       /* its next cell */
    struct rng rng;
    struct rating *turns; /* its cells, as their turns come */
    uint32_t place;       /* in the batch at hand, or VISIT_NOWHERE */
};
#define VISIT_NOWHERE UINT32_MAX

struct visit {
    const struct mf *mf;
    locus_feed *feed;
    struct rating *cells; /* column by column, block by block */
    size_t count;
    struct visit_lane lanes[VISIT_LANES];
    uint32_t lane; /* whose turn it is */
    uint32_t open; /* lanes that have a column */
    struct visit_group *groups;
    size_t group_count;
    size_t *block_first; /* group of each block; one more for the end */
    uint32_t blocks, place;
    uint32_t *block_column; /* the first column of each block; one more for the end */
    bool has_own_rows;      /* no other worker has them; else no other of the node its columns */
    uint64_t lot, offset;   /* the bits of a turn within its lot; how much further on ours are */

    uint32_t part; /* of the epoch */
    size_t group;  /* the next one of the part */
    uint64_t batches, epochs;
    struct visit_batch **list;
    size_t list_count;
};

/* Behind so many epochs. */
void visit_open(struct visit *, const struct mf *, struct pool_member *, uint64_t epochs);
/* Valid until the next call. */
const struct visit_batch *visit_next(struct visit *);
void visit_close(struct visit *);

/* Cuts 0 ... count - 1 into parts of about the same weight: part p is from bounds[p] to before
 * bounds[p + 1]. */
void visit_cut(const uint64_t *weights, uint32_t count, uint32_t parts, uint32_t *bounds);

#endif
