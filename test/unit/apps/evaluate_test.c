/* Ranks against a naive ranking. That all workers together have the same, with locus and without, is
 * test/programs/test_quality.py's. */
#include "kge/evaluate.h"
#include "rng.h"
#include "test.h"
#include "tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double naive_score(const struct task *t, const float *s, const float *r, const float *o)
{
    float query[64];
    double sum = 0;
    model_query(&t->model, MODEL_OBJECTS, query, s, r);
    bool is_distance = model_is_distance(&t->model);
    for (size_t i = 0; i < t->model.dim; i++)
        sum += is_distance ? -pow((double)query[i] - o[i], 2) : (double)query[i] * o[i];
    return sum;
}

/* A fact of any split; `given` and `answer` change places when the subject is asked for. */
static bool is_known(const struct graph *g, enum model_side side, uint32_t given, uint32_t r,
                     uint32_t answer)
{
    for (int split = 0; split < GRAPH_SPLITS; split++)
        for (size_t i = 0; i < g->splits[split].count; i++) {
            struct fact f = g->splits[split].list[i];
            uint32_t its = side == MODEL_OBJECTS ? f.subject : f.object,
                     other = side == MODEL_OBJECTS ? f.object : f.subject;
            if (f.relation == r && other == answer && its == given) return true;
        }
    return false;
}

static void add_naive(const struct task *t, const float *entities, const float *relations,
                      struct fact f, enum model_side side, enum quality_kind kind,
                      struct quality_sums *sums)
{
    size_t dim = t->model.dim, floats = model_relation_floats(&t->model), better = 0, equal = 0;
    const float *s = entities + f.subject * dim, *o = entities + f.object * dim;
    const float *r = relations + model_relation_row(&t->model, side, f.relation) * floats;
    bool is_turned = side == MODEL_SUBJECTS && t->model.is_reciprocal;
    double own = is_turned ? naive_score(t, o, r, s) : naive_score(t, s, r, o);
    for (uint32_t e = 0; e < t->model.entities; e++) {
        const float *other = entities + e * dim;
        bool is_answer = e == (side == MODEL_OBJECTS ? f.object : f.subject);
        uint32_t given = side == MODEL_OBJECTS ? f.subject : f.object;
        if (is_answer || (kind != QUALITY_RAW && is_known(&t->graph, side, given, f.relation, e)))
            continue;
        double score = is_turned ? naive_score(t, o, r, other)
                       : side    ? naive_score(t, other, r, o)
                                 : naive_score(t, s, r, other);
        better += !isfinite(own) || score > own + 1e-6;
        equal += fabs(score - own) <= 1e-6;
    }
    double rank = 1 + (double)better + (double)equal / 2;
    sums->reciprocals += 1 / rank;
    sums->ranks += rank;
    sums->hits1 += rank <= 1;
    sums->hits3 += rank <= 3;
    sums->hits10 += rank <= 10;
    sums->questions++;
}

static void is_same(const struct quality_counts *got, const struct quality_counts *expected)
{
    const double *a = &got->of[0][0].questions, *b = &expected->of[0][0].questions;
    for (size_t i = 0; i < sizeof *got / sizeof *a; i++) CHECK(fabs(a[i] - b[i]) < 1e-9);
    for (int kind = 0; kind < QUALITY_KINDS; kind++) {
        struct quality q = evaluate_quality(got, MODEL_SIDES, (enum quality_kind)kind),
                       s = evaluate_quality(got, MODEL_SUBJECTS, (enum quality_kind)kind),
                       o = evaluate_quality(got, MODEL_OBJECTS, (enum quality_kind)kind);
        CHECK_EQ(q.questions, 2 * TINY_HELD_BACK);
        CHECK(fabs(q.mrr - (s.mrr + o.mrr) / 2) < 1e-12 && fabs(q.mr - (s.mr + o.mr) / 2) < 1e-9);
        CHECK(q.hits1 <= q.hits3 && q.hits3 <= q.hits10 && s.questions == TINY_HELD_BACK);
    }
}

/* `alike`: so many entities share an embedding, which makes ties. `factor`: of all entities. */
static void check_ranks(int kind, bool is_reciprocal, uint32_t alike, float factor)
{
    static float entities[TINY_ENTITIES * 64], relations[2 * TINY_RELATIONS * 64];
    CLOSED_BY(tiny_fini) struct task t;
    CLOSED_BY(evaluation_fini) struct evaluation e;
    struct quality_counts got = {0}, expected = {0};
    struct rng rng;
    tiny_init(&t);
    t.options.model = kind;
    t.options.is_reciprocal = is_reciprocal;
    tiny_finish(&t);
    size_t dim = t.model.dim;
    rng_init(&rng, 8, alike);
    for (size_t i = 0; i < TINY_ENTITIES * dim; i++)
        entities[i] = factor * ((float)rng_below(&rng, 9) / 4 - 1);
    for (size_t i = 0; i < model_relation_rows(&t.model) * model_relation_floats(&t.model); i++)
        relations[i] = (float)rng_below(&rng, 9) / 4 - 1;
    for (uint32_t n = 0; n < alike; n++)
        memcpy(entities + n * dim, entities, dim * sizeof *entities);
    evaluation_init(&e, &t);
    evaluation_fill(&e, entities, relations);
    /* In two parts, as two workers would. */
    evaluation_rank(&e, GRAPH_TEST, 0, 7, &got);
    evaluation_rank(&e, GRAPH_TEST, 7, TINY_HELD_BACK, &got);
    for (int i = 0; i < TINY_HELD_BACK * MODEL_SIDES * QUALITY_KINDS; i++) {
        struct fact f = t.graph.splits[GRAPH_TEST].list[i / (MODEL_SIDES * QUALITY_KINDS)];
        int side = i / QUALITY_KINDS % MODEL_SIDES, of = i % QUALITY_KINDS;
        add_naive(&t, entities, relations, f, (enum model_side)side, (enum quality_kind)of,
                  &expected.of[side][of]);
    }
    is_same(&got, &expected);
}

TEST(evaluate, ranks_are_those_of_a_naive_ranking)
{
    for (int kind = MODEL_COMPLEX; kind < MODEL_KINDS; kind++) {
        for (int reciprocal = 0; reciprocal < 2; reciprocal++) {
            check_ranks(kind, reciprocal, 0, 1);
            check_ranks(kind, reciprocal, 15, 1);
        }
    }
}

TEST(evaluate, a_score_that_is_no_number_ranks_last)
{
    check_ranks(MODEL_COMPLEX, false, 0, NAN);
}
