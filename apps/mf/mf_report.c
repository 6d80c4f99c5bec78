#include "mf_report.h"

#include "fail.h"
#include "json.h"
#include "run_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void mf_report_start(const struct mf *f, const struct pool *pool)
{
    const struct mf_options *o = &f->options;
    if (f->ratings.unknown > 0)
        fprintf(stderr,
                "%s: %zu of the %zu cells of %s have a row or a column without any to train "
                "with\n",
                fail_program(), f->ratings.unknown, f->ratings.test, o->test);
    if (f->ratings.is_tested_again)
        fprintf(stderr, "%s: %s has the cells to train with: its error is not that of new ones\n",
                fail_program(), o->test);
    if (o->common.json) return;
    printf("%s: %u rows, %u columns; %zu cells to train with, %zu to test with; mean %.4f\n",
           mf_source(f), f->ratings.rows, f->ratings.columns, f->ratings.train, f->ratings.test,
           f->ratings.mean);
    if (o->method == MF_COORDINATES)
        printf("rank %" PRIu64 "; coordinate descent, regularization %g\n", o->rank,
               o->regularization);
    else
        printf("rank %" PRIu64 "%s; AdaGrad%s, rate %g, regularization %g; %s\n", o->rank,
               o->has_bias ? " and biases" : "", o->adagrad == MF_BY_ROW ? " by row" : "", o->rate,
               o->regularization,
               o->visit == MF_BLOCKS ? "blocks of columns from worker to worker"
                                     : "column by column");
    settings_show_pool(&o->common, pool, false);
}

void mf_report_epoch(const struct mf *f, uint64_t number, const struct mf_epoch *e)
{
    double loss = e->cells > 0 ? e->squares / e->cells : 0;
    run_log_point("RMSE of the cells trained with", sqrt(loss));
    run_log_point("Cells trained a second", e->cells / e->seconds);
    if (!f->options.common.json) {
        printf("epoch %3" PRIu64 "   RMSE %8.4f   %7.2f s   %9.0f cells/s", number, sqrt(loss),
               e->seconds, e->cells / e->seconds);
        if (e->objective > 0) printf("   objective %.9g", e->objective);
        printf("\n");
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->cells / e->seconds);
    json_number(&j, "loss", loss);
    if (e->objective > 0) json_number(&j, "objective", e->objective);
    json_end(&j);
}

void mf_report_test(const struct mf *f, const struct rmse *r)
{
    run_log_point("RMSE of the test cells", r->rmse);
    if (!f->options.common.json) {
        printf("test        RMSE %8.4f   (%.1f s)\n", r->rmse, r->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_text(&j, "split", "test");
    json_number(&j, "rmse", r->rmse);
    json_number(&j, "seconds", r->seconds);
    json_end(&j);
}
