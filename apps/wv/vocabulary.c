#include "vocabulary.h"

#include "digest.h"
#include "fail.h"
#include "saved.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The first end of a word at or behind `at`. */
static const char *between_words(const struct text *t, const char *at)
{
    while (at > t->file.next && at < t->file.end && !is_space(*at)) at++;
    return at;
}

static const char form[] = "words with white space between";

static _Noreturn void complain(struct text *t, const char *what)
{
    t->file.number = 1;
    for (const char *c = t->file.file; c < t->word; c++) t->file.number += *c == '\n';
    t->file.text = t->word;
    lines_fail(&t->file, "%s", what);
}

static void check_end(struct text *t)
{
    t->word = t->at;
    complain(t, "has a carriage return in it: lines end with LF");
}

/* Programs of Windows put one before a file: it is no part of the first word. */
static void check_begin(struct text *t, const char *text)
{
    static const char mark[] = {'\xEF', '\xBB', '\xBF'};
    t->word = text;
    if (t->file.end - text >= (ptrdiff_t)sizeof mark && memcmp(text, mark, sizeof mark) == 0)
        complain(t, "begins with a byte order mark");
}

void text_open(struct text *t, const char *path, unsigned place, unsigned places)
{
    *t = (struct text){0};
    lines_open(&t->file, path, form);
    if (!t->file.file) return;
    const char *text = t->file.next; /* nobody takes lines: it stays where the text begins */
    size_t bytes = (size_t)(t->file.end - text);
    check_begin(t, text);
    t->first = t->at = between_words(t, text + bytes / places * place);
    t->end = place + 1 == places ? t->file.end
                                 : between_words(t, text + bytes / places * (place + 1));
}

enum text_event text_next(struct text *t)
{
    if (!t->at || t->at == t->end) return TEXT_END; /* an empty file is not mapped */
    for (; t->at < t->end && is_space(*t->at); t->at++) {
        if (*t->at == '\n') {
            t->at++;
            return TEXT_LINE;
        }
        if (*t->at == '\r') check_end(t);
    }
    if (t->at == t->end) return TEXT_END;
    t->word = t->at;
    for (; t->at < t->end && !is_space(*t->at); t->at++) {
        if (*t->at == '\0') complain(t, "has a zero byte: is it of gzip (zcat FILE |)?");
    }
    t->length = (size_t)(t->at - t->word);
    if (t->length > TEXT_WORD_MAX)
        complain(t, "there is a word of more than 1024 bytes: is this text?");
    return TEXT_WORD;
}

void text_rewind(struct text *t)
{
    t->at = t->first;
}

void text_close(struct text *t)
{
    lines_close(&t->file);
    *t = (struct text){0};
}

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

static void count_word(struct word_counts *t, const char *word, size_t length, uint64_t times)
{
    uint32_t name = names_add(&t->names, word, length);
    if (name == t->known) {
        t->counts = make_room(t->counts, name, &t->capacity, sizeof *t->counts, "different words");
        t->counts[t->known++] = 0;
    }
    t->counts[name] += times;
    t->read += times;
}

static void count_all(struct word_counts *t, const char *path)
{
    struct text text;
    names_init(&t->names);
    text_open(&text, path, 0, 1);
    for (enum text_event e; (e = text_next(&text)) != TEXT_END;) {
        if (e == TEXT_WORD) count_word(t, text.word, text.length, 1);
    }
    t->text = text.file.about;
    text_close(&text);
}

/* Behind those of the text, in the model's order. */
static void count_saved(struct word_counts *t, const char *path, struct names *saved)
{
    struct saved s;
    if (!path) {
        names_init(saved);
        return;
    }
    saved_open(&s, path);
    saved_names(&s, "word_names", 0, saved);
    saved_close(&s);
    for (uint32_t i = 0; i < saved->count; i++) {
        const char *word = names_get(saved, i);
        count_word(t, word, strlen(word), 0);
    }
}

static int by_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static struct counted *frequent_words(const struct word_counts *t, uint64_t min_count,
                                      const struct names *saved, size_t *count)
{
    struct counted *list = take_memory(t->names.count, sizeof *list);
    *count = 0;
    for (uint32_t i = 0; i < t->names.count; i++) {
        const char *word = names_get(&t->names, i);
        if (t->counts[i] >= min_count || names_find(saved, word, strlen(word)) != NAMES_NONE)
            list[(*count)++] = (struct counted){.count = t->counts[i], .name = i};
    }
    qsort(list, *count, sizeof *list, by_count);
    return list;
}

void vocabulary_load(struct vocabulary *v, const char *path, uint64_t min_count, const char *from)
{
    struct word_counts t = {0};
    struct names saved;
    size_t count;
    count_all(&t, path);
    if (t.read == 0) lines_fail_at(path, 0, form, "has no words");
    count_saved(&t, from, &saved);
    struct counted *list = frequent_words(&t, min_count, &saved, &count);
    if (count == 0 || list[0].count == 0)
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
        v->kept += list[i].count == 0;
    }
    if (v->kept > 0 && v->kept == saved.count) fail("%s: has no word of %s (--from)", from, path);
    names_fini(&saved);
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

double *vocabulary_weights(const struct vocabulary *v)
{
    double *weights = take_memory(v->words.count, sizeof *weights);
    for (uint32_t i = 0; i < v->words.count; i++) weights[i] = pow((double)v->counts[i], 0.75);
    return weights;
}

double vocabulary_keep(const struct vocabulary *v, uint32_t word, double threshold)
{
    if (threshold <= 0 || v->counts[word] == 0) return 1;
    double ratio = threshold * (double)v->total / (double)v->counts[word];
    double keep = sqrt(ratio) + ratio;
    return keep < 1 ? keep : 1;
}

uint64_t vocabulary_digest(const struct vocabulary *v)
{
    uint64_t digest = names_digest(&v->words, v->words.count, DIGEST_FIRST);
    return digest_add(digest, v->counts, v->words.count * sizeof *v->counts);
}

void noise_init(struct noise *a, const double *weights, uint32_t count)
{
    double sum = 0;
    double *left = take_memory(count, sizeof *left);
    uint32_t *small = take_memory(count, sizeof *small), *large = take_memory(count, sizeof *large);
    uint32_t smalls = 0, larges = 0;
    *a = (struct noise){.count = count};
    a->share = take_memory(count, sizeof *a->share);
    a->other = take_memory(count, sizeof *a->other);
    for (uint32_t i = 0; i < count; i++) sum += weights[i];
    for (uint32_t i = 0; i < count; i++) {
        left[i] = weights[i] / sum * count;
        a->share[i] = 1;
        a->other[i] = i;
        if (left[i] < 1) {
            small[smalls++] = i;
        } else {
            large[larges++] = i;
        }
    }
    while (smalls && larges) {
        uint32_t i = small[--smalls], j = large[larges - 1];
        a->share[i] = (float)left[i];
        a->other[i] = j;
        left[j] -= 1 - left[i];
        if (left[j] < 1) {
            larges--;
            small[smalls++] = j;
        }
    }
    free(left);
    free(small);
    free(large);
}

void noise_fini(struct noise *a)
{
    free(a->share);
    free(a->other);
    *a = (struct noise){0};
}

uint32_t noise_draw(const struct noise *a, struct rng *r)
{
    double x = rng_real(r) * a->count;
    uint32_t i = (uint32_t)x;
    return x - i < (double)a->share[i] ? i : a->other[i];
}
