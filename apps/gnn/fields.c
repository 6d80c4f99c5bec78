#include "fields.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool fields_is_comment(const struct lines *l)
{
    size_t i = 0;
    while (i < l->length && is_blank(l->text[i])) i++;
    return i == l->length || l->text[i] == '%' || l->text[i] == '#';
}

bool fields_is_number(struct field f)
{
    for (size_t i = 0; i < f.length; i++)
        if (f.text[i] < '0' || f.text[i] > '9') return false;
    return f.length > 0;
}

/* 0: blanks */
static char separator_of(const struct lines *l)
{
    static const char separators[] = "\t,;";
    for (const char *s = separators; *s; s++)
        if (memchr(l->text, *s, l->length)) return *s;
    return 0;
}

static struct field trimmed(const char *text, const char *end)
{
    while (text < end && is_blank(*text)) text++;
    while (end > text && is_blank(end[-1])) end--;
    if (end - text >= 2 && *text == '"' && end[-1] == '"') text++, end--;
    return (struct field){text, (size_t)(end - text)};
}

static const char *end_of_field(const char *at, const char *end, char separator)
{
    while (at < end && (separator ? *at != separator : !is_blank(*at))) at++;
    return at;
}

size_t fields_split(const struct lines *l, struct field *fields, size_t max)
{
    const char *at = l->text, *end = l->text + l->length;
    char separator = separator_of(l);
    for (size_t count = 0; count < max;) {
        while (!separator && at < end && is_blank(*at)) at++;
        if (!separator && at == end) return count;
        const char *stop = end_of_field(at, end, separator);
        fields[count++] = trimmed(at, stop);
        if (stop == end) return count;
        at = stop + 1;
    }
    return max;
}

struct field fields_last(const struct lines *l)
{
    const char *end = l->text + l->length, *at;
    char separator = separator_of(l);
    while (end > l->text && is_blank(end[-1]) && end[-1] != separator) end--;
    for (at = end; at > l->text; at--)
        if (separator ? at[-1] == separator : is_blank(at[-1])) break;
    return trimmed(at, end);
}
