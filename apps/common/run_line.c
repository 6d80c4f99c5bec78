#include "run_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_line_is_whole(const char *line)
{
    size_t n = strcspn(line, "\r\n");
    return n >= 2 && line[0] == '{' && line[n - 1] == '}';
}

/* Behind "name":, which a text cannot contain: its quotes have backslashes. */
static const char *find(const char *line, const char *name)
{
    char pattern[64];
    int n = snprintf(pattern, sizeof pattern, "\"%s\":", name);
    const char *at = n > 0 && (size_t)n < sizeof pattern ? strstr(line, pattern) : NULL;
    return at ? at + n : NULL;
}

bool run_line_number(const char *line, const char *name, double *out)
{
    const char *at = find(line, name);
    char *end;
    if (!at || *at == '"') return false;
    double value = strtod(at, &end);
    if (end == at || !isfinite(value)) return false;
    *out = value;
    return true;
}

/* What a backslash stands before. Of \u.... only what json.h writes: control characters, which are
 * shown as a blank, and U+FFFD. */
static const char *unescape(const char *at, char *c)
{
    if (at[1] == 'u') {
        *c = at[2] == 'f' ? '?' : ' ';
        size_t n = strspn(at + 2, "0123456789abcdef");
        return at + 2 + (n < 4 ? n : 4);
    }
    *c = at[1];
    return at[1] ? at + 2 : at + 1;
}

bool run_line_text(const char *line, const char *name, char *out, size_t capacity)
{
    const char *at = find(line, name);
    size_t n = 0;
    if (!at || *at++ != '"') return false;
    while (*at && *at != '"') {
        char c = *at;
        if (c == '\\')
            at = unescape(at, &c);
        else
            at++;
        if (n + 1 < capacity) out[n++] = c;
    }
    out[n] = '\0';
    return true;
}
