#include "loss.h"

#include "vec.h"

#include <math.h>

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
