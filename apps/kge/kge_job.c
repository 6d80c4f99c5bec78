#include "kge_job.h"

#include "fail.h"
#include "pace.h"
#include "options.h"
#include "plant.h"
#include "report.h"
#include "run_log.h"
#include "train.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the folder; or WordNet's. */
static void name_files(struct options *o)
{
    static char paths[SETTINGS_INPUTS][PATH_MAX];
    for (unsigned i = 0; i < SETTINGS_INPUTS && graph_file(o->common.data, i, paths[i]); i++)
        o->common.inputs[i] = paths[i];
}

static void load(struct task *t)
{
    struct options *o = &t->options;
    if (o->planted) {
        struct plant p = {.seed = o->common.seed};
        plant_parse(&p, o->planted);
        plant_generate(&p, &t->graph);
    } else {
        graph_load(&t->graph, o->common.data, o->common.seed);
        name_files(o);
    }
    filter_init(&t->filter, &t->graph);
    t->model = (struct model){.kind = (enum model_kind)o->model,
                              .is_reciprocal = o->is_reciprocal,
                              .dim = o->dim,
                              .entities = t->graph.entities.count,
                              .relations = t->graph.relations.count};
}

static struct settings_digest digest(const struct task *t)
{
    return (struct settings_digest){graph_digest(&t->graph, GRAPH_TRAIN, GRAPH_VALID),
                                    graph_digest(&t->graph, GRAPH_VALID, GRAPH_SPLITS)};
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

int kge_job(int argc, char **argv)
{
    struct task *task = take_memory(1, sizeof *task);
    struct pool pool;
    struct training training;
    fail_set_program("locus-kge");
    kge_options(&task->options, argc, argv);
    load(task);
    open_pool(&pool, task);
    if (pool.rank == 0) settings_check_files(&task->options.common);
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
