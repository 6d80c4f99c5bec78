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

/* to += x y */
static void add_product(float *to, const float *x, const float *y, size_t dim)
{
    for (size_t i = 0; i < dim; i++) to[i] += x[i] * y[i];
}

/* to += x exp(i sign phases) */
static void add_rotated(float *to, const float *x, const float *phases, float sign, size_t dim)
{
    const float *imaginary = x + dim / 2;
    for (size_t i = 0; i < dim / 2; i++) {
        float c = cosf(phases[i]), s = sign * sinf(phases[i]);
        to[i] += x[i] * c - imaginary[i] * s;
        to[dim / 2 + i] += x[i] * s + imaginary[i] * c;
    }
}

/* Of q = g exp(i sign phases): dg = dq exp(-i sign phases), dphases = sign im(conj(q) dq). */
static void rotate_back(const float *dq, const float *g, const float *phases, float sign, float *dg,
                        float *dphases, size_t dim)
{
    size_t half = dim / 2;
    for (size_t i = 0; i < half; i++) {
        float c = cosf(phases[i]), s = sign * sinf(phases[i]);
        float re = g[i] * c - g[half + i] * s, im = g[i] * s + g[half + i] * c;
        dphases[i] += sign * (re * dq[half + i] - im * dq[i]);
        dg[i] += dq[i] * c + dq[half + i] * s;
        dg[half + i] += dq[half + i] * c - dq[i] * s;
    }
}

void model_query(const struct model *m, enum model_side side, float *query, const float *given,
                 const float *relation)
{
    const struct vec *v = vec_best();
    bool inverse = is_inverse(m, side);
    if (m->kind == MODEL_COMPLEX) {
        (inverse ? v->multiply_conjugate : v->multiply)(query, relation, given, m->dim);
        return;
    }
    memset(query, 0, m->dim * sizeof *query);
    if (m->kind == MODEL_RESCAL) {
        (inverse ? add_straight : add_turned)(query, relation, given, m->dim);
    } else if (m->kind == MODEL_DISTMULT) {
        add_product(query, given, relation, m->dim);
    } else if (m->kind == MODEL_TRANSE) {
        v->add(query, given, m->dim);
        v->add_scaled(query, inverse ? -1 : 1, relation, m->dim);
    } else {
        add_rotated(query, given, relation, inverse ? -1 : 1, m->dim);
    }
}

/*
 * ComplEx: multiplying by a has the adjoint of multiplying by conj(a), so for q = r g: dg = conj(r)
 * dq, dr = conj(g) dq. For q = conj(r) g: dg = r dq, dr = conj(dq) g.
 */
static void complex_back(bool inverse, const float *dq, const float *g, const float *r, float *dg,
                         float *dr, size_t dim)
{
    const struct vec *v = vec_best();
    if (inverse) {
        v->multiply_add(dg, r, dq, dim);
        v->multiply_conjugate_add(dr, dq, g, dim);
    } else {
        v->multiply_conjugate_add(dg, r, dq, dim);
        v->multiply_conjugate_add(dr, g, dq, dim);
    }
}

/* RESCAL: for q = R' g: dg = R dq, dR = g dq'. For q = R g: dg = R' dq, dR = dq g'. */
static void rescal_back(bool inverse, const float *dq, const float *g, const float *r, float *dg,
                        float *dr, size_t dim)
{
    (inverse ? add_turned : add_straight)(dg, r, dq, dim);
    add_outer(dr, inverse ? dq : g, inverse ? g : dq, dim);
}

void model_back(const struct model *m, enum model_side side, const float *query_gradient,
                const float *given, const float *relation, float *given_gradient,
                float *relation_gradient)
{
    const struct vec *v = vec_best();
    bool inverse = is_inverse(m, side);
    if (m->kind == MODEL_COMPLEX) {
        complex_back(inverse, query_gradient, given, relation, given_gradient, relation_gradient,
                     m->dim);
    } else if (m->kind == MODEL_RESCAL) {
        rescal_back(inverse, query_gradient, given, relation, given_gradient, relation_gradient,
                    m->dim);
    } else if (m->kind == MODEL_DISTMULT) {
        add_product(given_gradient, relation, query_gradient, m->dim);
        add_product(relation_gradient, given, query_gradient, m->dim);
    } else if (m->kind == MODEL_TRANSE) {
        v->add(given_gradient, query_gradient, m->dim);
        v->add_scaled(relation_gradient, inverse ? -1 : 1, query_gradient, m->dim);
    } else {
        rotate_back(query_gradient, given, relation, inverse ? -1 : 1, given_gradient,
                    relation_gradient, m->dim);
    }
}

/* ---- what a training step minimizes ---- */

static float logistic(float true_score, float *true_derivative, float *sampled, size_t n,
                      float weight)
{
    float loss = weight * vec_best()->logistic(sampled, n);
    if (weight != 1) vec_best()->scale(sampled, weight, n);
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
                                : logistic(true_score, true_derivative, sampled, n, weight);
}
