#include "kge_job.h"

#include "digest.h"
#include "fail.h"
#include "pace.h"
#include "options.h"
#include "plant.h"
#include "report.h"
#include "run_log.h"
#include "saving.h"
#include "train.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void load(struct task *t)
{
    const struct options *o = &t->options;
    if (o->planted) {
        struct plant p = {.seed = o->common.seed};
        plant_parse(&p, o->planted);
        plant_generate(&p, &t->graph);
    } else {
        graph_load(&t->graph, o->common.data, o->common.seed);
    }
    filter_init(&t->filter, &t->graph);
    t->model = (struct model){.kind = (enum model_kind)o->model,
                              .is_reciprocal = o->is_reciprocal,
                              .dim = o->dim,
                              .entities = t->graph.entities.count,
                              .relations = t->graph.relations.count};
}

/* Of what must be equal on all nodes, besides the settings. */
static uint64_t digest(const struct task *t)
{
    const struct options *o = &t->options;
    double numbers[] = {o->model,
                        (double)o->dim,
                        (double)o->negatives,
                        (double)o->batch,
                        o->rate,
                        o->regularization,
                        o->init,
                        o->loss,
                        o->is_reciprocal,
                        o->has_own_negatives};
    return digest_add(graph_digest(&t->graph), numbers, sizeof numbers);
}

static void open_pool(struct pool *pool, const struct task *t)
{
    const struct options *o = &t->options;
    struct locus_table tables[] = {
        {.name = "entities", .rows = t->model.entities, .length = (uint32_t)(2 * t->model.dim)},
        {.name = "relations",
         .rows = model_relation_rows(&t->model),
         .length = (uint32_t)(2 * model_relation_floats(&t->model))},
    };
    settings_open_pool(&o->common, pool, tables, sizeof tables / sizeof *tables, digest(t));
}

/* Negative samples are drawn among all entities alike. */
static void open_distribution(struct task *t, const struct pool *pool)
{
    if (!pace_signals_ahead(pool)) return;
    must(locus_distribution_uniform(pool->node, 0, t->model.entities,
                                    (enum locus_conformity)t->options.common.sampling, 0,
                                    &t->distribution),
         "registering the negative samples");
    must(locus_distribution_seed(t->distribution, t->options.common.seed),
         "seeding the negative samples");
}

enum { FILES_MAX = 8 }; /* of WordNet's */

static void check_files(const struct options *o)
{
    static char paths[FILES_MAX][PATH_MAX];
    const char *outputs[] = {o->common.out, o->common.report, o->chart}, *inputs[FILES_MAX];
    unsigned count = 0;
    for (; !o->planted && count < FILES_MAX && graph_file(o->common.data, count, paths[count]);
         count++)
        inputs[count] = paths[count];
    saving_check(outputs, sizeof outputs / sizeof *outputs, inputs, count);
}

int kge_job(int argc, char **argv)
{
    struct task *task = take_memory(1, sizeof *task);
    struct pool pool;
    struct training training;
    fail_set_program("locus-kge");
    kge_options(&task->options, argc, argv);
    load(task);
    open_pool(&pool, task);
    if (pool.rank == 0) check_files(&task->options);
    if (pool.rank == 0) report_start(task, &pool);
    open_distribution(task, &pool);
    training_init(&training, task, &pool);
    pool_run(&pool, train_work, &training);
    training_fini(&training);
    locus_distribution_free(task->distribution);
    pool_close(&pool);
    run_log_close();
    filter_fini(&task->filter);
    graph_fini(&task->graph);
    free(task);
    return fail_unless_printed();
}
