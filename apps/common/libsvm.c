#include "libsvm.h"

#include <string.h>

void libsvm_open(struct libsvm *s, const char *path, const char *form)
{
    *s = (struct libsvm){0};
    lines_open(&s->lines, path, form);
}

void libsvm_close(struct libsvm *s)
{
    lines_close(&s->lines);
}

bool libsvm_next(struct libsvm *s)
{
    if (!lines_next(&s->lines)) return false;
    s->at = NULL;
    return lines_word(&s->lines, &s->at, &s->label);
}

static struct field before(struct field *rest, const char *colon)
{
    struct field first = {rest->text, (size_t)(colon - rest->text)};
    *rest = (struct field){colon + 1, rest->length - first.length - 1};
    return first;
}

bool libsvm_pair(struct libsvm *s, const char *what, struct libsvm_pair *p)
{
    const struct lines *l = &s->lines;
    struct field rest, field = {0};
    *p = (struct libsvm_pair){0};
    if (!lines_word(l, &s->at, &rest)) return false;
    if (rest.length == 0) lines_fail(l, "has two blanks between words, or one at the end");
    struct field all = rest;
    const char *first = memchr(rest.text, ':', rest.length);
    if (!first)
        lines_fail(l, "\"%.*s\" is no %s: must be index:value", lines_shown(all.length), all.text,
                   what);
    struct field index = before(&rest, first);
    const char *second = memchr(rest.text, ':', rest.length);
    if (second) {
        field = index;
        index = before(&rest, second);
        p->has_field = true;
        p->field = (uint32_t)lines_take_whole(l, field, 0, LIBSVM_INDEX_MAX, "field");
    }
    p->index = (uint32_t)lines_take_whole(l, index, 0, LIBSVM_INDEX_MAX, what);
    p->value = rest;
    return true;
}
