#include "ratings.h"

#include "digest.h"
#include "fail.h"
#include "lines.h"
#include "rng.h"
#include "saving.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 3, DIMENSION_MAX = 1 << 30 };

static const char matrix_market[] = "%%MatrixMarket";

void ratings_init(struct ratings *r)
{
    *r = (struct ratings){0};
    names_init(&r->row_names);
    names_init(&r->column_names);
}

void ratings_fini(struct ratings *r)
{
    names_fini(&r->row_names);
    names_fini(&r->column_names);
    free(r->list);
    *r = (struct ratings){0};
}

static void add(struct ratings *r, struct rating cell)
{
    size_t count = r->train + r->test;
    if (count == r->room) {
        r->room = r->room ? r->room + r->room / 2 : 1024;
        struct rating *larger = realloc(r->list, r->room * sizeof *larger);
        if (!larger) fail("%zu ratings find no memory", r->room);
        r->list = larger;
    }
    r->list[count] = cell;
}

void ratings_add(struct ratings *r, struct rating cell)
{
    add(r, cell);
    r->train++;
}

/* ---- user, item, rating ---- */

/* What stands between the fields of a file: the first of these that is twice in its first line, or
 * blanks, however many. */
static const char *const separators[] = {"\t", "::", ",", ";", NULL};

static const char *separator_of(const struct lines *l)
{
    const char *end = l->text + l->length;
    for (const char *const *s = separators; *s; s++) {
        size_t length = strlen(*s);
        const char *first = memmem(l->text, l->length, *s, length);
        if (first && memmem(first + length, (size_t)(end - first) - length, *s, length)) return *s;
    }
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct field {
    const char *text;
    size_t length;
};

/* Without the blanks around it, and the quotation marks around all of it. */
static struct field trimmed(const struct lines *l, const char *text, const char *end)
{
    while (text < end && is_blank(*text)) text++;
    while (end > text && is_blank(end[-1])) end--;
    if (end > text && *text == '"') {
        if (end - text < 2 || end[-1] != '"' || memchr(text + 1, '"', (size_t)(end - text) - 2))
            lines_fail(l, "has a quotation mark that is not around a whole field");
        text++;
        end--;
    }
    return (struct field){text, (size_t)(end - text)};
}

/* The first fields of the line; returns how many there are, at most FIELDS_MAX. */
static size_t split_by(const struct lines *l, const char *separator, struct field *fields)
{
    const char *at = l->text, *end = l->text + l->length;
    for (size_t count = 0;;) {
        const char *stop = memmem(at, (size_t)(end - at), separator, strlen(separator));
        fields[count++] = trimmed(l, at, stop ? stop : end);
        if (!stop || count == FIELDS_MAX) return count;
        at = stop + strlen(separator);
    }
}

static size_t split_by_blanks(const struct lines *l, struct field *fields, size_t max)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    for (; count < max; count++) {
        while (at < end && is_blank(*at)) at++;
        if (at == end) break;
        const char *first = at;
        while (at < end && !is_blank(*at)) at++;
        fields[count] = (struct field){first, (size_t)(at - first)};
    }
    return count;
}

/* A value that a float holds. */
static bool value_of(struct field f, float *value)
{
    double number;
    if (!lines_number(f.text, f.length, &number) || fabs(number) > (double)FLT_MAX) return false;
    *value = (float)number;
    return true;
}

/* Words where ratings will be; not a rating with something wrong about it. */
static bool is_heading(struct field f)
{
    char text[LINES_SHOWN_MAX], *end;
    if (f.length == 0 || memchr("+-.0123456789", *f.text, sizeof "+-.0123456789" - 1)) return false;
    if (f.length >= sizeof text) return true;
    memcpy(text, f.text, f.length);
    text[f.length] = '\0';
    strtod(text, &end);
    return *end != '\0'; /* nan, infinity: numbers, but no ratings */
}

static bool is_comment(const struct lines *l)
{
    return l->text[0] == '%' || l->text[0] == '#';
}

struct named_file {
    const char *separator;
    bool has_begun; /* no more comments, no heading */
    bool has_separator;
};

static void read_named(struct ratings *r, struct lines *l, struct named_file *f, size_t *counter)
{
    struct field fields[FIELDS_MAX];
    float value;
    if (l->length == 0 || (!f->has_begun && is_comment(l))) return;
    if (!f->has_separator) f->separator = separator_of(l);
    f->has_separator = true;
    size_t count = f->separator ? split_by(l, f->separator, fields)
                                : split_by_blanks(l, fields, FIELDS_MAX);
    if (count == 0 || (count == 1 && fields[0].length == 0)) return;
    if (count < FIELDS_MAX)
        lines_fail(l, "has %zu field%s; a rating has user, item and rating", count,
                   count == 1 ? "" : "s");
    if (!value_of(fields[2], &value)) {
        bool is_first = !f->has_begun;
        f->has_begun = true;
        if (is_first && is_heading(fields[2])) return;
        lines_fail(l, "\"%.*s\" is no rating: must be a number", lines_shown(fields[2].length),
                   fields[2].text);
    }
    f->has_begun = true;
    if (fields[0].length == 0 || fields[1].length == 0)
        lines_fail(l, "has an empty %s", fields[0].length ? "item" : "user");
    add(r, (struct rating){.row = names_add(&r->row_names, fields[0].text, fields[0].length),
                           .column = names_add(&r->column_names, fields[1].text, fields[1].length),
                           .value = value});
    ++*counter;
}

/* ---- MatrixMarket ---- */

static void check_banner(const struct lines *l)
{
    char object[32], format[32], field[32], symmetry[32], banner[256];
    if (l->length >= sizeof banner) lines_fail(l, "is longer than a MatrixMarket banner");
    memcpy(banner, l->text, l->length);
    banner[l->length] = '\0';
    if (sscanf(banner + sizeof matrix_market - 1, "%31s %31s %31s %31s", object, format, field,
               symmetry) != 4)
        lines_fail(l, "is no MatrixMarket banner: must be \"%s matrix coordinate real general\"",
                   matrix_market);
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        lines_fail(l, "is \"%s %s\": must be \"matrix coordinate\"", object, format);
    if (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        lines_fail(l, "has \"%s\" values: must be real or integer", field);
    if (strcasecmp(symmetry, "general") != 0) lines_fail(l, "is \"%s\": must be general", symmetry);
}

static uint64_t read_index(const struct lines *l, struct field f, double least, double most,
                           const char *what)
{
    double value;
    if (!lines_number(f.text, f.length, &value) || value < least || value > most ||
        value > floor(value))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %.0f to %.0f",
                   lines_shown(f.length), f.text, what, least, most);
    return (uint64_t)value;
}

/* One more than there may be is looked for. */
static void split_numbers(const struct lines *l, struct field *fields, const char *wanted)
{
    size_t count = split_by_blanks(l, fields, FIELDS_MAX + 1);
    if (count < FIELDS_MAX)
        lines_fail(l, "has %zu number%s; %s", count, count == 1 ? "" : "s", wanted);
    if (count > FIELDS_MAX) lines_fail(l, "has more than 3 numbers; %s", wanted);
}

struct shape {
    uint64_t rows, columns, cells;
};

static void read_cell(struct ratings *r, const struct lines *l, const struct shape *shape,
                      size_t *counter)
{
    struct field fields[FIELDS_MAX + 1];
    float value;
    split_numbers(l, fields, "a cell has row, column and value");
    if (!value_of(fields[2], &value))
        lines_fail(l, "\"%.*s\" is no value: must be a number", lines_shown(fields[2].length),
                   fields[2].text);
    if (*counter == shape->cells)
        lines_fail(l, "there are more cells than the %" PRIu64 " declared", shape->cells);
    uint64_t row = read_index(l, fields[0], 1, (double)shape->rows, "row");
    uint64_t column = read_index(l, fields[1], 1, (double)shape->columns, "column");
    add(r,
        (struct rating){.row = (uint32_t)row - 1, .column = (uint32_t)column - 1, .value = value});
    ++*counter;
}

static struct shape read_shape(struct ratings *r, const struct lines *l)
{
    struct field fields[FIELDS_MAX + 1];
    split_numbers(l, fields, "a size has rows, columns and cells");
    struct shape shape = {
        .rows = read_index(l, fields[0], 1, DIMENSION_MAX, "number of rows"),
        .columns = read_index(l, fields[1], 1, DIMENSION_MAX, "number of columns"),
        .cells = read_index(l, fields[2], 0, 0x1p40, "number of cells")};
    if (shape.rows > r->rows) r->rows = (uint32_t)shape.rows;
    if (shape.columns > r->columns) r->columns = (uint32_t)shape.columns;
    return shape;
}

static bool is_empty(const struct lines *l)
{
    struct field field;
    return split_by_blanks(l, &field, 1) == 0;
}

static void read_matrix(struct ratings *r, struct lines *l, size_t *counter)
{
    struct shape shape = {0};
    check_banner(l);
    while (lines_next(l)) {
        if (is_empty(l) || l->text[0] == '%') continue;
        if (shape.rows == 0) {
            shape = read_shape(r, l);
        } else {
            read_cell(r, l, &shape, counter);
        }
    }
    if (shape.rows == 0) lines_fail(l, "the file ends before its size: rows, columns and cells");
    if (*counter < shape.cells)
        lines_fail(l, "the file ends after %zu of %" PRIu64 " cells", *counter, shape.cells);
}

/* Returns whether it is MatrixMarket. */
static bool read_file(struct ratings *r, const char *path, size_t *counter)
{
    struct lines l;
    struct named_file f = {0};
    bool is_matrix = false;
    lines_open(&l, path);
    while (lines_next(&l)) {
        is_matrix = l.number == 1 && l.length >= sizeof matrix_market - 1 &&
                    strncasecmp(l.text, matrix_market, sizeof matrix_market - 1) == 0;
        if (is_matrix) {
            read_matrix(r, &l, counter);
            break;
        }
        read_named(r, &l, &f, counter);
    }
    lines_close(&l);
    if (*counter == 0) fail("%s has no ratings", path);
    return is_matrix;
}

/* ---- together ---- */

/* Whether a cell is held back depends on its place in the file alone. Both kinds keep their
 * order. */
static void hold_back(struct ratings *r, double share, uint64_t seed)
{
    size_t total = r->train, kept = 0, held = 0;
    struct rating *test = take_memory(total, sizeof *test);
    for (size_t i = 0; i < total; i++) {
        bool is_held = (double)(rng_mix(rng_mix(seed) + i) >> 11) * 0x1p-53 < share;
        if (is_held) {
            test[held++] = r->list[i];
        } else {
            r->list[kept++] = r->list[i];
        }
    }
    if (held > 0) memcpy(r->list + kept, test, held * sizeof *test);
    free(test);
    r->train = kept;
    r->test = held;
}

void ratings_finish(struct ratings *r, double held_back, uint64_t seed)
{
    double sum = 0;
    if (r->test == 0 && held_back > 0) hold_back(r, held_back, seed);
    if (r->train == 0) fail("there is no rating left to train with: hold back fewer");
    for (size_t i = 0; i < r->train; i++) sum += (double)r->list[i].value;
    r->mean = sum / (double)r->train;
    if (r->rows < r->row_names.count) r->rows = r->row_names.count;
    if (r->columns < r->column_names.count) r->columns = r->column_names.count;
}

void ratings_load(struct ratings *r, const char *train, const char *test, double held_back,
                  uint64_t seed)
{
    bool is_matrix = read_file(r, train, &r->train);
    if (test && read_file(r, test, &r->test) != is_matrix)
        fail("%s and %s have different formats: both must be MatrixMarket, or neither", train,
             test);
    ratings_finish(r, held_back, seed);
}

void ratings_write(const struct ratings *r, const char *path)
{
    struct saving s;
    saving_open(&s, path);
    fprintf(s.file, "%s matrix coordinate real general\n%" PRIu32 " %" PRIu32 " %zu\n",
            matrix_market, r->rows, r->columns, r->train);
    for (size_t i = 0; i < r->train; i++)
        fprintf(s.file, "%" PRIu32 " %" PRIu32 " %.9g\n", r->list[i].row + 1, r->list[i].column + 1,
                (double)r->list[i].value);
    saving_close(&s);
}

uint64_t ratings_digest(const struct ratings *r)
{
    uint32_t shape[] = {r->rows, r->columns};
    uint64_t digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    for (size_t i = 0; i < r->train + r->test; i++) {
        const struct rating *x = &r->list[i];
        uint32_t bits;
        memcpy(&bits, &x->value, sizeof bits);
        digest = rng_mix(digest ^ ((uint64_t)x->row << 32 | x->column)) + bits;
    }
    return digest;
}
