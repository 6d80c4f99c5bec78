#include "clicks_read.h"

#include "args.h"
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

enum { LABELS_MAX = 1000 };

void clicks_labels_init(struct clicks_labels *c, const struct clicks_source *source)
{
    *c = (struct clicks_labels){.source = source};
    names_init(&c->trained);
}

void clicks_labels_fini(struct clicks_labels *c)
{
    names_fini(&c->trained);
}

static bool is_one(struct clicks_labels *c, const struct lines *l, struct field f)
{
    double value;
    bool is_number = lines_number(f.text, f.length, &value);
    bool is_zero = is_number && value <= 0 && value >= 0;
    bool is_minus = is_number && value <= -1 && value >= -1;
    bool is_click = is_number && value <= 1 && value >= 1;
    if (!is_zero && !is_minus && !is_click)
        lines_fail(l,
                   "\"%.*s\" is no label: must be 1 for a click, 0 or -1 for none; --positive says "
                   "which label is a click",
                   lines_shown(f.length), f.text);
    c->has_zero = c->has_zero || is_zero;
    c->has_minus = c->has_minus || is_minus;
    if (c->has_zero && c->has_minus)
        lines_fail(l,
                   "has the label %s, and another line has %s: --positive says which label is a "
                   "click",
                   is_zero ? "0" : "-1", is_zero ? "-1" : "0");
    return is_click;
}

/* One set of data may have a dot behind each. */
static struct field label_of(struct field f, char text[CLICKS_NUMBER_BYTES])
{
    if (f.length > 1 && f.text[f.length - 1] == '.') f.length--;
    return clicks_same_text(f, text);
}

static bool is_positive(struct clicks_labels *c, const struct lines *l, struct field f)
{
    const char *positive = c->source->positive;
    bool is_training = l->path == c->source->train;
    char text[CLICKS_NUMBER_BYTES], wanted[CLICKS_NUMBER_BYTES];
    f = label_of(f, text);
    if (!is_training && names_find(&c->trained, f.text, f.length) == NAMES_NONE)
        lines_fail(l, "the label \"%.*s\" is not in %s", lines_shown(f.length), f.text,
                   c->source->train);
    if (is_training && names_add(&c->trained, f.text, f.length) == LABELS_MAX)
        lines_fail(l, "there are more than %d labels: --label says which column has them",
                   LABELS_MAX);
    struct field click = label_of((struct field){positive, strlen(positive)}, wanted);
    return field_equals(f, click);
}

bool clicks_label(struct clicks_labels *c, const struct lines *l, struct field f)
{
    bool is_click = c->source->positive ? is_positive(c, l, f) : is_one(c, l, f);
    c->count++;
    c->clicks += is_click;
    return is_click;
}

void clicks_labels_end(struct clicks_labels *c, const char *path)
{
    const char *positive = c->source->positive;
    if (c->count == 0) fail("%s has no examples", path);
    if (path == c->source->train && (c->clicks == 0 || c->clicks == c->count))
        fail("%s: %s example has the label \"%s\": --positive says which label is a click, --label "
             "which column has it",
             path, c->clicks ? "every" : "no", positive ? positive : "1");
    c->count = c->clicks = 0;
    c->has_zero = c->has_minus = false;
}

/* ---- LIBSVM, LIBFFM ---- */

struct shape {
    bool has_fields, has_begun, is_even; /* all have as many features */
    uint64_t each;
    uint32_t least, most; /* indices in the current file */
    uint32_t least_field, most_field;
};

static void read_example(struct clicks *c, struct clicks_labels *labels, struct libsvm *s,
                         struct shape *shape)
{
    const struct lines *l = &s->lines;
    struct libsvm_pair p;
    uint32_t position = 0;
    bool is_click = clicks_label(labels, l, s->label);
    for (; libsvm_pair(s, "feature", &p); position++) {
        if (shape->has_begun && p.has_field != shape->has_fields)
            lines_fail(l, "feature %" PRIu32 ": either all features have a field, or none",
                       p.index);
        shape->has_fields = p.has_field;
        shape->has_begun = true;
        uint32_t field = p.has_field ? p.field : position;
        if (p.index < shape->least) shape->least = p.index;
        if (p.index > shape->most) shape->most = p.index;
        if (field < shape->least_field) shape->least_field = field;
        if (field > shape->most_field) shape->most_field = field;
        if (p.has_field && field >= CLICKS_FIELDS_MAX)
            lines_fail(l, "field %" PRIu32 ": must be less than %d", field, CLICKS_FIELDS_MAX);
        if (field >= CLICKS_FIELDS_MAX) field = CLICKS_FIELDS_MAX - 1;
        clicks_add(c, p.index, field, lines_take_float(l, p.value, "value"));
    }
    if (c->count == 0) shape->each = position;
    shape->is_even = (c->count == 0 || shape->is_even) && position == shape->each;
    clicks_end(c, is_click, 1);
}

static void read_libsvm(struct clicks *c, struct clicks_labels *labels, const char *path,
                        struct shape *shape)
{
    struct libsvm s;
    shape->least = shape->least_field = UINT32_MAX;
    shape->most = shape->most_field = 0;
    libsvm_open(&s, path);
    while (libsvm_next(&s)) read_example(c, labels, &s, shape);
    libsvm_close(&s);
}

/* Is the file to test with another program's, which begins with another number? */
static bool is_shifted(uint32_t least, uint32_t most, uint32_t test_least, uint32_t test_most)
{
    return (test_least == least + 1 && test_most == most + 1) ||
           (test_least + 1 == least && test_most + 1 == most);
}

static void check_first(const struct clicks_source *source, const struct shape *train,
                        const struct shape *test)
{
    if (is_shifted(train->least, train->most, test->least, test->most))
        fail("%s numbers features from %" PRIu32 " to %" PRIu32 ", and %s from %" PRIu32
             " to %" PRIu32 ": begin both alike; or, if they are the same features, give a line of "
             "one of them %" PRIu32 ":0",
             source->test, test->least, test->most, source->train, train->least, train->most,
             test->most > train->most ? test->most : train->most);
    if (train->has_fields &&
        is_shifted(train->least_field, train->most_field, test->least_field, test->most_field))
        fail("%s numbers fields from %" PRIu32 " to %" PRIu32 ", and %s from %" PRIu32
             " to %" PRIu32 ": begin both alike",
             source->test, test->least_field, test->most_field, source->train, train->least_field,
             train->most_field);
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

static _Noreturn void fail_criteo(const struct fields *f)
{
    lines_fail(&f->lines,
               "has %zu fields; must be 40, with tabs between: label, 13 numbers, 26 categories",
               f->count);
}

static void read_criteo(struct clicks *c, struct clicks_labels *labels, const char *path)
{
    struct fields f;
    fields_open(&f, path, &(struct fields_wanted){.least = 2});
    while (fields_next(&f)) {
        if (f.count != CRITEO_FIELDS) fail_criteo(&f);
        bool is_click = clicks_label(labels, &f.lines, f.field[0]);
        add_criteo(c, &f, labels->source, path == labels->source->train);
        clicks_end(c, is_click, 1);
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

/* Has most of what is behind the label a number and a colon in front? */
static bool is_like_libsvm(const struct lines *l)
{
    const char *at = l->text;
    struct field word;
    size_t pairs = 0, others = 0;
    lines_word(l, &at, &word);
    while (lines_word(l, &at, &word)) {
        size_t digits = strspn(word.text, "0123456789");
        bool is_pair = digits > 0 && digits < word.length && word.text[digits] == ':';
        pairs += is_pair;
        others += !is_pair;
    }
    return pairs > others;
}

/* All of the first lines are LIBSVM, and some have features; or none is. */
static bool is_libsvm(const char *path)
{
    struct lines l;
    uint64_t pairs = 0;
    bool has_others = false;
    lines_open(&l, path);
    for (int i = 0; i < FIELDS_LOOKED_AT && lines_next_data(&l); i++) {
        bool is_line = is_libsvm_line(&l), has_pair = is_line && memchr(l.text, ':', l.length);
        pairs += has_pair;
        has_others = has_others || !is_line;
        if (!is_line && (pairs > 0 || (i == 0 && is_like_libsvm(&l)))) libsvm_complain(&l);
        if (pairs > 0 && has_others) lines_fail(&l, "is LIBSVM, and lines before it are not");
    }
    lines_close(&l);
    return pairs > 0;
}

static enum format format_of(const struct clicks_source *source)
{
    struct fields f;
    if (is_libsvm(source->train)) return FORMAT_LIBSVM;
    if (source->label || source->weight) return FORMAT_CSV;
    fields_open(&f, source->train, &(struct fields_wanted){.least = 2});
    bool is_criteo = f.form.columns == CRITEO_FIELDS && *f.form.separator == '\t';
    fields_close(&f);
    return is_criteo ? FORMAT_CRITEO : FORMAT_CSV;
}

/* What would have no effect is said. */
static void check_options(const struct clicks_source *source, enum format format)
{
    if (source->label && format != FORMAT_CSV)
        fail("--label is for separated fields, and %s is %s: its label is first", source->train,
             format == FORMAT_LIBSVM ? "LIBSVM" : "Criteo's");
    if (source->weight && format != FORMAT_CSV)
        fail("--weight is for separated fields: %s has no column of weights", source->train);
    if (args_has("--bins") && format != FORMAT_CSV)
        fail("--bins is for columns of numbers, and %s is %s", source->train,
             format == FORMAT_LIBSVM ? "LIBSVM" : "Criteo's");
    if (args_has("--bins") && source->known)
        fail(
            "--bins has no effect with --from, whose model says how numbers are cut: leave it out");
    if (source->hash_bits && format == FORMAT_LIBSVM)
        fail("--hash is for names, and %s is LIBSVM, whose features are numbers", source->train);
}

static void read_file(struct clicks *c, struct clicks_labels *labels, const char *path,
                      enum format format, struct shape *shape)
{
    if (format == FORMAT_LIBSVM) {
        read_libsvm(c, labels, path, shape);
    } else {
        read_criteo(c, labels, path);
    }
    clicks_labels_end(labels, path);
}

/* LIBSVM and Criteo's. Returns how many examples are to train with. */
static uint64_t read_files(struct clicks *c, const struct clicks_source *source, enum format format)
{
    struct shape shape = {0};
    struct clicks_labels labels;
    clicks_labels_init(&labels, source);
    read_file(c, &labels, source->train, format, &shape);
    uint64_t train = c->count;
    struct shape first = shape;
    if (source->test) read_file(c, &labels, source->test, format, &shape);
    if (source->test && format == FORMAT_LIBSVM) check_first(source, &first, &shape);
    if (format == FORMAT_LIBSVM) end_libsvm(c, &shape);
    clicks_labels_fini(&labels);
    return train;
}

uint64_t clicks_read(struct clicks *c, const struct clicks_source *source)
{
    enum format format = source->format ? source->format : format_of(source);
    check_options(source, format);
    c->format = format;
    uint64_t train = format == FORMAT_CSV ? clicks_read_csv(c, source)
                                          : read_files(c, source, format);
    if (c->starts[train] == 0) fail("%s: no example has a feature", source->train);
    if (source->test && format != FORMAT_LIBSVM && c->starts[train] == c->entries)
        fail("%s has no feature that %s has: are the names in both written alike?", source->test,
             source->train);
    if (source->hash_bits) c->feature_count = UINT32_C(1) << source->hash_bits;
    return train;
}
