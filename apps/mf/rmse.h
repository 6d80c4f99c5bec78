/*
 * rmse.h - the root of the mean squared error, and the mean absolute one, over the cells held back,
 * computed by all nodes.
 *
 * Callers   every worker of every node, a collective
 * Memory    a few hundred factors, for the call
 * Waiting   for rows of other nodes, and for all workers
 */
#ifndef MF_RMSE_H
#define MF_RMSE_H

#include "mf.h"

struct rmse {
    double rmse, mae, seconds;
};

struct rmse rmse_of_test(const struct mf *, struct pool_member *);

#endif
