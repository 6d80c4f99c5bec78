#include "zipf.h"

#include "fail.h"
#include "rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE_MAX_EACH = 1 << 30 };

void zipf_parse(struct zipf *z, const char *text)
{
    uint64_t rows, columns, cells;
    char rest;
    if (sscanf(text, "%" SCNu64 "x%" SCNu64 "x%" SCNu64 "%c", &rows, &columns, &cells, &rest) != 3)
        fail_usage("--zipf takes ROWSxCOLUMNSxCELLS, as 1000x100x20000, not \"%s\"", text);
    if (rows < 1 || columns < 1 || cells < 1 || rows > SIZE_MAX_EACH || columns > SIZE_MAX_EACH)
        fail_usage("--zipf %s: rows and columns must be from 1 to %d, and cells at least 1", text,
                   SIZE_MAX_EACH);
    if (cells > rows * columns / 2)
        fail_usage("--zipf %s: %" PRIu64 " cells are more than half of the matrix", text, cells);
    z->rows = (uint32_t)rows;
    z->columns = (uint32_t)columns;
    z->cells = cells;
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

struct seen {
    uint64_t *cells; /* cell + 1; 0: free */
    uint64_t slots;
};

/* False: it was there. */
static bool see(struct seen *s, uint64_t cell)
{
    uint64_t slot = rng_mix(cell) & (s->slots - 1);
    for (; s->cells[slot]; slot = (slot + 1) & (s->slots - 1)) {
        if (s->cells[slot] == cell + 1) return false;
    }
    s->cells[slot] = cell + 1;
    return true;
}

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

/* The head of the law is soon full: after this many draws in vain the cell is uniform, so that
 * generating ends. */
enum { DRAWS_MAX = 64 };

static struct rating draw_cell(const struct law *rows, const struct law *columns, struct seen *seen,
                               struct rng *rng)
{
    for (int draws = 0;; draws++) {
        bool is_uniform = draws >= DRAWS_MAX;
        uint32_t row = is_uniform ? (uint32_t)rng_below(rng, rows->count) : law_draw(rows, rng);
        uint32_t column = is_uniform ? (uint32_t)rng_below(rng, columns->count)
                                     : law_draw(columns, rng);
        if (see(seen, (uint64_t)row * columns->count + column))
            return (struct rating){.row = row, .column = column};
    }
}

void zipf_generate(const struct zipf *z, struct ratings *r)
{
    struct rng rng;
    struct law rows, columns;
    struct seen seen = {.slots = 8};
    rng_init(&rng, z->seed, 1);
    law_init(&rows, z->rows, z->exponent, &rng);
    law_init(&columns, z->columns, z->exponent, &rng);
    while (seen.slots < 2 * z->cells) seen.slots *= 2;
    seen.cells = take_memory(seen.slots, sizeof *seen.cells);
    float *row_factors = plant(z->rows, z->rank, &rng),
          *column_factors = plant(z->columns, z->rank, &rng);
    r->rows = z->rows;
    r->columns = z->columns;
    for (uint64_t i = 0; i < z->cells; i++) {
        struct rating cell = draw_cell(&rows, &columns, &seen, &rng);
        cell.value = product(row_factors + cell.row * z->rank,
                             column_factors + cell.column * z->rank, z->rank) +
                     (float)(z->noise * rng_normal(&rng));
        ratings_add(r, cell);
    }
    law_fini(&rows);
    law_fini(&columns);
    free(seen.cells);
    free(row_factors);
    free(column_factors);
}
