/*
 * path.h - the models of all lambdas of a path but the last, whose coefficients are the table of
 * coefficients: for the file that is written in the end. They are in a table of their own, so that
 * a checkpoint has them. A row has what one coefficient was at each lambda; it is written where it
 * is not 0 alone. Behind them are rows with the intercepts of the logistic loss.
 *
 * Callers   path_note, path_read: the first worker of rank 0, the second when all have quiesced
 * Memory    the table: 4 bytes a lambda, of each column that ever has a coefficient; path_read: 24
 *           bytes a coefficient that is not 0
 * Waiting   for rows of other nodes
 */
#ifndef LASSO_PATH_H
#define LASSO_PATH_H

#include "lasso.h"

struct locus_table path_table(const struct lasso *);
/* Does anybody want the models on the way? */
bool path_is_kept(const struct lasso *);

/* A lambda is done, with these coefficients and this intercept. */
void path_note(const struct lasso *, struct pool_member *, uint64_t step, const float *coefficients,
               double intercept);

/* One that is not 0. */
struct path_entry {
    uint64_t variable;
    float value;
};
/* Of all lambdas but the last: those of step s are starts[s] ... starts[s + 1] - 1. */
struct path_models {
    struct path_entry *entries;
    uint64_t *starts;
    double *intercepts;
};
void path_read(struct path_models *, const struct lasso *, struct pool_member *);
void path_models_fini(struct path_models *);

#endif
