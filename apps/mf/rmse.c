#include "rmse.h"

#include "fail.h"
#include "meter.h"
#include "params.h"

#include <math.h>
#include <stdlib.h>

enum { TOGETHER = 256 };

static double squares_of(const struct mf *f, struct params *p, const struct rating *cells,
                         size_t count)
{
    locus_key keys[2 * TOGETHER];
    const float *rows[2 * TOGETHER];
    double squares = 0;
    if (count == 0) return 0;
    for (size_t i = 0; i < count; i++) {
        keys[2 * i] = mf_row_key(cells[i].row);
        keys[2 * i + 1] = mf_column_key(f, cells[i].column);
    }
    params_read(p, keys, 2 * count, rows);
    for (size_t i = 0; i < count; i++) {
        double error = (double)mf_predict(f, rows[2 * i], rows[2 * i + 1]) - (double)cells[i].value;
        squares += error * error;
    }
    params_release(p);
    return squares;
}

struct rmse rmse_of_test(const struct mf *f, struct pool_member *m)
{
    double began = meter_now(), sums[1] = {0};
    const struct rating *test = f->ratings.list + f->ratings.train;
    struct params p;
    uint64_t first, end;
    pool_quiesce(m);
    pool_share(f->ratings.test, m->place, m->total, &first, &end);
    params_open(&p, m, (size_t)2 * TOGETHER, 2 * TOGETHER * mf_row_floats(f));
    for (uint64_t at = first; at < end; at += TOGETHER)
        sums[0] +=
            squares_of(f, &p, test + at, end - at < TOGETHER ? (size_t)(end - at) : TOGETHER);
    params_close(&p);
    pool_sum(m, sums, 1);
    return (struct rmse){.rmse = sqrt(sums[0] / (double)f->ratings.test),
                         .seconds = meter_now() - began};
}
