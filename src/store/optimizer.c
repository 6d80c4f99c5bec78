#include "store/optimizer.h"

#include "base/error.h"

#include <stdlib.h>

/* By then no factor differs from 1 in a float. */
#define STEPS_COUNTED (UINT64_C(1) << 24)

void optimizer_set_rate(struct optimizer *o, float rate)
{
    __atomic_store(&o->rate, &rate, __ATOMIC_RELAXED);
}

static void begin_step(struct optimizer *o, uint64_t number)
{
    float factor = number ? o->type->factor(&o->rule, number) : 1;
    __atomic_store(&o->factor, &factor, __ATOMIC_RELAXED);
}

void optimizer_count_step(struct optimizer *o)
{
    if (__atomic_load_n(&o->steps, __ATOMIC_RELAXED) >= STEPS_COUNTED) return;
    begin_step(o, __atomic_add_fetch(&o->steps, 1, __ATOMIC_RELAXED));
}

void optimizer_take_back_step(struct optimizer *o)
{
    if (!o->type->factor || __atomic_load_n(&o->steps, __ATOMIC_RELAXED) == 0) return;
    begin_step(o, __atomic_sub_fetch(&o->steps, 1, __ATOMIC_RELAXED));
}

void optimizer_set_steps(struct optimizer *o, uint64_t steps)
{
    if (steps > STEPS_COUNTED) steps = STEPS_COUNTED;
    __atomic_store_n(&o->steps, steps, __ATOMIC_RELAXED);
    if (steps == STEPS_COUNTED && o->type->factor) begin_step(o, steps);
}

static void change(const struct optimizer *o, float *row, enum row_change change,
                   const float *values, struct row_step step, float *delta)
{
    const uint32_t n = o->length;
    switch (change) {
    case ROW_ADD: o->type->step(&o->rule, step, row, values, n, delta); break;
    case ROW_MERGE:
        o->type->merge(o->type, &o->rule, row, values, n, false);
        if (delta) o->type->merge(o->type, &o->rule, delta, values, n, true);
        break;
    case ROW_SET:
        floats_copy(row, values, n);
        floats_zero(row + n, o->stored - n);
        break;
    case ROW_SET_STATE:
    case ROW_SET_STORED: floats_copy(row, values, o->stored); break;
    }
}

/* ---- values that are floats ---- */

/* Unsent: a delta; or of one step its gradient, rate and size, and in Adam the values before (n,
 * behind two arrays): then the last float, which no delta has below 0, is. */
static bool is_gradient(const struct optimizer *o, const float *unsent)
{
    return o->keeps_gradients && unsent[o->delta - 1] < 0;
}

static struct row_step step_of(const struct optimizer *o, const float *unsent)
{
    return (struct row_step){unsent[o->length], unsent[o->length + 1]};
}

static void keep_gradient(const struct optimizer *o, const float *row, const float *gradient,
                          struct row_step step, float *unsent)
{
    const uint32_t n = o->length;
    if (o->type->arrays > 1) floats_copy(unsent + 2 * (size_t)n, row, n);
    if (unsent != gradient) floats_copy(unsent, gradient, n);
    unsent[n] = step.rate;
    unsent[n + 1] = step.size;
    unsent[o->delta - 1] = -1;
}

/* Of a row that nobody reads. */
static void change_alone(const struct optimizer *o, float *row, enum row_change what,
                         const float *values, struct row_step step, float *unsent, bool is_first)
{
    if (unsent && is_first && what == ROW_ADD && o->keeps_gradients) {
        keep_gradient(o, row, values, step, unsent);
        unsent = NULL;
    } else if (unsent && is_first) {
        floats_zero(unsent, o->delta);
    } else if (unsent && is_gradient(o, unsent)) {
        o->type->note(&o->rule, step_of(o, unsent), row, unsent, o->length);
    }
    change(o, row, what, values, step, unsent);
}

static void change_floats(const struct optimizer *o, float *row, enum row_change what,
                          const float *values, struct row_step step, float *unsent, bool is_first,
                          uint64_t draw)
{
    (void)draw;
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    /* Types are not written for concurrent readers: floats_copy() is (floats.h). */
    float *copy = malloc(o->stored * sizeof *copy);
    INVARIANT(copy != NULL, "no memory for a copy of a row");
    floats_copy(copy, row, o->stored);
    change_alone(o, copy, what, values, step, unsent, is_first);
    floats_copy(row, copy, o->stored);
    free(copy);
#else
    change_alone(o, row, what, values, step, unsent, is_first);
#endif
}

static void fold_floats(const struct optimizer *o, float *row, const float *other,
                        const float *other_unsent, float *unsent, bool is_first, uint64_t draw)
{
    const bool steps = is_gradient(o, other_unsent);
    const struct row_step step = steps ? step_of(o, other_unsent) : (struct row_step){0};
    (void)other;
    change_floats(o, row, steps ? ROW_ADD : ROW_MERGE, other_unsent, step, unsent, is_first, draw);
}

/* The delta stays; a gradient is that of the row that there is now. */
static void refresh_floats(const struct optimizer *o, float *row, const float *values,
                           float *unsent, uint64_t draw)
{
    floats_copy(row, values, o->stored);
    LOCUS_YIELD();
    fold_floats(o, row, row, unsent, is_gradient(o, unsent) ? unsent : NULL, true, draw);
}

static uint32_t collect_floats(const struct optimizer *o, const float *row, const float *unsent,
                               float *delta)
{
    uint32_t floats = is_gradient(o, unsent) ? o->length + OPTIMIZER_STEP_FLOATS : o->delta;
    (void)row;
    floats_copy(delta, unsent, floats);
    return floats;
}

/* ---- values of 16 bits: unsent are the values before the first change, then a delta's state ---- */

/* A row and a delta as floats, of the longest or on the stack. */
struct floats {
    float *row, *delta;
    float few[1024];
};

static void begin_floats(struct floats *f, const struct optimizer *o)
{
    size_t all = (size_t)o->stored + o->delta;
    f->row = all <= sizeof f->few / sizeof *f->few ? f->few : malloc(all * sizeof *f->row);
    INVARIANT(f->row != NULL, "no memory for a copy of a row");
    f->delta = f->row + o->stored;
}

static void end_floats(const struct floats *f)
{
    if (f->row != f->few) free(f->row);
}

static void widen(const struct optimizer *o, struct floats *f, const float *row)
{
    o->bf16->widen(f->row, row, o->length);
    floats_copy(f->row + o->length, row + o->packed, o->stored - o->length);
}

static void round_row(const struct optimizer *o, const struct floats *f, float *row, uint64_t draw)
{
    o->bf16->round(row, f->row, o->length, draw);
    floats_copy(row + o->packed, f->row + o->length, o->stored - o->length);
}

static void change_halves(const struct optimizer *o, float *row, enum row_change what,
                          const float *values, struct row_step step, float *unsent, bool is_first,
                          uint64_t draw)
{
    const uint32_t n = o->length, rest = o->delta - n;
    struct floats f;
    if (unsent && is_first) {
        floats_copy(unsent, row, o->packed);
        floats_zero(unsent + o->packed, rest);
    }
    if (what == ROW_SET_STORED) {
        floats_copy(row, values, o->packed + o->stored - n);
        return;
    }
    begin_floats(&f, o);
    widen(o, &f, row);
    if (unsent) { /* d is not needed: collect_halves() */
        floats_zero(f.delta, n);
        floats_copy(f.delta + n, unsent + o->packed, rest);
    }
    change(o, f.row, what, values, step, unsent ? f.delta : NULL);
    round_row(o, &f, row, draw);
    if (unsent) floats_copy(unsent + o->packed, f.delta + n, rest);
    end_floats(&f);
}

static uint32_t collect_halves(const struct optimizer *o, const float *row, const float *unsent,
                               float *delta)
{
    enum { MANY = 256 };
    float now[MANY];
    o->bf16->widen(delta, unsent, o->length);
    for (size_t i = 0; i < o->length; i += MANY) {
        size_t count = o->length - i < MANY ? o->length - i : MANY;
        o->bf16->widen(now, row + i / 2, count);
        floats_best()->gain(delta + i, delta + i, now, count, false);
    }
    floats_copy(delta + o->length, unsent + o->packed, o->delta - o->length);
    return o->delta;
}

static void fold_halves(const struct optimizer *o, float *row, const float *other,
                        const float *other_unsent, float *unsent, bool is_first, uint64_t draw)
{
    struct floats f;
    begin_floats(&f, o);
    collect_halves(o, other, other_unsent, f.delta);
    change_halves(o, row, ROW_MERGE, f.delta, (struct row_step){0}, unsent, is_first, draw);
    end_floats(&f);
}

static void refresh_halves(const struct optimizer *o, float *row, const float *values,
                           float *unsent, uint64_t draw)
{
    struct floats f;
    begin_floats(&f, o);
    collect_halves(o, row, unsent, f.delta);
    widen(o, &f, values);
    o->type->merge(o->type, &o->rule, f.row, f.delta, o->length, false);
    round_row(o, &f, row, draw);
    end_floats(&f);
    floats_copy(unsent, values, o->packed);
}

void optimizer_init(struct optimizer *o, const struct row_type *type, const struct locus_rule *rule,
                    enum locus_element element, uint32_t length)
{
    static const struct row_element floats = {change_floats, fold_floats, refresh_floats,
                                              collect_floats},
                                    halves = {change_halves, fold_halves, refresh_halves,
                                              collect_halves};
    bool are_halves = element == LOCUS_BF16;
    *o = (struct optimizer){.type = type,
                            .element = are_halves ? &halves : &floats,
                            .step = type->step,
                            .length = length,
                            .packed = row_type_packed(element, length),
                            .stored = (uint32_t)row_type_stored(type, length),
                            .delta = (uint32_t)row_type_delta(type, length),
                            .bf16 = are_halves ? bf16_best() : NULL,
                            .rule = *rule,
                            .rate = rule->rate,
                            .factor = 1};
    /* if its delta is longer, and has the places */
    o->keeps_gradients = type->note && !are_halves && length >= OPTIMIZER_STEP_FLOATS &&
                         length + OPTIMIZER_STEP_FLOATS < o->delta;
}
