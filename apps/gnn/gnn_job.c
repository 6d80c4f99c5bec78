#include "gnn_job.h"

#include "best.h"
#include "digest.h"
#include "fail.h"
#include "gnn_options.h"
#include "gnn_report.h"
#include "gnn_train.h"
#include "partition.h"
#include "planted.h"
#include "run_log.h"

#include <stdlib.h>

static void load(struct gnn *g)
{
    const struct gnn_options *o = &g->options;
    network_init(&g->network);
    labels_init(&g->labels);
    if (o->planted) {
        struct planted p = {
            .exponent = o->planted_exponent, .same = o->planted_same, .seed = o->common.seed};
        planted_parse(&p, o->planted);
        planted_generate(&p, &g->network, &g->labels);
    } else {
        network_load(&g->network, o->common.data);
        labels_load(&g->labels, &g->network, o->labels);
    }
    network_finish(&g->network);
    labels_reserve(&g->labels, g->network.nodes);
    if (o->split)
        labels_split_by_file(&g->labels, &g->network, o->split);
    else
        labels_split(&g->labels, o->train, o->validate, o->common.seed);
    if (o->features) features_load(&g->features, &g->network, o->features);
}

static void plan(struct gnn *g)
{
    const struct gnn_options *o = &g->options;
    dense_plan_of_length(&g->plan, 2 * gnn_width(g));
    if (!gnn_has_features(g)) dense_plan_add(&g->plan, o->dim, o->hidden, true);
    dense_plan_add(&g->plan, o->hidden, g->labels.classes, false);
}

static struct settings_digest digest(const struct gnn *g)
{
    uint64_t parts[] = {network_digest(&g->network), labels_digest(&g->labels, false),
                        features_digest(&g->features), gnn_has_features(g)};
    return (struct settings_digest){digest_add(DIGEST_FIRST, parts, sizeof parts),
                                    labels_digest(&g->labels, true)};
}

static void open_pool(struct pool *pool, const struct gnn *g)
{
    struct locus_table tables[GNN_TABLES] = {
        [GNN_INPUTS] = {.name = gnn_has_features(g) ? "features" : "nodes",
                        .rows = gnn_inputs(g),
                        .length = (uint32_t)(2 * gnn_width(g))},
        [GNN_DENSE] = {.name = "dense", .rows = g->plan.rows, .length = g->plan.length},
    };
    tables[GNN_BEST_INPUTS] = best_table(&tables[GNN_INPUTS], "best inputs", gnn_width(g));
    tables[GNN_BEST_DENSE] = best_table(&tables[GNN_DENSE], "best dense", g->plan.length / 2);
    size_t count = gnn_chooses(g) ? GNN_TABLES : GNN_BEST_INPUTS;
    settings_open_pool(&g->options.common, pool, tables, count, digest(g));
}

static void cut(struct gnn *g, const struct pool *pool)
{
    g->part_of = take_memory(g->network.nodes, sizeof *g->part_of);
    partition_cut((enum partition_kind)g->options.partition, &g->network, &g->labels,
                  (uint32_t)pool->size, g->options.common.seed, g->part_of);
}

static void release(struct gnn *g)
{
    network_fini(&g->network);
    labels_fini(&g->labels);
    features_fini(&g->features);
    free(g->part_of);
    free(g);
}

int gnn_job(int argc, char **argv)
{
    struct gnn *gnn = take_memory(1, sizeof *gnn);
    struct gnn_training *training = take_memory(1, sizeof *training);
    struct pool pool;
    fail_set_program("locus-gnn");
    gnn_options(&gnn->options, argc, argv);
    load(gnn);
    plan(gnn);
    open_pool(&pool, gnn);
    if (pool.rank == 0) settings_check_files(&gnn->options.common);
    cut(gnn, &pool);
    if (pool.rank == 0) gnn_report_start(gnn, &pool);
    training->gnn = gnn;
    const struct settings *s = &gnn->options.common;
    checkpoints_init(&training->checkpoints, &s->checkpoints, s->epochs, 1, s->json);
    meter_init(&training->meter, pool.rank == 0);
    pool_run(&pool, gnn_work, training);
    pool_close(&pool);
    run_log_close();
    release(gnn);
    free(training);
    return fail_unless_printed();
}
