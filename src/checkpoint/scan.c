#include "checkpoint/scan.h"

#include <string.h>

enum { VALUE_BYTES = 1 << 12 }; /* of a text or a number, at most */

static bool fail(struct scan *s, const char *why)
{
    if (!s->wrong) s->wrong = why;
    return false;
}

static bool no_json(struct scan *s)
{
    return fail(s, "not JSON");
}

static void skip_space(struct scan *s)
{
    while (s->at < s->end && *s->at && strchr(" \t\r\n", *s->at)) s->at++;
}

static bool take(struct scan *s, char c)
{
    skip_space(s);
    bool is_there = s->at < s->end && *s->at == c;
    s->at += is_there;
    return is_there;
}

/* A text, from its first quotation mark to behind its last. */
static bool skip_text(struct scan *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        if (*s->at == '\\') s->at++;
    if (s->at >= s->end) return no_json(s);
    s->at++;
    return true;
}

static bool skip_value(struct scan *s)
{
    size_t depth = 0;
    skip_space(s);
    for (const char *from = s->at; s->at < s->end;) {
        char c = *s->at;
        bool ends = c == '}' || c == ']', is_text = c == '"';
        bool is_border = ends || c == ',' || c == ':' || c == ' ' || c == '\n';
        if (depth == 0 && is_border) return s->at > from || no_json(s);
        if (is_text && !skip_text(s)) return false;
        if (!is_text) s->at++;
        depth += c == '{' || c == '[';
        depth -= ends;
        if (depth == 0 && (is_text || ends)) return true;
    }
    return no_json(s);
}

static bool take_value(struct scan *s, json_t **value)
{
    json_error_t error;
    skip_space(s);
    if (s->at == s->end || !*s->at || !strchr("\"-0123456789", *s->at)) return skip_value(s);
    size_t left = (size_t)(s->end - s->at);
    *value = json_loadb(s->at, left < VALUE_BYTES ? left : VALUE_BYTES,
                        JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
    if (!*value) return no_json(s);
    s->at += error.position;
    return true;
}

static bool take_items(struct scan *s, scan_item *item, void *context)
{
    if (!take(s, '[')) return fail(s, "no list where one must be");
    if (take(s, ']')) return true;
    do
        if (!item(context, s)) return no_json(s);
    while (take(s, ','));
    return take(s, ']') || no_json(s);
}

static struct scan_member *find(struct scan_member *m, size_t count, const char *name, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(m[i].name) == bytes && memcmp(m[i].name, name, bytes) == 0) return &m[i];
    return NULL;
}

static bool take_member(struct scan *s, struct scan_member *members, size_t count, void *context)
{
    skip_space(s);
    const char *name = s->at + 1;
    if (s->at == s->end || *s->at != '"' || !skip_text(s)) return no_json(s);
    struct scan_member *m = find(members, count, name, (size_t)(s->at - 1 - name));
    if (!take(s, ':')) return no_json(s);
    if (!m) return skip_value(s);
    if (m->is_seen) return fail(s, "one name twice");
    m->is_seen = true;
    return m->item ? take_items(s, m->item, context) : take_value(s, &m->value);
}

bool scan_object(struct scan *s, struct scan_member *members, size_t count, void *context)
{
    if (!take(s, '{')) return no_json(s);
    if (take(s, '}')) return true;
    do
        if (!take_member(s, members, count, context)) return false;
    while (take(s, ','));
    return take(s, '}') || no_json(s);
}

void scan_forget(struct scan_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) json_decref(members[i].value);
}

bool scan_ends(struct scan *s)
{
    skip_space(s);
    return s->at == s->end || no_json(s);
}
