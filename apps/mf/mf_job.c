#include "mf_job.h"

#include "fail.h"
#include "mf_options.h"
#include "mf_report.h"
#include "mf_train.h"
#include "run_log.h"
#include "zipf.h"

#include <stdlib.h>

static void load(struct mf *f)
{
    const struct mf_options *o = &f->options;
    ratings_init(&f->ratings);
    if (o->common.data) {
        ratings_load(&f->ratings, o->common.data, o->test, o->held_back, o->common.seed,
                     (unsigned)o->common.workers);
    } else {
        struct zipf z = {.exponent = o->zipf_exponent,
                         .rank = o->zipf_rank,
                         .noise = o->zipf_noise,
                         .seed = o->common.seed};
        zipf_parse(&z, o->zipf);
        zipf_generate(&z, &f->ratings);
        ratings_finish(&f->ratings, o->held_back, o->common.seed);
    }
}

static struct settings_digest digest(const struct mf *f)
{
    return (struct settings_digest){
        ratings_digest(&f->ratings, 0, f->ratings.train),
        ratings_digest(&f->ratings, f->ratings.train, f->ratings.train + f->ratings.test)};
}

static void open_pool(struct pool *pool, const struct mf *f)
{
    const struct mf_options *o = &f->options;
    uint32_t length = (uint32_t)mf_row_floats(f);
    struct locus_table tables[] = {
        [MF_ROWS] = {.name = "rows", .rows = f->ratings.rows, .length = length},
        [MF_COLS] = {.name = "columns", .rows = f->ratings.columns, .length = length},
    };
    settings_open_pool(&o->common, pool, tables, sizeof tables / sizeof *tables, digest(f));
}

int mf_job(int argc, char **argv)
{
    struct mf *mf = take_memory(1, sizeof *mf);
    struct mf_training *training = take_memory(1, sizeof *training);
    struct pool pool;
    fail_set_program("locus-mf");
    mf_options(&mf->options, argc, argv);
    load(mf);
    open_pool(&pool, mf);
    if (pool.rank == 0) settings_check_files(&mf->options.common);
    if (pool.rank == 0) mf_report_start(mf, &pool);
    if (pool.rank == 0 && mf->options.write) ratings_write(&mf->ratings, mf->options.write);
    training->mf = mf;
    const struct settings *s = &mf->options.common;
    checkpoints_init(&training->checkpoints, &s->checkpoints, s->epochs, 1, s->json);
    meter_init(&training->meter, pool.rank == 0);
    pool_run(&pool, mf_work, training);
    pool_close(&pool);
    run_log_close();
    ratings_fini(&mf->ratings);
    free(mf);
    free(training);
    return fail_unless_printed();
}
