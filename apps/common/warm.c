#include "warm.h"

#include "fail.h"
#include "saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 2 };

struct warm {
    const struct warm_part *parts;
    size_t part_count;
    const struct saved_tensor *tensors[PARTS_MAX];
    const struct names *names; /* of the table's rows */
    struct names saved;        /* of the model's */
    rows_draw *draw;
    const void *context;
    double *found; /* rows */
};

/* The model's row; NAMES_NONE: it has none. */
static uint64_t row_of(const struct warm *w, uint64_t row)
{
    const struct names *now = w->names, *then = &w->saved;
    uint64_t turn = now->count > 0 ? row / now->count : 0;
    uint64_t rows = w->tensors[0] ? w->tensors[0]->rows : 0;
    if (now->count > 0) {
        const char *name = names_get(now, (uint32_t)(row % now->count));
        row = names_find(then, name, strlen(name));
        if (row == NAMES_NONE) return NAMES_NONE;
        row += turn * then->count;
    }
    return row < rows ? row : NAMES_NONE;
}

static void draw(const void *warm, uint64_t row, float *values)
{
    const struct warm *w = warm;
    if (w->draw) w->draw(w->context, row, values);
    uint64_t from = row_of(w, row);
    if (from == NAMES_NONE) return;
    ++*w->found;
    for (size_t i = 0; i < w->part_count; i++)
        if (w->tensors[i])
            memcpy(values + w->parts[i].at, saved_row(w->tensors[i], from),
                   w->parts[i].count * sizeof *values);
}

/* As "locus prepare vectors" has them. They are rows of the first table. */
static bool has_words_alone(const struct saved *s)
{
    return s->tensor_count == 2 && saved_find(s, "inputs", TENSORS_F32) &&
           saved_find(s, "word_names", TENSORS_U8);
}

static void open_parts(struct warm *w, size_t table, const struct saved *s)
{
    bool has_words = has_words_alone(s);
    for (size_t i = 0; i < w->part_count; i++) {
        const struct warm_part *p = &w->parts[i];
        if (has_words && (table > 0 || i > 0)) continue;
        const struct saved_tensor *t = saved_find(s, has_words ? "inputs" : p->tensor, TENSORS_F32),
                                  *first = w->tensors[0];
        if (!t && (i > 0 || !w->draw)) continue;
        if (!t)
            saved_fail(s, "has no tensor \"%s\": is it a model of %s? (--from)", p->tensor,
                       fail_program());
        uint64_t floats = t->columns ? t->columns : 1;
        if (floats != p->count || (first && t->rows != first->rows))
            saved_fail(s,
                       "has %" PRIu64 " floats in a row of \"%s\", and this training has %zu: "
                       "train alike (--from)",
                       floats, p->tensor, p->count);
        w->tensors[i] = t;
    }
}

/* Second rows of a name are no names. */
static void open_names(struct warm *w, const struct saved *s)
{
    saved_row_names(s, w->tensors[0], has_words_alone(s) ? "word_names" : w->parts[0].names,
                    &w->saved);
    bool has = w->saved.count > 0;
    if (has != (w->names->count > 0))
        saved_fail(s, "has %s of rows, and the data have %s (--from)", has ? "names" : "no names",
                   has ? "none" : "some");
}

/* One of a node's workers reads the model. */
void warm_init(struct pool_member *m, size_t table, const char *path, const struct warm_part *parts,
               size_t part_count, const struct names *names, rows_draw *first, const void *context)
{
    struct saved s;
    double found = 0;
    struct warm w = {.parts = parts,
                     .part_count = part_count,
                     .names = names,
                     .draw = first,
                     .context = context,
                     .found = &found};
    if (!path) {
        rows_init(m, table, first, context);
        return;
    }
    if (m->index == 0) {
        saved_open(&s, path);
        open_parts(&w, table, &s);
        open_names(&w, &s);
    }
    const struct warm *first_one = pool_first_gives(m, &w);
    if (m->index > 0) {
        w = *first_one;
        w.found = &found;
    }
    rows_init(m, table, draw, &w);
    pool_sum(m, &found, 1);
    if (found <= 0 && w.tensors[0])
        fail("%s: has no row of \"%s\" that the data name (--from)", path, parts->tensor);
    if (m->place == 0 && found > 0)
        fprintf(stderr, "%s: %.0f of %" PRIu64 " rows of \"%s\" begin as %s has them\n",
                fail_program(), found, m->pool->tables[table].rows, parts->tensor, path);
    if (m->index > 0) return;
    names_fini(&w.saved);
    saved_close(&s);
}

void warm_check_names(const char *path, const char *tensor, const struct names *names)
{
    struct saved s;
    if (!path) return;
    saved_open(&s, path);
    const struct saved_tensor *t = saved_find(&s, tensor, TENSORS_U8);
    const char *at = t ? t->values : NULL;
    uint64_t left = t ? t->rows : 0;
    for (uint32_t i = 0; i < names->count; i++) {
        const char *name = names_get(names, i);
        size_t length = strlen(name);
        if (length + 1 > left || memcmp(at, name, length) != 0 || at[length] != '\n')
            saved_fail(&s,
                       "has not \"%s\" at place %" PRIu32 " of \"%s\", as the data have: give the "
                       "data in the order that it was trained in (--from)",
                       name, i, tensor);
        at += length + 1;
        left -= length + 1;
    }
    if (left > 0) saved_fail(&s, "has more \"%s\" than the data (--from)", tensor);
    saved_close(&s);
}
