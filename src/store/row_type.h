/*
 * row_type.h - what a row is made of: the values that users see, the state of its optimizer, and
 * the delta of what a replica did.
 *
 * The state of each optimizer is a linear recurrence, m = b m + x with x from the gradient alone.
 * So k steps are an affine map: m becomes b^k m + c, and such maps compose. A replica keeps the
 * delta of its steps since the owner last heard of them: the sum d of the changes of the values, c
 * of each array or number of the state, and, where something decays, k. The owner merges it into
 * whatever it has by then: values += d, m = b^k m + c. (Of Adam's moments, which take a part of a
 * gradient, c is the sum of the whole ones.) So the state ends as in one serial order of all steps
 * of all nodes. Of a single step a replica keeps the gradient, which is half of a delta or a third,
 * and the owner makes the step itself.
 *
 *   row     n values, then `arrays` arrays of n floats of state, then `numbers` single ones
 *   delta  the same with changes instead (d, c), then k as a float if `counts`
 *
 * Values may be of 16 bits in memory (floats.h): then these functions have them as floats
 * (optimizer.h).
 *
 * Each step is torch's: SGD with and without momentum (no dampening), Adagrad, SparseAdam; AdamW is
 * that with decay, so its epsilon is added to what is not corrected. In row-wise AdaGrad the
 * squares of a row's gradient have one sum, of their means. Infinity and NaN go through all
 * operations as they do through those of one float.
 *
 * A new optimizer is a paragraph in row_steps.c and a line in locus.h. Every operation is for a row
 * that nobody else writes. Readers may copy it meanwhile: under the thread sanitizer, which would
 * report that, give it a copy.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      constants
 */
#ifndef LOCUS_STORE_ROW_TYPE_H
#define LOCUS_STORE_ROW_TYPE_H

#include "locus.h"

/* Of one step: the learning rate, and its product with the type's factor, which a direction is
 * multiplied by: Adam's bias correction is in it. It travels with a gradient. */
struct row_step {
    float rate, size;
};

/* One step. `delta` NULL: nobody must be told; otherwise the step comes after those that are in
 * it. A delta of zeros is one of no step. */
typedef void row_step_fn(const struct locus_rule *, struct row_step, float *row,
                         const float *gradient, uint32_t n, float *delta);

struct row_type {
    const char *name;        /* of the constant in locus.h */
    struct locus_rule usual; /* 0: it has no such constant */
    uint8_t arrays, numbers; /* of state */
    bool counts;             /* a delta has k */
    /* What the rate is multiplied by, in the node's step with this number, from 1. NULL: 1 */
    float (*factor)(const struct locus_rule *, uint64_t number);
    row_step_fn *step;
    /* A row takes the steps of the delta; or, if `both` are one, another delta does. */
    void (*merge)(const struct row_type *, const struct locus_rule *, float *to, const float *delta,
                  uint32_t n, bool both);
    /* What is unsent, the one step that led to this row, becomes its delta (optimizer.c). NULL:
     * steps have no deltas longer than their gradients. */
    void (*note)(const struct locus_rule *, struct row_step, const float *row, float *unsent,
                 uint32_t n);
};

/* The loops of all optimizers (row_steps.c), by enum locus_optimizer, the first adds: variant 0,
 * 1, ... of as many instruction sets. NULL: this processor does not run it, or there is none. */
extern const unsigned row_types; /* in each variant */
const struct row_type *row_type_variant(unsigned variant);

/* In the widest variant. NULL: there is no such optimizer; and for LOCUS_NO_OPTIMIZER, whose rows
 * are their values, and whose steps and deltas are sums (floats.h). */
const struct row_type *row_type_of(enum locus_optimizer);
/* Of a table's rows in memory: the same; or, where sums are not of floats, the type whose step
 * adds. */
const struct row_type *row_type_for(enum locus_optimizer, enum locus_element);

/* Of its constant; "an unknown optimizer" for what is none. */
const char *row_type_name(enum locus_optimizer);
const char *row_type_element_name(enum locus_element);

/* Floats of a row with its state, and of a delta; the second is never less. `t` may be NULL. */
static inline uint64_t row_type_stored(const struct row_type *t, uint32_t n)
{
    return t ? (uint64_t)n * (1u + t->arrays) + t->numbers : n;
}

static inline uint64_t row_type_delta(const struct row_type *t, uint32_t n)
{
    return row_type_stored(t, n) + (t && t->counts);
}

/* Units of four bytes of n values. */
static inline uint32_t row_type_packed(enum locus_element e, uint32_t n)
{
    return e == LOCUS_BF16 ? n / 2 + n % 2 : n;
}

/* The constants of a rule, by number. */
enum { ROW_TYPE_CONSTANTS = 6 };
const char *row_type_constant_name(size_t);
float row_type_constant(const struct locus_rule *, size_t);

/* The rule of a table with the usual constants filled in; all 0 without an optimizer. */
struct locus_rule row_type_rule(const struct locus_table *);

/* 0, or -EINVAL with the sentence in locus_error(): an optimizer, a rule or a length with state
 * that table number i cannot have. */
int row_type_check(const struct locus_table *, size_t i);

#endif
