#include "lasso_job.h"

#include "descent.h"
#include "descent_rows.h"
#include "fail.h"
#include "lasso_loss.h"
#include "lasso_options.h"
#include "lasso_report.h"
#include "path.h"
#include "planted.h"
#include "run_log.h"

#include <math.h>
#include <stdlib.h>

static enum locus_order order_of(int order)
{
    switch (order) {
    case LASSO_ROUND_ROBIN: return LOCUS_ROUND_ROBIN;
    case LASSO_RANDOM: return LOCUS_OWN_ORDER;
    default: return LOCUS_PRIORITY;
    }
}

/* Eta is what a coefficient at rest weighs beside one that changes: as much as a change of which
 * all coefficients together make up a hundred-thousandth of the response's norm. More of it makes
 * the order round robin's as soon as changes are small; what is at rest has its turns besides. */
static void plan(struct lasso *l, unsigned workers)
{
    const struct lasso_options *o = &l->options;
    struct locus_scheduler_config *c = &l->schedule;
    locus_scheduler_config_init(c);
    c->schedule.order = order_of(o->order);
    c->schedule.variables = l->columns.count;
    c->schedule.workers = workers;
    c->schedule.width = (unsigned)o->width;
    c->schedule.window = 1 + (unsigned)o->staleness;
    c->schedule.eta = 1e-5 * sqrt(l->columns.response_squares / l->columns.count) + 1e-30;
    c->schedule.seed = o->common.seed;
    c->schedulers = (unsigned)o->schedulers;
    c->depth = (unsigned)o->depth;
    c->figures = ROUNDS_FIGURES;
    c->extra = ROUNDS_EXTRA;
    c->first = l->columns.count;
    c->variable_key = 0;
}

static struct settings_digest digest(const struct lasso *l)
{
    return (struct settings_digest){columns_digest(&l->columns), 0};
}

static void open_pool(struct pool *pool, struct lasso *l)
{
    const struct lasso_options *o = &l->options;
    struct locus_table tables[LASSO_TABLES] = {
        [LASSO_COEFFICIENTS] = {.name = "coefficients", .rows = l->columns.count, .length = 1}};
    plan(l, 1); /* the mailboxes are the same for any number of workers */
    must(locus_scheduler_tables(&l->schedule, tables + LASSO_MAILBOXES), "making mailboxes");
    tables[LASSO_PATH] = path_table(l);
    descent_rows_tables(l, &tables[LASSO_TURNS], &tables[LASSO_LOSSES]);
    size_t count = o->common.checkpoints.folder ? LASSO_TABLES : LASSO_TURNS;
    settings_open_pool(&o->common, pool, tables, count, digest(l));
    plan(l, pool->workers * (unsigned)pool->size);
}

static void load(struct lasso *l)
{
    const struct lasso_options *o = &l->options;
    if (o->common.data) {
        columns_load(&l->columns, o->common.data, o->response);
    } else {
        planted_make(&l->columns, o->generate, o->common.seed);
    }
    lasso_loss_prepare(l);
    if (l->columns.largest <= 0)
        fail("%s: no column has anything in common with the response, which is all constant or "
             "orthogonal: there is nothing to learn",
             o->common.data ? o->common.data : "--generate");
    if (o->schedulers > l->columns.count)
        fail_usage("--schedulers is %llu: more than the %u columns",
                   (unsigned long long)o->schedulers, l->columns.count);
}

int lasso_job(int argc, char **argv)
{
    struct lasso *lasso = take_memory(1, sizeof *lasso);
    struct descent_here *here = take_memory(1, sizeof *here);
    struct pool pool;
    fail_set_program("locus-lasso");
    lasso_options(&lasso->options, argc, argv);
    load(lasso);
    open_pool(&pool, lasso);
    if (pool.rank == 0) settings_check_files(&lasso->options.common);
    if (pool.rank == 0) lasso_report_start(lasso, &pool);
    here->lasso = lasso;
    const struct settings *s = &lasso->options.common;
    /* Passes, whose number nobody knows beforehand. */
    checkpoints_init(&here->checkpoints, &s->checkpoints, UINT64_MAX, 1, s->json);
    meter_init(&here->meter, pool.rank == 0);
    pool_run(&pool, descent_work, here);
    pool_close(&pool);
    run_log_close();
    columns_fini(&lasso->columns);
    free(lasso);
    free(here);
    return fail_unless_printed();
}
