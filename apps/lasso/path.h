/*
 * path.h - the models of all lambdas of a path but the last, whose coefficients are the table of
 * coefficients: for the file that is written in the end. They are in a table of their own, so that
 * a checkpoint has them. A row has what one coefficient was at each lambda; it is written where it
 * is not 0 alone. Behind them are rows with the intercepts of the logistic loss.
 *
 * Callers   path_begin, path_note, path_end: the worker that notes, the first of rank 0; path_read:
 *           the same, when all have quiesced
 * Memory    4 bytes a column at rank 0; the table: 4 bytes a lambda, of each column that ever has a
 *           coefficient; path_read: 24 bytes a coefficient that is not 0
 * Waiting   for rows of other nodes
 */
#ifndef LASSO_PATH_H
#define LASSO_PATH_H

#include "lasso.h"

struct locus_table path_table(const struct lasso *);
/* Does anybody want the models on the way? */
bool path_is_kept(const struct lasso *);

struct path {
    const struct lasso *lasso;
    struct pool_member *member; /* NULL: nothing is noted */
    float *now;                 /* all coefficients */
};

/* When all have quiesced: coefficients are as the table has them. */
void path_begin(struct path *, const struct lasso *, struct pool_member *);
/* A coefficient has changed. */
static inline void path_note(struct path *p, uint64_t variable, float value)
{
    if (p->member) p->now[variable] = value;
}
/* A lambda is done, with this intercept. */
void path_end_step(struct path *, uint64_t step, double intercept);
void path_end(struct path *);

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
