/*
 * ranking.h - how well a model foretells the cells held back: its errors, and how well the best
 * columns of a row are found, computed by all nodes. A column is
 * relevant to a row if a cell that is tested with says so, by at least the mean of those trained
 * with. Of each row with such columns all columns are ranked but those that it was trained with.
 *
 * Callers   every worker of every node, a collective
 * Memory    of the worker's share of the rows: factors, numbers of cells, and the best columns
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef MF_RANKING_H
#define MF_RANKING_H

#include "mf.h"

/* Means over rows; NAN: there are none. */
struct ranking {
    double precision; /* the share of the best k columns that are relevant */
    double ndcg;      /* 1 / log2(1 + place) of the relevant ones, of what it could be */
    double left_out;  /* cells that would be relevant, but are trained with, too */
};

struct ranking ranking_of_test(const struct mf *, struct pool_member *, size_t k);

/* ---- the errors of the cells held back ---- */

/* The root of the mean squared one, and the mean absolute one. */
struct rmse {
    double rmse, mae;
};

struct rmse rmse_of_test(const struct mf *, struct pool_member *);

#endif
