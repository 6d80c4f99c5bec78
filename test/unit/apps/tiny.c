#include "tiny.h"

#include "rng.h"

#include <stdio.h>

void tiny_init(struct task *t)
{
    *t = (struct task){.options = {.dim = 6,
                                   .negatives = 4,
                                   .batch = 5,
                                   .rate = 0.1,
                                   .init = 0.5,
                                   .common = {.workers = 1, .seed = 3, .epochs = 2}}};
}

static void name_all(struct names *n, uint32_t count)
{
    char name[16];
    names_init(n);
    for (uint32_t i = 0; i < count; i++)
        names_add(n, name, (size_t)snprintf(name, sizeof name, "%u", i));
}

void tiny_finish(struct task *t)
{
    const struct options *o = &t->options;
    struct rng rng;
    rng_init(&rng, 77, 0);
    name_all(&t->graph.entities, TINY_ENTITIES);
    name_all(&t->graph.relations, TINY_RELATIONS);
    for (int split = 0; split < GRAPH_SPLITS; split++) {
        for (int i = 0; i < (split == GRAPH_TRAIN ? TINY_TRAIN : TINY_HELD_BACK); i++)
            facts_add(&t->graph.splits[split],
                      (struct fact){(uint32_t)rng_below(&rng, TINY_ENTITIES),
                                    (uint32_t)rng_below(&rng, TINY_RELATIONS),
                                    (uint32_t)rng_below(&rng, TINY_ENTITIES)});
    }
    filter_init(&t->filter, &t->graph);
    t->model = (struct model){.kind = (enum model_kind)o->model,
                              .is_reciprocal = o->is_reciprocal,
                              .dim = o->dim,
                              .entities = TINY_ENTITIES,
                              .relations = TINY_RELATIONS};
}

void tiny_fini(struct task *t)
{
    filter_fini(&t->filter);
    graph_fini(&t->graph);
}

void tiny_pool(struct pool *pool, const struct task *t, bool is_baseline, unsigned workers)
{
    struct locus_table tables[] = {
        {.rows = t->model.entities,
         .length = (uint32_t)t->model.dim,
         .optimizer = LOCUS_ADAGRAD,
         .rule = {.rate = (float)t->options.rate}},
        {.rows = model_relation_rows(&t->model),
         .length = (uint32_t)model_relation_floats(&t->model),
         .optimizer = LOCUS_ADAGRAD,
         .rule = {.rate = (float)t->options.rate}},
    };
    pool_open(pool, &(struct pool_config){.tables = tables,
                                          .table_count = 2,
                                          .workers = workers,
                                          .is_baseline = is_baseline});
}
