#include "clicks_read.h"

#include "clicks_csv.h"
#include "fail.h"
#include "fields.h"
#include "ids.h"
#include "libsvm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CRITEO_NUMBERS = 13, CRITEO_CATEGORIES = 26, CRITEO_FIELDS = 40, FEATURE_NAME_BYTES = 96 };

bool clicks_label(const struct lines *l, struct field f)
{
    double value;
    bool is_number = lines_number(f.text, f.length, &value);
    bool is_label = is_number && ((value <= 1 && value >= 1) || (value <= 0 && value >= 0) ||
                                  (value <= -1 && value >= -1));
    if (!is_label)
        lines_fail(l, "\"%.*s\" is no label: must be 1 for a click, 0 or -1 for none",
                   lines_shown(f.length), f.text);
    return value > 0;
}

/* ---- LIBSVM, LIBFFM ---- */

struct shape {
    bool has_fields, has_begun, is_even; /* all have as many features */
    uint64_t each;
    uint32_t least, most; /* indices in the current file */
};

static void read_example(struct clicks *c, struct libsvm *s, struct shape *shape)
{
    const struct lines *l = &s->lines;
    struct libsvm_pair p;
    uint32_t position = 0;
    bool is_click = clicks_label(l, s->label);
    for (; libsvm_pair(s, "feature", &p); position++) {
        if (shape->has_begun && p.has_field != shape->has_fields)
            lines_fail(l, "feature %" PRIu32 ": either all features have a field, or none",
                       p.index);
        shape->has_fields = p.has_field;
        shape->has_begun = true;
        uint32_t field = p.has_field ? p.field : position;
        if (p.index < shape->least) shape->least = p.index;
        if (p.index > shape->most) shape->most = p.index;
        if (p.has_field && field >= CLICKS_FIELDS_MAX)
            lines_fail(l, "field %" PRIu32 ": must be less than %d", field, CLICKS_FIELDS_MAX);
        if (field >= CLICKS_FIELDS_MAX) field = CLICKS_FIELDS_MAX - 1;
        clicks_add(c, p.index, field, lines_take_float(l, p.value, "value"));
    }
    if (c->count == 0) shape->each = position;
    shape->is_even = (c->count == 0 || shape->is_even) && position == shape->each;
    clicks_end(c, is_click);
}

static void read_libsvm(struct clicks *c, const char *path, struct shape *shape)
{
    struct libsvm s;
    shape->least = UINT32_MAX;
    shape->most = 0;
    libsvm_open(&s, path);
    while (libsvm_next(&s)) read_example(c, &s, shape);
    libsvm_close(&s);
}

/* Is the file to test with another program's, which begins with another number? */
static void check_first(const struct clicks_source *source, const struct shape *train,
                        const struct shape *test)
{
    bool is_later = test->least == train->least + 1 && test->most == train->most + 1;
    bool is_earlier = test->least + 1 == train->least && test->most + 1 == train->most;
    if (is_later || is_earlier)
        fail("%s numbers features from %" PRIu32 " to %" PRIu32 ", and %s from %" PRIu32
             " to %" PRIu32 ": begin both alike; or, if they are the same features, give a line of "
             "one of them %" PRIu32 ":0",
             source->test, test->least, test->most, source->train, train->least, train->most,
             is_later ? test->most : train->most);
}

/* Ids that are few and large become small ones, which have names. */
static void end_libsvm(struct clicks *c, const struct shape *s)
{
    ids_number(c->features, c->entries, sizeof *c->features, &c->feature_count, 0, &c->names);
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

static void add_criteo(struct clicks *c, const struct fields *f, const struct clicks_source *source,
                       bool is_training)
{
    char name[FEATURE_NAME_BYTES];
    for (uint32_t i = 1; i < CRITEO_FIELDS; i++) {
        struct field x = f->field[i];
        int length;
        if (x.length == 0 || (i <= CRITEO_NUMBERS && field_is_missing(x))) continue;
        if (i > CRITEO_NUMBERS) {
            length =
                snprintf(name, sizeof name, "C%u=%.*s", i - CRITEO_NUMBERS, (int)x.length, x.text);
        } else {
            double value = lines_take_number(&f->lines, x, "number");
            double root = value > 2 ? log(value) : 0;
            length = snprintf(name, sizeof name, value > 2 ? "I%u=l%.0f" : "I%u=%.0f", i,
                              value > 2 ? floor(root * root) : value);
        }
        if (length >= (int)sizeof name)
            lines_fail(&f->lines, "field %u is longer than %zu bytes", i + 1,
                       sizeof name - sizeof "C26=");
        clicks_add_named(c, source, is_training, name, (size_t)length, i - 1);
    }
}

static void read_criteo(struct clicks *c, const struct clicks_source *source, const char *path)
{
    struct fields f;
    fields_open(&f, path, &(struct fields_wanted){.least = 2});
    while (fields_next(&f)) {
        if (f.count != CRITEO_FIELDS)
            lines_fail(&f.lines,
                       "has %zu fields; must be 40, with tabs between: label, 13 numbers, 26 "
                       "categories",
                       f.count);
        bool is_click = clicks_label(&f.lines, f.field[0]);
        add_criteo(c, &f, source, path == source->train);
        clicks_end(c, is_click);
    }
    fields_close(&f);
}

/* ---- files ---- */

static bool is_libsvm_line(const struct lines *l)
{
    const char *at = l->text;
    struct field label;
    double number;
    return lines_word(l, &at, &label) && lines_number(label.text, label.length, &number) &&
           libsvm_is_line(l);
}

/* All of the first lines are LIBSVM, and some have features; or none is. */
static bool is_libsvm(const char *path)
{
    struct lines l;
    uint64_t pairs = 0, first = 0;
    bool has_others = false;
    lines_open(&l, path);
    for (int i = 0; i < FIELDS_LOOKED_AT && lines_next_data(&l); i++) {
        bool is_line = is_libsvm_line(&l), has_pair = is_line && memchr(l.text, ':', l.length);
        if (has_pair && pairs++ == 0) first = l.number;
        has_others = has_others || !is_line;
        if (pairs > 0 && !is_line) libsvm_complain(&l);
        if (pairs > 0 && has_others)
            lines_fail(&l, "some lines are LIBSVM, as line %" PRIu64 ", and others are not", first);
    }
    lines_close(&l);
    return pairs > 0;
}

static enum clicks_format format_of(const char *path)
{
    struct fields f;
    if (is_libsvm(path)) return CLICKS_LIBSVM;
    fields_open(&f, path, &(struct fields_wanted){.least = 2});
    bool is_criteo = f.form.columns == CRITEO_FIELDS && *f.form.separator == '\t';
    fields_close(&f);
    return is_criteo ? CLICKS_CRITEO : CLICKS_CSV;
}

static void read_file(struct clicks *c, const struct clicks_source *source, const char *path,
                      enum clicks_format format, struct shape *shape)
{
    uint64_t before = c->count;
    if (format == CLICKS_LIBSVM) {
        read_libsvm(c, path, shape);
    } else {
        read_criteo(c, source, path);
    }
    if (c->count == before) fail("%s has no examples", path);
}

uint64_t clicks_read(struct clicks *c, const struct clicks_source *source)
{
    enum clicks_format format = source->format ? source->format : format_of(source->train);
    struct shape shape = {0};
    uint64_t train;
    if (format == CLICKS_CSV) {
        train = clicks_read_csv(c, source);
    } else {
        read_file(c, source, source->train, format, &shape);
        train = c->count;
        struct shape first = shape;
        if (source->test) read_file(c, source, source->test, format, &shape);
        if (source->test && format == CLICKS_LIBSVM) check_first(source, &first, &shape);
    }
    if (format == CLICKS_LIBSVM) end_libsvm(c, &shape);
    if (c->entries == 0) fail("%s: no example has a feature", source->train);
    if (source->hash_bits && format != CLICKS_LIBSVM)
        c->feature_count = UINT32_C(1) << source->hash_bits;
    return train;
}
