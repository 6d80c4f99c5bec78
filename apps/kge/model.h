/*
 * model.h - the scoring functions: ComplEx (Trouillon et al., 2016), RESCAL (Nickel et al., 2011),
 * DistMult (Yang et al., 2015), TransE (Bordes et al., 2013) and RotatE (Sun et al., 2019).
 *
 * What is given (an entity and a relation) is made into a query vector. The score of an answer is
 * its dot product with the query; of TransE and RotatE minus its distance from the query, by the
 * Euclidean norm. |q - a|^2 is |q|^2 - 2 q'a + |a|^2, so all candidates of many queries are scored
 * by one matrix product.
 *
 *     ComplEx   re<s, r, conj o>    asked for objects: q = s r          for subjects: q = conj(r) o
 *     RESCAL    s' R o              asked for objects: q = R' s         for subjects: q = R o
 *     DistMult  <s, r, o>           asked for objects: q = s r          for subjects: q = r o
 *     TransE    -|s + r - o|        asked for objects: q = s + r        for subjects: q = o - r
 *     RotatE    -|s exp(ir) - o|    asked for objects: q = s exp(ir)    for subjects: q = o exp(-ir)
 *
 * With reciprocal relations (Lacroix et al., 2018) each relation has a second row, and a question
 * for subjects is one for objects of the second: q as in the first column.
 *
 * A row of an entity is `dim` floats; one of a relation model_relation_floats().
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef KGE_MODEL_H
#define KGE_MODEL_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_kind {
    MODEL_COMPLEX,
    MODEL_RESCAL,
    MODEL_DISTMULT,
    MODEL_TRANSE,
    MODEL_ROTATE,
    MODEL_KINDS
};
enum model_side { MODEL_OBJECTS, MODEL_SUBJECTS, MODEL_SIDES }; /* what is asked for */

struct model {
    enum model_kind kind;
    bool is_reciprocal;
    size_t dim;
    uint32_t entities, relations;
};

static inline size_t model_relation_floats(const struct model *m)
{
    if (m->kind == MODEL_RESCAL) return m->dim * m->dim;
    return m->kind == MODEL_ROTATE ? m->dim / 2 : m->dim; /* phases */
}

/* Are entities complex numbers? */
static inline bool model_is_complex(const struct model *m)
{
    return m->kind == MODEL_COMPLEX || m->kind == MODEL_ROTATE;
}

/* Is the score minus a distance, not a product? */
static inline bool model_is_distance(const struct model *m)
{
    return m->kind == MODEL_TRANSE || m->kind == MODEL_ROTATE;
}

static inline uint32_t model_relation_rows(const struct model *m)
{
    return m->is_reciprocal ? 2 * m->relations : m->relations;
}

/* The row of relations that a question for that side uses. */
static inline uint32_t model_relation_row(const struct model *m, enum model_side side,
                                          uint32_t relation)
{
    return m->is_reciprocal && side == MODEL_SUBJECTS ? m->relations + relation : relation;
}

/* query (dim floats) of the given entity and the relation's row. */
void model_query(const struct model *, enum model_side, float *query, const float *given,
                 const float *relation);
/* The gradient of the query, carried on: added to those of the given entity and of the relation. */
void model_back(const struct model *, enum model_side, const float *query_gradient,
                const float *given, const float *relation, float *given_gradient,
                float *relation_gradient);

/* ---- what a training step minimizes ---- */

/* For one question: its true answer should score higher than the sampled ones.
 *
 *     LOSS_LOGISTIC  log(1 + exp(-true)) + w sum of log(1 + exp(sampled))
 *                    (Trouillon et al., 2016, Section 3: w = 1; of distances w = 1 / samples:
 *                    Sun et al., 2019, Equation 5)
 *     LOSS_SOFTMAX   -log(exp(true) / (exp(true) + w sum of exp(sampled)))
 *
 * With w how many answers a sampled one stands for, the softmax over few samples is an estimate of
 * that over all answers. (In place of w = 1 it raised the MRR in every setting that was tried, most
 * with few samples.) */
enum loss_kind { LOSS_LOGISTIC, LOSS_SOFTMAX };
/* What distances are taken from in training, so that there are scores above 0 (Sun et al., 2019). Of
 * 3, 6, 9 and 12 this was the best for TransE and RotatE on UMLS and CoDEx-S. The softmax is the
 * same with any. */
enum { MODEL_MARGIN = 6 };

/* Replaces the `n` sampled scores by the derivatives of the loss, and sets that of the true one.
 * Returns the loss. */
float loss_of(enum loss_kind, float true_score, float *true_derivative, float *sampled, size_t n,
              float weight);

#endif
