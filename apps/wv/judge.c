#include "judge.h"

#include "fail.h"
#include "matrix.h"
#include "meter.h"
#include "rows.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 64, CHUNK = 2048, PANEL_ROWS = 256 };
/* The most frequent ones: questions are of these alone, and so are answers. */
enum { WORDS = 30000 };

_Static_assert(CHUNK % VEC_PANEL_MAX == 0 && PANEL_ROWS % VEC_PANEL_MAX == 0,
               "blocks begin where panels do");

void judge_init(struct judge *j, const struct wv *w)
{
    const struct wv_options *o = &w->options;
    *j = (struct judge){.wv = w, .candidates = w->vocabulary.words.count};
    if (j->candidates > WORDS) j->candidates = WORDS;
    if (o->analogies) analogies_load(&j->analogies, o->analogies, &w->vocabulary, j->candidates);
    if (o->similarity) similarities_load(&j->similarities, o->similarity, &w->vocabulary);
    if (!judge_has_work(j)) return;
    j->vectors = take_memory(w->vocabulary.words.count, o->dim * sizeof(float));
    j->panels = take_memory(matrix_panels(o->dim, j->candidates), sizeof(float));
}

void judge_fini(struct judge *j)
{
    if (j->wv->options.analogies) analogies_fini(&j->analogies);
    if (j->wv->options.similarity) similarities_fini(&j->similarities);
    free(j->vectors);
    free(j->panels);
    *j = (struct judge){0};
}

bool judge_has_work(const struct judge *j)
{
    return j->wv->options.analogies || j->wv->options.similarity;
}

/* ---- the vectors ---- */

static void keep_direction(void *judge, uint64_t row, const float *values)
{
    struct judge *j = judge;
    size_t dim = j->wv->options.dim;
    float *to = j->vectors + row * dim;
    float square = vec_best()->dot(values, values, dim);
    vec_best()->set_scaled(to, square > 0 ? 1 / sqrtf(square) : 0, values, dim);
}

static void pack(struct judge *j, uint32_t first)
{
    size_t dim = j->wv->options.dim,
           count = j->candidates - first < PANEL_ROWS ? j->candidates - first : PANEL_ROWS;
    const float *rows[PANEL_ROWS];
    for (size_t i = 0; i < count; i++) rows[i] = j->vectors + (first + i) * dim;
    matrix_pack_turned_part(j->panels, rows, dim, first, count);
}

/* Each worker takes its part of the node's copy. */
static void take_vectors(struct judge *j, struct pool_member *m)
{
    uint64_t first, end;
    pool_share(j->wv->vocabulary.words.count, m->index, m->pool->workers, &first, &end);
    rows_visit(m, WV_INPUTS, first, end, keep_direction, j);
    pool_meet_here(m);
    if (m->index == 0) {
        for (uint32_t at = 0; at < j->candidates; at += PANEL_ROWS) pack(j, at);
    }
    pool_meet_here(m);
}

/* ---- answers ---- */

struct answer {
    uint32_t word;
    float cosine;
};

static void look_through(const struct analogy *q, struct answer *best, const float *scores,
                         uint32_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word = first + (uint32_t)i;
        if (scores[i] <= best->cosine || word == q->words[0] || word == q->words[1] ||
            word == q->words[2])
            continue;
        *best = (struct answer){.word = word, .cosine = scores[i]};
    }
}

static void ask(const struct judge *j, const struct analogy *q, float *query)
{
    size_t dim = j->wv->options.dim;
    const float *a = j->vectors + q->words[0] * dim, *b = j->vectors + q->words[1] * dim;
    const float *c = j->vectors + q->words[2] * dim;
    for (size_t i = 0; i < dim; i++) query[i] = b[i] - a[i] + c[i];
}

void judge_answer(const struct judge *j, const struct analogy *list, size_t count,
                  uint64_t *correct)
{
    size_t dim = j->wv->options.dim;
    float *queries = take_memory(TOGETHER * dim, sizeof *queries);
    float *scores = take_memory((size_t)TOGETHER * CHUNK, sizeof *scores);
    for (size_t at = 0; at < count; at += TOGETHER) {
        size_t n = count - at < TOGETHER ? count - at : TOGETHER;
        struct answer best[TOGETHER];
        for (size_t i = 0; i < n; i++) {
            ask(j, &list[at + i], queries + i * dim);
            best[i] = (struct answer){.word = NAMES_NONE, .cosine = -INFINITY};
        }
        for (uint32_t first = 0; first < j->candidates; first += CHUNK) {
            size_t chunk = j->candidates - first < CHUNK ? j->candidates - first : CHUNK;
            matrix_multiply_part(scores, CHUNK, queries, dim, 1, j->panels, n, first, chunk, dim,
                                 0);
            for (size_t i = 0; i < n; i++)
                look_through(&list[at + i], &best[i], scores + i * CHUNK, first, chunk);
        }
        /* cppcheck-suppress uninitvar ; the loop above has filled them */
        for (size_t i = 0; i < n; i++)
            correct[list[at + i].section] += best[i].word == list[at + i].words[3];
    }
    free(queries);
    free(scores);
}

static void answer_together(struct judge *j, struct pool_member *m, uint64_t *correct)
{
    uint64_t first, end;
    uint32_t sections = j->analogies.sections.count;
    pool_share(j->analogies.count, m->place, m->total, &first, &end);
    judge_answer(j, j->analogies.list + first, (size_t)(end - first), correct);
    double *figures = take_memory(sections + 1, sizeof *figures);
    for (uint32_t i = 0; i < sections; i++) figures[i] = (double)correct[i];
    pool_sum(m, figures, sections);
    for (uint32_t i = 0; i < sections; i++) correct[i] = (uint64_t)figures[i];
    free(figures);
}

static double similarity(const struct judge *j)
{
    size_t dim = j->wv->options.dim, n = j->similarities.count;
    double *cosines = take_memory(n, sizeof *cosines), *ratings = take_memory(n, sizeof *ratings);
    for (size_t i = 0; i < n; i++) {
        const struct similarity *s = &j->similarities.list[i];
        cosines[i] = (double)vec_best()->dot(j->vectors + s->a * dim, j->vectors + s->b * dim, dim);
        ratings[i] = s->rating;
    }
    double rho = spearman(cosines, ratings, n);
    free(cosines);
    free(ratings);
    return rho;
}

struct verdict judge_all(struct judge *j, struct pool_member *m)
{
    double began = meter_now();
    struct verdict v = {0};
    pool_quiesce(m);
    take_vectors(j, m);
    v.correct = take_memory(j->analogies.sections.count + 1, sizeof *v.correct);
    if (j->analogies.count > 0) answer_together(j, m, v.correct);
    if (m->place == 0 && j->wv->options.similarity) v.similarity = similarity(j);
    pool_meet(m);
    v.seconds = meter_now() - began;
    return v;
}
