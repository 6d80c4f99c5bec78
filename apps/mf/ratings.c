#include "ratings.h"

#include "fail.h"
#include "lines.h"
#include "rng.h"
#include "settings.h"

#include <errno.h>
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

/* ---- fields ---- */

static bool is_between(const struct lines *l, const char *at)
{
    if (*at == '\t' || *at == ',' || *at == ' ' || *at == ';') return true;
    const char *end = l->text + l->length;
    return *at == ':' && ((at + 1 < end && at[1] == ':') || (at > l->text && at[-1] == ':'));
}

/* The first fields of the line; returns how many there are, at most FIELDS_MAX. */
static size_t split(const struct lines *l, const char **fields, size_t *lengths)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    for (; count < FIELDS_MAX; count++) {
        while (at < end && is_between(l, at)) at++;
        if (at == end) break;
        fields[count] = at;
        while (at < end && !is_between(l, at)) at++;
        lengths[count] = (size_t)(at - fields[count]);
    }
    return count;
}

/* ---- user, item, rating ---- */

static void read_named(struct ratings *r, struct lines *l, size_t *counter)
{
    const char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    double value;
    if (l->length == 0) return;
    size_t count = split(l, fields, lengths);
    if (count < FIELDS_MAX) lines_fail(l, "has %zu fields; a rating has user, item and rating", count);
    if (!lines_number(fields[2], lengths[2], &value)) {
        if (l->number == 1) return;
        lines_fail(l, "\"%.*s\" is no rating: must be a number", lines_shown(lengths[2]), fields[2]);
    }
    add(r, (struct rating){.row = names_add(&r->row_names, fields[0], lengths[0]),
                           .column = names_add(&r->column_names, fields[1], lengths[1]),
                           .value = (float)value});
    ++*counter;
}

/* ---- MatrixMarket ---- */

static void check_banner(const struct lines *l)
{
    char object[32], format[32], field[32], symmetry[32], banner[256];
    if (l->length >= sizeof banner) lines_fail(l, "is longer than a MatrixMarket banner");
    memcpy(banner, l->text, l->length);
    banner[l->length] = '\0';
    if (sscanf(banner, "%%%%MatrixMarket %31s %31s %31s %31s", object, format, field, symmetry) != 4)
        lines_fail(l, "is no MatrixMarket banner: must be \"%s matrix coordinate real general\"", matrix_market);
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        lines_fail(l, "is \"%s %s\": must be \"matrix coordinate\"", object, format);
    if (strcasecmp(field, "real") != 0 && strcasecmp(field, "integer") != 0)
        lines_fail(l, "has \"%s\" values: must be real or integer", field);
    if (strcasecmp(symmetry, "general") != 0) lines_fail(l, "is \"%s\": must be general", symmetry);
}

static uint64_t read_index(const struct lines *l, const char *text, size_t length, double least, double most,
                           const char *what)
{
    double value;
    if (!lines_number(text, length, &value) || value < least || value > most || value > floor(value))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %.0f to %.0f", lines_shown(length), text, what,
                   least, most);
    return (uint64_t)value;
}

struct shape {
    uint64_t rows, columns, cells;
};

static void read_cell(struct ratings *r, const struct lines *l, const struct shape *shape, size_t *counter)
{
    const char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    double value;
    size_t count = split(l, fields, lengths);
    if (count < FIELDS_MAX) lines_fail(l, "has %zu fields; a cell has row, column and value", count);
    if (!lines_number(fields[2], lengths[2], &value))
        lines_fail(l, "\"%.*s\" is no value: must be a number", lines_shown(lengths[2]), fields[2]);
    if (*counter == shape->cells) lines_fail(l, "there are more cells than the %" PRIu64 " declared", shape->cells);
    uint64_t row = read_index(l, fields[0], lengths[0], 1, (double)shape->rows, "row");
    uint64_t column = read_index(l, fields[1], lengths[1], 1, (double)shape->columns, "column");
    add(r, (struct rating){.row = (uint32_t)row - 1, .column = (uint32_t)column - 1, .value = (float)value});
    ++*counter;
}

static struct shape read_shape(struct ratings *r, const struct lines *l)
{
    const char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    size_t count = split(l, fields, lengths);
    if (count < FIELDS_MAX) lines_fail(l, "has %zu numbers; a size has rows, columns and cells", count);
    struct shape shape = {.rows = read_index(l, fields[0], lengths[0], 1, DIMENSION_MAX, "number of rows"),
                          .columns = read_index(l, fields[1], lengths[1], 1, DIMENSION_MAX, "number of columns"),
                          .cells = read_index(l, fields[2], lengths[2], 0, 0x1p40, "number of cells")};
    if (shape.rows > r->rows) r->rows = (uint32_t)shape.rows;
    if (shape.columns > r->columns) r->columns = (uint32_t)shape.columns;
    return shape;
}

static void read_matrix(struct ratings *r, struct lines *l, size_t *counter)
{
    struct shape shape = {0};
    check_banner(l);
    while (lines_next(l)) {
        if (l->length == 0 || l->text[0] == '%') continue;
        if (shape.rows == 0) {
            shape = read_shape(r, l);
        } else {
            read_cell(r, l, &shape, counter);
        }
    }
    if (*counter < shape.cells || shape.rows == 0)
        lines_fail(l, "the file ends after %zu of %" PRIu64 " cells", *counter, shape.cells);
}

static void read_file(struct ratings *r, const char *path, size_t *counter)
{
    struct lines l;
    lines_open(&l, path);
    while (lines_next(&l)) {
        bool is_matrix = l.number == 1 && l.length >= sizeof matrix_market - 1 &&
                         memcmp(l.text, matrix_market, sizeof matrix_market - 1) == 0;
        if (is_matrix) {
            read_matrix(r, &l, counter);
        } else {
            read_named(r, &l, counter);
        }
    }
    lines_close(&l);
    if (*counter == 0) fail("%s has no ratings", path);
}

/* ---- together ---- */

/* Whether a cell is held back depends on its place in the file alone. Both kinds keep their order. */
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

void ratings_load(struct ratings *r, const char *train, const char *test, double held_back, uint64_t seed)
{
    read_file(r, train, &r->train);
    bool is_matrix = r->row_names.count == 0;
    if (test) {
        read_file(r, test, &r->test);
        if (is_matrix != (r->row_names.count == 0))
            fail("%s and %s have different formats: both must be MatrixMarket, or neither", train, test);
    }
    ratings_finish(r, held_back, seed);
}

void ratings_write(const struct ratings *r, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) fail("%s: %s", path, strerror(errno));
    fprintf(file, "%s matrix coordinate real general\n%" PRIu32 " %" PRIu32 " %zu\n", matrix_market, r->rows,
            r->columns, r->train);
    for (size_t i = 0; i < r->train; i++)
        fprintf(file, "%" PRIu32 " %" PRIu32 " %.9g\n", r->list[i].row + 1, r->list[i].column + 1,
                (double)r->list[i].value);
    bool is_bad = ferror(file) != 0;
    if (fclose(file) != 0 || is_bad) fail("%s: %s", path, strerror(errno));
}

uint64_t ratings_digest(const struct ratings *r)
{
    uint32_t shape[] = {r->rows, r->columns};
    uint64_t digest = settings_digest(UINT64_C(0xcbf29ce484222325), shape, sizeof shape);
    for (size_t i = 0; i < r->train + r->test; i++) {
        const struct rating *x = &r->list[i];
        uint32_t bits;
        memcpy(&bits, &x->value, sizeof bits);
        digest = rng_mix(digest ^ ((uint64_t)x->row << 32 | x->column)) + bits;
    }
    return digest;
}
