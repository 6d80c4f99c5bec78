#include "skipgram.h"

#include "fail.h"
#include "pace.h"
#include "vec.h"

#include <stdlib.h>
#include <string.h>

void skipgram_open(struct skipgram *s, const struct wv *w, struct pool_member *m)
{
    size_t keys = windows_keys_max(w), all = keys + windows_negatives_max(w), length = wv_length(w);
    *s = (struct skipgram){.wv = w, .member = m};
    draft_open(&s->draft, m, all, keys, length);
    s->keys = take_memory(all, sizeof *s->keys);
    s->scores = take_memory(1 + w->options.negatives, sizeof *s->scores);
    s->gradient = take_memory(w->options.dim, sizeof *s->gradient);
    s->copied = take_memory(w->vocabulary.words.count, sizeof *s->copied);
}

void skipgram_close(struct skipgram *s)
{
    draft_close(&s->draft);
    free(s->keys);
    free(s->scores);
    free(s->gradient);
    free(s->copied);
    *s = (struct skipgram){0};
}

/* ---- the rows ---- */

/* Levels that go by which rows are here now: a middle's negatives are drawn a moment before they
 * are used (NuPS, Sections 4.3 and 4.4). Else all come at once, so that those which are not here
 * have one way: of long-term samples these are most with techniques that do not replicate. */
static bool draws_late(const struct skipgram *s)
{
    int level = s->wv->options.common.sampling,
        technique = (int)settings_technique(&s->wv->options.common);
    if (!s->wv->distribution || level < LOCUS_LONG_TERM) return false;
    return level == LOCUS_NON_CONFORM || (technique != LOCUS_STATIC && technique != LOCUS_RELOCATE);
}

/* Those that precede `end` in the keys of the batch. */
static void draw_until(struct skipgram *s, const struct window_batch *b, size_t end)
{
    locus_key *to = s->keys + s->drawn;
    size_t n = end - s->drawn;
    if (n == 0) return;
    if (s->wv->distribution)
        must(locus_pull_sample(s->member->worker, b->sample, n, to, NULL), "pulling a sample");
    else
        memcpy(to, b->negatives_drawn, n * sizeof *to);
    s->drawn = end;
}

static uint32_t *copied_of(const struct skipgram *s, locus_key output)
{
    return &s->copied[output - wv_output_key(s->wv, 0)];
}

/* The output rows of the batch's middles are copied. */
static void note_copied(struct skipgram *s, const struct window_batch *b, bool is_copied)
{
    for (uint32_t i = 0; i < b->middles; i++)
        *copied_of(s, b->keys[b->middle[i]]) = is_copied ? b->middle[i] + 1 : 0;
}

static void begin_rows(struct skipgram *s, const struct window_batch *b)
{
    note_copied(s, b, true);
    memcpy(s->keys, b->keys, b->keys_used * sizeof *s->keys);
    s->drawn = b->keys_used;
    if (!draws_late(s)) draw_until(s, b, b->keys_used + b->negatives);
    draft_begin(&s->draft, s->keys, s->drawn, b->keys_used);
}

static void end_rows(struct skipgram *s, const struct window_batch *b)
{
    note_copied(s, b, false);
    if (s->wv->distribution)
        must(locus_finish_sample(s->member->worker, b->sample), "finishing a sample");
    draft_end(&s->draft);
}

/* ---- one pair ---- */

struct pair {
    size_t input, middle; /* places */
    size_t negatives;     /* the place of the first */
    float rate;
};

struct output_change {
    const struct wv_options *options;
    const float *input;
    float derivative, rate;
};

/* A locus_change of an output row. */
static void train_output(void *change, float *output, uint32_t length)
{
    const struct output_change *c = change;
    const struct vec *v = vec_best();
    (void)length;
    if (c->options->optimizer == WV_ADAGRAD) {
        v->adagrad_scaled(output, c->derivative, c->input, c->options->dim, c->rate);
    } else {
        v->add_scaled(output, -c->rate * c->derivative, c->input, c->options->dim);
    }
}

/* The copy of a negative that is also a middle of the batch: else neither would see for the rest of
 * the batch what the other makes of the row. NULL: there is none. */
static float *copy_of(const struct skipgram *s, size_t place)
{
    uint32_t copied = *copied_of(s, s->keys[place]);
    return copied ? s->draft.now[copied - 1] : NULL;
}

static const float *output_of(const struct skipgram *s, size_t place)
{
    const float *copy = copy_of(s, place);
    return copy ? copy : s->draft.rows[place];
}

static void change_output(struct skipgram *s, size_t place, struct output_change *c)
{
    float *copy = copy_of(s, place);
    if (copy)
        train_output(c, copy, (uint32_t)s->draft.length);
    else
        draft_change(&s->draft, place, train_output, c);
}

/* The derivatives of the loss by the scores, in s->scores; returns the loss. */
static float score(struct skipgram *s, const struct pair *p, const float *input)
{
    const struct vec *v = vec_best();
    size_t dim = s->wv->options.dim, n = s->wv->options.negatives;
    s->scores[0] = -v->dot(input, s->draft.now[p->middle], dim);
    for (size_t i = 0; i < n; i++) {
        bool is_middle = s->keys[p->negatives + i] == s->keys[p->middle];
        /* One that is passed over: its loss and its derivative are next to nothing, and its
         * derivative is set to 0. */
        s->scores[1 + i] = is_middle ? -80.0F : v->dot(input, output_of(s, p->negatives + i), dim);
    }
    /* No number, unless all scores are: the loops of struct vec are compiled for numbers, and may
     * hide it. */
    float doubt = 0;
    for (size_t i = 0; i <= n; i++) doubt += 0 * s->scores[i];
    float loss = v->logistic(s->scores, 1 + n) + doubt;
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
    float *input = s->draft.now[p->input], *middle = s->draft.now[p->middle];
    float loss = score(s, p, input);
    struct output_change c = {
        .options = &s->wv->options, .input = input, .rate = p->rate, .derivative = s->scores[0]};
    v->set_scaled(s->gradient, s->scores[0], middle, dim);
    train_output(&c, middle, (uint32_t)s->draft.length);
    for (size_t i = 0; i < n; i++) {
        size_t place = p->negatives + i;
        c.derivative = s->scores[1 + i];
        v->add_scaled(s->gradient, c.derivative, output_of(s, place), dim);
        change_output(s, place, &c);
    }
    if (s->wv->options.optimizer == WV_ADAGRAD) {
        v->adagrad_scaled(input, 1, s->gradient, dim, p->rate);
    } else {
        v->add_scaled(input, -p->rate, s->gradient, dim);
    }
    return loss;
}

/* ---- the step ---- */

/* The places of a middle's negatives: where they begin, and end. */
static size_t negatives_of(const struct skipgram *s, const struct window_batch *b, uint32_t middle)
{
    size_t n = s->wv->options.negatives;
    return b->keys_used + n * (middle ? b->pairs_end[middle - 1] : 0);
}

static void prefetch_negatives(struct skipgram *s, const struct window_batch *b, uint32_t middle)
{
    if (middle == b->middles) return;
    size_t first = negatives_of(s, b, middle), end = negatives_of(s, b, middle + 1);
    if (s->drawn < end) {
        draw_until(s, b, end);
        draft_extend(&s->draft, end);
    }
    draft_prefetch(&s->draft, first, end - first);
}

static void read_negatives(struct skipgram *s, const struct window_batch *b, uint32_t middle)
{
    size_t first = negatives_of(s, b, middle);
    draft_read(&s->draft, first, negatives_of(s, b, middle + 1) - first);
}

static double train_middles(struct skipgram *s, const struct window_batch *b)
{
    size_t n = s->wv->options.negatives;
    double loss = 0;
    struct pair p = {.rate = (float)(s->wv->options.rate * s->member->rate)};
    prefetch_negatives(s, b, 0);
    for (uint32_t middle = 0, pair = 0; middle < b->middles; middle++) {
        p.middle = b->middle[middle];
        read_negatives(s, b, middle);
        prefetch_negatives(s, b, middle + 1);
        for (; pair < b->pairs_end[middle]; pair++) {
            p.input = b->neighbour[pair];
            p.negatives = b->keys_used + n * pair;
            loss += train_pair(s, &p);
        }
    }
    return loss;
}

double skipgram_train(struct skipgram *s, const struct window_batch *b)
{
    double loss = 0;
    if (b->pairs > 0) {
        begin_rows(s, b);
        loss = train_middles(s, b);
        end_rows(s, b);
    }
    pace_step(s->member);
    return loss;
}
