#include "ranking.h"

#include "fail.h"
#include "params.h"
#include "rows.h"
#include "top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 256 };

/* Rows of this worker. Cells are numbers of row and column, ascending. */
struct ranks {
    const struct mf *mf;
    uint64_t first, end, *known, *relevant;
    size_t known_count, relevant_count, k, length;
    float *factors;
    uint64_t **known_at; /* of each row, the first that is not passed */
    struct top *best;    /* of each row k */
    size_t *best_count;
};

/* A column that a row is trained with is not asked about, and none twice. Returns how many of the
 * first. */
static size_t leave_known_out(struct ranks *r)
{
    size_t left_out = 0, kept = 0, at = 0;
    for (size_t i = 0; i < r->relevant_count; i++) {
        uint64_t cell = r->relevant[i];
        while (at < r->known_count && r->known[at] < cell) at++;
        bool is_known = at < r->known_count && r->known[at] == cell;
        left_out += is_known;
        if (!is_known && (kept == 0 || r->relevant[kept - 1] != cell)) r->relevant[kept++] = cell;
    }
    r->relevant_count = kept;
    return left_out;
}

static size_t take_cells(struct ranks *r)
{
    const struct ratings *all = &r->mf->ratings;
    r->known = take_memory(all->train + 1, sizeof *r->known);
    r->relevant = take_memory(all->test + 1, sizeof *r->relevant);
    for (size_t i = 0; i < all->train + all->test; i++) {
        const struct rating *x = &all->list[i];
        if (x->row < r->first || x->row >= r->end) continue;
        uint64_t cell = (uint64_t)x->row << 32 | x->column;
        if (ratings_is_absent(all, x)) continue;
        if (i < all->train)
            r->known[r->known_count++] = cell;
        else if ((double)x->value >= all->mean)
            r->relevant[r->relevant_count++] = cell;
    }
    qsort(r->known, r->known_count, sizeof *r->known, ratings_compare);
    qsort(r->relevant, r->relevant_count, sizeof *r->relevant, ratings_compare);
    return leave_known_out(r);
}

static void take_factors(void *ranks, uint64_t row, size_t count, const float *values)
{
    struct ranks *r = ranks;
    memcpy(r->factors + (row - r->first) * r->length, values, count * r->length * sizeof *values);
}

/* Columns come in their order. */
static void offer(void *ranks, uint64_t column, size_t count, const float *values)
{
    struct ranks *r = ranks;
    const uint64_t *end = r->known + r->known_count;
    for (uint64_t row = r->first; row < r->end; row++) {
        size_t own = row - r->first;
        const uint64_t *asked = ratings_of_row(r->relevant, r->relevant_count, row);
        if (asked == r->relevant + r->relevant_count || *asked >> 32 != row) continue;
        for (size_t i = 0; i < count; i++) {
            uint64_t cell = row << 32 | (column + i), **at = &r->known_at[own];
            while (*at < end && **at < cell) ++*at;
            if (*at < end && **at == cell) continue;
            top_offer(r->best + own * r->k, &r->best_count[own], r->k, (uint32_t)(column + i),
                      mf_predict(r->mf, r->factors + own * r->length, values + i * r->length));
        }
    }
}

static void judge(struct ranks *r, double *sums)
{
    const uint64_t *end = r->relevant + r->relevant_count;
    for (const uint64_t *of_row = r->relevant, *next; of_row < end; of_row = next) {
        uint64_t row = *of_row >> 32;
        double gain = 0, most = 0, hits = 0;
        for (next = of_row; next < end && *next >> 32 == row;) next++;
        size_t own = row - r->first;
        for (size_t i = 0; i < r->k; i++) {
            double share = 1 / log2(2 + (double)i);
            uint64_t cell = row << 32 | r->best[own * r->k + i].number;
            if (i < (size_t)(next - of_row)) most += share;
            if (i >= r->best_count[own] ||
                !bsearch(&cell, of_row, (size_t)(next - of_row), sizeof cell, ratings_compare))
                continue;
            gain += share;
            hits++;
        }
        sums[0] += hits / (double)r->k;
        sums[1] += gain / most;
        sums[2]++;
    }
}

struct ranking ranking_of_test(const struct mf *f, struct pool_member *m, size_t k)
{
    struct ranks r = {.mf = f, .k = k, .length = m->pool->tables[MF_ROWS].length};
    double sums[4] = {0};
    pool_quiesce(m);
    pool_share(f->ratings.rows, m->place, m->total, &r.first, &r.end);
    size_t rows = (size_t)(r.end - r.first);
    sums[3] = (double)take_cells(&r);
    r.factors = take_memory(rows * r.length + 1, sizeof *r.factors);
    r.known_at = take_memory(rows + 1, sizeof *r.known_at);
    r.best = take_memory(rows * k + 1, sizeof *r.best);
    r.best_count = take_memory(rows + 1, sizeof *r.best_count);
    for (size_t i = 0; i < rows; i++)
        r.known_at[i] = ratings_of_row(r.known, r.known_count, r.first + i);
    rows_visit_blocks(m, MF_ROWS, r.first, r.end, TOGETHER, take_factors, &r);
    rows_visit_blocks(m, MF_COLS, 0, f->ratings.columns, TOGETHER, offer, &r);
    judge(&r, sums);
    free(r.known);
    free(r.relevant);
    free(r.factors);
    free(r.known_at);
    free(r.best);
    free(r.best_count);
    pool_sum(m, sums, 4);
    return (struct ranking){
        .precision = sums[0] / sums[2], .ndcg = sums[1] / sums[2], .left_out = sums[3]};
}

/* ---- the errors of the cells held back ---- */

/* Adds squared and absolute errors. */
static void add_errors(const struct mf *f, struct params *p, const struct rating *cells,
                       size_t count, double *sums)
{
    locus_key keys[2 * TOGETHER];
    const float *rows[2 * TOGETHER];
    if (count == 0) return;
    for (size_t i = 0; i < count; i++) {
        keys[2 * i] = mf_row_key(cells[i].row);
        keys[2 * i + 1] = mf_column_key(f, cells[i].column);
    }
    params_read(p, keys, 2 * count, rows);
    for (size_t i = 0; i < count; i++) {
        double error = (double)mf_predict(f, rows[2 * i], rows[2 * i + 1]) - (double)cells[i].value;
        sums[0] += error * error;
        sums[1] += fabs(error);
    }
    params_release(p);
}

struct rmse rmse_of_test(const struct mf *f, struct pool_member *m)
{
    double sums[2] = {0};
    const struct rating *test = f->ratings.list + f->ratings.train;
    struct params p;
    uint64_t first, end;
    pool_quiesce(m);
    pool_share(f->ratings.test, m->place, m->total, &first, &end);
    params_open(&p, m, (size_t)2 * TOGETHER, 2 * TOGETHER * mf_row_floats(f));
    for (uint64_t at = first; at < end; at += TOGETHER)
        add_errors(f, &p, test + at, end - at < TOGETHER ? (size_t)(end - at) : TOGETHER, sums);
    params_close(&p);
    pool_sum(m, sums, 2);
    return (struct rmse){.rmse = sqrt(sums[0] / (double)f->ratings.test),
                         .mae = sums[1] / (double)f->ratings.test};
}
