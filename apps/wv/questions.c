#include "questions.h"

#include "fail.h"
#include "lines.h"
#include "vocabulary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4 }; /* of an analogy */

static uint32_t find(const struct vocabulary *v, struct field word)
{
    uint32_t found = names_find(&v->words, word.text, word.length);
    char lower[TEXT_WORD_MAX];
    if (found != NAMES_NONE || word.length > sizeof lower) return found;
    for (size_t i = 0; i < word.length; i++) {
        char c = word.text[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return names_find(&v->words, lower, word.length);
}

/* ---- analogies ---- */

static void begin_section(struct analogies *a, const struct lines *l, size_t *capacity)
{
    const char *name = l->text + 2; /* behind ": " */
    size_t length = l->length - 2, same = *capacity;
    uint32_t before = a->sections.count;
    names_add(&a->sections, name, length);
    if (a->sections.count == before)
        lines_fail(l, "section \"%.*s\" was there before", lines_shown(length), name);
    a->asked = make_room(a->asked, before, capacity, sizeof *a->asked, "sections");
    a->answerable = make_room(a->answerable, before, &same, sizeof *a->answerable, "sections");
    a->asked[before] = a->answerable[before] = 0;
}

static void add_analogy(struct analogies *a, const struct lines *l, const struct vocabulary *v,
                        uint64_t limit, size_t *capacity)
{
    struct field words[WORDS + 1];
    const char *at = NULL;
    size_t count = 0;
    while (count <= WORDS && lines_word(l, &at, &words[count]) && words[count].length > 0) count++;
    if (count != WORDS)
        lines_fail(l, "has %s4 words with one blank between",
                   count < WORDS ? "fewer than " : "more than ");
    if (a->sections.count == 0)
        lines_fail(l, "comes before the first section; a line \": name\" begins one");
    struct analogy q = {.section = a->sections.count - 1};
    bool is_known = true;
    for (int i = 0; i < WORDS; i++) {
        q.words[i] = find(v, words[i]);
        is_known = is_known && q.words[i] != NAMES_NONE && (limit == 0 || q.words[i] < limit);
    }
    a->asked[q.section]++;
    a->total++;
    if (!is_known) return;
    a->answerable[q.section]++;
    a->list = make_room(a->list, a->count, capacity, sizeof *a->list, "questions");
    a->list[a->count++] = q;
}

void analogies_load(struct analogies *a, const char *path, const struct vocabulary *v,
                    uint64_t limit)
{
    static const char form[] = "word word word word";
    struct lines l;
    size_t sections_capacity = 0, capacity = 0;
    *a = (struct analogies){0};
    names_init(&a->sections);
    lines_open(&l, path, form);
    while (lines_next(&l)) {
        if (l.length > 2 && memcmp(l.text, ": ", 2) == 0)
            begin_section(a, &l, &sections_capacity);
        else
            add_analogy(a, &l, v, limit, &capacity);
    }
    lines_close(&l);
    if (a->total == 0) lines_fail_at(path, 0, form, "has no analogies");
}

void analogies_fini(struct analogies *a)
{
    names_fini(&a->sections);
    free(a->asked);
    free(a->answerable);
    free(a->list);
    *a = (struct analogies){0};
}

/* ---- similarity ---- */

void similarities_load(struct similarities *s, const char *path, const struct vocabulary *v)
{
    enum { A, B, RATING, FIELDS };
    struct field field[FIELDS];
    struct lines l;
    size_t capacity = 0;
    *s = (struct similarities){0};
    lines_open(&l, path, "word TAB word TAB rating");
    while (lines_next(&l)) {
        lines_take_fields(&l, field, FIELDS);
        struct similarity pair = {.a = find(v, field[A]),
                                  .b = find(v, field[B]),
                                  .rating = lines_take_number(&l, field[RATING], "rating")};
        s->total++;
        if (pair.a == NAMES_NONE || pair.b == NAMES_NONE) continue;
        s->list = make_room(s->list, s->count, &capacity, sizeof *s->list, "questions");
        s->list[s->count++] = pair;
    }
    lines_close(&l);
}

void similarities_fini(struct similarities *s)
{
    free(s->list);
    *s = (struct similarities){0};
}

/* ---- rank correlation ---- */

struct ranked {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

static double *ranks_of(const double *values, size_t n)
{
    struct ranked *list = take_memory(n, sizeof *list);
    double *ranks = take_memory(n, sizeof *ranks);
    for (size_t i = 0; i < n; i++) list[i] = (struct ranked){.value = values[i], .at = i};
    qsort(list, n, sizeof *list, by_value);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && list[end].value <= list[first].value;) end++;
        for (size_t i = first; i < end; i++) ranks[list[i].at] = (double)(first + end - 1) / 2;
    }
    free(list);
    return ranks;
}

double spearman(const double *x, const double *y, size_t n)
{
    if (n < 2) return NAN;
    double *a = ranks_of(x, n), *b = ranks_of(y, n);
    double mean = (double)(n - 1) / 2, ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    free(a);
    free(b);
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}
