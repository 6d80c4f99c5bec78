/*
 * choice.h - what the scheduler of lasso needs beside the configuration: the filter by correlation.
 *
 * Callers   the scheduler's thread
 * Memory    12 bytes a row, and 12 a value of the columns chosen; of few columns four bits for each
 *           two
 * Waiting   never
 */
#ifndef LASSO_CHOICE_H
#define LASSO_CHOICE_H

#include "lasso.h"

/* ---- columns that have too much in common ---- */

/* Which of some columns have rows in common with another one, and their products: of each row it
 * keeps which of the columns have a value there, so that those which have nothing in common cost
 * nothing. */
struct overlap_value {
    uint32_t place, next; /* of its column; the next of its row and 1 */
    float value;
};

struct overlap {
    const struct lasso *lasso;
    uint64_t *kept; /* columns, at their places */
    size_t count, capacity;
    uint64_t shifted; /* the column of the one with the largest shift, where there are any */
    uint32_t *first;  /* of each row: a value and 1; 0: there is none */
    struct overlap_value *values;
    size_t value_count, value_capacity;
    /* Of the last one that was looked for: places that have rows in common with it, and of each
     * place the product and in which search it was found. */
    uint32_t *found;
    size_t found_count;
    double *product;
    uint32_t *search, searches;
    uint64_t looks; /* values looked at, ever */
};

/* Ways to look for what a candidate has in common with those chosen; both say the same. */
enum { CHOICE_BY_ROWS, CHOICE_ONE_BY_ONE, CHOICE_WAYS };
struct choice_way {
    double looks, calls; /* values looked at, weighed by what that costs; and candidates, lately */
};

/* So many have which two of them are alike remembered: up to 4 MiB. */
enum { CHOICE_REMEMBERED = 4096 };
/* Of a column and 64 others, a bit each. */
struct choice_pairs {
    uint64_t alike, different; /* neither: they were not compared */
};

struct choice {
    const struct lasso *lasso;
    /* If columns are few: of each, and behind them of those chosen, so many words each; `kept` of
     * them are in it */
    struct choice_pairs *pairs;
    size_t words, kept;
    uint64_t last;          /* of them */
    struct overlap overlap; /* those chosen for a round */
    double *rows;           /* the candidate's column, zeros otherwise */
    struct choice_way ways[CHOICE_WAYS];
    int way; /* of this round, which has had so many looks and calls */
    double looks, calls;
    uint64_t rounds;
    size_t count; /* of those chosen, at the call before */
};

void choice_open(struct choice *, const struct lasso *);
/* Sets the callback of the configuration, which is that of a schedule that begins, with all that is
 * known of two columns from before. */
void choice_begin(struct choice *, struct locus_schedule_config *);
void choice_close(struct choice *);

#endif
