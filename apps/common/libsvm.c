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

bool libsvm_next(struct libsvm *s)
{
    if (!lines_next_data(&s->lines)) return false;
    take_label(&s->lines, &s->at, &s->label);
    if (has_colon(s->label))
        lines_fail(&s->lines, "begins with \"%.*s\": the label must be first",
                   lines_shown(s->label.length), s->label.text);
    return true;
}

bool libsvm_pair(struct libsvm *s, const char *what, struct libsvm_pair *p)
{
    const struct lines *l = &s->lines;
    struct field word;
    if (!lines_word(l, &s->at, &word)) return false;
    const char *end = word.text + word.length, *first = memchr(word.text, ':', word.length);
    if (!first)
        lines_fail(l, "\"%.*s\" is no %s: must be index:value", lines_shown(word.length), word.text,
                   what);
    const char *last = memrchr(first, ':', (size_t)(end - first));
    const char *index = last > first ? first + 1 : word.text;
    *p = (struct libsvm_pair){.has_field = last > first};
    if (p->has_field)
        p->field =
            (uint32_t)lines_take_whole(l, (struct field){word.text, (size_t)(first - word.text)}, 0,
                                       LIBSVM_INDEX_MAX, "field");
    p->index = (uint32_t)lines_take_whole(l, (struct field){index, (size_t)(last - index)}, 0,
                                          LIBSVM_INDEX_MAX, what);
    p->value = (struct field){last + 1, (size_t)(end - last) - 1};
    return true;
}

bool libsvm_is_line(const struct lines *line)
{
    struct lines copy = *line, *l = &copy;
    const char *at;
    struct field word;
    uint64_t index;
    double value;
    if (!take_label(l, &at, &word) || has_colon(word)) return false;
    while (lines_word(l, &at, &word)) {
        const char *end = word.text + word.length, *colon = memchr(word.text, ':', word.length);
        if (!colon) return false;
        struct field first = {word.text, (size_t)(colon - word.text)};
        const char *last = memrchr(colon, ':', (size_t)(end - colon));
        if (!field_whole(first, 0, LIBSVM_INDEX_MAX, &index) ||
            !lines_number(last + 1, (size_t)(end - last) - 1, &value))
            return false;
    }
    return true;
}
