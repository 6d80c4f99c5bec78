/*
 * task.h - what the parts of kge share: the options, the graph, the model, and which keys its rows
 * have.
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef KGE_TASK_H
#define KGE_TASK_H

#include "pool.h"
#include "graph.h"
#include "meter.h"
#include "model.h"
#include "settings.h"

struct options {
    struct settings common;
    int model, loss;
    uint64_t dim, negatives /* 0: all entities */, batch;
    double rate, regularization, init;
    bool is_reciprocal;
};

struct task {
    struct options options;
    struct graph graph;
    struct filter filter;
    struct model model;
    locus_distribution *distribution; /* of negative entities; NULL: none are the manager's */
};

/* Is a question's answer compared with all other entities, instead of with some? */
static inline bool task_takes_all(const struct task *t)
{
    return t->options.negatives == 0;
}

/* A fact a step, and sampled negatives: no product of matrices is worth its preparation. */
static inline bool task_is_single(const struct task *t)
{
    return t->options.batch == 1 && !task_takes_all(t);
}

/* With how many it is compared. */
static inline size_t task_others(const struct task *t)
{
    return task_takes_all(t) ? t->model.entities : (size_t)t->options.negatives;
}

/* Tables lie one after the other: entities, then relations. */
static inline locus_key task_entity_key(uint32_t entity)
{
    return entity;
}

static inline locus_key task_relation_key(const struct task *t, uint32_t row)
{
    return (locus_key)t->model.entities + row;
}

#endif
