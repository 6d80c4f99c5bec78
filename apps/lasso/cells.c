#include "cells.h"

#include "fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *list, size_t *room, size_t bytes)
{
    *room = *room ? *room + *room / 2 : 1024;
    void *larger = realloc(list, *room * bytes);
    if (!larger) fail("%zu values find no memory", *room);
    return larger;
}

void cells_add(struct cells *c, uint32_t row, uint32_t column, double value)
{
    if (c->count == c->room) c->list = grow(c->list, &c->room, sizeof *c->list);
    c->list[c->count++] = (struct cell_value){.row = row, .column = column, .value = value};
    if (row >= c->rows) c->rows = row + 1;
    if (column >= c->columns) c->columns = column + 1;
}

void cells_add_response(struct cells *c, double value)
{
    if (c->response_count == c->response_room)
        c->response = grow(c->response, &c->response_room, sizeof *c->response);
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
    if (at > m->start[j] && m->row[at] == m->row[at - 1])
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

/* ---- centred, of unit norm ---- */

static void measure(struct columns *m, uint32_t j, const double *values)
{
    double sum = 0, squares = 0;
    for (uint64_t i = m->start[j]; i < m->start[j + 1]; i++) sum += values[i];
    double mean = sum / m->rows;
    for (uint64_t i = m->start[j]; i < m->start[j + 1]; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    squares += (double)(m->rows - (m->start[j + 1] - m->start[j])) * mean * mean;
    bool is_constant = squares <= 1e-20 * m->rows * (mean * mean + 1e-300);
    m->mean[j] = mean;
    m->norm[j] = is_constant ? 0 : sqrt(squares);
}

static bool is_dense(const struct columns *m, uint32_t j)
{
    return 2 * (m->start[j + 1] - m->start[j]) > m->rows;
}

/* How many values the column has when it is standardized. */
static uint64_t final_count(const struct columns *m, uint32_t j)
{
    if (m->norm[j] <= 0) return 0;
    return is_dense(m, j) ? m->rows : m->start[j + 1] - m->start[j];
}

static void write_dense(const struct columns *m, uint32_t j, const double *values,
                        struct columns *to, uint64_t at)
{
    uint64_t from = m->start[j], end = m->start[j + 1];
    for (uint32_t r = 0; r < m->rows; r++) {
        double value = from < end && m->row[from] == r ? values[from++] : 0;
        to->row[at + r] = r;
        to->value[at + r] = (float)((value - m->mean[j]) / m->norm[j]);
    }
}

static void write_sparse(const struct columns *m, uint32_t j, const double *values,
                         struct columns *to, uint64_t at)
{
    to->shift[j] = m->mean[j] / m->norm[j];
    for (uint64_t i = m->start[j]; i < m->start[j + 1]; i++, at++) {
        to->row[at] = m->row[i];
        to->value[at] = (float)(values[i] / m->norm[j]);
    }
}

static void standardize(const struct columns *m, const double *values, struct columns *to)
{
    uint64_t total = 0;
    *to = *m;
    to->start = take_memory((size_t)m->count + 1, sizeof *to->start);
    for (uint32_t j = 0; j < m->count; j++) to->start[j + 1] = total += final_count(m, j);
    to->row = take_memory(total + 1, sizeof *to->row);
    to->value = take_memory(total + 1, sizeof *to->value);
    to->shift = take_memory((size_t)m->count + 1, sizeof *to->shift);
    for (uint32_t j = 0; j < m->count; j++) {
        if (m->norm[j] <= 0) continue;
        if (is_dense(m, j)) {
            write_dense(m, j, values, to, to->start[j]);
        } else {
            write_sparse(m, j, values, to, to->start[j]);
        }
    }
}

static void set_response(struct columns *m, const struct cells *c)
{
    double sum = 0;
    m->response = take_memory((size_t)m->rows + 1, sizeof *m->response);
    for (uint32_t r = 0; r < m->rows; r++) sum += c->response[r];
    m->response_mean = sum / m->rows;
    for (uint32_t r = 0; r < m->rows; r++) {
        double y = m->response[r] = c->response[r] - m->response_mean;
        m->response_squares += y * y;
    }
}

void cells_finish(struct cells *c, struct columns *m, const char *source)
{
    if (c->count == 0) fail("%s has no values", source);
    if (c->response_count < c->rows || c->response_count == 0)
        fail("%s has %u rows, and there are %zu responses: each row must have one", source, c->rows,
             c->response_count);
    c->rows = (uint32_t)c->response_count;
    struct columns raw = {.rows = c->rows, .count = c->columns};
    double *values = take_memory(c->count, sizeof *values);
    raw.start = take_memory((size_t)raw.count + 1, sizeof *raw.start);
    raw.row = take_memory(c->count, sizeof *raw.row);
    raw.mean = take_memory(raw.count, sizeof *raw.mean);
    raw.norm = take_memory(raw.count, sizeof *raw.norm);
    place(c, &raw, values, source);
    for (uint32_t j = 0; j < raw.count; j++) measure(&raw, j, values);
    standardize(&raw, values, m);
    set_response(m, c);
    for (uint32_t j = 0; j < m->count; j++) {
        double product = fabs(columns_dot(m, m->start[j], m->start[j + 1], m->response));
        if (product > m->largest) m->largest = product;
    }
    free(raw.start);
    free(raw.row);
    free(values);
    free(c->list);
    free(c->response);
    *c = (struct cells){0};
}
