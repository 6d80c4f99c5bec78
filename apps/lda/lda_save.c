#include "lda_save.h"

#include "fail.h"
#include "lda_report.h"
#include "likeliest.h"
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

void lda_show_topics(const struct lda *l, struct word_rows *r)
{
    struct likeliest b;
    likeliest_find(&b, l, l->options.top, r);
    lda_report_topics(l, &b);
    likeliest_fini(&b);
}
