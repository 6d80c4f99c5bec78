/*
 * turns.h - which coefficients are active, and when each of them was updated last, and what that
 * changed: which are at rest, and where a schedule goes on that begins anew.
 *
 * Callers   one worker's thread: all workers have the same. Of rows every worker of every node,
 *           collectively, where there are checkpoints; while no scheduler is open
 * Memory    8 bytes a variable; a batch of rows, during a call
 * Waiting   descent_rows_write() and _read() for rows of other nodes
 * Life      open; any mix of the rest; close
 */
#ifndef LASSO_TURNS_H
#define LASSO_TURNS_H

#include "lasso_loss.h"

#include <stdbool.h>
#include <stdint.h>

struct turns {
    uint64_t variables, active, at_rest; /* active ones rest */
    /* Those updated since anything changed by more than the tolerance: `seen` is the number of that
     * time. */
    uint32_t *seen, time;
    /* The last one, or the one to be expected, as the schedule is told; INFINITY: it has had no
     * turn; below 0: it is not active, which the schedule understands, too. */
    float *change;
};

void turns_open(struct turns *, uint64_t variables);
void turns_close(struct turns *);

static inline bool turns_is_active(const struct turns *t, uint64_t variable)
{
    return t->change[variable] >= 0;
}

/* When none is at rest. */
void turns_choose(struct turns *, uint64_t variable, bool is_active, double expected);
/* None is at rest any more. */
void turns_disturb(struct turns *);
void turns_note(struct turns *, uint64_t variable, double change, bool is_large);

static inline bool turns_is_at_rest(const struct turns *t, uint64_t variable)
{
    return t->seen[variable] == t->time;
}

/* As it was noted elsewhere. */
void turns_put(struct turns *, uint64_t variable, bool is_at_rest, float change);

/* The schedule squares changes (STRADS, Section 3.3); it is given the roots, so that a coefficient
 * comes in proportion to its change: squared, those that change most leave nearly nothing for the
 * many that change a little, who make up the objective. */
float turns_told(double change);

/* What a descent knows besides the coefficients is in rows, so that a checkpoint has it: the errors
 * of all rows of the data, which are sums of all changes so far, bit for bit, and whose turn it
 * was. The two tables. */
void descent_rows_tables(const struct lasso *, struct locus_table *turns,
                         struct locus_table *losses);

void descent_rows_write(struct pool_member *, const struct lasso_loss *, const struct turns *);
void descent_rows_read(struct pool_member *, struct lasso_loss *, struct turns *);

#endif
