#include "libsvm.h"

#include <string.h>

void libsvm_open(struct libsvm *s, const char *path)
{
    *s = (struct libsvm){0};
    lines_open(&s->lines, path);
}

void libsvm_close(struct libsvm *s)
{
    lines_close(&s->lines);
}

static bool has_colon(struct field f)
{
    return memchr(f.text, ':', f.length) != NULL;
}

/* The line's label, and `at` behind it. What is behind a # there is no part of the line. */
static bool take_label(struct lines *l, const char **at, struct field *label)
{
    *at = l->text;
    if (!lines_word(l, at, label)) return false;
    const char *comment = memchr(*at, '#', (size_t)(l->text + l->length - *at));
    if (comment) l->length = (size_t)(comment - l->text);
    return true;
}

static void begin_line(struct libsvm *s)
{
    take_label(&s->lines, &s->at, &s->label);
    if (has_colon(s->label))
        lines_fail(&s->lines, "begins with \"%.*s\": the label must be first",
                   lines_shown(s->label.length), s->label.text);
}

bool libsvm_next(struct libsvm *s)
{
    if (!lines_next_data(&s->lines)) return false;
    begin_line(s);
    return true;
}

/* The texts of a pair; the first is empty where there are two. False: there is no colon. */
static bool cut_pair(struct field word, struct field *field, struct field *index,
                     struct field *value)
{
    const char *end = word.text + word.length, *first = memchr(word.text, ':', word.length);
    if (!first) return false;
    const char *last = memrchr(first, ':', (size_t)(end - first));
    const char *from = last > first ? first + 1 : word.text;
    *field = (struct field){word.text, last > first ? (size_t)(first - word.text) : 0};
    *index = (struct field){from, (size_t)(last - from)};
    *value = (struct field){last + 1, (size_t)(end - last) - 1};
    return true;
}

bool libsvm_pair(struct libsvm *s, const char *what, struct libsvm_pair *p)
{
    const struct lines *l = &s->lines;
    struct field word, field, index;
    *p = (struct libsvm_pair){0};
    if (!lines_word(l, &s->at, &word)) return false;
    if (!cut_pair(word, &field, &index, &p->value))
        lines_fail(l, "\"%.*s\" is no %s: must be index:value", lines_shown(word.length), word.text,
                   what);
    p->has_field = index.text > word.text;
    if (p->has_field) p->field = (uint32_t)lines_take_whole(l, field, 0, LIBSVM_INDEX_MAX, "field");
    p->index = (uint32_t)lines_take_whole(l, index, 0, LIBSVM_INDEX_MAX, what);
    return true;
}

void libsvm_complain(const struct lines *l)
{
    struct libsvm s = {.lines = *l, .label = {"", 0}};
    struct libsvm_pair p;
    begin_line(&s);
    lines_take_number(&s.lines, s.label, "label");
    while (libsvm_pair(&s, "feature", &p)) lines_take_number(&s.lines, p.value, "value");
}

bool libsvm_is_line(const struct lines *line)
{
    struct lines copy = *line, *l = &copy;
    const char *at;
    struct field word, field, index, value;
    uint64_t whole;
    double number;
    if (!take_label(l, &at, &word) || has_colon(word)) return false;
    while (lines_word(l, &at, &word)) {
        bool is_pair =
            cut_pair(word, &field, &index, &value) &&
            (index.text == word.text || field_whole(field, 0, LIBSVM_INDEX_MAX, &whole)) &&
            field_whole(index, 0, LIBSVM_INDEX_MAX, &whole) &&
            lines_number(value.text, value.length, &number);
        if (!is_pair) return false;
    }
    return true;
}
