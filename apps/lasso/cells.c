#include "cells.h"

#include "fail.h"
#include "ids.h"
#include "libsvm.h"
#include "standard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char form[] = "response index:value ..., indices from 1";

/* ---- a file ---- */

static void add_row(struct cells *c, double response)
{
    c->response = make_room(c->response, c->rows, &c->rows_capacity, sizeof *c->response, "values");
    c->response[c->rows++] = response;
}

static void add(struct cells *c, const struct lines *l, const struct libsvm_pair *p)
{
    if (p->has_field) lines_fail(l, "index %" PRIu32 " has a field before it", p->index);
    if (p->index == 0) lines_fail(l, "has the index 0: they begin with 1");
    double value = lines_take_number(l, p->value, "value");
    c->list = make_room(c->list, c->count, &c->capacity, sizeof *c->list, "values");
    c->list[c->count++] = (struct cell_value){(uint32_t)c->rows - 1, p->index - 1, value};
    if (p->index > c->columns) c->columns = p->index;
}

void cells_read(struct cells *c, const char *path)
{
    struct libsvm s;
    struct libsvm_pair p;
    libsvm_open(&s, path, form);
    while (libsvm_next(&s)) {
        if (c->rows == UINT32_MAX) lines_fail(&s.lines, "is one row too many: %u are", UINT32_MAX);
        add_row(c, lines_take_number(&s.lines, s.label, "response"));
        while (libsvm_pair(&s, "index", &p)) add(c, &s.lines, &p);
    }
    libsvm_close(&s);
}

void cells_fini(struct cells *c)
{
    free(c->list);
    free(c->response);
    *c = (struct cells){0};
}

/* ---- into columns, sorted by counting: rows ascend already ---- */

static void check_twice(const struct columns *m, uint32_t j, uint64_t at, const char *source)
{
    if (at == m->start[j] || m->row[at] != m->row[at - 1]) return;
    lines_fail_at(source, m->row[at] + 1, form, "index %" PRIu32 " is given twice",
                  columns_number(&m->names, j));
}

static void place(const struct cells *c, struct columns *m, double *values, const char *source)
{
    uint64_t *at = take_memory((size_t)m->count + 1, sizeof *at);
    for (size_t i = 0; i < c->count; i++) m->start[c->list[i].column + 1]++;
    for (uint32_t j = 0; j < m->count; j++) m->start[j + 1] += m->start[j];
    memcpy(at, m->start, m->count * sizeof *at);
    for (size_t i = 0; i < c->count; i++) {
        const struct cell_value *cell = &c->list[i];
        uint64_t to = at[cell->column]++;
        m->row[to] = cell->row;
        values[to] = cell->value;
        check_twice(m, cell->column, to, source);
    }
    free(at);
}

static void standardize(const struct columns *raw, const double *values, const double *response,
                        struct columns *to)
{
    struct standard s;
    standard_begin(&s, to, raw->rows, raw->count, raw->start[raw->count]);
    for (uint32_t j = 0; j < raw->count; j++) {
        uint64_t first = raw->start[j];
        standard_add(&s, raw->row + first, values + first, raw->start[j + 1] - first);
    }
    standard_end(&s, response);
}

void cells_finish(struct cells *c, struct columns *m, const char *source)
{
    if (c->count == 0) lines_fail_at(source, 0, form, "has no values");
    struct columns raw = {.rows = (uint32_t)c->rows};
    names_init(&raw.names);
    ids_number(&c->list->column, c->count, sizeof *c->list, &c->columns, 1, &raw.names);
    raw.count = c->columns;
    double *values = take_memory(c->count, sizeof *values);
    raw.start = take_memory((size_t)raw.count + 1, sizeof *raw.start);
    raw.row = take_memory(c->count, sizeof *raw.row);
    place(c, &raw, values, source);
    standardize(&raw, values, c->response, m);
    m->names = raw.names;
    free(raw.start);
    free(raw.row);
    free(values);
    cells_fini(c);
}
