#include "questions.h"

#include "fail.h"
#include "lines.h"
#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 16 };

static void *grow(void *list, size_t count, size_t *capacity, size_t bytes)
{
    if (count < *capacity) return list;
    *capacity = *capacity ? 2 * *capacity : 256;
    void *larger = realloc(list, *capacity * bytes);
    if (!larger) fail("%zu questions find no memory", *capacity);
    return larger;
}

static uint32_t find(const struct vocabulary *v, const char *word, size_t length)
{
    uint32_t found = names_find(&v->words, word, length);
    char lower[TEXT_WORD_MAX];
    if (found != NAMES_NONE || length > sizeof lower) return found;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    return names_find(&v->words, lower, length);
}

/* Fields with white space or commas between them; returns how many, at most FIELDS_MAX. */
static size_t split(const struct lines *l, const char **fields, size_t *lengths)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    for (; count < FIELDS_MAX; count++) {
        while (at < end && strchr(" \t,", *at)) at++;
        if (at == end) break;
        fields[count] = at;
        while (at < end && !strchr(" \t,", *at)) at++;
        lengths[count] = (size_t)(at - fields[count]);
    }
    return count;
}

static bool is_empty(const struct lines *l)
{
    const char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    return split(l, fields, lengths) == 0;
}

/* ---- analogies ---- */

static void begin_section(struct analogies *a, const struct lines *l, size_t *capacity)
{
    size_t skip = 1;
    while (skip < l->length && l->text[skip] == ' ') skip++;
    uint32_t before = a->sections.count;
    names_add(&a->sections, l->text + skip, l->length - skip);
    if (a->sections.count == before)
        lines_fail(l, "section \"%.*s\" was there before", lines_shown(l->length - skip),
                   l->text + skip);
    size_t old = *capacity;
    a->asked = grow(a->asked, before, capacity, sizeof *a->asked);
    if (*capacity > old) {
        a->answerable = realloc(a->answerable, *capacity * sizeof *a->answerable);
        if (!a->answerable) fail("%zu sections find no memory", *capacity);
    }
    a->asked[before] = a->answerable[before] = 0;
}

static void add_analogy(struct analogies *a, const struct lines *l, const struct vocabulary *v,
                        uint64_t limit, size_t *capacity)
{
    const char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    size_t count = split(l, fields, lengths);
    if (count != 4) lines_fail(l, "has %zu words; an analogy has 4", count);
    if (a->sections.count == 0)
        lines_fail(l, "comes before the first section; a line \": name\" begins one");
    struct analogy q = {.section = a->sections.count - 1};
    bool is_known = true;
    for (int i = 0; i < 4; i++) {
        q.words[i] = find(v, fields[i], lengths[i]);
        is_known = is_known && q.words[i] != NAMES_NONE && (limit == 0 || q.words[i] < limit);
    }
    a->asked[q.section]++;
    a->total++;
    if (!is_known) return;
    a->answerable[q.section]++;
    a->list = grow(a->list, a->count, capacity, sizeof *a->list);
    a->list[a->count++] = q;
}

void analogies_load(struct analogies *a, const char *path, const struct vocabulary *v,
                    uint64_t limit)
{
    struct lines l;
    size_t sections_capacity = 0, capacity = 0;
    *a = (struct analogies){0};
    names_init(&a->sections);
    lines_open(&l, path);
    while (lines_next(&l)) {
        if (is_empty(&l)) continue;
        if (l.text[0] == ':') {
            begin_section(a, &l, &sections_capacity);
        } else {
            add_analogy(a, &l, v, limit, &capacity);
        }
    }
    lines_close(&l);
    if (a->total == 0) fail("%s has no analogies", path);
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

static bool is_heading(const struct lines *l, const char *field, size_t length)
{
    double number;
    if (l->number != 1 || lines_number(field, length, &number)) return false;
    return isalpha((unsigned char)*field) && strncasecmp(field, "nan", 3) != 0;
}

/* SimLex-999 has the part of speech before it, and more behind. */
static size_t rating_column(const char **fields, const size_t *lengths, size_t count)
{
    static const char simlex[] = "SimLex999";
    for (size_t i = 2; i < count; i++)
        if (lengths[i] == sizeof simlex - 1 && strncasecmp(fields[i], simlex, lengths[i]) == 0)
            return i;
    return 2;
}

void similarities_load(struct similarities *s, const char *path, const struct vocabulary *v)
{
    struct lines l;
    size_t capacity = 0, rating = 2; /* the ratings' column */
    *s = (struct similarities){0};
    lines_open(&l, path);
    while (lines_next(&l)) {
        const char *fields[FIELDS_MAX];
        size_t lengths[FIELDS_MAX];
        struct similarity pair;
        size_t count = split(&l, fields, lengths);
        if (count == 0) continue;
        if (count < 3) lines_fail(&l, "has %zu fields; a pair has two words and a rating", count);
        if (is_heading(&l, fields[2], lengths[2])) {
            rating = rating_column(fields, lengths, count);
            continue;
        }
        if (count <= rating)
            lines_fail(&l, "has %zu fields; the heading has the ratings behind them", count);
        if (!lines_number(fields[rating], lengths[rating], &pair.rating))
            lines_fail(&l, "\"%.*s\" is no rating: must be a number", lines_shown(lengths[rating]),
                       fields[rating]);
        s->total++;
        pair.a = find(v, fields[0], lengths[0]);
        pair.b = find(v, fields[1], lengths[1]);
        if (pair.a == NAMES_NONE || pair.b == NAMES_NONE) continue;
        s->list = grow(s->list, s->count, &capacity, sizeof *s->list);
        s->list[s->count++] = pair;
    }
    lines_close(&l);
    if (s->total == 0) fail("%s has no pairs of words", path);
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
