/*
 * ctr.h - what the parts of ctr share: the options, where examples come from, and the keys.
 *
 * Wide & Deep (Cheng et al., 2016): an example's logit is the sum of its features' weights, plus
 * what dense layers make of its features' vectors, which are added up field by field. A feature is
 * one key: its row has the weight and the vector of --dim floats. The layers are rows that every
 * node keeps (dense.h).
 *
 * Callers   main() fills it in; workers read
 * Memory    the parts'
 * Waiting   never
 */
#ifndef CTR_CTR_H
#define CTR_CTR_H

#include "clicks.h"
#include "dense.h"
#include "settings.h"

enum ctr_table { CTR_FEATURES, CTR_LAYERS, CTR_SCORES, CTR_TABLES };
enum { CTR_HIDDEN_MAX = DENSE_LAYERS_MAX - 1, CTR_SCORES_OF_ROW = 256 };

struct ctr_options {
    struct settings common;
    const char *test, *weights, *write, *hidden;
    uint64_t dim, batch;
    double rate, regularization, init, held_back, validate;
};

struct ctr {
    struct ctr_options options;
    struct clicks clicks; /* to train with, behind them to test with, then to validate with */
    uint64_t train, test, validate, features;
    uint32_t fields; /* of an example */
    struct dense_plan plan;
};

/* As many entries as so many examples have at most; at least 1. */
static inline size_t ctr_entries(const struct ctr *c, size_t examples)
{
    size_t n = clicks_entries(&c->clicks, examples);
    return n > 0 ? n : 1;
}

/* A feature's parameters: its row. */
static inline size_t ctr_parameters(const struct ctr *c)
{
    return 1 + (size_t)c->options.dim;
}

static inline uint64_t ctr_score_rows(const struct ctr *c)
{
    return (c->test > c->validate ? c->test : c->validate) / CTR_SCORES_OF_ROW + 1;
}

#endif
