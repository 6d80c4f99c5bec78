#include "fail.h"
#include "predict.h"
#include "programs.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>

enum { WORDS_MAX = 3 };
static const char *const asked[WORDS_MAX] = {"a", "b", "c"};

struct using
{
    size_t dim;
    const struct saved_tensor *inputs;
    struct names names;
    float *scale; /* of each word, to length 1; 0: it has none */
    float *query;
};

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    u->inputs = saved_find(s, "inputs", TENSORS_F32);
    if (!u->inputs || u->inputs->columns == 0) saved_fail(s, "has no \"inputs\"");
    u->dim = u->inputs->columns;
    saved_names(s, "word_names", u->inputs->rows, &u->names);
    u->scale = take_memory(u->inputs->rows + 1, sizeof *u->scale);
    u->query = take_memory(u->dim, sizeof *u->query);
    for (uint64_t i = 0; i < u->inputs->rows; i++) {
        const float *row = saved_row(u->inputs, i);
        float square = vec_best()->dot(row, row, u->dim);
        u->scale[i] = square > 0 ? 1 / sqrtf(square) : 0;
    }
}

static void say(struct predict *p, const uint32_t *words)
{
    const struct using *u = p->program;
    float square = vec_best()->dot(u->query, u->query, u->dim),
          scale = square > 0 ? 1 / sqrtf(square) : 0;
    for (uint32_t i = 0; i < u->inputs->rows; i++) {
        bool is_asked = false;
        for (size_t k = 0; k < p->fields; k++) is_asked = is_asked || words[k] == i;
        if (!is_asked)
            predict_offer(p, i,
                          scale * u->scale[i] *
                              vec_best()->dot(u->query, saved_row(u->inputs, i), u->dim));
    }
    for (size_t i = 0; i < p->candidate_count; i++) {
        for (size_t k = 0; k < p->fields && k < WORDS_MAX; k++)
            predict_text(p, asked[k], p->field[k]);
        predict_name(p, "word", &u->names, p->candidates[i].number, 0);
        predict_number(p, "cosine", (double)p->candidates[i].score);
        predict_end(p);
    }
}

static void answer(struct predict *p)
{
    const struct using *u = p->program;
    uint32_t words[WORDS_MAX] = {0};
    bool is_known = true;
    for (size_t i = 0; i < u->dim; i++) u->query[i] = 0;
    for (size_t k = 0; k < p->fields; k++) {
        words[k] = predict_row(&u->names, u->inputs->rows, p->field[k], 0);
        is_known = is_known && words[k] != NAMES_NONE;
        if (!is_known || (p->fields == 2 && k == 1)) continue;
        float part = p->fields == 3 && k == 0 ? -1 : 1;
        vec_best()->add_scaled(u->query, part * u->scale[words[k]], saved_row(u->inputs, words[k]),
                               u->dim);
    }
    p->unknown += !is_known;
    if (p->fields != 2) {
        if (is_known) say(p, words);
        return;
    }
    double cosine = NAN;
    if (is_known)
        cosine = (double)(u->scale[words[1]] *
                          vec_best()->dot(u->query, saved_row(u->inputs, words[1]), u->dim));
    for (size_t k = 0; k < 2; k++) predict_text(p, asked[k], p->field[k]);
    predict_number(p, "cosine", cosine);
    predict_end(p);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    names_fini(&u->names);
    free(u->scale);
    free(u->query);
}

const struct predict_kind wv_predict_kind = {
    .model = "|skip-gram|",
    .about =
        "Answers each line of FILE, or of stdin, by a model that locus-wv has saved: of a word the nearest ones by\n"
        "the cosine, of two words their cosine, of three the words that are to the third as the second is to the\n"
        "first. Blanks, tabs or commas are between.",
    .more = "A line out: the words asked about, a word and its cosine.\n\n"
            "example:\n"
            "  echo man king woman | locus-wv predict --best 3 vectors.safetensors",
    .program_bytes = sizeof(struct using),
    .fields_max = WORDS_MAX,
    .is_text = true,
    .best = 10,
    .best_help = "words of an answer",
    .open = open,
    .answer = answer,
    .close = close};
