#include "lda_job.h"

#include "fail.h"
#include "lda_options.h"
#include "lda_report.h"
#include "lda_train.h"
#include "run_log.h"
#include "topic_rows.h"

#include <stdlib.h>

/* Of the data. */
static struct settings_digest digest(const struct lda *l)
{
    return (struct settings_digest){corpus_digest(&l->corpus),
                                    l->options.test ? corpus_digest(&l->test) : 0};
}

static void open_pool(struct pool *pool, const struct lda *l)
{
    const struct lda_options *o = &l->options;
    uint32_t length = (uint32_t)o->topics;
    uint64_t topic_rows = topic_rows_count(l);
    struct locus_table tables[LDA_TABLES] = {
        [LDA_WORDS] = {.name = "words", .rows = l->corpus.words, .length = length},
        [LDA_TOTALS] = {.name = "totals", .rows = LDA_TOTAL_ROWS, .length = length},
        [LDA_TOKENS] = {.name = "tokens", .rows = topic_rows, .length = length},
        [LDA_ORDERS] = {.name = "orders", .rows = topic_rows, .length = length},
    };
    size_t count = o->common.checkpoints.folder ? LDA_TABLES : LDA_TOKENS;
    settings_open_pool(&o->common, pool, tables, count, digest(l));
}

static void load(struct lda *l)
{
    const struct lda_options *o = &l->options;
    if (o->common.data) {
        corpus_load(&l->corpus, o->common.data, o->vocabulary);
    } else {
        corpus_generate(&l->corpus, o->generate, o->common.seed);
    }
    if (o->test) corpus_load_test(&l->test, o->test, &l->corpus);
}

int lda_job(int argc, char **argv)
{
    struct lda *lda = take_memory(1, sizeof *lda);
    struct lda_training *training = take_memory(1, sizeof *training);
    struct pool pool;
    fail_set_program("locus-lda");
    lda_options(&lda->options, argc, argv);
    load(lda);
    open_pool(&pool, lda);
    if (pool.rank == 0) settings_check_files(&lda->options.common);
    if (pool.rank == 0) lda_report_start(lda, &pool);
    training->lda = lda;
    const struct settings *s = &lda->options.common;
    checkpoints_init(&training->checkpoints, &s->checkpoints, s->epochs, 1, s->json);
    meter_init(&training->meter, pool.rank == 0);
    pool_run(&pool, lda_work, training);
    pool_close(&pool);
    run_log_close();
    corpus_fini(&lda->corpus);
    corpus_fini(&lda->test);
    free(lda);
    free(training);
    return fail_unless_printed();
}
