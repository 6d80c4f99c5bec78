#include "skipgram.h"

#include "fail.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

void skipgram_open(struct skipgram *s, const struct wv *w, struct crew_member *m)
{
    size_t keys = windows_keys_max(w), all = keys + windows_negatives_max(w), length = wv_length(w);
    *s = (struct skipgram){.wv = w, .member = m};
    draft_open(&s->draft, m, all, keys, length);
    s->keys = take_memory(all, sizeof *s->keys);
    s->scores = take_memory(1 + w->options.negatives, sizeof *s->scores);
    s->gradient = take_memory(w->options.dim, sizeof *s->gradient);
    s->change = take_memory(length, sizeof *s->change);
}

void skipgram_close(struct skipgram *s)
{
    draft_close(&s->draft);
    free(s->keys);
    free(s->scores);
    free(s->gradient);
    free(s->change);
    *s = (struct skipgram){0};
}

/* ---- the rows ---- */

static void take_negatives(struct skipgram *s, const struct window_batch *b)
{
    locus_key *to = s->keys + b->keys_used;
    if (s->wv->distribution) {
        must(locus_pull_sample(s->member->worker, b->sample, b->negatives, to, NULL), "pulling a sample");
        must(locus_finish_sample(s->member->worker, b->sample), "finishing a sample");
    } else {
        memcpy(to, b->negatives_drawn, b->negatives * sizeof *to);
    }
}

/* ---- one pair ---- */

struct pair {
    size_t input, middle; /* places */
    size_t negatives;     /* the place of the first */
    float rate;
    bool is_first; /* to update these negatives */
};

/* An output row that is trained in place. */
static void train_output(struct skipgram *s, float *output, const float *input, float derivative, float rate)
{
    const struct vec *v = vec_best();
    size_t dim = s->wv->options.dim;
    if (s->wv->options.optimizer == WV_ADAGRAD) {
        v->adagrad_scaled_now(output, derivative, input, dim, rate);
    } else {
        v->add_scaled(output, -rate * derivative, input, dim);
    }
}

/* What is to be added to a negative's row; what several pairs want is summed up. */
static void note_negative(struct skipgram *s, size_t place, const float *input, float derivative, const struct pair *p)
{
    const struct vec *v = vec_best();
    size_t dim = s->wv->options.dim;
    float *update = s->draft.updates[place];
    if (s->wv->options.optimizer == WV_SGD) {
        (p->is_first ? v->set_scaled : v->add_scaled)(update, -p->rate * derivative, input, dim);
    } else if (p->is_first) {
        v->adagrad_scaled(update, derivative, input, s->draft.rows[place], dim, p->rate);
    } else {
        v->adagrad_scaled(s->change, derivative, input, s->draft.rows[place], dim, p->rate);
        v->add(update, s->change, 2 * dim);
    }
}

/* The derivatives of the loss by the scores, in s->scores; returns the loss. */
static float score(struct skipgram *s, const struct pair *p, const float *input)
{
    const struct vec *v = vec_best();
    size_t dim = s->wv->options.dim, n = s->wv->options.negatives;
    s->scores[0] = -v->dot(input, s->draft.now[p->middle], dim);
    for (size_t i = 0; i < n; i++) {
        bool is_middle = s->keys[p->negatives + i] == s->keys[p->middle];
        /* One that is passed over: its loss and its derivative are next to nothing, and its derivative is set to 0. */
        s->scores[1 + i] = is_middle ? -80.0F : v->dot(input, s->draft.rows[p->negatives + i], dim);
    }
    float loss = v->logistic(s->scores, 1 + n);
    s->scores[0] = -s->scores[0];
    for (size_t i = 0; i < n; i++) {
        if (s->keys[p->negatives + i] == s->keys[p->middle]) s->scores[1 + i] = 0;
    }
    return loss;
}

static float train_pair(struct skipgram *s, const struct pair *p)
{
    const struct vec *v = vec_best();
    size_t dim = s->wv->options.dim, n = s->wv->options.negatives;
    bool is_plain = draft_is_plain(&s->draft);
    float *input = s->draft.now[p->input];
    float loss = score(s, p, input);
    v->set_scaled(s->gradient, s->scores[0], s->draft.now[p->middle], dim);
    train_output(s, s->draft.now[p->middle], input, s->scores[0], p->rate);
    for (size_t i = 0; i < n; i++) {
        size_t place = p->negatives + i;
        float derivative = s->scores[1 + i];
        v->add_scaled(s->gradient, derivative, s->draft.rows[place], dim);
        if (is_plain) {
            train_output(s, s->draft.now[place], input, derivative, p->rate);
        } else {
            note_negative(s, place, input, derivative, p);
        }
    }
    if (s->wv->options.optimizer == WV_ADAGRAD) {
        v->adagrad_scaled_now(input, 1, s->gradient, dim, p->rate);
    } else {
        v->add_scaled(input, -p->rate, s->gradient, dim);
    }
    return loss;
}

/* ---- the step ---- */

static double train_middles(struct skipgram *s, const struct window_batch *b)
{
    size_t n = s->wv->options.negatives;
    bool is_shared = s->wv->options.is_shared;
    double loss = 0;
    struct pair p = {.rate = b->rate};
    for (uint32_t middle = 0, pair = 0; middle < b->middles; middle++) {
        uint32_t first = pair;
        p.middle = b->middle[middle];
        for (; pair < b->pairs_end[middle]; pair++) {
            p.input = b->neighbour[pair];
            p.negatives = b->keys_used + n * (is_shared ? middle : pair);
            p.is_first = !is_shared || pair == first;
            loss += train_pair(s, &p);
        }
    }
    return loss;
}

double skipgram_train(struct skipgram *s, const struct window_batch *b)
{
    double loss = 0;
    if (b->pairs > 0) {
        memcpy(s->keys, b->keys, b->keys_used * sizeof *s->keys);
        take_negatives(s, b);
        draft_begin(&s->draft, s->keys, b->keys_used + b->negatives, b->keys_used);
        loss = train_middles(s, b);
        draft_end(&s->draft);
    }
    if (s->member->worker) locus_advance_clock(s->member->worker);
    return loss;
}
