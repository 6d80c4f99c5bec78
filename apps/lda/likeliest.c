#include "likeliest.h"

#include "fail.h"
#include "json.h"
#include "plain.h"
#include "rows.h"

#include <inttypes.h>
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

void likeliest_say(const struct lda *l, const struct likeliest *b)
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
