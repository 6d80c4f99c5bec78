/* Scores against their definitions, and gradients against finite differences. */
#include "fail.h"
#include "kge/model.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 6 };

static struct rng rng = {{9, 8, 7, 6}};

static void draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(2 * rng_real(&rng) - 1);
}

/* re<s, r, conj o> and s' R o, as they are written. */
static double score_of(const struct model *m, const float *s, const float *r, const float *o)
{
    double sum = 0;
    const int half = DIM / 2;
    if (m->kind == MODEL_RESCAL) {
        for (int i = 0; i < DIM; i++) {
            for (int j = 0; j < DIM; j++) sum += (double)s[i] * r[i * DIM + j] * o[j];
        }
        return sum;
    }
    for (int i = 0; i < half; i++) {
        double sr = s[i], si = s[half + i], rr = r[i], ri = r[half + i], orr = o[i],
               oi = o[half + i];
        sum += (sr * rr - si * ri) * orr + (sr * ri + si * rr) * oi;
    }
    return sum;
}

static double asked(const struct model *m, enum model_side side, const float *given, const float *r,
                    const float *answer)
{
    float query[DIM];
    model_query(m, side, query, given, r);
    return vec_best()->dot(query, answer, DIM);
}

static void check_scores(struct model m)
{
    float s[DIM], r[DIM * DIM], o[DIM];
    draw(s, DIM);
    draw(r, DIM * DIM);
    draw(o, DIM);
    double score = score_of(&m, s, r, o);
    CHECK(fabs(asked(&m, MODEL_OBJECTS, s, r, o) - score) < 1e-5);
    if (m.is_reciprocal) {
        CHECK(fabs(asked(&m, MODEL_SUBJECTS, o, r, s) - score_of(&m, o, r, s)) < 1e-5);
    } else {
        CHECK(fabs(asked(&m, MODEL_SUBJECTS, o, r, s) - score) < 1e-5);
    }
}

/* d(dot(query, answer)) by each parameter, in the middle of a small change of it. */
static void check_gradient(const struct model *m, enum model_side side, float *given, float *r,
                           const float *answer, float *changed, const float *gradient, size_t n)
{
    const float step = 1e-2f;
    for (size_t i = 0; i < n; i++) {
        float kept = changed[i];
        changed[i] = kept + step;
        double above = asked(m, side, given, r, answer);
        changed[i] = kept - step;
        double below = asked(m, side, given, r, answer);
        changed[i] = kept;
        double slope = (above - below) / (2 * (double)step);
        if (fabs(slope - gradient[i]) > 1e-3)
            test_fail(__FILE__, __LINE__, "%zu: %g, but the slope is %g", i, (double)gradient[i],
                      slope);
    }
}

static void check_back(struct model m)
{
    float given[DIM], r[DIM * DIM], answer[DIM], given_gradient[DIM] = {0},
                                                 relation_gradient[DIM * DIM] = {0};
    for (int side = 0; side < MODEL_SIDES; side++) {
        draw(given, DIM);
        draw(r, DIM * DIM);
        draw(answer, DIM);
        /* They are added to what is there. */
        for (int times = 1; times <= 2; times++)
            model_back(&m, (enum model_side)side, answer, given, r, given_gradient,
                       relation_gradient);
        for (int i = 0; i < DIM; i++) given_gradient[i] /= 2;
        for (int i = 0; i < DIM * DIM; i++) relation_gradient[i] /= 2;
        check_gradient(&m, (enum model_side)side, given, r, answer, given, given_gradient, DIM);
        check_gradient(&m, (enum model_side)side, given, r, answer, r, relation_gradient,
                       model_relation_floats(&m));
        memset(given_gradient, 0, sizeof given_gradient);
        memset(relation_gradient, 0, sizeof relation_gradient);
    }
}

static void for_all_models(void (*check)(struct model))
{
    for (int kind = MODEL_COMPLEX; kind <= MODEL_RESCAL; kind++) {
        for (int reciprocal = 0; reciprocal < 2; reciprocal++) {
            for (int times = 0; times < 20; times++)
                check((struct model){
                    .kind = (enum model_kind)kind, .is_reciprocal = reciprocal, .dim = DIM});
        }
    }
}

TEST(model, both_questions_have_the_score_of_the_fact)
{
    for_all_models(check_scores);
}

TEST(model, gradients_are_those_of_finite_differences)
{
    for_all_models(check_back);
}

/* ---- losses ---- */

enum { SAMPLED = 5 };

static double loss_value(enum loss_kind kind, const float *scores, double weight)
{
    double others = 0, loss = 0;
    if (kind == LOSS_SOFTMAX) {
        for (int i = 1; i <= SAMPLED; i++) others += weight * exp((double)scores[i]);
        return -log(exp((double)scores[0]) / (exp((double)scores[0]) + others));
    }
    loss = log1p(exp(-(double)scores[0]));
    for (int i = 1; i <= SAMPLED; i++) loss += log1p(exp((double)scores[i]));
    return loss;
}

static void check_loss(enum loss_kind kind, float weight)
{
    float scores[1 + SAMPLED], derivatives[1 + SAMPLED];
    draw(scores, 1 + SAMPLED);
    for (int i = 0; i <= SAMPLED; i++) derivatives[i] = scores[i] *= 4;
    double loss = loss_of(kind, scores[0], &derivatives[0], derivatives + 1, SAMPLED, weight);
    CHECK(fabs(loss - loss_value(kind, scores, weight)) < 1e-4);
    for (int i = 0; i <= SAMPLED; i++) {
        float kept = scores[i];
        scores[i] = kept + 1e-2f;
        double above = loss_value(kind, scores, weight);
        scores[i] = kept - 1e-2f;
        double below = loss_value(kind, scores, weight);
        scores[i] = kept;
        CHECK(fabs((above - below) / 2e-2 - derivatives[i]) < 1e-3);
    }
}

TEST(model, losses_and_their_derivatives)
{
    for (int times = 0; times < 100; times++) {
        check_loss(LOSS_LOGISTIC, 1);
        check_loss(LOSS_SOFTMAX, 1);
        check_loss(LOSS_SOFTMAX, 7.5f);
    }
}

TEST(model, losses_of_large_scores_are_finite)
{
    float derivative, sampled[2];
    for (int kind = LOSS_LOGISTIC; kind <= LOSS_SOFTMAX; kind++) {
        for (int i = -2; i <= 2; i++) {
            float score = 5e3f * (float)i;
            sampled[0] = 1e4f;
            sampled[1] = -1e4f;
            float loss = loss_of((enum loss_kind)kind, score, &derivative, sampled, 2, 1);
            CHECK(isfinite(loss) && loss >= 0);
            CHECK(isfinite(derivative) && derivative <= 0 && derivative >= -1.0001f);
            CHECK(isfinite(sampled[0]) && isfinite(sampled[1]));
        }
    }
}
