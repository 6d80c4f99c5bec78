/*
 * descent_rows.h - what a descent knows besides the coefficients, in rows, so that a checkpoint has
 * it: the errors of all rows of the data, which are sums of all changes so far, bit for bit, and
 * whose turn it was.
 *
 * Callers   every worker of every node, collectively, where there are checkpoints; while no
 *           scheduler is open
 * Memory    a batch of rows, during a call
 * Waiting   for rows of other nodes
 */
#ifndef LASSO_DESCENT_ROWS_H
#define LASSO_DESCENT_ROWS_H

#include "lasso_loss.h"
#include "turns.h"

/* The two tables. */
void descent_rows_tables(const struct lasso *, struct locus_table *turns,
                         struct locus_table *losses);

void descent_rows_write(struct pool_member *, const struct lasso_loss *, const struct turns *);
void descent_rows_read(struct pool_member *, struct lasso_loss *, struct turns *);

#endif
