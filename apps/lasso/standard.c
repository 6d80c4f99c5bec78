#include "standard.h"

#include "fail.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static void resize(struct standard *s, uint64_t capacity)
{
    struct columns *c = s->to;
    c->row = resize_memory(c->row, capacity + 1, sizeof *c->row, "values of a matrix");
    c->value = resize_memory(c->value, capacity + 1, sizeof *c->value, "values of a matrix");
    s->capacity = capacity;
}

void standard_begin(struct standard *s, struct columns *c, uint32_t rows, uint32_t count,
                    uint64_t values)
{
    *c = (struct columns){.rows = rows, .count = count};
    *s = (struct standard){.to = c};
    c->start = take_memory((size_t)count + 1, sizeof *c->start);
    c->shift = take_memory((size_t)count + 1, sizeof *c->shift);
    c->mean = take_memory((size_t)count + 1, sizeof *c->mean);
    c->norm = take_memory((size_t)count + 1, sizeof *c->norm);
    resize(s, values);
}

static double square(double x)
{
    return x * x;
}

/* What rounding alone may make of numbers that are equal. */
#define ROUNDED (8 * DBL_EPSILON)

/* Of so many values and zeros. The second sum is of what rounding took from the first. */
static double mean_of(const double *values, uint64_t count, uint32_t rows)
{
    double sum = 0, rest = 0;
    for (uint64_t i = 0; i < count; i++) sum += values[i];
    double mean = sum / rows;
    if (!isfinite(mean)) return mean;
    for (uint64_t i = 0; i < count; i++) rest += values[i] - mean;
    return mean + (rest - (double)(rows - count) * mean) / rows;
}

/* Of any size: no square of what may be large or small is taken. */
static void measure(struct columns *c, uint32_t j, const double *values, uint64_t count)
{
    double squares = 0, mean = mean_of(values, count, c->rows);
    double largest = count < c->rows ? fabs(mean) : 0;
    for (uint64_t i = 0; i < count; i++) largest = fmax(largest, fabs(values[i] - mean));
    if (!isfinite(largest)) fail("the values of column %u are too large to be added up", j + 1);
    bool is_constant = largest <= ROUNDED * fabs(mean) || largest < DBL_MIN;
    for (uint64_t i = 0; i < count && !is_constant; i++)
        squares += square((values[i] - mean) / largest);
    if (!is_constant) squares += (double)(c->rows - count) * square(mean / largest);
    c->mean[j] = mean;
    c->norm[j] = largest * sqrt(squares);
}

static void write_dense(struct columns *c, uint32_t j, const uint32_t *rows, const double *values,
                        uint64_t count)
{
    uint64_t at = c->start[j], from = 0;
    for (uint32_t r = 0; r < c->rows; r++) {
        double value = from < count && rows[from] == r ? values[from++] : 0;
        c->row[at + r] = r;
        c->value[at + r] = (float)((value - c->mean[j]) / c->norm[j]);
    }
}

static void write_sparse(struct columns *c, uint32_t j, const uint32_t *rows, const double *values,
                         uint64_t count)
{
    uint64_t at = c->start[j];
    c->shift[j] = c->mean[j] / c->norm[j];
    for (uint64_t i = 0; i < count; i++, at++) {
        c->row[at] = rows[i];
        c->value[at] = (float)(values[i] / c->norm[j]);
    }
}

/* A constant column has no values. */
void standard_add(struct standard *s, const uint32_t *rows, const double *values, uint64_t count)
{
    struct columns *c = s->to;
    uint32_t j = s->added++;
    bool is_dense = 2 * count > c->rows;
    measure(c, j, values, count);
    uint64_t wanted = c->norm[j] <= 0 ? 0 : is_dense ? c->rows : count, end = c->start[j] + wanted;
    c->start[j + 1] = end;
    if (end > s->capacity) resize(s, end + s->capacity / 2);
    if (wanted == 0) return;
    if (is_dense) {
        write_dense(c, j, rows, values, count);
    } else {
        write_sparse(c, j, rows, values, count);
    }
}

/* Coefficients are floats, and objectives squares: responses far from 1 are counted in a unit, a
 * power of two, with which no digit is lost. */
static double unit_of(double largest)
{
    enum { EXPONENT_PLAIN = 32, EXPONENT_MAX = 500 };
    int exponent = largest > 0 ? ilogb(largest) : 0;
    if (!isfinite(largest) || abs(exponent) > EXPONENT_MAX)
        fail("responses differ from their mean by up to %g: from 1e-150 to 1e150 they may: scale "
             "them",
             largest);
    return abs(exponent) > EXPONENT_PLAIN ? ldexp(1, exponent) : 1;
}

static void set_response(struct columns *c, const double *response)
{
    double largest = 0;
    c->response = take_memory((size_t)c->rows + 1, sizeof *c->response);
    c->response_mean = mean_of(response, c->rows, c->rows);
    for (uint32_t r = 0; r < c->rows; r++)
        largest = fmax(largest, fabs(response[r] - c->response_mean));
    if (!isfinite(c->response_mean)) largest = INFINITY;
    bool is_constant = largest <= ROUNDED * fabs(c->response_mean);
    c->unit = unit_of(is_constant ? 0 : largest);
    for (uint32_t r = 0; r < c->rows && !is_constant; r++) {
        double y = c->response[r] = (response[r] - c->response_mean) / c->unit;
        c->response_squares += y * y;
    }
}

void standard_end(struct standard *s, const double *response)
{
    struct columns *c = s->to;
    resize(s, c->start[c->count]);
    set_response(c, response);
}
