#include "columns.h"

#include "cells.h"
#include "digest.h"
#include "fail.h"
#include "made_up.h"
#include "standard.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void columns_fini(struct columns *c)
{
    free(c->start);
    free(c->row);
    free(c->value);
    free(c->shift);
    free(c->mean);
    free(c->norm);
    free(c->steepest);
    free(c->response);
    names_fini(&c->names);
    *c = (struct columns){0};
}

void columns_load(struct columns *c, const char *path, const char *response)
{
    struct cells cells = {0};
    cells_read(&cells, path, response, "--response");
    cells_finish(&cells, c, path);
}

uint32_t columns_find_number(const struct names *names, uint64_t columns, uint32_t index)
{
    char text[16];
    if (names->count == 0) return index - 1 < columns ? index - 1 : NAMES_NONE;
    return names_find(names, text, (size_t)snprintf(text, sizeof text, "%" PRIu32, index));
}

uint64_t columns_digest(const struct columns *c)
{
    uint32_t shape[] = {c->rows, c->count};
    uint64_t values = c->start[c->count], digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    digest = names_digest(&c->names, c->names.count, digest);
    digest = digest_add(digest, c->row, values * sizeof *c->row);
    digest = digest_add(digest, c->value, values * sizeof *c->value);
    return digest_add(digest, c->response, c->rows * sizeof *c->response);
}

/* ---- arithmetic ---- */

double columns_dot(const struct columns *c, uint64_t first, uint64_t end, const double *rows)
{
    double even = 0, odd = 0;
    uint64_t i = first;
    for (; i + 1 < end; i += 2) {
        even += (double)c->value[i] * rows[c->row[i]];
        odd += (double)c->value[i + 1] * rows[c->row[i + 1]];
    }
    if (i < end) even += (double)c->value[i] * rows[c->row[i]];
    return even + odd;
}

void columns_add(const struct columns *c, uint64_t first, uint64_t end, double scale, double *rows)
{
    for (uint64_t i = first; i < end; i++) rows[c->row[i]] += scale * (double)c->value[i];
}

uint64_t columns_find(const struct columns *c, uint32_t column, uint32_t row)
{
    uint64_t first = c->start[column], end = c->start[column + 1];
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (c->row[middle] < row) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* A value where it was drawn. */
struct drawn {
    uint32_t row;
    double value;
};

struct planted {
    uint32_t rows, columns, values;
    struct rng rng;
    struct drawn *drawn; /* of the column, in the order of drawing */
    uint32_t *order;     /* of them by rows */
    uint32_t *row;       /* in that order */
    double *value;
    double *response;
    double *taken; /* whether a row has a value: the number of the column, and 1 */
};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Row and place in one number each: sorted, they say which is where. */
static void sort(struct planted *p)
{
    static const int PLACE_BITS = 32;
    uint64_t *both = take_memory(p->values, sizeof *both);
    for (uint32_t i = 0; i < p->values; i++) both[i] = (uint64_t)p->drawn[i].row << PLACE_BITS | i;
    qsort(both, p->values, sizeof *both, compare);
    for (uint32_t i = 0; i < p->values; i++) {
        p->order[i] = (uint32_t)both[i];
        p->row[i] = (uint32_t)(both[i] >> PLACE_BITS);
    }
    free(both);
}

/* Rows that differ. */
static void draw_rows(struct planted *p, uint32_t column)
{
    for (uint32_t i = 0; i < p->values;) {
        uint32_t row = (uint32_t)rng_below(&p->rng, p->rows);
        if (p->taken[row] > column) continue;
        p->taken[row] = column + 1.0;
        p->drawn[i++].row = row;
    }
    sort(p);
}

/* A column that is like the one before has its rows, too. */
static void draw_column(struct planted *p, struct standard *to, uint32_t column)
{
    enum { EFFECT_EACH = 100 };
    bool is_alike = column > 0 && rng_real(&p->rng) < 0.1;
    double effect = rng_below(&p->rng, EFFECT_EACH) == 0 ? rng_normal(&p->rng) : 0;
    if (!is_alike) draw_rows(p, column);
    for (uint32_t i = 0; i < p->values; i++) {
        struct drawn *d = &p->drawn[i];
        double fresh = rng_real(&p->rng);
        d->value = is_alike ? 0.9 * d->value + 0.1 * fresh : fresh;
        p->response[d->row] += effect * d->value;
    }
    for (uint32_t i = 0; i < p->values; i++) p->value[i] = p->drawn[p->order[i]].value;
    standard_add(to, p->row, p->value, p->values);
}

static void open_planted(struct planted *p, const char *text, uint64_t seed)
{
    struct made_up_size s[] = {{.name = "rows", .least = 2, .most = UINT32_MAX},
                               {.name = "columns", .least = 1, .most = 1U << 30},
                               {.name = "values", .least = 1, .most = UINT32_MAX}};
    made_up_sizes("--generate", text, "ROWSxCOLUMNSxVALUES, values of a column", s, 3);
    s[2].most = s[0].is;
    made_up_check("--generate", text, &s[2]);
    *p = (struct planted){
        .rows = (uint32_t)s[0].is, .columns = (uint32_t)s[1].is, .values = (uint32_t)s[2].is};
    rng_init(&p->rng, seed, UINT64_C(1) << 40);
    p->drawn = take_memory(p->values, sizeof *p->drawn);
    p->order = take_memory(p->values, sizeof *p->order);
    p->row = take_memory(p->values, sizeof *p->row);
    p->value = take_memory(p->values, sizeof *p->value);
    p->response = take_memory(p->rows, sizeof *p->response);
    p->taken = take_memory(p->rows, sizeof *p->taken);
}

static void close_planted(struct planted *p)
{
    free(p->drawn);
    free(p->order);
    free(p->row);
    free(p->value);
    free(p->response);
    free(p->taken);
}

void planted_make(struct columns *c, const char *text, uint64_t seed)
{
    struct planted p;
    struct standard to;
    open_planted(&p, text, seed);
    standard_begin(&to, c, p.rows, p.columns, (uint64_t)p.columns * p.values);
    for (uint32_t j = 0; j < p.columns; j++) draw_column(&p, &to, j);
    for (uint32_t r = 0; r < p.rows; r++) p.response[r] += 0.1 * rng_normal(&p.rng);
    standard_end(&to, p.response);
    close_planted(&p);
}
