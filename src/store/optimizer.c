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

/* ---- values that are floats ---- */

/* Kept: a record; or of one step its gradient, rate and size, and in Adam the values before (n,
 * behind two arrays): then the last float, which no record has below 0, is. */
static bool is_gradient(const struct optimizer *o, uint32_t n, const float *kept)
{
    return optimizer_shortens(o, n) && kept[row_type_record(o->type, n) - 1] < 0;
}

static struct row_step step_of(const float *kept, uint32_t n)
{
    return (struct row_step){kept[n], kept[n + 1]};
}

static void keep_gradient(const struct optimizer *o, const float *row, uint32_t n,
                          const float *gradient, struct row_step step, float *kept)
{
    if (o->type->arrays > 1) floats_copy(kept + 2 * (size_t)n, row, n);
    if (kept != gradient) floats_copy(kept, gradient, n);
    kept[n] = step.rate;
    kept[n + 1] = step.size;
    kept[row_type_record(o->type, n) - 1] = -1;
}

/* Of a row that nobody reads. */
static void change_alone(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                         const float *values, struct row_step step, float *kept, bool is_first)
{
    if (kept && is_first && what == ROW_ADD && optimizer_shortens(o, n)) {
        keep_gradient(o, row, n, values, step, kept);
        kept = NULL;
    } else if (kept && is_first) {
        floats_zero(kept, row_type_record(o->type, n));
    } else if (kept && is_gradient(o, n, kept)) {
        o->type->note(&o->rule, step_of(kept, n), row, kept, n);
    }
    change(o, row, n, what, values, step, kept);
}

static void change_floats(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                          const float *values, struct row_step step, float *kept, bool is_first,
                          uint64_t draw)
{
    (void)draw;
#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)
    /* Types are not written for concurrent readers: floats_copy() is (floats.h). */
    size_t stored = row_type_stored(o->type, n);
    float *copy = malloc(stored * sizeof *copy);
    INVARIANT(copy != NULL, "no memory for a copy of a row");
    floats_copy(copy, row, stored);
    change_alone(o, copy, n, what, values, step, kept, is_first);
    floats_copy(row, copy, stored);
    free(copy);
#else
    change_alone(o, row, n, what, values, step, kept, is_first);
#endif
}

static void fold_floats(const struct optimizer *o, float *row, uint32_t n, const float *other,
                        const float *other_kept, float *kept, bool is_first, uint64_t draw)
{
    const bool steps = is_gradient(o, n, other_kept);
    const struct row_step step = steps ? step_of(other_kept, n) : (struct row_step){0};
    (void)other;
    change_floats(o, row, n, steps ? ROW_ADD : ROW_MERGE, other_kept, step, kept, is_first, draw);
}

/* The record stays; a gradient is kept of the row that there is now. */
static void refresh_floats(const struct optimizer *o, float *row, uint32_t n, const float *values,
                           float *kept, uint64_t draw)
{
    floats_copy(row, values, row_type_stored(o->type, n));
    LOCUS_YIELD();
    fold_floats(o, row, n, row, kept, is_gradient(o, n, kept) ? kept : NULL, true, draw);
}

static uint32_t collect_floats(const struct optimizer *o, const float *row, uint32_t n,
                               const float *kept, float *record)
{
    uint32_t floats = is_gradient(o, n, kept) ? n + OPTIMIZER_STEP_FLOATS
                                              : (uint32_t)row_type_record(o->type, n);
    (void)row;
    floats_copy(record, kept, floats);
    return floats;
}

/* ---- values of 16 bits: kept are those before the first change, then a record's state ---- */

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

static void change_halves(const struct optimizer *o, float *row, uint32_t n, enum row_change what,
                          const float *values, struct row_step step, float *kept, bool is_first,
                          uint64_t draw)
{
    size_t words = row_type_words(LOCUS_BF16, n), state = state_floats(o, n),
           rest = state + o->type->counts; /* of a record */
    struct floats f;
    if (kept && is_first) {
        floats_copy(kept, row, words);
        floats_zero(kept + words, rest);
    }
    if (what == ROW_SET_STORED) {
        floats_copy(row, values, words + state);
        return;
    }
    begin_floats(&f, o, n);
    widen(o, &f, row, n);
    if (kept) { /* d is not needed: collect_halves() */
        floats_zero(f.record, n);
        floats_copy(f.record + n, kept + words, rest);
    }
    change(o, f.row, n, what, values, step, kept ? f.record : NULL);
    round_row(o, &f, row, n, draw);
    if (kept) floats_copy(kept + words, f.record + n, rest);
    end_floats(&f);
}

static uint32_t collect_halves(const struct optimizer *o, const float *row, uint32_t n,
                               const float *kept, float *record)
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
    return (uint32_t)row_type_record(o->type, n);
}

static void fold_halves(const struct optimizer *o, float *row, uint32_t n, const float *other,
                        const float *other_kept, float *kept, bool is_first, uint64_t draw)
{
    struct floats f;
    begin_floats(&f, o, n);
    collect_halves(o, other, n, other_kept, f.record);
    change_halves(o, row, n, ROW_MERGE, f.record, (struct row_step){0}, kept, is_first, draw);
    end_floats(&f);
}

static void refresh_halves(const struct optimizer *o, float *row, uint32_t n, const float *values,
                           float *kept, uint64_t draw)
{
    struct floats f;
    begin_floats(&f, o, n);
    collect_halves(o, row, n, kept, f.record);
    widen(o, &f, values, n);
    o->type->merge(&o->rule, f.row, f.record, n, false);
    round_row(o, &f, row, n, draw);
    end_floats(&f);
    floats_copy(kept, values, row_type_words(LOCUS_BF16, n));
}

void optimizer_init(struct optimizer *o, const struct row_type *type, const struct locus_rule *rule,
                    enum locus_element element)
{
    static const struct row_element floats = {change_floats, fold_floats, refresh_floats,
                                              collect_floats},
                                    halves = {change_halves, fold_halves, refresh_halves,
                                              collect_halves};
    bool are_halves = element == LOCUS_BF16;
    *o = (struct optimizer){.type = type,
                            .element = are_halves ? &halves : &floats,
                            .step = are_halves ? NULL : type->step,
                            .bf16 = are_halves ? bf16_best() : NULL,
                            .rule = *rule,
                            .rate = rule->rate,
                            .factor = 1};
}
