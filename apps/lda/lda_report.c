#include "lda_report.h"

#include "fail.h"
#include "json.h"
#include "plain.h"
#include "run_log.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const formats[] = {[CORPUS_TEXT] = "plain text, ",
                                      [CORPUS_LDAC] = "LDA-C, ",
                                      [CORPUS_DOCWORD] = "docword, ",
                                      [CORPUS_MATRIX] = "MatrixMarket, "};

void lda_report_start(const struct lda *l, const struct pool *pool)
{
    const struct lda_options *o = &l->options;
    const struct corpus *c = &l->corpus;
    if (c->comments > 0)
        fprintf(stderr,
                "%s: %s: lines that begin with # or %% are comments, no documents: there are "
                "%" PRIu64 "\n",
                fail_program(), o->common.data, c->comments);
    if (l->test.unknown > 0)
        fprintf(stderr,
                "%s: %s: %" PRIu64 " of its %" PRIu64
                " tokens are of words that no document to train with has, and are left out\n",
                fail_program(), o->test, l->test.unknown,
                l->test.unknown + l->test.start[l->test.documents]);
    if (o->common.json) return;
    printf("%s: %s%u documents, %u words, %" PRIu64 " tokens, of which %g %% are held back\n",
           o->common.data ? o->common.data : o->generate, o->common.data ? formats[c->format] : "",
           c->documents, c->words, c->start[c->documents], 100 * o->held_back);
    printf("%" PRIu64 " topics, alpha %g, beta %g; %s, %s sampler\n", o->topics, o->alpha, o->beta,
           o->visit == LDA_ROTATION ? "blocks of words from worker to worker"
                                    : "copies of all words",
           o->sampler == LDA_TREE ? "tree" : "plain");
    settings_show_pool(&o->common, pool, false);
}

void lda_report_epoch(const struct lda *l, uint64_t number, const struct lda_epoch *e)
{
    run_log_point("S-error", e->error);
    run_log_point("Tokens sampled a second", e->tokens / e->seconds);
    if (!l->options.common.json) {
        printf("sweep %4" PRIu64 "   s-error %7.5f   %7.3f s   %10.0f tokens/s\n", number, e->error,
               e->seconds, e->tokens / e->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin_epoch(&j, number, e->seconds, e->tokens / e->seconds);
    json_number(&j, "s_error", e->error);
    json_end(&j);
}

void lda_report_quality(const struct lda *l, const struct quality *q)
{
    if (q->perplexity > 0) run_log_point("Perplexity", q->perplexity);
    if (!l->options.common.json) {
        printf("log p(w, z) %9.4f a token", q->likelihood);
        if (q->perplexity > 0) printf("   perplexity %8.1f", q->perplexity);
        if (q->new_perplexity > 0) printf("   of new documents %8.1f", q->new_perplexity);
        printf("   (%.1f s)\n", q->seconds);
        fflush(stdout);
        return;
    }
    struct json j;
    json_begin(&j, "eval");
    json_number(&j, "log_likelihood", q->likelihood);
    if (q->perplexity > 0) json_number(&j, "perplexity", q->perplexity);
    if (q->new_perplexity > 0) json_number(&j, "new_perplexity", q->new_perplexity);
    json_number(&j, "seconds", q->seconds);
    json_end(&j);
}

void lda_report_topics(const struct lda *l, const struct likeliest *b)
{
    const struct lda_options *o = &l->options;
    char text[16], field[32];
    for (uint64_t k = 0; k < o->topics; k++) {
        struct json j;
        if (o->common.json) {
            json_begin(&j, "topic");
            json_count(&j, "topic", k);
            json_count(&j, "tokens", (uint64_t)b->totals[k]);
        } else {
            printf("topic %4" PRIu64 " %8.0f tokens:", k, (double)b->totals[k]);
        }
        const float *counts = b->counts + k * b->top;
        for (uint64_t i = 0; i < o->top && counts[i] > 0; i++) {
            const char *name = likeliest_name(l, b->words[k * b->top + i], text, sizeof text);
            snprintf(field, sizeof field, "word%" PRIu64, i + 1);
            if (o->common.json) {
                json_text(&j, field, name);
            } else {
                plain_print(" %s", name);
            }
        }
        if (o->common.json) {
            json_end(&j);
        } else {
            printf("\n");
        }
    }
}
