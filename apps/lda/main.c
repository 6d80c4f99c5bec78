/*
 * lda - topics of documents, by collapsed Gibbs sampling with blocks of words that rotate (STRADS,
 * Section 3.1).
 *
 * Read lda.h first (what all share), then lda_train.c (the loop), gibbs.c (a sweep), sampler.c (a
 * token) and shelf.h (a worker's documents).
 */
#include "digest.h"
#include "fail.h"
#include "lda_options.h"
#include "lda_report.h"
#include "lda_train.h"
#include "saving.h"

static uint64_t digest(const struct lda *l)
{
    const struct lda_options *o = &l->options;
    double numbers[] = {
        (double)o->topics, o->alpha,           o->beta,        o->held_back,
        o->visit,          (double)o->sampler, (double)o->top, (double)o->staleness};
    uint64_t sum = digest_add(corpus_digest(&l->corpus), numbers, sizeof numbers);
    uint64_t test = o->test ? corpus_digest(&l->test) : 0;
    return digest_add(sum, &test, sizeof test);
}

static void open_pool(struct pool *pool, const struct lda *l)
{
    const struct lda_options *o = &l->options;
    struct locus_table tables[] = {
        [LDA_WORDS] = {.name = "words", .rows = l->corpus.words, .length = (uint32_t)o->topics},
        [LDA_TOTALS] = {.name = "totals", .rows = LDA_TOTAL_ROWS, .length = (uint32_t)o->topics},
    };
    settings_open_pool(&o->common, pool, tables, sizeof tables / sizeof *tables, digest(l));
}

int main(int argc, char **argv)
{
    static struct lda lda;
    static struct lda_training training;
    struct pool pool;
    fail_set_program("lda");
    lda_options(&lda.options, argc, argv);
    if (lda.options.common.data) {
        corpus_load(&lda.corpus, lda.options.common.data, lda.options.vocabulary);
    } else {
        corpus_generate(&lda.corpus, lda.options.generate, lda.options.common.seed);
    }
    if (lda.options.test) corpus_load_test(&lda.test, lda.options.test, &lda.corpus);
    open_pool(&pool, &lda);
    if (pool.rank == 0) {
        const char *outputs[] = {lda.options.common.out, lda.options.picture};
        const char *inputs[] = {lda.options.common.data, lda.options.vocabulary, lda.options.test};
        saving_check(outputs, 2, inputs, 3);
        lda_report_start(&lda, &pool);
    }
    training.lda = &lda;
    meter_init(&training.meter, pool.rank == 0);
    pool_run(&pool, lda_work, &training);
    pool_close(&pool);
    corpus_fini(&lda.corpus);
    corpus_fini(&lda.test);
    return fail_unless_printed();
}
