#include "model.h"

#include "vec.h"

#include <math.h>
#include <string.h>

/* Which of the two forms of a query, as in the header's table. */
static bool is_inverse(const struct model *m, enum model_side side)
{
    return side == MODEL_SUBJECTS && !m->is_reciprocal;
}

/* to += matrix' x */
static void add_turned(float *to, const float *matrix, const float *x, size_t dim)
{
    const struct vec *v = vec_best();
    for (size_t i = 0; i < dim; i++) v->add_scaled(to, x[i], matrix + i * dim, dim);
}

/* to += matrix x */
static void add_straight(float *to, const float *matrix, const float *x, size_t dim)
{
    const struct vec *v = vec_best();
    for (size_t i = 0; i < dim; i++) to[i] += v->dot(matrix + i * dim, x, dim);
}

/* matrix += x y' */
static void add_outer(float *matrix, const float *x, const float *y, size_t dim)
{
    const struct vec *v = vec_best();
    for (size_t i = 0; i < dim; i++) v->add_scaled(matrix + i * dim, x[i], y, dim);
}

void model_query(const struct model *m, enum model_side side, float *query, const float *given,
                 const float *relation)
{
    if (m->kind == MODEL_COMPLEX) {
        (is_inverse(m, side) ? vec_best()->multiply_conjugate
                             : vec_best()->multiply)(query, relation, given, m->dim);
        return;
    }
    memset(query, 0, m->dim * sizeof *query);
    (is_inverse(m, side) ? add_straight : add_turned)(query, relation, given, m->dim);
}

/*
 * ComplEx: multiplying by a has the adjoint of multiplying by conj(a), so for q = r g: dg = conj(r)
 * dq, dr = conj(g) dq. For q = conj(r) g: dg = r dq, dr = conj(dq) g.
 * RESCAL: for q = R' g: dg = R dq, dR = g dq'. For q = R g: dg = R' dq, dR = dq g'.
 */
void model_back(const struct model *m, enum model_side side, const float *query_gradient,
                const float *given, const float *relation, float *given_gradient,
                float *relation_gradient)
{
    const struct vec *v = vec_best();
    if (m->kind == MODEL_COMPLEX && !is_inverse(m, side)) {
        v->multiply_conjugate_add(given_gradient, relation, query_gradient, m->dim);
        v->multiply_conjugate_add(relation_gradient, given, query_gradient, m->dim);
    } else if (m->kind == MODEL_COMPLEX) {
        v->multiply_add(given_gradient, relation, query_gradient, m->dim);
        v->multiply_conjugate_add(relation_gradient, query_gradient, given, m->dim);
    } else if (!is_inverse(m, side)) {
        add_straight(given_gradient, relation, query_gradient, m->dim);
        add_outer(relation_gradient, given, query_gradient, m->dim);
    } else {
        add_turned(given_gradient, relation, query_gradient, m->dim);
        add_outer(relation_gradient, query_gradient, given, m->dim);
    }
}

/* ---- what a training step minimizes ---- */

static float logistic(float true_score, float *true_derivative, float *sampled, size_t n)
{
    float loss = vec_best()->logistic(sampled, n);
    float e = expf(-fabsf(true_score));
    *true_derivative = -(true_score > 0 ? e : 1) / (1 + e);
    return loss + log1pf(e) + (true_score < 0 ? -true_score : 0);
}

static float softmax(float true_score, float *true_derivative, float *sampled, size_t n,
                     float weight)
{
    const struct vec *v = vec_best();
    float most = n > 0 ? v->maximum(sampled, n) : true_score;
    if (true_score > most) most = true_score;
    float others = weight * v->exponentials(sampled, n, most), own = expf(true_score - most);
    v->scale(sampled, weight / (own + others), n);
    *true_derivative = -others / (own + others);
    return most + logf(own + others) - true_score;
}

float loss_of(enum loss_kind kind, float true_score, float *true_derivative, float *sampled,
              size_t n, float weight)
{
    return kind == LOSS_SOFTMAX ? softmax(true_score, true_derivative, sampled, n, weight)
                                : logistic(true_score, true_derivative, sampled, n);
}
