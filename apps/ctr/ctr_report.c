#include "ctr_report.h"

#include "json.h"
#include "run_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void ctr_report_start(const struct ctr *c, const struct pool *pool)
{
    const struct ctr_options *o = &c->options;
    if (o->common.json) return;
    printf("%s: %" PRIu64 " features in %" PRIu32 " field%s; %" PRIu64
           " examples to train with, %" PRIu64 " to validate with, %" PRIu64 " to test with\n",
           ctr_source(c), c->features, c->fields, c->fields == 1 ? "" : "s", c->train, c->validate,
           c->test);
    printf("vectors of %" PRIu64 ", layers of %s, %" PRIu64
           " dense weights; AdaGrad, rate %g, batches of %" PRIu64 "\n",
           o->dim, o->hidden, dense_plan_weights(&c->plan), o->rate, o->batch);
    settings_show_pool(&o->common, pool, false);
}

void ctr_report_epoch(const struct ctr *c, uint64_t number, const struct ctr_epoch *e)
{
    double loss = e->examples > 0 ? e->loss / e->examples : 0;
    run_log_point("Log loss of an example", loss);
    run_log_point("Examples trained a second", e->examples / e->seconds);
    if (!c->options.common.json) {
        printf("epoch %3" PRIu64 "   log loss %8.5f   %7.2f s   %9.0f examples/s\n", number, loss,
               e->seconds, e->examples / e->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->examples / e->seconds);
    json_number(&j, "loss", loss);
    json_end(&j);
}

/* A dash where there is none: all examples are clicks, or none is. */
static void print_figure(const char *name, int digits, double value)
{
    printf("   %s ", name);
    if (isnan(value))
        printf("-");
    else
        printf("%.*f", digits, value);
}

static void print_quality(const char *split, uint64_t epoch, const struct ctr_quality *q)
{
    printf("%-7s     log loss %8.5f", split, q->log_loss);
    print_figure("AUC", 5, q->auc);
    print_figure("calibration", 3, q->calibration);
    print_figure("error", 4, q->calibration_error);
    if (epoch > 0) printf("   epoch %" PRIu64, epoch);
    if (q->seconds > 0) printf("   (%.1f s)", q->seconds);
    printf("\n");
    fflush(stdout);
}

void ctr_report_quality(const struct ctr *c, const char *split, uint64_t epoch,
                        const struct ctr_quality *q)
{
    struct json j;
    if (!c->options.common.json) {
        print_quality(split, epoch, q);
        return;
    }
    json_begin(&j, "eval");
    json_text(&j, "split", split);
    if (epoch > 0) json_count(&j, "epoch", epoch);
    json_number(&j, "auc", q->auc);
    json_number(&j, "log_loss", q->log_loss);
    json_number(&j, "calibration", q->calibration);
    json_number(&j, "calibration_error", q->calibration_error);
    json_number(&j, "seconds", q->seconds);
    json_end(&j);
}

void ctr_report_best(const struct ctr *c, uint64_t epoch)
{
    struct json j;
    if (!c->options.common.json) {
        printf("the model is that of epoch %" PRIu64 ", which was validated best\n", epoch);
        return;
    }
    json_begin(&j, "best");
    json_count(&j, "epoch", epoch);
    json_end(&j);
}
