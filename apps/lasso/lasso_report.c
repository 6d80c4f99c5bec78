#include "lasso_report.h"

#include "json.h"
#include "run_log.h"

#include <inttypes.h>
#include <stdio.h>

static double objective(const struct lasso *l, const struct lasso_progress *p)
{
    return p->objective * l->columns.unit * l->columns.unit;
}

static void write_event(const struct lasso *l, const struct lasso_progress *p, const char *event)
{
    struct json j;
    json_begin(&j, event);
    json_count(&j, "step", p->step + 1);
    json_number(&j, "lambda", p->lambda * l->columns.unit);
    json_number(&j, "lambda_ratio", p->lambda / l->largest);
    json_number(&j, "objective", objective(l, p));
    json_count(&j, "nonzero", (uint64_t)p->nonzero);
    json_count(&j, "rounds", p->rounds);
    json_count(&j, "updates", p->updates);
    json_number(&j, "seconds", p->seconds);
    json_count(&j, "converged", p->is_converged);
    json_end(&j);
}

void lasso_report_progress(const struct lasso *l, const struct lasso_progress *p)
{
    if (l->options.common.json) write_event(l, p, "progress");
}

void lasso_report_step(const struct lasso *l, const struct lasso_progress *p)
{
    run_log_point("Objective", objective(l, p));
    run_log_point("Coefficients that are not 0", p->nonzero);
    if (l->options.common.json) {
        write_event(l, p, "lambda");
        return;
    }
    printf("lambda %-12.6g  objective %-12.9g  %6.0f coefficients   %8" PRIu64 " rounds  %10" PRIu64
           " updates  %7.2f s%s\n",
           p->lambda * l->columns.unit, objective(l, p), p->nonzero, p->rounds, p->updates,
           p->seconds, p->is_converged ? "" : "   not converged");
    fflush(stdout);
}

void lasso_report_waits(const struct lasso *l, double schedule, double others)
{
    if (l->options.common.json) {
        struct json j;
        json_begin(&j, "waits");
        json_number(&j, "schedule", schedule);
        json_number(&j, "others", others);
        json_end(&j);
    } else {
        printf("workers waited %.1f %% of the time for schedules, %.1f %% for each other\n",
               100 * schedule, 100 * others);
        fflush(stdout);
    }
}
