/* A training step against its definition: the loss in double precision, and its slopes by finite
 * differences. */
#include "kge/step.h"
#include "pools.h"
#include "rng.h"
#include "test.h"
#include "tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FACTS = 3, NEGATIVES = 2, KEYS_MAX = TINY_ENTITIES + 4 };

/* Three facts over five entities; the first entity is a subject twice, the third fact is about one
 * entity alone. Or the first fact alone. Entities that are sampled are others, so that each key's
 * squared gradient is that of one update. Where all entities are negatives, all are the batch's. */
static uint32_t subject[FACTS] = {0, 0, 4}, object[FACTS] = {1, 2, 4};
static uint32_t relation[MODEL_SIDES][FACTS];
static locus_key keys[KEYS_MAX], negatives[MODEL_SIDES * NEGATIVES];
static float uses[KEYS_MAX];

static struct batch batch_of(const struct task *t)
{
    bool is_reciprocal = t->model.is_reciprocal, is_single = t->options.batch == 1;
    uint32_t some = is_single ? 2 : 5, entities = task_takes_all(t) ? TINY_ENTITIES : some,
             relations = is_single ? 1 : 2;
    struct batch b = {.facts = (uint32_t)t->options.batch,
                      .entities = entities,
                      .relations = relations * (is_reciprocal ? 2 : 1),
                      .subject = subject,
                      .object = object,
                      .keys = keys,
                      .uses = uses,
                      .negative_keys = negatives};
    static const uint32_t rows[FACTS] = {0, 1, 0};
    static const float entity_uses[2][5] = {{4, 2, 2, 0, 4}, {2, 2}}, relation_uses[] = {2, 1};
    for (uint32_t i = 0; i < entities; i++) {
        keys[i] = i;
        uses[i] = i < 5 ? entity_uses[is_single][i] : 0;
    }
    for (uint32_t i = 0; i < b.relations; i++) {
        keys[entities + i] =
            task_relation_key(t, i < relations ? i : TINY_RELATIONS + i - relations);
        uses[entities + i] = relation_uses[is_single || i % 2] * (is_reciprocal ? 1 : 2);
    }
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (int i = 0; i < FACTS; i++)
            relation[side][i] = entities + rows[i] + (is_reciprocal && side ? relations : 0);
        b.relation[side] = relation[side];
    }
    b.negatives = (uint32_t)feed_negatives(t);
    for (uint32_t i = 0; i < b.negatives; i++) negatives[i] = 10 + i;
    return b;
}

/* ---- the loss, as it is written ---- */

static const float *row_of(const struct pool *pool, locus_key key)
{
    const struct pool_table *t = &pool->tables[key >= TINY_ENTITIES];
    return t->values + (key - t->first) * t->stride;
}

static double score_of(const struct task *t, const struct pool *pool, enum model_side side,
                       locus_key given, locus_key r, locus_key answer)
{
    float query[64];
    double sum = 0;
    model_query(&t->model, side, query, row_of(pool, given), row_of(pool, r));
    for (size_t i = 0; i < t->model.dim; i++) {
        double own = query[i], other = row_of(pool, answer)[i];
        sum += model_is_distance(&t->model) ? (own - other) * (own - other) : own * other;
    }
    return model_is_distance(&t->model) ? MODEL_MARGIN - sqrt(sum) : sum;
}

static double question_loss(const struct task *t, const struct pool *pool, const struct batch *b,
                            enum model_side side, uint32_t fact)
{
    locus_key given = b->keys[side ? b->object[fact] : b->subject[fact]],
              r = b->keys[b->relation[side][fact]];
    locus_key answer = b->keys[side ? b->subject[fact] : b->object[fact]];
    size_t n = task_others(t), first = side * n;
    const locus_key *against = task_takes_all(t) ? b->keys : b->negative_keys + first;
    double own = score_of(t, pool, side, given, r, answer), others = 0, loss = 0;
    for (size_t i = 0; i < n; i++) {
        double score = score_of(t, pool, side, given, r, against[i]);
        if (task_takes_all(t) && against[i] == answer) continue;
        others += exp(score) * TINY_ENTITIES / (double)n;
        loss += log1p(exp(score));
    }
    if (t->options.loss == LOSS_SOFTMAX) return -log(exp(own) / (exp(own) + others));
    bool is_distance = model_is_distance(&t->model);
    bool is_counted = side == MODEL_OBJECTS || t->model.is_reciprocal || is_distance;
    if (is_distance) loss /= (double)n;
    return loss + (is_counted ? log1p(exp(-own)) : 0);
}

/* Without regularization. */
static double batch_loss(const struct task *t, const struct pool *pool, const struct batch *b)
{
    double loss = 0;
    for (int side = 0; side < MODEL_SIDES; side++) {
        for (uint32_t fact = 0; fact < b->facts; fact++)
            loss += question_loss(t, pool, b, (enum model_side)side, fact);
    }
    return loss;
}

/* The cubed norm of a row's parameters. */
static double cubed_norm(const struct task *t, const float *row, size_t n)
{
    double sum = 0;
    size_t half = n / 2;
    for (size_t i = 0; i < n; i++) {
        double x = !model_is_complex(&t->model) ? fabs((double)row[i])
                   : i < half                   ? hypot((double)row[i], (double)row[half + i])
                                                : 0;
        sum += x * x * x;
    }
    return sum;
}

static double regularized_loss(const struct task *t, const struct pool *pool, const struct batch *b)
{
    double loss = batch_loss(t, pool, b);
    for (uint32_t i = 0; i < b->entities + b->relations; i++) {
        size_t n = i < b->entities ? t->model.dim : model_relation_floats(&t->model);
        if (t->model.kind == MODEL_ROTATE && i >= b->entities) break; /* phases have no norm */
        loss += t->options.regularization * b->uses[i] * cubed_norm(t, row_of(pool, b->keys[i]), n);
    }
    return loss;
}

/* ---- the check ---- */

static double slope_of(const struct task *t, const struct pool *pool, const struct batch *b,
                       float *parameter)
{
    float kept = *parameter;
    *parameter = kept + 4e-3f;
    double above = regularized_loss(t, pool, b), up = *parameter;
    *parameter = kept - 4e-3f;
    double below = regularized_loss(t, pool, b), down = *parameter;
    *parameter = kept;
    return (above - below) / (up - down);
}

static void fill_rows(const struct pool *pool, float sum)
{
    struct rng rng;
    rng_init(&rng, 5, 5);
    for (int table = 0; table < 2; table++) {
        const struct pool_table *t = &pool->tables[table];
        for (uint64_t i = 0; i < t->rows * t->stride; i++) {
            bool is_sum = i % t->stride >= t->stride / 2;
            t->values[i] = is_sum ? sum : (float)(1.6 * rng_real(&rng) - 0.8);
        }
    }
}

/* The slopes of all parameters first, then one step, which must have added their squares and moved
 * against them. */
static void check_step(struct task *t)
{
    struct pool pool;
    struct step step;
    tiny_pool(&pool, t, true, 1);
    fill_rows(&pool, 0.25f);
    struct pool_member member = {.pool = &pool, .total = 1, .rate = 1};
    struct batch b = batch_of(t);
    static float values[2][4096], slopes[2][4096];
    for (int table = 0; table < 2; table++) {
        const struct pool_table *c = &pool.tables[table];
        CHECK(c->rows * c->stride <= 4096);
        memcpy(values[table], c->values, c->rows * c->stride * sizeof(float));
        for (size_t i = 0; i < c->rows * c->stride; i++)
            if (i % c->stride < c->stride / 2)
                slopes[table][i] = (float)slope_of(t, &pool, &b, &c->values[i]);
    }
    double loss = batch_loss(t, &pool, &b);
    step_open(&step, t, &member);
    if (task_takes_all(t)) step.block = 2;
    CHECK(fabs(step_train(&step, &b) - loss) < 1e-4);
    step_close(&step);
    for (int table = 0; table < 2; table++) {
        const struct pool_table *c = &pool.tables[table];
        size_t half = c->stride / 2;
        for (size_t i = 0; i < c->rows * c->stride; i++) {
            if (i % c->stride >= half) continue;
            double slope = slopes[table][i], square = c->values[i + half] - 0.25f;
            double moved = c->values[i] - values[table][i];
            if (fabs(square - slope * slope) > 2e-3 * (1 + slope * slope))
                test_fail(__FILE__, __LINE__, "model %d, table %d, %zu: %g is not the square of %g",
                          t->options.model, table, i, square, slope);
            CHECK(fabs(moved + t->options.rate * slope / sqrt(0.25 + slope * slope)) < 1e-3);
        }
    }
    pool_close(&pool);
    tiny_fini(t);
}

/* Negatives: all entities, those of a batch, or of a batch of one fact. */
static void begin(struct task *t, unsigned kind, double regularization)
{
    tiny_init(t);
    t->options.batch = kind == 2 ? 1 : FACTS;
    t->options.negatives = kind > 0 ? NEGATIVES : 0;
    t->options.regularization = regularization;
}

TEST(step, gradients_are_the_slopes_of_the_loss)
{
    for (unsigned i = 0; i < 24 * MODEL_KINDS; i++) {
        struct task t;
        begin(&t, i / 4 % 3, i / 12 % 2 ? 0.05 : 0);
        t.options.model = (int)(i / 24);
        t.options.loss = i & 1 ? LOSS_SOFTMAX : LOSS_LOGISTIC;
        t.options.is_reciprocal = i & 2;
        tiny_finish(&t);
        check_step(&t);
    }
}

/* ---- with locus ---- */

struct trained {
    struct task task;
    struct pools_copy rows;
};

static void draw_row(const void *length, uint64_t row, float *values)
{
    for (uint32_t i = 0; i < *(const uint32_t *)length; i++)
        values[i] = 0.8F * (float)sin((double)(7 * row + i));
}

static void train(struct pool_member *m, void *trained)
{
    struct trained *t = trained;
    struct step step;
    struct batch b = batch_of(&t->task);
    for (size_t table = 0; table < 2; table++)
        rows_init(m, table, draw_row, &m->pool->tables[table].length);
    pool_quiesce(m);
    step_open(&step, &t->task, m);
    for (int i = 0; i < 10; i++) step_train(&step, &b);
    step_close(&step);
    pool_quiesce(m);
    pools_copy(m, &t->rows);
}

TEST(step, locus_and_the_baseline_do_the_same)
{
    for (int kind = 0; kind < 6; kind++) {
        static struct trained t[2];
        for (int is_baseline = 0; is_baseline < 2; is_baseline++) {
            CLOSED_BY(pool_close) struct pool pool;
            begin(&t[is_baseline].task, (unsigned)kind % 3, 0.01);
            t[is_baseline].task.options.model = kind < 3 ? MODEL_COMPLEX : MODEL_ROTATE;
            tiny_finish(&t[is_baseline].task);
            tiny_pool(&pool, &t[is_baseline].task, is_baseline, 1);
            pool_run(&pool, train, &t[is_baseline]);
            tiny_fini(&t[is_baseline].task);
        }
        CHECK(t[0].rows.count == t[1].rows.count && t[0].rows.count > TINY_ENTITIES);
        for (size_t i = 0; i < t[0].rows.count; i++)
            CHECK(fabs(t[0].rows.values[i] - t[1].rows.values[i]) < 1e-4);
    }
}
