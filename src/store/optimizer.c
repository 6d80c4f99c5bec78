#include "store/optimizer.h"

#include "base/error.h"
#include "base/floats.h"

#include <stdlib.h>

/* By then no factor differs from 1 in a float. */
#define STEPS_COUNTED (UINT64_C(1) << 24)

void optimizer_init(struct optimizer *o, const struct row_type *type, const struct locus_rule *rule,
                    enum locus_element element)
{
    *o = (struct optimizer){.type = type,
                            .bf16 = element == LOCUS_BF16 ? bf16_best() : NULL,
                            .rule = *rule,
                            .rate = rule->rate,
                            .factor = 1};
}

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

static void change(const struct optimizer *o, float *row, uint32_t n, enum row_change change,
                   const float *values, struct row_step step, float *record)
{
    size_t stored = row_type_stored(o->type, n);
    switch (change) {
    case ROW_ADD: o->type->step(&o->rule, step, row, values, n, record); break;
    case ROW_MERGE:
        o->type->merge(&o->rule, row, values, n, false);
        if (record) o->type->merge(&o->rule, record, values, n, true);
        break;
    case ROW_SET:
        floats_copy(row, values, n);
        floats_zero(row + n, stored - n);
        break;
    case ROW_SET_STATE:
    case ROW_SET_STORED: floats_copy(row, values, stored); break;
    }
}

/* A row and a record as floats, of the longest or on the stack. */
struct floats {
    float *row, *record;
    float few[1024];
};

static void begin_floats(struct floats *f, const struct optimizer *o, uint32_t n)
{
    size_t stored = row_type_stored(o->type, n), all = stored + row_type_record(o->type, n);
    f->row = all <= sizeof f->few / sizeof *f->few ? f->few : malloc(all * sizeof *f->row);
    INVARIANT(f->row != NULL, "no memory for a copy of a row");
    f->record = f->row + stored;
}

static void end_floats(const struct floats *f)
{
    if (f->row != f->few) free(f->row);
}

/* Of the state, which lies behind the values. */
static size_t state_floats(const struct optimizer *o, uint32_t n)
{
    return row_type_stored(o->type, n) - n;
}

static void widen(const struct optimizer *o, struct floats *f, const float *row, uint32_t n)
{
    o->bf16->widen(f->row, row, n);
    floats_copy(f->row + n, row + row_type_words(LOCUS_BF16, n), state_floats(o, n));
}

static void round_row(const struct optimizer *o, const struct floats *f, float *row, uint32_t n,
                      uint64_t draw)
{
    o->bf16->round(row, f->row, n, draw);
    floats_copy(row + row_type_words(LOCUS_BF16, n), f->row + n, state_floats(o, n));
}

static void change_bf16(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                        const float *values, struct row_step step, float *kept, uint64_t draw)
{
    size_t words = row_type_words(LOCUS_BF16, n),
           rest = state_floats(o, n) + o->type->counts; /* of a record */
    struct floats f;
    begin_floats(&f, o, n);
    widen(o, &f, row, n);
    if (kept) { /* d is not needed: optimizer_record() */
        floats_zero(f.record, n);
        floats_copy(f.record + n, kept + words, rest);
    }
    change(o, f.row, n, what, values, step, kept ? f.record : NULL);
    round_row(o, &f, row, n, draw);
    if (kept) floats_copy(kept + words, f.record + n, rest);
    end_floats(&f);
}

void optimizer_record(const struct optimizer *o, const float *row, uint32_t n, const float *kept,
                      float *record)
{
    enum { MANY = 256 };
    float now[MANY];
    size_t words = row_type_words(LOCUS_BF16, n);
    o->bf16->widen(record, kept, n);
    for (size_t i = 0; i < n; i += MANY) {
        size_t count = n - i < MANY ? n - i : MANY;
        o->bf16->widen(now, row + i / 2, count);
        floats_gain_best()(record + i, record + i, now, count, false);
    }
    floats_copy(record + n, kept + words, state_floats(o, n) + o->type->counts);
}

void optimizer_merge_kept(const struct optimizer *o, float *to, const float *onto, uint32_t n,
                          const float *row, const float *kept, uint64_t draw)
{
    struct floats f;
    begin_floats(&f, o, n);
    optimizer_record(o, row, n, kept, f.record);
    widen(o, &f, onto, n);
    o->type->merge(&o->rule, f.row, f.record, n, false);
    round_row(o, &f, to, n, draw);
    end_floats(&f);
}

void optimizer_change(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                      const float *values, struct row_step step, float *kept, bool is_first,
                      uint64_t draw)
{
    size_t stored = row_type_stored(o->type, n);
    if (o->bf16) {
        size_t words = row_type_words(LOCUS_BF16, n), state = stored - n;
        if (kept && is_first) {
            floats_copy(kept, row, words);
            floats_zero(kept + words, state + o->type->counts);
        }
        if (what == ROW_SET_STORED)
            floats_copy(row, values, words + state);
        else
            change_bf16(o, row, n, what, values, step, kept, draw);
        return;
    }
    if (kept && is_first) floats_zero(kept, row_type_record(o->type, n));
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    /* Types are not written for concurrent readers: floats_copy() is (floats.h). */
    float *copy = malloc(stored * sizeof *copy);
    INVARIANT(copy != NULL, "no memory for a copy of a row");
    floats_copy(copy, row, stored);
    change(o, copy, n, what, values, step, kept);
    floats_copy(row, copy, stored);
    free(copy);
#else
    change(o, row, n, what, values, step, kept);
#endif
}

void optimizer_fold(const struct optimizer *o, float *row, uint32_t n, const float *other,
                    const float *other_kept, float *kept, bool is_first, uint64_t draw)
{
    const struct row_step none = {0};
    struct floats f;
    if (!o->bf16) {
        optimizer_change(o, row, n, ROW_MERGE, other_kept, none, kept, is_first, draw);
        return;
    }
    begin_floats(&f, o, n);
    optimizer_record(o, other, n, other_kept, f.record);
    optimizer_change(o, row, n, ROW_MERGE, f.record, none, kept, is_first, draw);
    end_floats(&f);
}

uint32_t optimizer_shorten(const struct optimizer *o, const float *row, uint32_t n, float *record)
{
    struct row_step step = optimizer_step(o);
    if (!optimizer_shortens(o, n) || !o->type->gradient(&o->rule, &step, row, record, n))
        return (uint32_t)row_type_record(o->type, n);
    record[n] = step.rate;
    record[n + 1] = step.size;
    return n + OPTIMIZER_STEP_FLOATS;
}
