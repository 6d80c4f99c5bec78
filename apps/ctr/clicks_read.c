#include "clicks_read.h"

#include "fail.h"
#include "ids.h"
#include "libsvm.h"

#include <inttypes.h>
#include <string.h>

static const char form[] = "label index:value ..., or label field:index:value ...";

/* Of a file. */
struct labels {
    uint64_t clicks, count;
    bool has_zero, has_minus;
};

static bool take_label(struct labels *c, const struct lines *l, struct field f)
{
    double value;
    bool is_number = lines_number(f.text, f.length, &value);
    bool is_zero = is_number && value <= 0 && value >= 0;
    bool is_minus = is_number && value <= -1 && value >= -1;
    bool is_click = is_number && value <= 1 && value >= 1;
    if (!is_zero && !is_minus && !is_click)
        lines_fail(l, "\"%.*s\" is no label: must be 1 for a click, 0 or -1 for none",
                   lines_shown(f.length), f.text);
    c->has_zero = c->has_zero || is_zero;
    c->has_minus = c->has_minus || is_minus;
    if (c->has_zero && c->has_minus)
        lines_fail(l, "has the label %s, and another line has %s: which one is no click?",
                   is_zero ? "0" : "-1", is_zero ? "-1" : "0");
    c->count++;
    c->clicks += is_click;
    return is_click;
}

struct shape {
    bool is_training, has_fields, has_begun, is_even; /* all have as many features */
    uint64_t each;
    uint32_t least, most; /* indices in the current file */
    uint32_t least_field, most_field;
};

static void read_example(struct clicks *c, struct labels *labels, struct libsvm *s,
                         struct shape *shape)
{
    const struct lines *l = &s->lines;
    struct libsvm_pair p;
    uint32_t position = 0;
    bool is_click = take_label(labels, l, s->label);
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

static void read_file(struct clicks *c, const char *path, struct shape *shape)
{
    struct labels labels = {0};
    struct libsvm s;
    shape->least = shape->least_field = UINT32_MAX;
    shape->most = shape->most_field = 0;
    libsvm_open(&s, path, form);
    while (libsvm_next(&s)) read_example(c, &labels, &s, shape);
    libsvm_close(&s);
    if (shape->is_training && (labels.clicks == 0 || labels.clicks == labels.count))
        fail("%s: %s example is a click, with the label 1", path, labels.clicks ? "every" : "no");
}

static void read_weights(struct clicks *c, const struct clicks_source *source)
{
    struct lines l;
    if (!source->weights) return;
    lines_open(&l, source->weights, "weight");
    for (uint64_t i = 0; i < c->count; i++) {
        if (!lines_next(&l)) fail("%s has fewer lines than %s", source->weights, source->train);
        float weight = lines_take_float(&l, (struct field){l.text, l.length}, "weight");
        bool is_weight = weight == 0 || (weight >= 1e-9F && weight <= 1e9F);
        if (!is_weight)
            lines_fail(&l, "%g is no weight: must be 0, or from 1e-9 to 1e9", (double)weight);
        c->weights[i] = weight;
    }
    if (lines_next(&l)) lines_fail(&l, "is one more than %s has", source->train);
    lines_close(&l);
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
static void end_shape(struct clicks *c, const struct shape *s)
{
    ids_number(c->features, c->entries, sizeof *c->features, &c->feature_count, 0, &c->names);
    c->has_fields = s->has_fields;
    if (s->has_fields || (s->is_even && s->each <= CLICKS_FIELDS_MAX)) return;
    memset(c->fields, 0, c->entries * sizeof *c->fields);
    c->field_count = 1;
}

uint64_t clicks_read(struct clicks *c, const struct clicks_source *source)
{
    struct shape shape = {.is_training = true};
    read_file(c, source->train, &shape);
    read_weights(c, source);
    uint64_t train = c->count;
    struct shape first = shape;
    shape.is_training = false;
    if (source->test) read_file(c, source->test, &shape);
    if (source->test) check_first(source, &first, &shape);
    end_shape(c, &shape);
    if (c->starts[train] == 0) lines_fail_at(source->train, 0, form, "has no features");
    return train;
}
