#include "step.h"

#include "fail.h"
#include "matrix.h"
#include "pace.h"

#include <stdlib.h>
#include <string.h>

/* Rows of negatives that were read long ago and are fetched again before they are changed. */
enum { FETCH_AGAIN = 16 };

/* Scores of a batch that are there together, about: 64 MiB. */
enum { SCORES_MAX = 1 << 24 };
/* No score is as low: the answer itself, among all entities, is none of the others. */
static const float NO_SCORE = -1e30f;

/* ---- memory ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void open_shared(struct step *s, size_t batch, size_t negatives)
{
    size_t dim = s->dim, fit = SCORES_MAX / negatives, facts = fit < batch ? larger(fit, 1) : batch;
    s->block = (uint32_t)facts;
    size_t panels = larger(larger(matrix_panels(dim, negatives), matrix_panels(negatives, dim)),
                           matrix_panels(facts, dim));
    s->queries = take_memory(facts * dim, sizeof(float));
    s->query_gradients = take_memory(facts * dim, sizeof(float));
    if (!task_takes_all(s->task))
        s->negative_gradients = take_memory(negatives * dim, sizeof(float));
    s->scores = take_memory(facts * negatives, sizeof(float));
    s->panels = take_memory(panels, sizeof(float));
    s->true_derivatives = take_memory(facts, sizeof(float));
    s->query_rows = take_memory(facts, sizeof *s->query_rows);
    for (size_t i = 0; i < facts; i++) s->query_rows[i] = s->queries + i * dim;
}

void step_open(struct step *s, const struct task *t, struct pool_member *m)
{
    const struct options *o = &t->options;
    *s = (struct step){.task = t,
                       .member = m,
                       .vec = vec_best(),
                       .dim = o->dim,
                       .relation_floats = model_relation_floats(&t->model)};
    s->others = task_others(t);
    s->softmax_weight = (float)t->model.entities / (float)s->others;
    size_t keys = feed_keys_max(t), relations = feed_relations_max(t),
           negatives = feed_negatives(t);
    size_t entity_floats = keys - relations + negatives;
    size_t floats = entity_floats * s->dim + relations * s->relation_floats;
    params_open(&s->params, m, keys + negatives, floats);
    s->rows = take_memory(keys + negatives, sizeof *s->rows);
    s->keys = take_memory(keys + negatives, sizeof *s->keys);
    s->gradients =
        take_memory((keys - relations) * s->dim + relations * s->relation_floats, sizeof(float));
    if (task_is_single(t)) {
        s->query = take_memory(s->dim, sizeof(float));
        s->query_gradient = take_memory(s->dim, sizeof(float));
        s->scores = take_memory(o->negatives, sizeof(float));
    } else {
        open_shared(s, o->batch, s->others);
    }
}

void step_close(struct step *s)
{
    params_close(&s->params);
    free(s->rows);
    free(s->keys);
    free(s->gradients);
    free(s->query);
    free(s->query_gradient);
    free(s->scores);
    free(s->queries);
    free(s->query_gradients);
    free(s->negative_gradients);
    free(s->panels);
    free(s->true_derivatives);
    free(s->query_rows);
    *s = (struct step){0};
}

/* ---- rows ---- */

/* The keys of the negatives: the manager's choice, or what the loader drew. */
static void take_negatives(struct step *s, const struct batch *b, locus_key *keys)
{
    if (s->task->distribution) {
        must(locus_pull_sample(s->member->worker, b->sample, b->negatives, keys, NULL),
             "pulling a sample");
    } else {
        memcpy(keys, b->negative_keys, b->negatives * sizeof *keys);
    }
}

/* The rows of the batch's keys and of its negatives. */
static void read_rows(struct step *s, const struct batch *b)
{
    size_t keys = b->entities + b->relations;
    memcpy(s->keys, b->keys, keys * sizeof *s->keys);
    s->negative_keys = s->keys + keys;
    s->negative_rows = s->rows + keys;
    take_negatives(s, b, s->negative_keys);
    params_prefetch(&s->params, s->keys, keys);
    params_prefetch(&s->params, s->negative_keys, b->negatives);
    params_read(&s->params, s->keys, keys + b->negatives, s->rows);
}

static float *gradient_of(const struct step *s, const struct batch *b, uint32_t place)
{
    if (place < b->entities) return s->gradients + place * s->dim;
    return s->gradients + b->entities * s->dim + (place - b->entities) * s->relation_floats;
}

struct gradient {
    const struct vec *vec;
    const float *direction;
    float weight; /* of the regularization */
    bool is_complex;
};

/* A locus_gradient. */
static void regularize(void *gradient, const float *row, float *to, uint32_t length)
{
    const struct gradient *g = gradient;
    memcpy(to, g->direction, length * sizeof *to);
    if (g->weight > 0) g->vec->add_cubed(to, g->weight, row, length, g->is_complex);
}

/* The rows of the batch's keys: all gradients are there. */
static void update_rows(struct step *s, const struct batch *b)
{
    struct gradient g = {.vec = s->vec, .is_complex = s->task->model.kind == MODEL_COMPLEX};
    for (uint32_t place = 0; place < b->entities + b->relations; place++) {
        g.direction = gradient_of(s, b, place);
        g.weight = (float)s->task->options.regularization * b->uses[place];
        params_step(&s->params, s->update, b->keys[place], s->rows[place],
                    place < b->entities ? s->dim : s->relation_floats, regularize, &g);
    }
}

/* Inlined: with short rows a call more costs as much as the step. */
static inline __attribute__((always_inline)) void step_negative(struct step *s, size_t negative,
                                                                struct params_gradient *g)
{
    params_step_along(&s->params, s->update, s->negative_keys[negative], s->negative_rows[negative],
                      s->dim, g);
}

/* ---- what both kinds of steps ask ---- */

static uint32_t given_of(const struct batch *b, enum model_side side, uint32_t fact)
{
    return side == MODEL_OBJECTS ? b->subject[fact] : b->object[fact];
}

static uint32_t answer_of(const struct batch *b, enum model_side side, uint32_t fact)
{
    return side == MODEL_OBJECTS ? b->object[fact] : b->subject[fact];
}

/* The logistic loss of the papers counts a fact once, beside the negatives of both sides; with
 * reciprocal relations, and with softmax, the two questions are two examples. */
static bool is_counted(const struct step *s, enum model_side side)
{
    return side == MODEL_OBJECTS || s->task->model.is_reciprocal ||
           s->task->options.loss == LOSS_SOFTMAX;
}

static double loss_at(const struct step *s, enum model_side side, float true_score,
                      float *true_derivative, float *scores)
{
    float loss = loss_of((enum loss_kind)s->task->options.loss, true_score, true_derivative, scores,
                         s->others, s->softmax_weight);
    if (is_counted(s, side)) return loss;
    float none = 0, derivative;
    /* Without sampled answers the loss is that of the true one alone. */
    loss -= loss_of((enum loss_kind)s->task->options.loss, true_score, &derivative, &none, 0, 1);
    *true_derivative = 0;
    return loss;
}

/* ---- a batch of one fact ---- */

static double ask(struct step *s, const struct batch *b, enum model_side side)
{
    const struct vec *v = s->vec;
    size_t dim = s->dim, n = s->task->options.negatives, first_negative = side * n;
    uint32_t given = given_of(b, side, 0), answer = answer_of(b, side, 0),
             relation = b->relation[side][0];
    const float *const *negatives = s->negative_rows + first_negative;
    float derivative;
    model_query(&s->task->model, side, s->query, s->rows[given], s->rows[relation]);
    for (size_t i = 0; i < n; i++) s->scores[i] = v->dot(s->query, negatives[i], dim);
    double loss = loss_at(s, side, v->dot(s->query, s->rows[answer], dim), &derivative, s->scores);
    memset(s->query_gradient, 0, dim * sizeof(float));
    v->add_scaled(s->query_gradient, derivative, s->rows[answer], dim);
    for (size_t i = 0; i < n; i++)
        v->add_scaled(s->query_gradient, s->scores[i], negatives[i], dim);
    v->add_scaled(gradient_of(s, b, answer), derivative, s->query, dim);
    struct params_gradient g = {.direction = s->query};
    for (size_t i = 0; i < n; i++) {
        g.scale = s->scores[i];
        step_negative(s, first_negative + i, &g);
    }
    model_back(&s->task->model, side, s->query_gradient, s->rows[given], s->rows[relation],
               gradient_of(s, b, given), gradient_of(s, b, relation));
    return loss;
}

/* ---- a larger batch: scores and gradients are products of matrices ---- */

/* Facts of a batch, scored together. */
struct block {
    const struct batch *batch;
    uint32_t first, facts;
};

static double shared_losses(struct step *s, struct block k, enum model_side side)
{
    double loss = 0;
    for (uint32_t i = 0; i < k.facts; i++) {
        uint32_t answer = answer_of(k.batch, side, k.first + i);
        float true_score = s->vec->dot(s->query_rows[i], s->rows[answer], s->dim);
        float *scores = s->scores + i * s->others;
        if (task_takes_all(s->task)) scores[answer] = NO_SCORE;
        loss += loss_at(s, side, true_score, &s->true_derivatives[i], scores);
    }
    return loss;
}

static void carry_back(struct step *s, struct block k, enum model_side side)
{
    const struct vec *v = s->vec;
    const struct batch *b = k.batch;
    for (uint32_t i = 0; i < k.facts; i++) {
        uint32_t fact = k.first + i, given = given_of(b, side, fact),
                 answer = answer_of(b, side, fact), relation = b->relation[side][fact];
        float *gradient = s->query_gradients + i * s->dim;
        v->add_scaled(gradient, s->true_derivatives[i], s->rows[answer], s->dim);
        v->add_scaled(gradient_of(s, b, answer), s->true_derivatives[i], s->query_rows[i], s->dim);
        model_back(&s->task->model, side, gradient, s->rows[given], s->rows[relation],
                   gradient_of(s, b, given), gradient_of(s, b, relation));
    }
}

static void update_negatives(struct step *s, size_t first, size_t n)
{
    struct params_gradient g = {.scale = 1};
    for (size_t i = 0; i < n; i++) {
        size_t left = n - i;
        if (i % FETCH_AGAIN == 0)
            params_prefetch(&s->params, s->negative_keys + first + i,
                            left < FETCH_AGAIN ? left : FETCH_AGAIN);
        g.direction = s->negative_gradients + i * s->dim;
        step_negative(s, first + i, &g);
    }
}

/* Adds the gradients of the negatives to `gradients`, or writes them there. */
static double ask_block(struct step *s, struct block k, enum model_side side,
                        const float *const *negatives, float *gradients, bool adds)
{
    size_t dim = s->dim, n = s->others, facts = k.facts;
    const struct batch *b = k.batch;
    for (uint32_t i = 0; i < facts; i++) {
        uint32_t fact = k.first + i;
        model_query(&s->task->model, side, s->queries + i * dim, s->rows[given_of(b, side, fact)],
                    s->rows[b->relation[side][fact]]);
    }
    matrix_pack_turned(s->panels, negatives, dim, n);
    matrix_multiply(s->scores, n, s->queries, dim, 1, s->panels, facts, n, dim, 0);
    double loss = shared_losses(s, k, side);
    matrix_pack(s->panels, negatives, n, dim);
    matrix_multiply(s->query_gradients, dim, s->scores, n, 1, s->panels, facts, dim, n, 0);
    matrix_pack(s->panels, s->query_rows, facts, dim);
    matrix_multiply(gradients, dim, s->scores, 1, n, s->panels, n, dim, facts, adds);
    carry_back(s, k, side);
    return loss;
}

/* All entities are the batch's own rows, and so are their gradients. */
static double ask_all(struct step *s, const struct batch *b, enum model_side side)
{
    bool takes_all = task_takes_all(s->task);
    size_t n = s->others, first = side * n;
    const float *const *negatives = takes_all ? s->rows : s->negative_rows + first;
    float *gradients = takes_all ? s->gradients : s->negative_gradients;
    double loss = 0;
    for (uint32_t at = 0; at < b->facts; at += s->block) {
        uint32_t left = b->facts - at;
        struct block k = {.batch = b, .first = at, .facts = left < s->block ? left : s->block};
        loss += ask_block(s, k, side, negatives, gradients, takes_all || at > 0);
    }
    if (!takes_all) update_negatives(s, first, n);
    return loss;
}

/* ---- the step ---- */

double step_train(struct step *s, const struct batch *b)
{
    double (*asks)(struct step *, const struct batch *, enum model_side) =
        task_is_single(s->task) ? ask : ask_all;
    double loss = 0;
    s->update = params_begin(&s->params);
    read_rows(s, b);
    memset(s->gradients, 0,
           (b->entities * s->dim + b->relations * s->relation_floats) * sizeof(float));
    loss = asks(s, b, MODEL_OBJECTS);
    loss += asks(s, b, MODEL_SUBJECTS);
    update_rows(s, b);
    params_release(&s->params);
    params_end(&s->params, s->update);
    if (s->task->distribution && b->is_last_of_sample)
        must(locus_finish_sample(s->member->worker, b->sample), "finishing a sample");
    pace_step(s->member);
    return loss;
}

double step_operations(const struct task *t)
{
    const struct options *o = &t->options;
    double dim = (double)o->dim, others = (double)task_others(t), facts = (double)o->batch,
           answers = task_takes_all(t) ? others : others + 1;
    /* A score, its part of the query's gradient, and of the answer's: a multiplication and an
     * addition each. */
    double scores = MODEL_SIDES * answers * dim * 6;
    double queries = MODEL_SIDES *
                     (t->model.kind == MODEL_COMPLEX ? 3 * 3 * dim : 3 * 2 * dim * dim);
    double updated = task_takes_all(t) ? others / facts * dim
                                       : (2 + MODEL_SIDES * others / facts) * dim;
    return scores + queries + 8 * updated;
}
