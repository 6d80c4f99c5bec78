#include "lda_picture.h"

#include "fail.h"
#include "svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOPICS_SHOWN = 24,
    WORDS_SHOWN = 8,
    ACROSS = 4,
    LEFT = 20,
    TOP = 76,
    CELL_WIDTH = 240,
    HEAD = 24,
    LINE = 17,
    CELL_HEIGHT = HEAD + WORDS_SHOWN * LINE + 22,
    NAME_WIDTH = 96, /* words end here, bars begin */
    BAR_WIDTH = CELL_WIDTH - NAME_WIDTH - 30,
};

struct ranked {
    float total;
    size_t topic;
};

static int by_total(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->total < y->total || x->total > y->total) return x->total < y->total ? 1 : -1;
    return x->topic < y->topic ? -1 : 1;
}

/* Bars of a topic are as long as its words are likely, beside its likeliest one. */
static void put_word(FILE *f, const struct lda *l, uint32_t word, double share, double x, double y)
{
    char text[16];
    svg_text(f, x + NAME_WIDTH - 6, y, 12, "#111111", "end",
             likeliest_name(l, word, text, sizeof text));
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"11\" fill=\"#1f6fb4\"/>\n",
            x + NAME_WIDTH, y - 10, share * BAR_WIDTH);
}

static void put_topic(FILE *f, const struct lda *l, const struct likeliest *b, size_t topic,
                      size_t place)
{
    size_t column = place % ACROSS, line = place / ACROSS;
    double x = LEFT + (double)column * CELL_WIDTH, y = TOP + (double)line * CELL_HEIGHT;
    const struct top *list = b->list + topic * b->top;
    char head[64];
    double share = b->totals[topic] > 0 ? (double)(list[0].score / b->totals[topic]) : 0;
    snprintf(head, sizeof head, "topic %zu: %.0f tokens, first word %.1f %%", topic,
             (double)b->totals[topic], 100 * share);
    svg_text(f, x, y + 12, 11, "#555555", "start", head);
    for (size_t i = 0; i < b->top && list[i].score > 0; i++)
        put_word(f, l, list[i].number, (double)(list[i].score / list[0].score), x,
                 y + HEAD + (double)(i + 1) * LINE - 5);
}

void lda_picture_write(const struct lda *l, struct word_rows *r)
{
    struct likeliest b;
    struct saving s;
    char title[64], subtitle[128];
    likeliest_find(&b, l, WORDS_SHOWN, r);
    struct ranked *order = take_memory(b.topics, sizeof *order);
    for (size_t k = 0; k < b.topics; k++) order[k] = (struct ranked){b.totals[k], k};
    qsort(order, b.topics, sizeof *order, by_total);
    size_t shown = b.topics < TOPICS_SHOWN ? b.topics : TOPICS_SHOWN;
    int rows = (int)((shown + ACROSS - 1) / ACROSS);
    snprintf(title, sizeof title, "%zu of %zu topics", shown, b.topics);
    snprintf(subtitle, sizeof subtitle,
             "the most frequent ones, and their likeliest words; %u documents, %" PRIu64 " sweeps",
             l->corpus.documents, l->options.common.epochs);
    svg_begin(&s, l->options.picture, LEFT + ACROSS * CELL_WIDTH, TOP + rows * CELL_HEIGHT, title,
              subtitle);
    for (size_t i = 0; i < shown; i++) put_topic(s.file, l, &b, order[i].topic, i);
    svg_end(&s);
    free(order);
    likeliest_fini(&b);
}
