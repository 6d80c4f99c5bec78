#include "clicks_csv.h"

#include "bins.h"
#include "fail.h"
#include "fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of few examples more than these bins would be learned by heart, if each had fewer examples. */
enum { BINS_LEAST = 16, EXAMPLES_OF_BIN = 32 };
/* A column of numbers has so many to each word in it. */
enum { NAME_BYTES = 256, NUMBER_BYTES = 32, NUMBERS_TO_A_WORD = 9, LABELS_MAX = 1000 };

/* A column: the numbers in it, and where they are cut. */
struct column {
    bool has_numbers; /* it is one of numbers */
    size_t words;     /* values that are neither numbers nor missing */
    double *values;
    size_t count, capacity;
    double *cuts; /* NULL: each value is a feature */
    size_t cut_count;
    size_t at; /* of the file that is read */
};

struct csv {
    const struct clicks_source *source;
    struct fields file;
    struct column *columns;
    size_t count, label; /* columns */
    char *label_name;    /* NULL: there is no heading */
    struct names labels; /* in the file to train with */
};

/* A double has each whole number below it. */
#define WHOLE_MAX 9007199254740992.0

/* ---- columns ---- */

/* Names that the last column is not wanted for, where another one has them. */
static void check_last(const struct fields *f)
{
    static const char *const names[] = {"label", "click", "clicked", "target", "class", "y"};
    for (size_t i = 0; f->name && i < sizeof names / sizeof *names; i++) {
        size_t column = fields_column(f, names[i], false);
        if (column != FIELDS_NONE && column + 1 < f->form.columns - f->form.hidden)
            fail("%s: its column \"%.*s\" is not the last: --label says which column has the label",
                 f->lines.path, (int)f->name[column].length, f->name[column].text);
    }
}

static void learn_columns(struct csv *c)
{
    const struct fields *f = &c->file;
    const char *label = c->source->label;
    c->count = f->form.columns - f->form.hidden;
    c->label = label ? fields_column(f, label, true) : c->count - 1;
    if (c->label == FIELDS_NONE)
        fail("%s: no column has the name \"%s\" (--label)", f->lines.path, label);
    if (!label) check_last(f);
    if (f->name && !(c->label_name = strndup(f->name[c->label].text, f->name[c->label].length)))
        fail("a column's name finds no memory");
    c->columns = take_memory(c->count, sizeof *c->columns);
}

/* Columns of the file to test with are found by name. */
static void find_columns(struct csv *c, const struct fields *f, const struct fields *train)
{
    const char *path = f->lines.path;
    if ((f->name != NULL) != (c->label_name != NULL))
        fail("%s has %s heading, and %s has %s: both must have one, or neither", path,
             f->name ? "a" : "no", c->source->train, f->name ? "none" : "one");
    if (!f->name && f->form.columns != c->count)
        fail("%s has %zu columns, and %s has %zu", path, f->form.columns, c->source->train,
             c->count);
    for (size_t i = 0; i < c->count; i++) {
        c->columns[i].at = i;
        if (!f->name) continue;
        char *name = strndup(train->name[i].text, train->name[i].length);
        if (!name) fail("a column's name finds no memory");
        c->columns[i].at = fields_column(f, name, true);
        if (c->columns[i].at == FIELDS_NONE)
            fail("%s has no column \"%s\", which %s has", path, name, c->source->train);
        free(name);
    }
}

/* ---- columns of numbers ---- */

static void note_value(struct column *k, struct field text)
{
    double value;
    if (field_is_missing(text)) return;
    if (!lines_number(text.text, text.length, &value)) {
        k->words++;
        return;
    }
    if (k->count == k->capacity) {
        k->capacity = k->capacity ? 2 * k->capacity : 1024;
        double *larger = realloc(k->values, k->capacity * sizeof *larger);
        if (!larger) fail("%zu numbers of a column find no memory", k->capacity);
        k->values = larger;
    }
    k->values[k->count++] = value;
}

/* A value's part is how many cuts are at most as large. */
static void cut(struct column *k, size_t bins)
{
    k->has_numbers = k->count > 0 && k->words <= k->count / NUMBERS_TO_A_WORD;
    if (!k->has_numbers) return;
    size_t most = k->count / EXAMPLES_OF_BIN;
    if (most < BINS_LEAST) most = BINS_LEAST;
    if (bins > most) bins = most;
    double *cuts = take_memory(bins, sizeof *cuts);
    k->cut_count = bins_cut(k->values, k->count, bins, cuts);
    k->cuts = k->cut_count > 0 ? cuts : NULL;
    if (!k->cuts) free(cuts);
}

static void learn_values(struct csv *c)
{
    struct fields *f = &c->file;
    while (fields_next(f))
        for (size_t i = 0; i < c->count; i++)
            if (i != c->label) note_value(&c->columns[i], f->field[i]);
    for (size_t i = 0; i < c->count; i++) {
        cut(&c->columns[i], c->source->bins);
        free(c->columns[i].values);
        c->columns[i].values = NULL;
    }
}

/* ---- examples ---- */

/* 0, or digits that do not begin with it: what ids are like, which may be longer than a double. */
static bool is_whole(struct field f)
{
    size_t i = f.length > 1 && *f.text == '-', first = i;
    bool is_short = f.length == first + 1;
    while (i < f.length && f.text[i] >= '0' && f.text[i] <= '9') i++;
    return i == f.length && (f.text[first] != '0' || (is_short && first == 0));
}

/* Numbers that are equal have the same text, which may be in `text`. */
static struct field same_text(struct field f, char text[NUMBER_BYTES])
{
    double number;
    if (!lines_number(f.text, f.length, &number) || is_whole(f)) return f;
    bool is_short = fabs(number) < WHOLE_MAX && number <= floor(number);
    snprintf(text, NUMBER_BYTES, is_short ? "%.0f" : "%.15g", number + 0.0);
    if (strtod(text, NULL) != number) snprintf(text, NUMBER_BYTES, "%.17g", number);
    return (struct field){text, strlen(text)};
}

/* A label to test with is one that was trained with. */
static bool is_click(struct csv *c, bool is_training)
{
    const struct lines *l = &c->file.lines;
    const char *positive = c->source->positive;
    size_t column = c->columns[c->label].at;
    struct field f = c->file.field[column];
    char text[NUMBER_BYTES], wanted[NUMBER_BYTES];
    if (field_is_missing(f)) lines_fail(l, "has no label, in column %zu", column + 1);
    if (!positive) return clicks_label(l, f);
    if (f.length > 1 && f.text[f.length - 1] == '.') f.length--;
    f = same_text(f, text);
    if (!is_training && names_find(&c->labels, f.text, f.length) == NAMES_NONE)
        lines_fail(l, "the label \"%.*s\" is not in %s", lines_shown(f.length), f.text,
                   c->source->train);
    if (is_training && names_add(&c->labels, f.text, f.length) == LABELS_MAX)
        lines_fail(l, "there are more than %d labels: --label says which column has them",
                   LABELS_MAX);
    struct field click = same_text((struct field){positive, strlen(positive)}, wanted);
    return field_equals(f, click);
}

/* What is missing in a column of numbers is ? however it is written. */
static struct field value_of(const struct csv *c, const struct column *k, char text[NUMBER_BYTES])
{
    struct field value = c->file.field[k->at];
    double number;
    if (value.length == 0 || (k->has_numbers && field_is_missing(value)))
        return (struct field){"?", 1};
    if (k->has_numbers && k->words == 0 && !lines_number(value.text, value.length, &number))
        lines_fail(&c->file.lines, "\"%.*s\" is no number; all others in column %zu are",
                   lines_shown(value.length), value.text, k->at + 1);
    return k->has_numbers ? same_text(value, text) : value;
}

static void add_feature(struct clicks *to, const struct csv *c, size_t column, uint32_t field,
                        bool is_training)
{
    char name[NAME_BYTES], text[NUMBER_BYTES];
    const struct column *k = &c->columns[column];
    struct field value = value_of(c, k, text);
    size_t part = 0;
    double number;
    if (k->cuts && lines_number(value.text, value.length, &number)) {
        while (part < k->cut_count && number >= k->cuts[part]) part++;
        snprintf(name, sizeof name, "%zu=part%zu", column + 1, part);
    } else if ((size_t)snprintf(name, sizeof name, "%zu=%.*s", column + 1, (int)value.length,
                                value.text) >= sizeof name) {
        lines_fail(&c->file.lines, "column %zu is longer than %d bytes", k->at + 1,
                   NAME_BYTES - 16);
    }
    clicks_add_named(to, c->source, is_training, name, strlen(name), field);
}

static uint64_t read_rows(struct clicks *to, struct csv *c, bool is_training)
{
    const char *path = c->file.lines.path, *positive = c->source->positive;
    uint64_t count = 0, clicks = 0;
    while (fields_next(&c->file)) {
        uint32_t field = 0;
        for (size_t i = 0; i < c->count; i++)
            if (i != c->label) add_feature(to, c, i, field++, is_training);
        bool click = is_click(c, is_training);
        clicks += click;
        count++;
        clicks_end(to, click);
    }
    if (count == 0) fail("%s has no examples", path);
    if (is_training && (clicks == 0 || clicks == count))
        fail("%s: %s example has the label \"%s\": --positive says which label is a click, --label "
             "which column has it",
             path, clicks ? "every" : "no", positive ? positive : "1");
    return count;
}

static void open_file(struct csv *c, const char *path, const char *name)
{
    fields_open(&c->file, path, &(struct fields_wanted){.least = 2, .name = name});
}

uint64_t clicks_read_csv(struct clicks *to, const struct clicks_source *source)
{
    struct csv c = {.source = source};
    names_init(&c.labels);
    open_file(&c, source->train, source->label);
    if (c.file.form.columns == 0) fail("%s has no examples", source->train);
    learn_columns(&c);
    learn_values(&c);
    struct fields train = c.file; /* its names */
    open_file(&c, source->train, source->label);
    find_columns(&c, &c.file, &train);
    uint64_t examples = read_rows(to, &c, true);
    fields_close(&c.file);
    if (source->test) {
        open_file(&c, source->test, c.label_name);
        find_columns(&c, &c.file, &train);
        read_rows(to, &c, false);
        fields_close(&c.file);
    }
    fields_close(&train);
    for (size_t i = 0; i < c.count; i++) free(c.columns[i].cuts);
    free(c.columns);
    free(c.label_name);
    names_fini(&c.labels);
    return examples;
}
