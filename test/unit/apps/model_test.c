/* Scores against their definitions. Their gradients, and those of losses, are step_test.c's. */
#include "kge/model.h"
#include "rng.h"
#include "test.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { DIM = 6 };

static struct rng rng = {{9, 8, 7, 6}};

static void draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(2 * rng_real(&rng) - 1);
}

/* The header's middle column, as it is written; of distances the square. */
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
    for (int i = 0; i < DIM && (m->kind == MODEL_DISTMULT || m->kind == MODEL_TRANSE); i++)
        sum += m->kind == MODEL_DISTMULT ? (double)s[i] * r[i] * o[i]
                                         : pow((double)s[i] + r[i] - o[i], 2);
    for (int i = 0; i < half && m->kind == MODEL_ROTATE; i++) {
        double complex at = s[i] + I * s[half + i], to = o[i] + I * o[half + i];
        sum += pow(cabs(at * cexp(I * r[i]) - to), 2);
    }
    for (int i = 0; i < half && m->kind == MODEL_COMPLEX; i++) {
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
    if (model_is_distance(m)) return vec_best()->square_distance(query, answer, DIM);
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

TEST(model, queries_of_both_sides_have_the_score_of_the_fact)
{
    for (int i = 0; i < 200; i++)
        check_scores((struct model){
            .kind = (enum model_kind)(i % MODEL_KINDS), .is_reciprocal = i & 1, .dim = DIM});
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
