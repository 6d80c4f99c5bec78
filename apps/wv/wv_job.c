#include "wv_job.h"

#include "digest.h"
#include "fail.h"
#include "pace.h"
#include "lines.h"
#include "run_log.h"
#include "wv_options.h"
#include "wv_report.h"
#include "wv_train.h"

#include <stdlib.h>

/* Of the data. */
static uint64_t digest(const struct wv *w)
{
    const struct wv_options *o = &w->options;
    uint64_t parts[] = {vocabulary_digest(&w->vocabulary),
                        o->analogies ? lines_digest(o->analogies, DIGEST_FIRST) : 0,
                        o->similarity ? lines_digest(o->similarity, DIGEST_FIRST) : 0};
    return digest_add(DIGEST_FIRST, parts, sizeof parts);
}

static void open_pool(struct pool *pool, const struct wv *w)
{
    const struct wv_options *o = &w->options;
    struct locus_table tables[] = {
        [WV_INPUTS] = {.name = "inputs",
                       .rows = w->vocabulary.words.count,
                       .length = (uint32_t)wv_length(w)},
        [WV_OUTPUTS] = {.name = "outputs",
                        .rows = w->vocabulary.words.count,
                        .length = (uint32_t)wv_length(w)},
    };
    settings_open_pool(&o->common, pool, tables, sizeof tables / sizeof *tables, digest(w));
}

static void open_negatives(struct wv *w, const struct pool *pool)
{
    uint32_t words = w->vocabulary.words.count;
    double *weights = vocabulary_weights(&w->vocabulary);
    if (pace_signals_ahead(pool)) {
        must(locus_distribution_weighted(pool->node, wv_output_key(w, 0), weights, words,
                                         (enum locus_conformity)w->options.common.sampling, 0,
                                         &w->distribution),
             "registering the negative samples");
        must(locus_distribution_seed(w->distribution, w->options.common.seed),
             "seeding the negative samples");
    } else {
        noise_init(&w->noise, weights, words);
    }
    free(weights);
}

int wv_job(int argc, char **argv)
{
    struct wv *wv = take_memory(1, sizeof *wv);
    struct wv_training *training = take_memory(1, sizeof *training);
    struct pool pool;
    fail_set_program("locus-wv");
    wv_options(&wv->options, argc, argv);
    vocabulary_load(&wv->vocabulary, wv->options.common.data, wv->options.min_count);
    open_pool(&pool, wv);
    if (pool.rank == 0) settings_check_files(&wv->options.common);
    if (pool.rank == 0) wv_report_start(wv, &pool);
    open_negatives(wv, &pool);
    wv_training_init(training, wv, &pool);
    pool_run(&pool, wv_work, training);
    wv_training_fini(training);
    locus_distribution_free(wv->distribution);
    noise_fini(&wv->noise);
    pool_close(&pool);
    run_log_close();
    vocabulary_fini(&wv->vocabulary);
    free(wv);
    free(training);
    return fail_unless_printed();
}
