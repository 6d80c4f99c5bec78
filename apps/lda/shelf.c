#include "shelf.h"

#include "fail.h"
#include "rng.h"
#include "saved.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which documents ---- */

/* The first document that begins at the worker's share of the tokens, or behind. */
static uint32_t first_of(const struct corpus *c, unsigned place, unsigned places)
{
    uint64_t total = c->start[c->documents], wanted = total / places * place;
    uint32_t d = 0;
    if (place == places) return c->documents;
    while (d < c->documents && c->start[d] < wanted) d++;
    return d;
}

/* ---- which blocks ---- */

/* Words in descending order of their tokens go to the block that has the fewest so far. */
struct weighed {
    uint64_t tokens;
    uint32_t word;
};

static int by_tokens(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->tokens != y->tokens) return x->tokens < y->tokens ? 1 : -1;
    return x->word < y->word ? -1 : 1;
}

static uint32_t lightest(const uint64_t *weight, uint32_t blocks)
{
    uint32_t best = 0;
    for (uint32_t b = 1; b < blocks; b++)
        if (weight[b] < weight[best]) best = b;
    return best;
}

/* The block of each word. */
static uint32_t *assign_blocks(const struct corpus *c, uint32_t blocks)
{
    struct weighed *words = take_memory(c->words, sizeof *words);
    uint64_t *weight = take_memory(blocks, sizeof *weight);
    uint32_t *block = take_memory(c->words, sizeof *block);
    for (uint32_t w = 0; w < c->words; w++) words[w].word = w;
    for (uint64_t t = 0; t < c->start[c->documents]; t++) words[c->token[t]].tokens++;
    qsort(words, c->words, sizeof *words, by_tokens);
    for (uint32_t i = 0; i < c->words; i++) {
        uint32_t b = lightest(weight, blocks);
        block[words[i].word] = b;
        weight[b] += words[i].tokens + 1;
    }
    free(words);
    free(weight);
    return block;
}

static void list_words(struct shelf *s)
{
    const struct corpus *c = &s->lda->corpus;
    uint32_t *block = assign_blocks(c, s->blocks), n = 0;
    s->block_start = take_memory((size_t)s->blocks + 1, sizeof *s->block_start);
    s->words = take_memory(c->words, sizeof *s->words);
    for (uint32_t b = 0; b < s->blocks; b++) {
        s->block_start[b] = n;
        for (uint32_t w = 0; w < c->words; w++) {
            bool is_here = s->train.start[w + 1] > s->train.start[w];
            if (is_here && block[w] == b) s->words[n++] = w;
        }
    }
    s->block_start[s->blocks] = n;
    free(block);
}

/* ---- tokens by word ---- */

static void take_tokens(struct shelf_tokens *t, const struct corpus *c, uint64_t count)
{
    t->start = take_memory((size_t)c->words + 2, sizeof *t->start);
    t->document = take_memory(count + 1, sizeof *t->document);
    t->topic = take_memory(count + 1, sizeof *t->topic);
}

/* Counts, then places: start[w + 2] is counted up, and start[w + 1] goes on while placing. */
static void sort_tokens(struct shelf *s)
{
    const struct lda_options *o = &s->lda->options;
    const struct corpus *c = &s->lda->corpus;
    uint64_t first = c->start[s->first], end = c->start[s->first + s->documents];
    take_tokens(&s->train, c, end - first);
    take_tokens(&s->held, c, end - first);
    for (uint64_t t = first; t < end; t++) {
        bool is_held = corpus_is_held(t, o->held_back, o->common.seed);
        (is_held ? &s->held : &s->train)->start[c->token[t] + 2]++;
    }
    for (uint32_t w = 0; w < c->words; w++) {
        s->train.start[w + 2] += s->train.start[w + 1];
        s->held.start[w + 2] += s->held.start[w + 1];
    }
    for (uint32_t d = 0; d < s->documents; d++)
        for (uint64_t t = c->start[s->first + d]; t < c->start[s->first + d + 1]; t++) {
            bool is_held = corpus_is_held(t, o->held_back, o->common.seed);
            struct shelf_tokens *to = is_held ? &s->held : &s->train;
            uint64_t at = to->start[c->token[t] + 1]++;
            to->document[at] = d;
            to->topic[at] = (uint32_t)(rng_mix(rng_mix(~o->common.seed) + t) % o->topics);
        }
    s->tokens = s->train.start[c->words];
    s->held_tokens = s->held.start[c->words];
}

static void count_topics(struct shelf *s)
{
    uint64_t capacity = 0, topics = s->lda->options.topics;
    s->pair_start = take_memory((size_t)s->documents + 1, sizeof *s->pair_start);
    s->pair_count = take_memory((size_t)s->documents + 1, sizeof *s->pair_count);
    s->length = take_memory((size_t)s->documents + 1, sizeof *s->length);
    for (uint64_t t = 0; t < s->tokens; t++) s->length[s->train.document[t]]++;
    for (uint32_t d = 0; d < s->documents; d++) {
        s->pair_start[d] = capacity;
        capacity += s->length[d] < topics ? s->length[d] : topics;
    }
    s->pair_start[s->documents] = capacity;
    s->pairs = take_memory(capacity + 1, sizeof *s->pairs);
    shelf_count(s);
}

void shelf_count(struct shelf *s)
{
    memset(s->pair_count, 0, s->documents * sizeof *s->pair_count);
    for (uint64_t t = 0; t < s->tokens; t++) shelf_add(s, s->train.document[t], s->train.topic[t]);
}

void shelf_open(struct shelf *s, const struct lda *l, unsigned place, unsigned places,
                uint32_t blocks)
{
    *s = (struct shelf){.lda = l, .blocks = blocks};
    s->first = first_of(&l->corpus, place, places);
    s->documents = first_of(&l->corpus, place + 1, places) - s->first;
    sort_tokens(s);
    count_topics(s);
    list_words(s);
}

/* ---- topics as they come in the corpus ---- */

/* Where each of its tokens lies: the place among those to train with, or UINT64_MAX. free() it. */
static uint64_t *places_of(const struct shelf *s)
{
    const struct lda_options *o = &s->lda->options;
    const struct corpus *c = &s->lda->corpus;
    uint64_t first = c->start[s->first], end = c->start[s->first + s->documents];
    uint64_t *place = take_memory(end - first + 1, sizeof *place);
    uint64_t *next = take_memory((size_t)c->words + 1, sizeof *next);
    memcpy(next, s->train.start, c->words * sizeof *next);
    for (uint64_t t = first; t < end; t++) {
        bool is_held = corpus_is_held(t, o->held_back, o->common.seed);
        place[t - first] = is_held ? UINT64_MAX : next[c->token[t]]++;
    }
    free(next);
    return place;
}

/* Of a document among those of the shelf's tokens. */
static uint64_t first_token(const struct shelf *s, uint32_t document)
{
    const uint64_t *start = s->lda->corpus.start + s->first;
    return start[document] - start[0];
}

void shelf_write(const struct shelf *s, float *topics, float *orders)
{
    uint64_t count = first_token(s, s->documents), *place = places_of(s);
    for (uint64_t t = 0; t < count; t++)
        topics[t] = place[t] == UINT64_MAX ? 0 : (float)(s->train.topic[place[t]] + 1);
    memset(orders, 0, count * sizeof *orders);
    for (uint32_t d = 0; d < s->documents; d++)
        for (uint32_t i = 0; i < s->pair_count[d]; i++)
            orders[first_token(s, d) + i] = (float)(s->pairs[s->pair_start[d] + i].topic + 1);
    free(place);
}

static uint32_t topic_of(const struct shelf *s, float value)
{
    uint64_t topics = s->lda->options.topics;
    if (!(value >= 1 && value <= (float)topics))
        fail("a checkpoint has the topic %g, which is none of %llu", (double)value - 1,
             (unsigned long long)topics);
    return (uint32_t)value - 1;
}

void shelf_read(struct shelf *s, const float *topics, const float *orders)
{
    uint64_t count = first_token(s, s->documents), *place = places_of(s);
    for (uint64_t t = 0; t < count; t++)
        if (place[t] != UINT64_MAX) s->train.topic[place[t]] = topic_of(s, topics[t]);
    for (uint32_t d = 0; d < s->documents; d++) {
        uint64_t at = first_token(s, d), end = first_token(s, d + 1), most = s->pair_start[d + 1];
        s->pair_count[d] = 0;
        for (; at < end && orders[at] > 0 && s->pair_start[d] + s->pair_count[d] < most; at++)
            s->pairs[s->pair_start[d] + s->pair_count[d]++] =
                (struct shelf_pair){.topic = topic_of(s, orders[at])};
    }
    for (uint64_t t = 0; t < s->tokens; t++) shelf_add(s, s->train.document[t], s->train.topic[t]);
    free(place);
}

static void free_tokens(struct shelf_tokens *t)
{
    free(t->start);
    free(t->document);
    free(t->topic);
}

void shelf_close(struct shelf *s)
{
    free_tokens(&s->train);
    free_tokens(&s->held);
    free(s->pair_start);
    free(s->pairs);
    free(s->pair_count);
    free(s->length);
    free(s->block_start);
    free(s->words);
    *s = (struct shelf){0};
}

/* ---- first topics by a saved model ---- */

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

void lda_warm(struct shelf *s, const char *path, bool is_first)
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
    if (is_first)
        fprintf(stderr, "%s: %" PRIu32 " of %" PRIu32 " words begin as %s has them\n",
                fail_program(), known, l->corpus.words, path);
    shelf_count(s);
    names_fini(&w.names);
    free(w.up_to);
    saved_close(&saved);
}
