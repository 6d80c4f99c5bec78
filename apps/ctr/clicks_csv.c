#include "clicks_csv.h"

#include "fail.h"
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = CLICKS_FIELDS_MAX, NAME_BYTES = 256 };

/* A column: the values that it has where all of them are numbers, and where they are cut. */
struct column {
    bool is_words;
    double *values;
    size_t count, capacity;
    double *cuts; /* NULL: each value is a feature */
    size_t cut_count;
};

struct csv {
    const struct clicks_source *source;
    struct column *columns;
    const char **fields;
    size_t *lengths;
    size_t count, label; /* columns */
    bool is_known;
};

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && (**text == ' ' || **text == '\t')) ++*text, --*length;
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t')) --*length;
    if (*length >= 2 && **text == '"' && (*text)[*length - 1] == '"') ++*text, *length -= 2;
}

static bool is_missing(const char *text, size_t length)
{
    return length == 0 || (length == 1 && *text == '?');
}

/* The names are in the first line, or the label is in the last column. */
static bool learn_columns(struct csv *c, const struct lines *l, size_t count)
{
    c->is_known = true;
    c->count = count;
    c->label = count - 1;
    if (count < 2) lines_fail(l, "has one column: must be features and a label, by commas");
    if (!c->source->label) return false;
    for (c->label = 0; c->label < count; c->label++) {
        if (c->lengths[c->label] == strlen(c->source->label) &&
            memcmp(c->fields[c->label], c->source->label, c->lengths[c->label]) == 0)
            return true;
    }
    lines_fail(l, "no column has the name \"%s\" (--label)", c->source->label);
}

/* False: not an example. The heading comes again in the second file. */
static bool split(struct csv *c, const struct lines *l, bool *has_heading)
{
    if (l->length == 0 || l->text[0] == '|' || l->text[0] == '#') return false;
    size_t count = lines_split(l, ',', c->fields, c->lengths, COLUMNS_MAX);
    if (count > COLUMNS_MAX) lines_fail(l, "has more than %d columns", COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) trim(&c->fields[i], &c->lengths[i]);
    bool is_first = !*has_heading;
    *has_heading = true;
    if (!c->is_known && learn_columns(c, l, count)) return false;
    if (count != c->count)
        lines_fail(l, "has %zu columns; the first line has %zu", count, c->count);
    return !(is_first && c->source->label && c->lengths[c->label] == strlen(c->source->label) &&
             memcmp(c->fields[c->label], c->source->label, c->lengths[c->label]) == 0);
}

static bool is_click(const struct csv *c, const struct lines *l)
{
    const char *text = c->fields[c->label];
    size_t length = c->lengths[c->label];
    if (length > 1 && text[length - 1] == '.') length--;
    if (length == 0) lines_fail(l, "has no label, in column %zu", c->label + 1);
    return length == strlen(c->source->positive) && memcmp(text, c->source->positive, length) == 0;
}

/* ---- columns of numbers ---- */

static void note_value(struct column *k, const char *text, size_t length)
{
    double value;
    if (k->is_words || is_missing(text, length)) return;
    if (!lines_number(text, length, &value)) {
        k->is_words = true;
        free(k->values);
        k->values = NULL;
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

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A value's part is how many cuts are at most as large. */
static void cut(struct column *k, size_t bins)
{
    if (k->is_words || k->count == 0) return;
    size_t different = 1;
    qsort(k->values, k->count, sizeof *k->values, by_value);
    for (size_t i = 1; i < k->count; i++) different += k->values[i] > k->values[i - 1];
    if (different > bins) {
        k->cuts = take_memory(bins, sizeof *k->cuts);
        for (size_t i = 1; i < bins; i++) {
            double value = k->values[i * k->count / bins];
            double last = k->cut_count ? k->cuts[k->cut_count - 1] : k->values[0];
            if (value > last) k->cuts[k->cut_count++] = value;
        }
    }
    free(k->values);
    k->values = NULL;
}

static void learn_values(struct csv *c)
{
    bool has_heading = false;
    struct lines l;
    lines_open(&l, c->source->train);
    while (lines_next(&l)) {
        if (!split(c, &l, &has_heading)) continue;
        for (size_t i = 0; i < c->count; i++)
            if (i != c->label) note_value(&c->columns[i], c->fields[i], c->lengths[i]);
    }
    lines_close(&l);
    for (size_t i = 0; i < c->count; i++) cut(&c->columns[i], c->source->bins);
}

/* ---- examples ---- */

static void add_feature(struct clicks *to, const struct csv *c, const struct lines *l,
                        size_t column, uint32_t field, bool is_training)
{
    char name[NAME_BYTES];
    const struct column *k = &c->columns[column];
    const char *text = c->fields[column];
    size_t length = c->lengths[column], part = 0;
    double value;
    if (is_missing(text, length)) {
        snprintf(name, sizeof name, "%zu=?", column + 1);
    } else if (k->cuts) {
        if (!lines_number(text, length, &value))
            lines_fail(l, "\"%.*s\" is no number; all others in column %zu are",
                       lines_shown(length), text, column + 1);
        while (part < k->cut_count && value >= k->cuts[part]) part++;
        snprintf(name, sizeof name, "%zu=part%zu", column + 1, part);
    } else if ((size_t)snprintf(name, sizeof name, "%zu=%.*s", column + 1, (int)length, text) >=
               sizeof name) {
        lines_fail(l, "column %zu is longer than %d bytes", column + 1, NAME_BYTES - 16);
    }
    clicks_add_named(to, c->source, is_training, name, strlen(name), field);
}

static uint64_t read_file(struct clicks *to, struct csv *c, const char *path)
{
    bool has_heading = false, is_training = path == c->source->train;
    uint64_t count = 0, clicks = 0;
    struct lines l;
    lines_open(&l, path);
    while (lines_next(&l)) {
        uint32_t field = 0;
        if (!split(c, &l, &has_heading)) continue;
        for (size_t i = 0; i < c->count; i++)
            if (i != c->label) add_feature(to, c, &l, i, field++, is_training);
        bool click = is_click(c, &l);
        clicks += click;
        count++;
        clicks_end(to, click);
    }
    lines_close(&l);
    if (count == 0) fail("%s has no examples", path);
    if (clicks == 0 || clicks == count)
        fail("%s: %s example has the label \"%s\": --positive says which label is a click", path,
             clicks ? "every" : "no", c->source->positive);
    return count;
}

uint64_t clicks_read_csv(struct clicks *to, const struct clicks_source *source)
{
    struct csv c = {.source = source};
    c.columns = take_memory(COLUMNS_MAX, sizeof *c.columns);
    c.fields = take_memory(COLUMNS_MAX, sizeof *c.fields);
    c.lengths = take_memory(COLUMNS_MAX, sizeof *c.lengths);
    learn_values(&c);
    uint64_t train = read_file(to, &c, source->train);
    if (source->test) read_file(to, &c, source->test);
    for (size_t i = 0; i < c.count; i++) free(c.columns[i].cuts);
    free(c.columns);
    free(c.fields);
    free(c.lengths);
    return train;
}
