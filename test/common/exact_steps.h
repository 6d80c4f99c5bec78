/*
 * exact_steps.h - optimizers whose steps are known exactly. Constants are so far out that each step
 * takes the gradient from the values, to the bit: epsilon drowns what steps are divided by, and a
 * momentum is the last gradient. The state after equal steps has a closed form, in any order and on
 * any number of nodes. Sums that forget (v) forget slowly, so that one step more or less shows.
 *
 * Adam's factor must be 1: locus_table_steps() with EXACT_STEPS_BEFORE.
 */
#ifndef LOCUS_TEST_EXACT_STEPS_H
#define LOCUS_TEST_EXACT_STEPS_H

#include "locus.h"

#include <math.h>

#define EXACT_STEPS_BEFORE (UINT64_C(1) << 24)

static inline struct locus_rule exact_steps_rule(enum locus_optimizer o)
{
    const float drowns = 0x1p60f, forgets_all = 0x1p-40f;
    struct locus_rule r = {0};
    if (o != LOCUS_NO_OPTIMIZER) r.rate = 1;
    if (o == LOCUS_MOMENTUM) r.momentum = forgets_all;
    if (o >= LOCUS_ADAGRAD) r.rate = r.epsilon = drowns;
    if (o >= LOCUS_ADAM) {
        r.beta1 = forgets_all;
        r.beta2 = 1 - 0x1p-8f;
    }
    if (o == LOCUS_ADAMW) r.decay = forgets_all / drowns;
    return r;
}

/* What array or number `part` of the state is after so many steps with one gradient. */
static inline double exact_steps_state(enum locus_optimizer o, unsigned part, double steps,
                                       double gradient)
{
    double square = gradient * gradient;
    if (steps == 0) return 0;
    if (o == LOCUS_ADAGRAD || o == LOCUS_ROW_ADAGRAD) return steps * square;
    if (part == 0) return gradient;
    return (1 - pow((double)exact_steps_rule(o).beta2, steps)) * square;
}

/* State is rounded in each step. */
static inline bool exact_steps_are_near(float state, double expected)
{
    return fabs((double)state - expected) <= 1e-4 * fabs(expected);
}

#endif
