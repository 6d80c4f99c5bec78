#include "store/optimizer.h"

#include "base/error.h"
#include "store/floats.h"

#include <stdlib.h>

/* By then no factor differs from 1 in a float. */
#define STEPS_COUNTED (UINT64_C(1) << 24)

void optimizer_init(struct optimizer *o, const struct row_type *type, const struct locus_rule *rule)
{
    *o = (struct optimizer){.type = type, .rule = *rule, .rate = rule->rate, .factor = 1};
}

void optimizer_set_rate(struct optimizer *o, float rate)
{
    __atomic_store(&o->rate, &rate, __ATOMIC_RELAXED);
}

void optimizer_count_step(struct optimizer *o)
{
    if (__atomic_load_n(&o->steps, __ATOMIC_RELAXED) >= STEPS_COUNTED) return;
    uint64_t number = __atomic_add_fetch(&o->steps, 1, __ATOMIC_RELAXED);
    float factor = o->type->factor(&o->rule, number);
    __atomic_store(&o->factor, &factor, __ATOMIC_RELAXED);
}

static void change(const struct optimizer *o, float *row, uint32_t n, enum row_change change,
                   const float *values, struct row_step step, float *record)
{
    size_t stored = row_type_stored(o->type, n);
    switch (change) {
    case ROW_ADD: o->type->step(&o->rule, step, row, values, n, record); break;
    case ROW_MERGE: o->type->merge(&o->rule, row, values, n); break;
    case ROW_SET:
        floats_copy(row, values, n);
        floats_zero(row + n, stored - n);
        break;
    case ROW_SET_STORED: floats_copy(row, values, stored); break;
    }
}

void optimizer_change(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                      const float *values, struct row_step step, float *record, bool is_first)
{
    if (record && is_first) floats_zero(record, row_type_record(o->type, n));
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    /* Types are not written for concurrent readers: floats_copy() is (floats.h). */
    size_t stored = row_type_stored(o->type, n);
    float *copy = malloc(stored * sizeof *copy);
    INVARIANT(copy != NULL, "no memory for a copy of a row");
    floats_copy(copy, row, stored);
    change(o, copy, n, what, values, step, record);
    floats_copy(row, copy, stored);
    free(copy);
#else
    change(o, row, n, what, values, step, record);
#endif
}

uint32_t optimizer_shorten(const struct optimizer *o, const float *row, uint32_t n, float *record)
{
    struct row_step step = optimizer_step(o);
    if (!optimizer_shortens(o, n) || !o->type->gradient(&o->rule, step.rate, row, record, n))
        return (uint32_t)row_type_record(o->type, n);
    record[n] = step.rate;
    record[n + 1] = step.size;
    return n + OPTIMIZER_STEP_FLOATS;
}
