/*
 * optimizer.h - the optimizer of a table on this node, and what it makes of a row.
 *
 * Callers   any thread; who changes a row has its latch, or is alone
 * Memory    the store's; rows are the caller's
 * Waiting   never
 * Life      as the store
 */
#ifndef LOCUS_STORE_OPTIMIZER_H
#define LOCUS_STORE_OPTIMIZER_H

#include "base/floats.h"
#include "store/row_type.h"

/* What a row is given: what it adds (with an optimizer: the gradient of a step); the record of a
 * replica; its values, which clear the state; values and state, as calls have them; and as they are
 * stored, which differs where values are of 16 bits. Without an optimizer the first two are the
 * same, and so are the last three. */
enum row_change { ROW_ADD, ROW_MERGE, ROW_SET, ROW_SET_STATE, ROW_SET_STORED };

static inline bool row_change_sets(enum row_change change)
{
    return change >= ROW_SET;
}

/* Of a table whose rows are not sums of floats. */
struct optimizer {
    const struct row_type *type;
    const struct bf16_version *bf16; /* NULL: values are floats */
    struct locus_rule rule;
    /* atomic: */
    float rate;   /* of this node */
    float factor; /* of the step that began last */
    uint64_t steps;
};

void optimizer_init(struct optimizer *, const struct row_type *, const struct locus_rule *,
                    enum locus_element);
void optimizer_set_rate(struct optimizer *, float rate);
void optimizer_set_steps(struct optimizer *, uint64_t steps);
/* A call begins that makes steps: all its rows have the same number. */
void optimizer_count_step(struct optimizer *);
static inline void optimizer_begin_step(struct optimizer *o)
{
    if (o->type->factor) optimizer_count_step(o);
}

/* One that began has moved no row. */
void optimizer_take_back_step(struct optimizer *);

/* Of the rows that are stepped now. */
static inline struct row_step optimizer_step(const struct optimizer *o)
{
    float rate, factor;
    __atomic_load(&o->rate, &rate, __ATOMIC_RELAXED);
    __atomic_load(&o->factor, &factor, __ATOMIC_RELAXED);
    return (struct row_step){rate, rate * factor};
}

/* Changes a row of n values. `kept`: NULL; or what a replica keeps, which is empty if `is_first`,
 * whatever is in it: the record, or for values of 16 bits the same with the values that there were
 * before the first change instead of d. `draw`: of such values (floats.h). */
void optimizer_change(const struct optimizer *, float *row, uint32_t n, enum row_change,
                      const float *values, struct row_step, float *kept, bool is_first,
                      uint64_t draw);

/* The record of a row that keeps such values. */
void optimizer_record(const struct optimizer *, const float *row, uint32_t n, const float *kept,
                      float *record);
/* Makes another row of it and `onto`. */
void optimizer_merge_kept(const struct optimizer *, float *to, const float *onto, uint32_t n,
                          const float *row, const float *kept, uint64_t draw);

/* Changes a row, as above, by what was kept of another copy of it. */
void optimizer_fold(const struct optimizer *, float *row, uint32_t n, const float *other,
                    const float *other_kept, float *kept, bool is_first, uint64_t draw);

enum { OPTIMIZER_STEP_FLOATS = 2 };
/* Can the record of one step be shorter as its gradient, rate and size? */
static inline bool optimizer_shortens(const struct optimizer *o, uint32_t n)
{
    return o->type->gradient && !o->bf16 && n + OPTIMIZER_STEP_FLOATS < row_type_record(o->type, n);
}
/* Makes it so, if it is that of the row's last step. Returns the floats that there are now. */
uint32_t optimizer_shorten(const struct optimizer *, const float *row, uint32_t n, float *record);

/* A step of a row of floats that has no record. */
static inline void optimizer_step_row(const struct optimizer *o, float *row, uint32_t n,
                                      const float *gradient)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    optimizer_change(o, row, n, ROW_ADD, gradient, optimizer_step(o), NULL, false, 0);
#else
    o->type->step(&o->rule, optimizer_step(o), row, gradient, n, NULL);
#endif
}

#endif
