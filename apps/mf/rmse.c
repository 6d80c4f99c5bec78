#include "rmse.h"

#include "fail.h"
#include "meter.h"
#include "params.h"

#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 256 };

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
    double began = meter_now(), sums[2] = {0};
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
                         .mae = sums[1] / (double)f->ratings.test,
                         .seconds = meter_now() - began};
}
