#include "clicks_read.h"

#include "clicks_csv.h"
#include "fail.h"
#include "lines.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CRITEO_NUMBERS = 13, CRITEO_CATEGORIES = 26, CRITEO_FIELDS = 40, FEATURE_NAME_BYTES = 96 };
#define FEATURE_MAX 1073741823.0

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- LIBSVM, LIBFFM ---- */

struct token {
    const char *text;
    size_t length;
};

static bool next_token(const struct lines *l, const char **at, struct token *t)
{
    const char *end = l->text + l->length;
    while (*at < end && is_blank(**at)) ++*at;
    t->text = *at;
    while (*at < end && !is_blank(**at)) ++*at;
    t->length = (size_t)(*at - t->text);
    return t->length > 0;
}

static double number_of(const struct lines *l, const char *text, size_t length, double most,
                        const char *what)
{
    double value;
    if (!lines_number(text, length, &value) || value < 0 || value > most || value > floor(value))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from 0 to %.0f",
                   lines_shown(length), text, what, most);
    return value;
}

static bool label_of(const struct lines *l, const char *text, size_t length)
{
    double value;
    if (!lines_number(text, length, &value))
        lines_fail(l, "\"%.*s\" is no label: must be 1 for a click, 0 or -1 for none",
                   lines_shown(length), text);
    if (!(value <= 1 && value >= 1) && !(value <= 0 && value >= 0) && !(value <= -1 && value >= -1))
        lines_fail(l, "label %g: must be 1 for a click, 0 or -1 for none", value);
    return value > 0;
}

/* field:feature:value or feature:value */
static void add_token(struct clicks *c, const struct lines *l, const struct token *t,
                      uint32_t position)
{
    const char *end = t->text + t->length, *first = memchr(t->text, ':', t->length);
    if (!first)
        lines_fail(l, "\"%.*s\": a feature is number:value, or field:number:value",
                   lines_shown(t->length), t->text);
    const char *last = memrchr(first, ':', (size_t)(end - first));
    const char *number = last > first ? first + 1 : t->text;
    double value, feature = number_of(l, number, (size_t)(last - number), FEATURE_MAX, "feature");
    double field = last > first ? number_of(l, t->text, (size_t)(first - t->text),
                                            CLICKS_FIELDS_MAX - 1, "field")
                                : position;
    if (!lines_number(last + 1, (size_t)(end - last) - 1, &value) || fabs(value) > (double)FLT_MAX)
        lines_fail(l, "\"%.*s\" is no value: must be a number",
                   lines_shown((size_t)(end - last) - 1), last + 1);
    clicks_add(c, (uint32_t)feature,
               field < CLICKS_FIELDS_MAX ? (uint32_t)field : CLICKS_FIELDS_MAX - 1, (float)value);
}

struct libsvm {
    bool has_fields, has_begun, is_even; /* all have as many features */
    uint64_t each;
};

static void read_libsvm(struct clicks *c, const struct lines *l, struct libsvm *s)
{
    const char *at = l->text;
    struct token label, t;
    uint32_t position = 0;
    if (!next_token(l, &at, &label)) return;
    bool is_click = label_of(l, label.text, label.length);
    for (; next_token(l, &at, &t); position++) {
        const char *colon = memchr(t.text, ':', t.length);
        bool has_field = colon && memchr(colon + 1, ':', t.length - (size_t)(colon - t.text) - 1);
        if (s->has_begun && has_field != s->has_fields)
            lines_fail(l, "\"%.*s\": either all features have a field, or none",
                       lines_shown(t.length), t.text);
        s->has_fields = has_field;
        s->has_begun = true;
        add_token(c, l, &t, position);
    }
    if (c->count == 0) s->each = position;
    s->is_even = (c->count == 0 || s->is_even) && position == s->each;
    clicks_end(c, is_click);
}

static void end_libsvm(struct clicks *c, const struct libsvm *s)
{
    if (s->has_fields || (s->is_even && s->each <= CLICKS_FIELDS_MAX)) return;
    memset(c->fields, 0, c->entries * sizeof *c->fields);
    c->field_count = 1;
}

/* ---- features by name ---- */

void clicks_add_named(struct clicks *c, const struct clicks_source *source, bool is_training,
                      const char *name, size_t length, uint32_t field)
{
    uint32_t number;
    if (source->hash_bits) {
        uint64_t digest = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < length; i++)
            digest = (digest ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
        number = (uint32_t)((digest ^ (digest >> 32)) & ((UINT64_C(1) << source->hash_bits) - 1));
    } else {
        number = is_training ? names_add(&c->names, name, length)
                             : names_find(&c->names, name, length);
        if (number == NAMES_NONE) return;
    }
    clicks_add(c, number, field, 1);
}

/* ---- Criteo ---- */

static void read_criteo(struct clicks *c, const struct lines *l, const struct clicks_source *source,
                        bool is_training)
{
    const char *fields[CRITEO_FIELDS];
    size_t lengths[CRITEO_FIELDS];
    char name[FEATURE_NAME_BYTES];
    size_t count = lines_split(l, '\t', fields, lengths, CRITEO_FIELDS);
    if (count == 1 && lengths[0] == 0) return;
    if (count != CRITEO_FIELDS)
        lines_fail(l,
                   "has %s%zu fields, with tabs between; must be 40: label, 13 numbers, 26 "
                   "categories",
                   count > CRITEO_FIELDS ? "more than " : "",
                   count > CRITEO_FIELDS ? (size_t)CRITEO_FIELDS : count);
    bool is_click = label_of(l, fields[0], lengths[0]);
    for (uint32_t i = 1; i < CRITEO_FIELDS; i++) {
        double value;
        if (lengths[i] == 0) continue;
        if (lengths[i] > sizeof name / 2)
            lines_fail(l, "category %u is longer than %zu bytes", i - CRITEO_NUMBERS,
                       sizeof name / 2);
        if (i > CRITEO_NUMBERS) {
            snprintf(name, sizeof name, "C%u=%.*s", i - CRITEO_NUMBERS, (int)lengths[i], fields[i]);
        } else {
            if (!lines_number(fields[i], lengths[i], &value))
                lines_fail(l, "\"%.*s\" is no number: fields 2 to 14 must be numbers, or empty",
                           lines_shown(lengths[i]), fields[i]);
            double root = value > 2 ? log(value) : 0;
            snprintf(name, sizeof name, value > 2 ? "I%u=l%.0f" : "I%u=%.0f", i,
                     value > 2 ? floor(root * root) : value);
        }
        clicks_add_named(c, source, is_training, name, strlen(name), i - 1);
    }
    clicks_end(c, is_click);
}

/* ---- files ---- */

static enum clicks_format format_of(const char *path)
{
    enum clicks_format format = CLICKS_AUTO;
    struct lines l;
    lines_open(&l, path);
    while (format == CLICKS_AUTO && lines_next(&l)) {
        if (l.length == 0 || l.text[0] == '|' || l.text[0] == '#') continue;
        const char *tab = memchr(l.text, '\t', l.length), *end = l.text + l.length;
        if (tab && memchr(tab + 1, '\t', (size_t)(end - tab) - 1) && !memchr(l.text, ':', l.length))
            format = CLICKS_CRITEO;
        else if (memchr(l.text, ',', l.length))
            format = CLICKS_CSV;
        else if (memchr(l.text, ':', l.length))
            format = CLICKS_LIBSVM;
        else
            lines_fail(&l, "is neither LIBSVM nor Criteo's format nor CSV: see --format");
    }
    lines_close(&l);
    if (format == CLICKS_AUTO) fail("%s has no examples", path);
    return format;
}

static void read_file(struct clicks *c, const struct clicks_source *source, const char *path,
                      enum clicks_format format, struct libsvm *libsvm)
{
    uint64_t before = c->count;
    struct lines l;
    lines_open(&l, path);
    while (lines_next(&l)) {
        if (format == CLICKS_LIBSVM) {
            read_libsvm(c, &l, libsvm);
        } else {
            read_criteo(c, &l, source, path == source->train);
        }
    }
    lines_close(&l);
    if (c->count == before) fail("%s has no examples", path);
}

uint64_t clicks_read(struct clicks *c, const struct clicks_source *source)
{
    enum clicks_format format = source->format ? source->format : format_of(source->train);
    struct libsvm libsvm = {0};
    uint64_t train;
    if (format == CLICKS_CSV) {
        train = clicks_read_csv(c, source);
    } else {
        read_file(c, source, source->train, format, &libsvm);
        train = c->count;
        if (source->test) read_file(c, source, source->test, format, &libsvm);
    }
    if (format == CLICKS_LIBSVM) end_libsvm(c, &libsvm);
    if (c->entries == 0) fail("%s: no example has a feature", source->train);
    if (source->hash_bits && format != CLICKS_LIBSVM)
        c->feature_count = UINT32_C(1) << source->hash_bits;
    return train;
}
