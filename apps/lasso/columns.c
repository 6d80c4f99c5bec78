#include "columns.h"

#include "cells.h"
#include "digest.h"
#include "fail.h"
#include "rng.h"

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
    free(c->response);
    *c = (struct columns){0};
}

void columns_load(struct columns *c, const char *path, const char *response)
{
    struct cells cells = {0};
    cells_read(&cells, path, response);
    cells_finish(&cells, c, path);
}

uint64_t columns_digest(const struct columns *c)
{
    uint32_t shape[] = {c->rows, c->count};
    uint64_t values = c->start[c->count], digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
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

/* ---- the paper's generator ---- */

struct generator {
    uint32_t rows, columns, values;
    struct rng rng;
    uint32_t *row; /* of the column's values */
    double *value;
    double *response;
    double *taken; /* whether a row has a value: the number of the column, and 1 */
};

/* Rows that differ; ascending order is made later. */
static void draw_rows(struct generator *g, uint32_t column)
{
    for (uint32_t i = 0; i < g->values;) {
        uint32_t row = (uint32_t)rng_below(&g->rng, g->rows);
        if (g->taken[row] > column) continue;
        g->taken[row] = column + 1.0;
        g->row[i++] = row;
    }
}

/* A column that is like the one before has its rows, too. */
static void draw_column(struct generator *g, struct cells *cells, uint32_t column)
{
    enum { EFFECT_EACH = 100 };
    bool is_alike = column > 0 && rng_real(&g->rng) < 0.1;
    double effect = rng_below(&g->rng, EFFECT_EACH) == 0 ? rng_normal(&g->rng) : 0;
    if (!is_alike) draw_rows(g, column);
    for (uint32_t i = 0; i < g->values; i++) {
        double fresh = rng_real(&g->rng);
        g->value[i] = is_alike ? 0.9 * g->value[i] + 0.1 * fresh : fresh;
        cells_add(cells, g->row[i], column, g->value[i]);
        g->response[g->row[i]] += effect * g->value[i];
    }
}

void columns_generate(struct columns *c, const char *text, uint64_t seed)
{
    struct generator g = {0};
    struct cells cells = {0};
    char more;
    if (sscanf(text, "%ux%ux%u%c", &g.rows, &g.columns, &g.values, &more) != 3 || g.columns == 0 ||
        g.values == 0 || g.rows < 2 || g.values > g.rows || g.columns > 1U << 30)
        fail_usage("--generate takes ROWSxCOLUMNSxVALUES, values of a column at most as many as "
                   "rows, not \"%s\"",
                   text);
    rng_init(&g.rng, seed, UINT64_C(1) << 40);
    g.row = take_memory(g.values, sizeof *g.row);
    g.value = take_memory(g.values, sizeof *g.value);
    g.response = take_memory(g.rows, sizeof *g.response);
    g.taken = take_memory(g.rows, sizeof *g.taken);
    for (uint32_t j = 0; j < g.columns; j++) draw_column(&g, &cells, j);
    for (uint32_t r = 0; r < g.rows; r++)
        cells_add_response(&cells, g.response[r] + 0.1 * rng_normal(&g.rng));
    cells_finish(&cells, c, "--generate");
    free(g.row);
    free(g.value);
    free(g.response);
    free(g.taken);
}
