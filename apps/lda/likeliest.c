#include "likeliest.h"

#include "fail.h"
#include "json.h"
#include "plain.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void compare_word(void *likeliest, uint64_t word, const float *row)
{
    struct likeliest *b = likeliest;
    for (size_t k = 0, full = b->top; k < b->topics; k++)
        top_offer(b->list + k * b->top, &full, b->top, (uint32_t)word, row[k]);
}

void likeliest_find(struct likeliest *b, const struct lda *l, size_t top, struct word_rows *r)
{
    *b = (struct likeliest){.topics = r->topics, .top = top};
    b->list = take_memory(b->topics * top, sizeof *b->list);
    b->totals = take_memory(b->topics, sizeof *b->totals);
    word_rows_read(r, LDA_TOPICS, b->totals);
    rows_visit(r->member, LDA_WORDS, 0, l->corpus.words, compare_word, b);
}

void likeliest_fini(struct likeliest *b)
{
    free(b->list);
    free(b->totals);
    *b = (struct likeliest){0};
}

const char *likeliest_name(const struct lda *l, uint32_t word, char *text, size_t bytes)
{
    if (l->corpus.names.count > word) return names_get(&l->corpus.names, word);
    snprintf(text, bytes, "%u", word);
    return text;
}

void likeliest_say(const struct lda *l, const struct likeliest *b, const double *npmi)
{
    const struct lda_options *o = &l->options;
    char text[16], field[32];
    for (uint64_t k = 0; k < o->topics; k++) {
        struct json j;
        if (o->common.json) {
            json_begin(&j, "topic");
            json_count(&j, "topic", k);
            json_count(&j, "tokens", (uint64_t)b->totals[k]);
            json_number(&j, "npmi", npmi[k]);
        } else {
            printf("topic %4" PRIu64 " %8.0f tokens:", k, (double)b->totals[k]);
        }
        const struct top *list = b->list + k * b->top;
        for (uint64_t i = 0; i < o->top && list[i].score > 0; i++) {
            const char *name = likeliest_name(l, list[i].number, text, sizeof text);
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

/* ---- how well they go together ---- */

/* The documents of the words that are asked about, ascending: of word w from start[w] to start[w +
 * 1]. */
struct postings {
    uint64_t *start;
    uint32_t *document;
};

/* Each document once for a word: `last` has the document that a word was seen in last, and one
 * more. Counts them, or where there is room fills them in. */
static void post(const struct corpus *c, const bool *is_asked, uint32_t *last, struct postings *p)
{
    for (uint32_t w = 0; w < c->words; w++) last[w] = 0;
    for (uint32_t d = 0; d < c->documents; d++)
        for (uint64_t t = c->start[d]; t < c->start[d + 1]; t++) {
            uint32_t word = c->token[t];
            if (!is_asked[word] || last[word] == d + 1) continue;
            last[word] = d + 1;
            if (p->document) p->document[p->start[word]] = d;
            p->start[word + !p->document]++;
        }
}

static void make_postings(struct postings *p, const struct corpus *c, const struct likeliest *b)
{
    bool *is_asked = take_memory(c->words + (size_t)1, sizeof *is_asked);
    uint32_t *last = take_memory(c->words + (size_t)1, sizeof *last);
    *p = (struct postings){.start = take_memory(c->words + (size_t)2, sizeof *p->start)};
    for (size_t i = 0; i < b->topics * b->top; i++)
        if (b->list[i].score > 0) is_asked[b->list[i].number] = true;
    post(c, is_asked, last, p);
    for (uint32_t w = 0; w < c->words; w++) p->start[w + 1] += p->start[w];
    p->document = take_memory(p->start[c->words] + 1, sizeof *p->document);
    post(c, is_asked, last, p);
    /* Each has gone to where the next one began. */
    for (uint32_t w = c->words; w > 0; w--) p->start[w] = p->start[w - 1];
    p->start[0] = 0;
    free(is_asked);
    free(last);
}

static double npmi(const struct postings *p, double documents, uint32_t a, uint32_t b)
{
    uint64_t i = p->start[a], j = p->start[b], both = 0;
    double of_a = (double)(p->start[a + 1] - i), of_b = (double)(p->start[b + 1] - j);
    while (i < p->start[a + 1] && j < p->start[b + 1]) {
        uint32_t x = p->document[i], y = p->document[j];
        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    if (both == 0) return -1;
    double share = (double)both / documents;
    return share < 1 ? log(share * documents / of_a * documents / of_b) / -log(share) : 1;
}

void coherence_npmi(const struct corpus *c, const struct likeliest *b, double *of_topic)
{
    struct postings p;
    make_postings(&p, c, b);
    for (size_t k = 0; k < b->topics; k++) {
        const struct top *words = b->list + k * b->top;
        double sum = 0, pairs = 0;
        for (size_t i = 1; i < b->top && words[i].score > 0; i++)
            for (size_t j = 0; j < i; j++, pairs++)
                sum += npmi(&p, c->documents, words[i].number, words[j].number);
        of_topic[k] = sum / pairs;
    }
    free(p.start);
    free(p.document);
}
