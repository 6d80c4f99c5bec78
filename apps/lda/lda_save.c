#include "lda_save.h"

#include "fail.h"
#include "lda_report.h"
#include "rows.h"
#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>

void lda_save(const struct lda *l, struct pool_member *m, struct word_rows *r)
{
    const struct names *names = &l->corpus.names;
    float *totals = take_memory(r->topics, sizeof *totals);
    char text[64];
    struct tensors t;
    word_rows_read(r, LDA_TOPICS, totals);
    tensors_open(&t, l->options.common.out);
    tensors_note(&t, "model", "lda");
    snprintf(text, sizeof text, "%.17g", l->options.alpha);
    tensors_note(&t, "alpha", text);
    snprintf(text, sizeof text, "%.17g", l->options.beta);
    tensors_note(&t, "beta", text);
    tensors_declare(&t, "word_topics", TENSORS_F32, l->corpus.words, r->topics);
    tensors_declare(&t, "topic_totals", TENSORS_F32, r->topics, 0);
    if (names->count > 0) tensors_declare(&t, "words", TENSORS_U8, names->text_length, 0);
    tensors_begin(&t);
    rows_save(m, LDA_WORDS, 0, r->topics, &t);
    tensors_write(&t, totals, r->topics * sizeof *totals);
    if (names->count > 0) tensors_write_names(&t, names);
    tensors_close(&t);
    free(totals);
}

/* ---- the likeliest words ---- */

struct best {
    size_t topics, top;
    uint32_t *words; /* of each topic, the likeliest first */
    float *counts;
};

static void insert(struct best *b, size_t topic, uint32_t word, float count)
{
    float *counts = b->counts + topic * b->top;
    uint32_t *words = b->words + topic * b->top;
    size_t at = b->top;
    for (; at > 0 && count > counts[at - 1]; at--) {
        if (at == b->top) continue;
        counts[at] = counts[at - 1];
        words[at] = words[at - 1];
    }
    if (at == b->top) return;
    counts[at] = count;
    words[at] = word;
}

static void compare_word(void *best, uint64_t word, const float *row)
{
    struct best *b = best;
    for (size_t k = 0; k < b->topics; k++) insert(b, k, (uint32_t)word, row[k]);
}

void lda_show_topics(const struct lda *l, struct pool_member *m, struct word_rows *r)
{
    struct best b = {.topics = r->topics, .top = l->options.top};
    float *totals = take_memory(r->topics, sizeof *totals);
    b.words = take_memory(b.topics * b.top, sizeof *b.words);
    b.counts = take_memory(b.topics * b.top, sizeof *b.counts);
    word_rows_read(r, LDA_TOPICS, totals);
    rows_visit(m, LDA_WORDS, 0, l->corpus.words, compare_word, &b);
    lda_report_topics(l, b.words, totals);
    free(totals);
    free(b.words);
    free(b.counts);
}
