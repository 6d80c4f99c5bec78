#include "lda_warm.h"

#include "fail.h"
#include "rng.h"
#include "saved.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct warm {
    const struct lda *lda;
    const struct saved_tensor *rows;
    const float *totals;
    struct names names;
    double *up_to; /* of each topic: its share, and those before it */
};

/* The model's row of a word of the corpus; NAMES_NONE: it has none. */
static uint32_t row_of(const struct warm *w, uint32_t word)
{
    const struct names *own = &w->lda->corpus.names;
    if (w->names.count == 0) return word < w->rows->rows ? word : NAMES_NONE;
    const char *name = names_get(own, word);
    return names_find(&w->names, name, strlen(name));
}

static void add_up(struct warm *w, uint32_t row)
{
    const struct lda_options *o = &w->lda->options;
    const float *counts = saved_row(w->rows, row);
    double sum = 0, all = o->beta * (double)w->rows->rows;
    for (size_t k = 0; k < o->topics; k++)
        w->up_to[k] = sum += ((double)counts[k] + o->beta) / ((double)w->totals[k] + all);
}

static uint32_t draw(const struct warm *w, struct rng *rng)
{
    size_t first = 0, last = w->lda->options.topics - 1;
    double at = rng_real(rng) * w->up_to[last];
    while (first < last) {
        size_t middle = (first + last) / 2;
        if (w->up_to[middle] > at)
            last = middle;
        else
            first = middle + 1;
    }
    return (uint32_t)first;
}

void lda_warm(struct shelf *s, const char *path)
{
    const struct lda *l = s->lda;
    const size_t topics = l->options.topics;
    struct saved saved;
    struct rng rng;
    saved_open(&saved, path);
    const struct saved_tensor *found = saved_find(&saved, "word_topics", TENSORS_F32);
    if (found && found->columns != topics)
        saved_fail(&saved, "has %" PRIu64 " topics, and --topics is %zu: train alike (--from)",
                   found->columns, topics);
    struct warm w = {.lda = l,
                     .rows = saved_take(&saved, "word_topics", TENSORS_F32, 0, topics),
                     .totals = saved_take(&saved, "topic_totals", TENSORS_F32, topics, 0)->values,
                     .up_to = take_memory(topics, sizeof *w.up_to)};
    saved_names(&saved, "words", w.rows->rows, &w.names);
    if ((w.names.count > 0) != (l->corpus.names.count > 0))
        saved_fail(&saved, "and the data do not both have names of words (--from, --vocabulary)");
    uint32_t known = 0;
    for (uint32_t word = 0; word < l->corpus.words; word++) {
        uint64_t first = s->train.start[word], end = s->train.start[word + 1];
        uint32_t row = row_of(&w, word);
        known += row != NAMES_NONE;
        if (row == NAMES_NONE || first == end) continue;
        add_up(&w, row);
        rng_init(&rng, l->options.common.seed, (UINT64_C(1) + s->first) << 32 | word);
        for (uint64_t t = first; t < end; t++) s->train.topic[t] = draw(&w, &rng);
    }
    if (known == 0) saved_fail(&saved, "has no word of the documents (--from)");
    shelf_count(s);
    names_fini(&w.names);
    free(w.up_to);
    saved_close(&saved);
}
