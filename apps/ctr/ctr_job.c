#include "ctr_job.h"

#include "best.h"
#include "ctr_options.h"
#include "ctr_report.h"
#include "ctr_train.h"
#include "digest.h"
#include "fail.h"
#include "run_log.h"

#include <stdlib.h>

/* The data to test with give features, too. */
static struct settings_digest digest(const struct ctr *c)
{
    uint64_t parts[] = {c->planted ? 0 : clicks_digest(&c->clicks), c->train, c->test, c->fields};
    return (struct settings_digest){digest_add(DIGEST_FIRST, parts, sizeof parts), 0};
}

static void open_pool(struct pool *pool, const struct ctr *c)
{
    struct locus_table tables[CTR_TABLES] = {
        [CTR_FEATURES] = {.name = "features",
                          .rows = c->features,
                          .length = 2 * (uint32_t)ctr_parameters(c)},
        [CTR_LAYERS] = {.name = "layers", .rows = c->plan.rows, .length = c->plan.length},
        [CTR_SCORES] = {.name = "scores", .rows = ctr_score_rows(c), .length = CTR_SCORES_OF_ROW},
    };
    tables[CTR_BEST_FEATURES] =
        best_table(&tables[CTR_FEATURES], "best features", ctr_parameters(c));
    tables[CTR_BEST_LAYERS] = best_table(&tables[CTR_LAYERS], "best layers", c->plan.length / 2);
    size_t count = c->validate > 0 ? CTR_TABLES : CTR_BEST_FEATURES;
    settings_open_pool(&c->options.common, pool, tables, count, digest(c));
}

int ctr_job(int argc, char **argv)
{
    struct ctr *ctr = take_memory(1, sizeof *ctr);
    struct ctr_training *training = take_memory(1, sizeof *training);
    struct pool pool;
    fail_set_program("locus-ctr");
    ctr_options(&ctr->options, argc, argv);
    ctr_load(ctr);
    open_pool(&pool, ctr);
    if (pool.rank == 0) settings_check_files(&ctr->options.common);
    if (pool.rank == 0) ctr_report_start(ctr, &pool);
    if (pool.rank == 0 && ctr->planted && ctr->test > 0) {
        struct ctr_quality q = ctr_quality_planted(ctr);
        ctr_report_quality(ctr, "planted", 0, &q);
    }
    training->ctr = ctr;
    const struct settings *s = &ctr->options.common;
    checkpoints_init(&training->checkpoints, &s->checkpoints, s->epochs, 1, s->json);
    meter_init(&training->meter, pool.rank == 0);
    pool_run(&pool, ctr_work, training);
    pool_close(&pool);
    run_log_close();
    ctr_unload(ctr);
    free(ctr);
    free(training);
    return fail_unless_printed();
}
