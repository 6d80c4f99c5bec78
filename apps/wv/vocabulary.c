#include "vocabulary.h"

#include "digest.h"
#include "fail.h"
#include "room.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct counted {
    uint64_t count;
    uint32_t name;
};

struct word_counts {
    struct names names;
    uint64_t *counts;
    size_t known, capacity; /* of counts */
    uint64_t read;
    struct stat text;
};

static void count_word(struct word_counts *t, const struct text *text)
{
    uint32_t name = names_add(&t->names, text->word, text->length);
    if (name == t->known) {
        t->counts = make_room(t->counts, name, &t->capacity, sizeof *t->counts, "different words");
        t->counts[t->known++] = 0;
    }
    t->counts[name]++;
    t->read++;
}

static void count_all(struct word_counts *t, const char *path)
{
    struct text text;
    names_init(&t->names);
    text_open(&text, path, 0, 1);
    for (enum text_event e; (e = text_next(&text)) != TEXT_END;) {
        if (e == TEXT_WORD) count_word(t, &text);
    }
    t->text = text.file.about;
    text_close(&text);
}

static int by_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static struct counted *frequent_words(const struct word_counts *t, uint64_t min_count,
                                      size_t *count)
{
    struct counted *list = take_memory(t->names.count, sizeof *list);
    *count = 0;
    for (uint32_t i = 0; i < t->names.count; i++) {
        if (t->counts[i] >= min_count)
            list[(*count)++] = (struct counted){.count = t->counts[i], .name = i};
    }
    qsort(list, *count, sizeof *list, by_count);
    return list;
}

void vocabulary_load(struct vocabulary *v, const char *path, uint64_t min_count)
{
    struct word_counts t = {0};
    size_t count;
    count_all(&t, path);
    if (t.read == 0) fail("%s has no words", path);
    struct counted *list = frequent_words(&t, min_count, &count);
    if (count == 0)
        fail("%s: none of its %" PRIu64 " words occurs %" PRIu64
             " times: choose a smaller --min-count",
             path, t.read, min_count);
    *v = (struct vocabulary){.read = t.read, .text = t.text};
    names_init(&v->words);
    v->counts = take_memory(count, sizeof *v->counts);
    for (size_t i = 0; i < count; i++) {
        const char *word = names_get(&t.names, list[i].name);
        names_add(&v->words, word, strlen(word));
        v->counts[i] = list[i].count;
        v->total += list[i].count;
    }
    free(list);
    free(t.counts);
    names_fini(&t.names);
}

void vocabulary_fini(struct vocabulary *v)
{
    names_fini(&v->words);
    free(v->counts);
    *v = (struct vocabulary){0};
}

double *vocabulary_weights(const struct vocabulary *v, double power)
{
    double *weights = take_memory(v->words.count, sizeof *weights);
    for (uint32_t i = 0; i < v->words.count; i++) weights[i] = pow((double)v->counts[i], power);
    return weights;
}

double vocabulary_keep(const struct vocabulary *v, uint32_t word, double threshold)
{
    if (threshold <= 0) return 1;
    double ratio = threshold * (double)v->total / (double)v->counts[word];
    double keep = sqrt(ratio) + ratio;
    return keep < 1 ? keep : 1;
}

uint64_t vocabulary_digest(const struct vocabulary *v)
{
    uint64_t digest = names_digest(&v->words, v->words.count, DIGEST_FIRST);
    return digest_add(digest, v->counts, v->words.count * sizeof *v->counts);
}
