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

/* What a row is given: what it adds (with an optimizer: the gradient of a step); the delta of a
 * replica; its values, which clear the state; values and state, as calls have them; and as they are
 * stored, which differs where values are of 16 bits. Without an optimizer the first two are the
 * same, and so are the last three. */
enum row_change { ROW_ADD, ROW_MERGE, ROW_SET, ROW_SET_STATE, ROW_SET_STORED };

static inline bool row_change_sets(enum row_change change)
{
    return change >= ROW_SET;
}

struct optimizer;

enum { OPTIMIZER_STEP_FLOATS = 2 };

/* What is done to a row as it lies in memory: with values that are floats, or of 16 bits.
 * `unsent`: what a replica keeps for the owner, or a worker's copy for the row, or NULL; it is empty
 * if `is_first`, whatever is in it. `draw`: how the row rounds (floats.h). */
struct row_element {
    void (*change)(const struct optimizer *, float *row, enum row_change, const float *values,
                   struct row_step, float *unsent, bool is_first, uint64_t draw);
    /* Changes it by what another copy of it has not sent. */
    void (*fold)(const struct optimizer *, float *row, const float *other,
                 const float *other_unsent, float *unsent, bool is_first, uint64_t draw);
    /* It becomes this one, and what is unsent is done to that. */
    void (*refresh)(const struct optimizer *, float *row, const float *values, float *unsent,
                    uint64_t draw);
    /* Writes what is unsent as the delta of a replica (row_type.h), or as the gradient of its only
     * step, with rate and size behind. Returns the floats. */
    uint32_t (*collect)(const struct optimizer *, const float *row, const float *unsent,
                        float *delta);
};

/* Of a table whose rows are not sums of floats. */
struct optimizer {
    const struct row_type *type;
    const struct row_element *element;
    row_step_fn *step;             /* the type's */
    const struct bf16_loops *bf16; /* NULL: values are floats */
    /* values of a row; units of four bytes (store.h) of these, of row and state, and of a delta */
    uint32_t length, packed, stored, delta;
    bool keeps_gradients; /* a replica, of a single step */
    struct locus_rule rule;
    /* atomic: */
    float rate;   /* of this node */
    float factor; /* of the step that began last */
    uint64_t steps;
};

void optimizer_init(struct optimizer *, const struct row_type *, const struct locus_rule *,
                    enum locus_element, uint32_t length);
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

/* A step of a row of floats that has no delta. */
static inline void optimizer_step_row(const struct optimizer *o, float *row, const float *gradient)
{
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    o->element->change(o, row, ROW_ADD, gradient, optimizer_step(o), NULL, false, 0);
#else
    o->step(&o->rule, optimizer_step(o), row, gradient, o->length, NULL);
#endif
}

#endif
