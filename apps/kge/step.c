#include "step.h"

#include "fail.h"
#include "matrix.h"
#include "pace.h"

#include <math.h>
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
    if (!s->is_distance) return;
    s->weights = take_memory(negatives + facts, sizeof(float));
    s->squares = take_memory(negatives, sizeof(float));
}

static float sampled_weight(const struct step *s)
{
    if (s->task->options.loss == LOSS_SOFTMAX)
        return (float)s->task->model.entities / (float)s->others;
    return s->is_distance ? 1 / (float)s->others : 1;
}

void step_open(struct step *s, const struct task *t, struct pool_member *m)
{
    const struct options *o = &t->options;
    *s = (struct step){.task = t,
                       .member = m,
                       .vec = vec_best(),
                       .dim = o->dim,
                       .is_distance = model_is_distance(&t->model),
                       .relation_floats = model_relation_floats(&t->model)};
    s->others = task_others(t);
    s->sampled_weight = sampled_weight(s);
    size_t keys = feed_keys_max(t), relations = feed_relations_max(t),
           negatives = feed_negatives(t);
    size_t entity_floats = keys - relations + negatives;
    size_t floats = entity_floats * s->dim + relations * s->relation_floats;
    params_open(&s->params, m, keys + negatives, floats);
    s->rows = take_memory(keys + negatives, sizeof *s->rows);
    s->keys = take_memory(keys + negatives, sizeof *s->keys);
    s->gradients =
        take_memory((keys - relations) * s->dim + relations * s->relation_floats, sizeof(float));
    if (s->is_distance) s->distances = take_memory(s->others, sizeof(float));
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
    free(s->distances);
    free(s->weights);
    free(s->squares);
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
    struct gradient g = {.vec = s->vec, .is_complex = model_is_complex(&s->task->model)};
    bool has_phases = s->task->model.kind == MODEL_ROTATE;
    for (uint32_t place = 0; place < b->entities + b->relations; place++) {
        g.direction = gradient_of(s, b, place);
        g.weight = has_phases && place >= b->entities
                       ? 0 /* a phase has no size */
                       : (float)s->task->options.regularization * b->uses[place];
        params_step(&s->params, s->update, b->keys[place], s->rows[place],
                    place < b->entities ? s->dim : s->relation_floats, regularize, &g);
    }
}

/* Inlined: with short rows a call more costs as much as the step. */
static inline __attribute__((always_inline)) void step_negative(struct step *s, size_t negative,
                                                                struct vec_gradient *g)
{
    params_step(&s->params, s->update, s->negative_keys[negative], s->negative_rows[negative],
                s->dim, s->vec->gradient, g);
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
 * reciprocal relations, with softmax, and where the negatives count as one, the two questions are two
 * examples. */
static bool is_counted(const struct step *s, enum model_side side)
{
    return side == MODEL_OBJECTS || s->task->model.is_reciprocal ||
           s->task->options.loss == LOSS_SOFTMAX || s->is_distance;
}

static double loss_at(const struct step *s, enum model_side side, float true_score,
                      float *true_derivative, float *scores)
{
    float loss = loss_of((enum loss_kind)s->task->options.loss, true_score, true_derivative, scores,
                         s->others, s->sampled_weight);
    if (is_counted(s, side)) return loss;
    float none = 0, derivative;
    /* Without sampled answers the loss is that of the true one alone. */
    loss -= loss_of((enum loss_kind)s->task->options.loss, true_score, &derivative, &none, 0, 1);
    *true_derivative = 0;
    return loss;
}

/*
 * Where the score of an answer a is minus its distance d from the query q, its slope is (a - q) / d
 * by q, and (q - a) / d by a. With the weight w, the derivative of the loss by the score, divided by
 * d, a gradient thus has w times the other vector, as with products, and less w times its own.
 */
static float distance_of(const struct step *s, const float *query, const float *answer)
{
    return sqrtf(s->vec->square_distance(query, answer, s->dim) + 1e-12f);
}

/* *distance: of the true answer and those kept in s->distances, by which derivatives are divided. */
static float true_score_of(const struct step *s, const float *query, const float *answer,
                           float *distance)
{
    if (!s->is_distance) return s->vec->dot(query, answer, s->dim);
    *distance = distance_of(s, query, answer);
    return MODEL_MARGIN - *distance;
}

/* Derivatives become weights; returns their sum. */
static float weigh(const struct step *s, float *true_derivative, float true_distance, float *scores)
{
    *true_derivative /= true_distance;
    return *true_derivative + s->vec->divide(scores, s->distances, s->others);
}

/* The part of a gradient that is of the vector itself. */
static void subtract_own(const struct step *s, float *gradient, float weight, const float *own)
{
    if (s->is_distance) s->vec->add_scaled(gradient, -weight, own, s->dim);
}

/* ---- a batch of one fact ---- */

static void score_negatives(struct step *s, const float *const *negatives, size_t n)
{
    if (!s->is_distance) {
        for (size_t i = 0; i < n; i++) s->scores[i] = s->vec->dot(s->query, negatives[i], s->dim);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        s->distances[i] = distance_of(s, s->query, negatives[i]);
        s->scores[i] = MODEL_MARGIN - s->distances[i];
    }
}

static double ask(struct step *s, const struct batch *b, enum model_side side)
{
    const struct vec *v = s->vec;
    size_t dim = s->dim, n = s->task->options.negatives, first_negative = side * n;
    uint32_t given = given_of(b, side, 0), answer = answer_of(b, side, 0),
             relation = b->relation[side][0];
    const float *const *negatives = s->negative_rows + first_negative;
    float derivative, distance, weight = 0;
    model_query(&s->task->model, side, s->query, s->rows[given], s->rows[relation]);
    score_negatives(s, negatives, n);
    float true_score = true_score_of(s, s->query, s->rows[answer], &distance);
    double loss = loss_at(s, side, true_score, &derivative, s->scores);
    if (s->is_distance) weight = weigh(s, &derivative, distance, s->scores);
    v->set_scaled(s->query_gradient, derivative, s->rows[answer], dim);
    v->add_rows(s->query_gradient, s->scores, negatives, n, dim);
    subtract_own(s, s->query_gradient, weight, s->query);
    v->add_scaled(gradient_of(s, b, answer), derivative, s->query, dim);
    subtract_own(s, gradient_of(s, b, answer), derivative, s->rows[answer]);
    struct vec_gradient g = {.direction = s->query};
    for (size_t i = 0; i < n; i++) {
        g.scale = s->scores[i];
        if (s->is_distance) g.decay = -s->scores[i];
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
    const struct vec *v = s->vec;
    double loss = 0;
    for (uint32_t i = 0; i < k.facts; i++) {
        uint32_t answer = answer_of(k.batch, side, k.first + i);
        const float *query = s->query_rows[i];
        float distance, true_score = true_score_of(s, query, s->rows[answer], &distance);
        float *scores = s->scores + i * s->others;
        if (s->is_distance)
            v->distances(scores, s->distances, v->dot(query, query, s->dim), s->squares,
                         MODEL_MARGIN, s->others);
        if (task_takes_all(s->task)) scores[answer] = NO_SCORE;
        loss += loss_at(s, side, true_score, &s->true_derivatives[i], scores);
        if (!s->is_distance) continue;
        s->weights[s->others + i] = weigh(s, &s->true_derivatives[i], distance, scores);
        v->add(s->weights, scores, s->others);
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
        if (s->is_distance) {
            subtract_own(s, gradient, s->weights[s->others + i], s->query_rows[i]);
            subtract_own(s, gradient_of(s, b, answer), s->true_derivatives[i], s->rows[answer]);
        }
        model_back(&s->task->model, side, gradient, s->rows[given], s->rows[relation],
                   gradient_of(s, b, given), gradient_of(s, b, relation));
    }
}

static void update_negatives(struct step *s, size_t first, size_t n)
{
    struct vec_gradient g = {.scale = 1};
    for (size_t i = 0; i < n; i++) {
        size_t left = n - i;
        if (i % FETCH_AGAIN == 0)
            params_prefetch(&s->params, s->negative_keys + first + i,
                            left < FETCH_AGAIN ? left : FETCH_AGAIN);
        g.direction = s->negative_gradients + i * s->dim;
        if (s->is_distance) g.decay = -s->weights[i];
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

static void begin_distances(struct step *s, const float *const *negatives)
{
    memset(s->weights, 0, s->others * sizeof *s->weights);
    for (size_t i = 0; i < s->others; i++)
        s->squares[i] = s->vec->dot(negatives[i], negatives[i], s->dim);
}

/* All entities are the batch's own rows, and so are their gradients. */
static double ask_all(struct step *s, const struct batch *b, enum model_side side)
{
    bool takes_all = task_takes_all(s->task);
    size_t n = s->others, first = side * n;
    const float *const *negatives = takes_all ? s->rows : s->negative_rows + first;
    float *gradients = takes_all ? s->gradients : s->negative_gradients;
    double loss = 0;
    if (s->is_distance) begin_distances(s, negatives);
    for (uint32_t at = 0; at < b->facts; at += s->block) {
        uint32_t left = b->facts - at;
        struct block k = {.batch = b, .first = at, .facts = left < s->block ? left : s->block};
        loss += ask_block(s, k, side, negatives, gradients, takes_all || at > 0);
    }
    for (size_t i = 0; takes_all && s->is_distance && i < n; i++)
        subtract_own(s, gradients + i * s->dim, s->weights[i], negatives[i]);
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
    /* A query, and its gradient's two parts. */
    static const double of_query[MODEL_KINDS] = {
        [MODEL_COMPLEX] = 9, [MODEL_DISTMULT] = 5, [MODEL_TRANSE] = 3, [MODEL_ROTATE] = 12};
    double queries = MODEL_SIDES * dim *
                     (t->model.kind == MODEL_RESCAL ? 6 * dim : of_query[t->model.kind]);
    double updated = task_takes_all(t) ? others / facts * dim
                                       : (2 + MODEL_SIDES * others / facts) * dim;
    return scores + queries + 8 * updated;
}
