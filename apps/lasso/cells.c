#include "cells.h"

#include "fail.h"
#include "ids.h"
#include "standard.h"

#include <stdlib.h>
#include <string.h>

void cells_add(struct cells *c, uint32_t row, uint32_t column, double value)
{
    c->list = make_room(c->list, c->count, &c->capacity, sizeof *c->list, "values");
    c->list[c->count++] = (struct cell_value){.row = row, .column = column, .value = value};
    if (row >= c->rows) c->rows = row + 1;
    if (column >= c->columns) c->columns = column + 1;
}

void cells_add_response(struct cells *c, double value)
{
    c->response = make_room(c->response, c->response_count, &c->response_capacity,
                            sizeof *c->response, "values");
    c->response[c->response_count++] = value;
}

/* ---- into columns: sorted by counting, by rows and then by columns ---- */

static struct cell_value *sorted_by_row(const struct cells *c)
{
    size_t *at = take_memory((size_t)c->rows + 1, sizeof *at);
    struct cell_value *to = take_memory(c->count + 1, sizeof *to);
    for (size_t i = 0; i < c->count; i++) at[c->list[i].row + 1]++;
    for (uint32_t r = 0; r < c->rows; r++) at[r + 1] += at[r];
    for (size_t i = 0; i < c->count; i++) to[at[c->list[i].row]++] = c->list[i];
    free(at);
    return to;
}

static void check_twice(const struct columns *m, uint32_t j, uint64_t at, const char *source)
{
    if (at == m->start[j] || m->row[at] != m->row[at - 1]) return;
    if (m->names.count > 0)
        fail("%s: the value of row %u and column %s is given twice", source, m->row[at] + 1,
             names_get(&m->names, j));
    fail("%s: the value of row %u and column %u is given twice", source, m->row[at] + 1, j + 1);
}

static void place(const struct cells *c, struct columns *m, double *values, const char *source)
{
    uint64_t *at = take_memory((size_t)m->count + 1, sizeof *at);
    struct cell_value *sorted = sorted_by_row(c);
    for (size_t i = 0; i < c->count; i++) m->start[sorted[i].column + 1]++;
    for (uint32_t j = 0; j < m->count; j++) m->start[j + 1] += m->start[j];
    memcpy(at, m->start, m->count * sizeof *at);
    for (size_t i = 0; i < c->count; i++) {
        uint64_t to = at[sorted[i].column]++;
        m->row[to] = sorted[i].row;
        values[to] = sorted[i].value;
        check_twice(m, sorted[i].column, to, source);
    }
    free(sorted);
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
    if (c->count == 0) fail("%s has no values", source);
    c->rows = (uint32_t)c->response_count;
    struct columns raw = {.rows = c->rows};
    names_init(&raw.names);
    ids_number(&c->list->column, c->count, sizeof *c->list, &c->columns, 1, &raw.names);
    raw.count = c->columns;
    double *values = take_memory(c->count, sizeof *values);
    raw.start = take_memory((size_t)raw.count + 1, sizeof *raw.start);
    raw.row = take_memory(c->count, sizeof *raw.row);
    place(c, &raw, values, source);
    free(c->list);
    standardize(&raw, values, c->response, m);
    m->names = raw.names;
    free(raw.start);
    free(raw.row);
    free(values);
    free(c->response);
    *c = (struct cells){0};
}
