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
/* A column of numbers has so many to each different word in it. */
enum { NAME_BYTES = 256, NUMBER_BYTES = CLICKS_NUMBER_BYTES, NUMBERS_TO_A_WORD = 9 };
/* More different words are none beside numbers. */
enum { WORDS_MAX = 1 << 16 };

/* A column: the numbers in it, and where they are cut. */
struct column {
    bool has_numbers; /* it is one of numbers */
    struct names
        words; /* different values that are neither numbers nor missing, WORDS_MAX at most */
    struct names foreign; /* of them, so many at most, numbers as others write them */
    struct lines first;   /* where the first of these is */
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
    size_t weight;       /* FIELDS_NONE: all weigh 1 */
    char *label_name;    /* NULL: there is no heading */
    struct clicks_labels labels;
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

static bool is_feature(const struct csv *c, size_t column)
{
    return column != c->label && column != c->weight;
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
    if (c->source->weight && (c->weight = fields_column(f, c->source->weight, true)) == FIELDS_NONE)
        fail("%s: no column has the name \"%s\" (--weight)", f->lines.path, c->source->weight);
    if (c->weight == c->label)
        fail("%s: --weight is the label's column: --label says which column has the label",
             f->lines.path);
    if (f->name && !(c->label_name = strndup(f->name[c->label].text, f->name[c->label].length)))
        fail("a column's name finds no memory");
    c->columns = take_memory(c->count, sizeof *c->columns);
    for (size_t i = 0; i < c->count; i++) {
        names_init(&c->columns[i].words);
        names_init(&c->columns[i].foreign);
    }
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

/* Takes the longest of these off one end. */
static void strip(struct field *f, bool at_end)
{
    static const char *const marks[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "%", "+",
                                        "-", "\xe2\x88\x92"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t n = strlen(marks[i]);
        if (f->length <= n || memcmp(f->text + (at_end ? f->length - n : 0), marks[i], n) != 0)
            continue;
        f->text += at_end ? 0 : n;
        f->length -= n;
    }
}

/* A number with a decimal comma, marks between thousands, or a unit: 1,5 or 1.234,50 or $12 or 7%. */
static bool is_foreign(struct field f)
{
    size_t digits = 0, groups = 0;
    bool has_other = false; /* a group that is not of three digits */
    strip(&f, false);
    strip(&f, false);
    strip(&f, true);
    for (size_t i = 0; i < f.length; i++) {
        if (f.text[i] >= '0' && f.text[i] <= '9') {
            digits++;
            continue;
        }
        if (!strchr(",.'", f.text[i]) || digits == 0 || i + 1 == f.length) return false;
        has_other = has_other || (groups > 0 && digits != 3) || (groups == 0 && digits > 3);
        groups++;
        digits = 0;
    }
    return digits > 0 && (groups < 2 || !has_other);
}

static void note_word(struct column *k, const struct lines *l, struct field text)
{
    if (k->words.count < WORDS_MAX) names_add(&k->words, text.text, text.length);
    if (k->foreign.count == WORDS_MAX || !is_foreign(text)) return;
    if (k->foreign.count == 0) k->first = *l;
    names_add(&k->foreign, text.text, text.length);
}

static void note_value(struct column *k, const struct lines *l, struct field text)
{
    double value;
    if (field_is_missing(text)) return;
    if (!lines_number(text.text, text.length, &value)) {
        note_word(k, l, text);
        return;
    }
    k->values =
        make_room(k->values, k->count, &k->capacity, sizeof *k->values, "numbers of a column");
    k->values[k->count++] = value;
}

/* A value's part is how many cuts are at most as large. */
static void cut(struct column *k, size_t bins)
{
    if (!k->has_numbers) return;
    size_t most = k->count / EXAMPLES_OF_BIN;
    if (most < BINS_LEAST) most = BINS_LEAST;
    if (bins > most) bins = most;
    double *cuts = take_memory(bins, sizeof *cuts);
    k->cut_count = bins_cut(k->values, k->count, bins, cuts);
    k->cuts = k->cut_count > 0 ? cuts : NULL;
    if (!k->cuts) free(cuts);
}

/* Each of them would be a feature, as those of a column of few are rightly. */
static void check_foreign(const struct csv *c, size_t column)
{
    const struct column *k = &c->columns[column];
    size_t others = k->words.count - k->foreign.count;
    bool are_most = k->foreign.count > c->source->bins &&
                    k->foreign.count / NUMBERS_TO_A_WORD >= others;
    if (k->foreign.count == 0 || !(are_most || k->has_numbers)) return;
    lines_fail(&k->first,
               "\"%s\", in column %zu, is no number, but seems to be one: write 1234.5, with "
               "a point and nothing else; or, if it is a name, put a letter before it",
               names_get(&k->foreign, 0), column + 1);
}

static void take_cuts(struct column *k, const struct clicks_columns *known, size_t column)
{
    double *cuts = take_memory(known->cut_count + 1, sizeof *cuts);
    free(k->cuts);
    k->has_numbers = known->kind[column] == CLICKS_NUMBERS;
    k->cut_count = 0;
    for (size_t n = 0; n < known->cut_count; n++)
        if (known->cuts[2 * n] >= (double)column && known->cuts[2 * n] <= (double)column)
            cuts[k->cut_count++] = known->cuts[2 * n + 1];
    k->cuts = k->cut_count > 0 ? cuts : NULL;
    if (!k->cuts) free(cuts);
}

/* The parts of numbers of which a model has learned. */
static void take_known(struct csv *c)
{
    const struct clicks_columns *known = c->source->known;
    const struct field *name = c->file.name;
    bool are_same = known->count == c->count && (known->names.count > 0) == (name != NULL) &&
                    known->kind[c->label] == CLICKS_LABEL;
    for (size_t i = 0; i < c->count && are_same; i++) {
        const char *its = name ? names_get(&known->names, (uint32_t)i) : "";
        are_same = !name || field_equals(name[i], (struct field){its, strlen(its)});
        are_same = are_same && (known->kind[i] == CLICKS_WEIGHT) == (i == c->weight);
        if (is_feature(c, i) && are_same) take_cuts(&c->columns[i], known, i);
    }
    if (!are_same)
        fail("%s has other columns, or in another order, than the model that --from begins with, "
             "or another one is the label or the weight (--label, --weight)",
             c->source->train);
}

static void learn_values(struct csv *c)
{
    struct fields *f = &c->file;
    while (fields_next(f))
        for (size_t i = 0; i < c->count; i++)
            if (is_feature(c, i)) note_value(&c->columns[i], &f->lines, f->field[i]);
    for (size_t i = 0; i < c->count; i++) {
        struct column *k = &c->columns[i];
        k->has_numbers = k->count > 0 && k->words.count <= k->count / NUMBERS_TO_A_WORD;
        check_foreign(c, i);
        cut(k, c->source->bins);
        free(k->values);
        k->values = NULL;
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

static void write_number(char text[NUMBER_BYTES], double number)
{
    bool is_short = fabs(number) < WHOLE_MAX && number <= floor(number);
    snprintf(text, NUMBER_BYTES, is_short ? "%.0f" : "%.15g", number + 0.0);
    if (strtod(text, NULL) != number) snprintf(text, NUMBER_BYTES, "%.17g", number);
}

struct field clicks_same_text(struct field f, char text[NUMBER_BYTES])
{
    double number;
    if (!lines_number(f.text, f.length, &number) || is_whole(f)) return f;
    write_number(text, number);
    return (struct field){text, strlen(text)};
}

/* What is missing in a column of numbers is ? however it is written. */
static struct field value_of(const struct csv *c, const struct column *k, char text[NUMBER_BYTES])
{
    struct field value = c->file.field[k->at];
    double number;
    if (value.length == 0 || (k->has_numbers && field_is_missing(value)))
        return (struct field){"?", 1};
    bool is_strict = k->has_numbers && k->words.count == 0;
    if (is_strict && !lines_number(value.text, value.length, &number))
        lines_fail(&c->file.lines, "\"%.*s\" is no number; all others in column %zu are",
                   lines_shown(value.length), value.text, k->at + 1);
    return k->has_numbers ? clicks_same_text(value, text) : value;
}

/* What is in a part is from its first number to below the next one's. */
static void name_part(char name[NAME_BYTES], size_t column, const struct column *k, size_t part)
{
    char first[NUMBER_BYTES] = "-inf", end[NUMBER_BYTES] = "inf";
    if (part > 0) write_number(first, k->cuts[part - 1]);
    if (part < k->cut_count) write_number(end, k->cuts[part]);
    snprintf(name, NAME_BYTES, "%zu=[%s,%s)", column + 1, first, end);
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
        name_part(name, column, k, part);
    } else if ((size_t)snprintf(name, sizeof name, "%zu=%.*s", column + 1, (int)value.length,
                                value.text) >= sizeof name) {
        lines_fail(&c->file.lines, "column %zu is longer than %d bytes", k->at + 1,
                   NAME_BYTES - 16);
    }
    clicks_add_named(to, c->source, is_training, name, strlen(name), field);
}

static float weight_of(const struct csv *c)
{
    if (c->weight == FIELDS_NONE) return 1;
    struct field f = c->file.field[c->columns[c->weight].at];
    float weight = lines_take_float(&c->file.lines, f, "weight");
    if (weight != 0 && !(weight >= 1e-9F && weight <= 1e9F))
        lines_fail(&c->file.lines, "its weight, %g, must be 0, or from 1e-9 to 1e9 (--weight)",
                   (double)weight);
    return weight;
}

static void read_rows(struct clicks *to, struct csv *c, bool is_training)
{
    const struct lines *l = &c->file.lines;
    while (fields_next(&c->file)) {
        uint32_t field = 0;
        for (size_t i = 0; i < c->count; i++)
            if (is_feature(c, i)) add_feature(to, c, i, field++, is_training);
        size_t at = c->columns[c->label].at;
        if (field_is_missing(c->file.field[at]))
            lines_fail(l, "has no label, in column %zu", at + 1);
        clicks_end(to, clicks_label(&c->labels, l, c->file.field[at]), weight_of(c));
    }
    clicks_labels_end(&c->labels, l->path);
}

static void open_file(struct csv *c, const char *path, const char *name)
{
    fields_open(&c->file, path, &(struct fields_wanted){.least = 2, .name = name});
}

static void keep_columns(struct clicks_columns *to, const struct csv *c, const struct fields *train)
{
    size_t cuts = 0;
    for (size_t i = 0; i < c->count; i++) cuts += c->columns[i].cuts ? c->columns[i].cut_count : 0;
    to->count = c->count;
    to->kind = take_memory(c->count, sizeof *to->kind);
    to->cuts = take_memory(2 * cuts + 1, sizeof *to->cuts);
    for (size_t i = 0; i < c->count; i++) {
        const struct column *k = &c->columns[i];
        to->kind[i] = i == c->label    ? CLICKS_LABEL
                      : i == c->weight ? CLICKS_WEIGHT
                      : k->has_numbers ? CLICKS_NUMBERS
                                       : CLICKS_WORDS;
        if (train->name) names_add(&to->names, train->name[i].text, train->name[i].length);
        for (size_t n = 0; k->cuts && n < k->cut_count; n++, to->cut_count++) {
            to->cuts[2 * to->cut_count] = (double)i;
            to->cuts[2 * to->cut_count + 1] = k->cuts[n];
        }
    }
}

static void close_columns(struct csv *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->columns[i].cuts);
        names_fini(&c->columns[i].words);
        names_fini(&c->columns[i].foreign);
    }
    free(c->columns);
    free(c->label_name);
}

uint64_t clicks_read_csv(struct clicks *to, const struct clicks_source *source)
{
    struct csv c = {.source = source, .weight = FIELDS_NONE};
    clicks_labels_init(&c.labels, source);
    open_file(&c, source->train, source->label);
    if (c.file.form.columns == 0) fail("%s has no examples", source->train);
    learn_columns(&c);
    learn_values(&c);
    if (source->known) take_known(&c);
    struct fields train = c.file; /* its names */
    open_file(&c, source->train, source->label);
    find_columns(&c, &c.file, &train);
    read_rows(to, &c, true);
    uint64_t examples = to->count;
    fields_close(&c.file);
    if (source->test) {
        open_file(&c, source->test, c.label_name);
        find_columns(&c, &c.file, &train);
        read_rows(to, &c, false);
        fields_close(&c.file);
    }
    keep_columns(&to->columns, &c, &train);
    fields_close(&train);
    close_columns(&c);
    clicks_labels_fini(&c.labels);
    return examples;
}
