#include "zipf.h"

#include "fail.h"
#include "made_up.h"

#include <math.h>
#include <stdlib.h>

enum { SIZE_MAX_EACH = 1 << 30 };

static void parse(const char *text, struct made_up_size *s)
{
    static const char option[] = "--zipf";
    made_up_sizes(option, text, "ROWSxCOLUMNSxCELLS, as 1000x100x20000", s, 3);
    s[2].most = (s[0].is * s[1].is + 1) / 2;
    made_up_check(option, text, &s[2]);
}

/* ---- Zipf's law ---- */

struct law {
    uint32_t count;
    double *cumulative;
    uint32_t *order; /* which number has which rank: popular ones lie anywhere */
};

static void law_init(struct law *l, uint32_t count, double exponent, struct rng *rng)
{
    double sum = 0;
    l->count = count;
    l->cumulative = take_memory(count, sizeof *l->cumulative);
    l->order = take_memory(count, sizeof *l->order);
    for (uint32_t i = 0; i < count; i++) {
        sum += pow(i + 1.0, -exponent);
        l->cumulative[i] = sum;
        l->order[i] = i;
    }
    rng_shuffle(rng, l->order, count);
}

static void law_fini(struct law *l)
{
    free(l->cumulative);
    free(l->order);
}

static uint32_t law_draw(const struct law *l, struct rng *rng)
{
    double x = rng_real(rng) * l->cumulative[l->count - 1];
    uint32_t first = 0, last = l->count - 1;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (l->cumulative[middle] <= x) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return l->order[first];
}

/* ---- cells ---- */

/* Factors of this deviation have products of variance 1. */
static float *plant(uint32_t count, uint64_t rank, struct rng *rng)
{
    float *factors = take_memory((size_t)count * rank, sizeof *factors);
    double deviation = pow((double)rank, -0.25);
    for (size_t i = 0; i < (size_t)count * rank; i++)
        factors[i] = (float)(deviation * rng_normal(rng));
    return factors;
}

static float product(const float *a, const float *b, uint64_t rank)
{
    float sum = 0;
    for (uint64_t i = 0; i < rank; i++) sum += a[i] * b[i];
    return sum;
}

static struct rating draw_cell(const struct law *rows, const struct law *columns,
                               struct made_up_seen *seen, struct rng *rng)
{
    for (int draws = 0;; draws++) {
        bool is_uniform = draws >= MADE_UP_DRAWS;
        uint32_t row = is_uniform ? (uint32_t)rng_below(rng, rows->count) : law_draw(rows, rng);
        uint32_t column = is_uniform ? (uint32_t)rng_below(rng, columns->count)
                                     : law_draw(columns, rng);
        if (made_up_is_new(seen, (uint64_t)row * columns->count + column))
            return (struct rating){.row = row, .column = column};
    }
}

void zipf_generate(const struct zipf *z, struct ratings *r)
{
    struct made_up_size s[] = {{.name = "rows", .least = 1, .most = SIZE_MAX_EACH},
                               {.name = "columns", .least = 1, .most = SIZE_MAX_EACH},
                               {.name = "cells", .least = 1, .most = UINT64_MAX}};
    struct rng rng;
    struct law rows, columns;
    struct made_up_seen seen;
    parse(z->text, s);
    r->rows = (uint32_t)s[0].is;
    r->columns = (uint32_t)s[1].is;
    rng_init(&rng, z->seed, 1);
    law_init(&rows, r->rows, z->exponent, &rng);
    law_init(&columns, r->columns, z->exponent, &rng);
    made_up_seen_init(&seen, s[2].is);
    float *row_factors = plant(r->rows, z->rank, &rng),
          *column_factors = plant(r->columns, z->rank, &rng);
    for (uint64_t i = 0; i < s[2].is; i++) {
        struct rating cell = draw_cell(&rows, &columns, &seen, &rng);
        cell.value = product(row_factors + cell.row * z->rank,
                             column_factors + cell.column * z->rank, z->rank) +
                     (float)(z->noise * rng_normal(&rng));
        ratings_add(r, cell);
    }
    law_fini(&rows);
    law_fini(&columns);
    made_up_seen_fini(&seen);
    free(row_factors);
    free(column_factors);
}
