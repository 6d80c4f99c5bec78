#include "choice.h"

#include "fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns that have too much in common ---- */

static void open_overlap(struct overlap *o, const struct lasso *l)
{
    *o = (struct overlap){.lasso = l};
    o->first = take_memory(l->columns.rows, sizeof *o->first);
}

static void close_overlap(struct overlap *o)
{
    free(o->kept);
    free(o->first);
    free(o->values);
    free(o->found);
    free(o->product);
    free(o->search);
    *o = (struct overlap){0};
}

static void grow_places(struct overlap *o)
{
    size_t capacity = o->capacity ? 2 * o->capacity : 64;
    o->kept = resize_memory(o->kept, capacity, sizeof *o->kept, "columns that are compared");
    o->found = resize_memory(o->found, capacity, sizeof *o->found, "columns that are compared");
    o->product =
        resize_memory(o->product, capacity, sizeof *o->product, "columns that are compared");
    o->search = resize_memory(o->search, capacity, sizeof *o->search, "columns that are compared");
    memset(o->search + o->capacity, 0, (capacity - o->capacity) * sizeof *o->search);
    o->capacity = capacity;
}

static void grow_values(struct overlap *o, size_t more)
{
    while (o->value_count + more > o->value_capacity)
        o->value_capacity = o->value_capacity ? 2 * o->value_capacity : 1024;
    o->values =
        resize_memory(o->values, o->value_capacity, sizeof *o->values, "columns that are compared");
}

static void add(struct overlap *o, uint64_t column)
{
    const struct columns *c = &o->lasso->columns;
    uint64_t first = c->start[column], end = c->start[column + 1];
    if (o->count == o->capacity) grow_places(o);
    if (o->value_count + (end - first) > o->value_capacity) grow_values(o, end - first);
    for (uint64_t i = first; i < end; i++) {
        uint32_t *row = &o->first[c->row[i]];
        o->values[o->value_count++] =
            (struct overlap_value){.place = (uint32_t)o->count, .next = *row, .value = c->value[i]};
        *row = (uint32_t)o->value_count;
    }
    if (o->count == 0 || fabs(c->shift[column]) > fabs(c->shift[o->shifted])) o->shifted = column;
    o->kept[o->count++] = column;
    o->looks += end - first;
}

static void forget(struct overlap *o)
{
    const struct columns *c = &o->lasso->columns;
    for (size_t k = 0; k < o->count; k++) {
        uint64_t column = o->kept[k];
        for (uint64_t i = c->start[column]; i < c->start[column + 1]; i++) o->first[c->row[i]] = 0;
    }
    o->looks += o->value_count;
    o->count = o->value_count = 0;
}

/* Fast where those of the call before come first. */
static void keep_overlap(struct overlap *o, const uint64_t *columns, size_t count)
{
    bool goes_on = count >= o->count;
    if (goes_on && o->count > 0)
        goes_on = memcmp(columns, o->kept, o->count * sizeof *columns) == 0;
    if (!goes_on) forget(o);
    while (o->count < count) add(o, columns[o->count]);
}

/* ---- another one ---- */

/* Fills in `found` and `product`; products are those of the values, without the shifts. */
static void find_overlap(struct overlap *o, uint64_t column)
{
    const struct columns *c = &o->lasso->columns;
    o->found_count = 0;
    o->searches++;
    for (uint64_t i = c->start[column]; i < c->start[column + 1]; i++, o->looks++)
        for (uint32_t at = o->first[c->row[i]]; at > 0; o->looks++) {
            const struct overlap_value *v = &o->values[at - 1];
            if (o->search[v->place] != o->searches) {
                o->search[v->place] = o->searches;
                o->product[v->place] = 0;
                o->found[o->found_count++] = v->place;
            }
            o->product[v->place] += (double)c->value[i] * (double)v->value;
            at = v->next;
        }
}

/* From the product of the columns' values: as they are centred. */
static bool are_alike(const struct choice *c, uint64_t a, uint64_t b, double product)
{
    const struct columns *m = &c->lasso->columns;
    return fabs(product - m->rows * m->shift[a] * m->shift[b]) >= c->lasso->options.correlation;
}

/* Columns without a row in common are alike by their shifts alone: no two more than with the
 * largest shift. */
static bool fits_all(const struct choice *c, uint64_t column)
{
    const struct overlap *o = &c->overlap;
    for (size_t i = 0; i < o->found_count; i++)
        if (are_alike(c, column, o->kept[o->found[i]], o->product[o->found[i]])) return false;
    if (o->found_count == o->count || !are_alike(c, column, o->shifted, 0)) return true;
    for (size_t i = 0; i < o->count; i++)
        if (o->search[i] != o->searches && are_alike(c, column, o->kept[i], 0)) return false;
    return true;
}

/* ---- two ways to the same answer ---- */

/* How much cheaper a look along a column is than one from row to row. */
enum { CHEAPER = 6 };

static void note_looks(struct choice *c, double looks)
{
    c->looks += looks;
    world_computed(WORLD_COMPARED, (size_t)looks);
}

/* One after the other: the first that is too much alike saves the rest. */
static bool fits_one_by_one(struct choice *c, uint64_t column, const uint64_t *chosen, size_t count)
{
    const struct columns *m = &c->lasso->columns;
    uint64_t first = m->start[column], end = m->start[column + 1], looked = 2 * (end - first);
    bool is_fit = true;
    columns_add(m, first, end, 1, c->rows);
    for (size_t i = 0; i < count && is_fit; i++) {
        uint64_t from = m->start[chosen[i]], to = m->start[chosen[i] + 1];
        is_fit = !are_alike(c, column, chosen[i], columns_dot(m, from, to, c->rows));
        looked += to - from;
    }
    for (uint64_t i = first; i < end; i++) c->rows[m->row[i]] = 0;
    note_looks(c, (double)looked / CHEAPER);
    return is_fit;
}

/* All that have rows in common at once: the others cost nothing. */
static bool fits_by_rows(struct choice *c, uint64_t column, const uint64_t *chosen, size_t count)
{
    uint64_t before = c->overlap.looks;
    keep_overlap(&c->overlap, chosen, count);
    find_overlap(&c->overlap, column);
    note_looks(c, (double)(c->overlap.looks - before));
    return fits_all(c, column);
}

/* Of a candidate, lately; 0 before it was tried. */
static double looks_of(const struct choice *c, int way)
{
    return c->ways[way].looks / (c->ways[way].calls + 1e-9);
}

/* ---- what is remembered ---- */

enum { BITS = 64 };

/* Of a column, or behind the last of those chosen: what is known of another one. */
static struct choice_pairs *pairs_of(const struct choice *c, uint64_t column, uint64_t other)
{
    return &c->pairs[column * c->words + other / BITS];
}

static void note(const struct choice *c, uint64_t column, uint64_t other, bool is_alike)
{
    struct choice_pairs *p = pairs_of(c, column, other);
    *(is_alike ? &p->alike : &p->different) |= UINT64_C(1) << other % BITS;
}

/* Of a window the oldest go: where the last one has the same place, those before it are the same,
 * too. */
static void keep(struct choice *c, const uint64_t *chosen, size_t count)
{
    struct choice_pairs *all = pairs_of(c, c->lasso->columns.count, 0);
    if (c->kept == 0 || count < c->kept || chosen[c->kept - 1] != c->last) {
        for (size_t i = 0; i < c->words; i++) all[i] = (struct choice_pairs){0, UINT64_MAX};
        c->kept = 0;
    }
    for (; c->kept < count; c->kept++) {
        const struct choice_pairs *its = pairs_of(c, chosen[c->kept], 0);
        for (size_t i = 0; i < c->words; i++) {
            all[i].alike |= its[i].alike;
            all[i].different &= its[i].different;
        }
    }
    c->last = chosen[count - 1];
}

/* One look for all that are chosen; each two are compared once in all. */
static bool fits_remembered(struct choice *c, uint64_t column, const uint64_t *chosen, size_t count)
{
    uint64_t bit = UINT64_C(1) << column % BITS;
    if (c->kept != count || chosen[count - 1] != c->last) keep(c, chosen, count);
    const struct choice_pairs *all = pairs_of(c, c->lasso->columns.count, column);
    if ((all->alike | all->different) & bit) return all->different & bit;
    for (size_t i = 0; i < count; i++) {
        uint64_t other = chosen[i];
        if (pairs_of(c, other, column)->different & bit) continue;
        bool is_alike = !fits_one_by_one(c, column, &other, 1);
        note(c, column, other, is_alike);
        note(c, other, column, is_alike);
        if (is_alike) return false;
    }
    return true;
}

/* What a round has shown. The next one goes the way that has fewer looks; now and then the
 * other. */
static void end_round(struct choice *c)
{
    enum { TRIAL_EACH = 64 };
    struct choice_way *w = &c->ways[c->way];
    w->looks = w->looks / 2 + c->looks;
    w->calls = w->calls / 2 + c->calls;
    c->looks = c->calls = 0;
    bool is_worse = looks_of(c, !c->way) < looks_of(c, c->way);
    bool is_trial = ++c->rounds % TRIAL_EACH == 1;
    if (is_worse || is_trial) c->way = !c->way;
}

/* A trial that costs far more is given up before its round is over. */
static void give_up(struct choice *c)
{
    enum { CALLS_MIN = 16, TIMES = 4 };
    double other = looks_of(c, !c->way);
    if (other > 0 && c->looks > TIMES * other * (c->calls + CALLS_MIN)) end_round(c);
}

static bool fits(void *choice, uint64_t column, const uint64_t *chosen, size_t count)
{
    struct choice *c = choice;
    if (c->pairs) return fits_remembered(c, column, chosen, count);
    if (count < c->count) end_round(c);
    c->count = count;
    bool is_fit = c->way == CHOICE_BY_ROWS ? fits_by_rows(c, column, chosen, count)
                                           : fits_one_by_one(c, column, chosen, count);
    c->calls++;
    give_up(c);
    return is_fit;
}

/* ---- life ---- */

void choice_open(struct choice *c, const struct lasso *l)
{
    const struct columns *m = &l->columns;
    *c = (struct choice){.lasso = l};
    c->rows = take_memory(m->rows, sizeof *c->rows);
    c->words = (m->count + BITS - 1) / BITS;
    if (m->count <= CHOICE_REMEMBERED)
        c->pairs = take_memory((m->count + 1) * c->words, sizeof *c->pairs);
    open_overlap(&c->overlap, l);
}

void choice_begin(struct choice *c, struct locus_schedule_config *config)
{
    config->context = c;
    if (c->lasso->options.correlation < 1) config->fits = fits;
}

void choice_close(struct choice *c)
{
    free(c->rows);
    free(c->pairs);
    close_overlap(&c->overlap);
    *c = (struct choice){0};
}
