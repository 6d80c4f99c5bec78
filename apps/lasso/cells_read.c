/* Reads LIBSVM and MatrixMarket. */
#include "cells.h"
#include "fail.h"
#include "lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { INDEX_MAX = 1 << 30, FIELDS_MAX = 4 };

static const char banner[] = "%%MatrixMarket";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The field at *at, which goes behind it; false: there is none. */
static bool next_field(const char **at, const char *end, struct field *f)
{
    while (*at < end && is_blank(**at)) ++*at;
    f->text = *at;
    while (*at < end && !is_blank(**at)) ++*at;
    f->length = (size_t)(*at - f->text);
    return f->length > 0;
}

static double number_of(const struct lines *l, struct field f, const char *what)
{
    double value;
    if (!lines_number(f.text, f.length, &value))
        lines_fail(l, "\"%.*s\" is no %s: must be a number", lines_shown(f.length), f.text, what);
    return value;
}

static uint32_t index_of(const struct lines *l, struct field f, double least, double most,
                         const char *what)
{
    double value;
    if (!lines_number(f.text, f.length, &value) || value < least || value > most ||
        value > floor(value))
        lines_fail(l, "\"%.*s\" is no %s: must be a whole number from %.0f to %.0f",
                   lines_shown(f.length), f.text, what, least, most);
    return (uint32_t)value;
}

/* ---- LIBSVM ---- */

static void read_pair(struct cells *c, const struct lines *l, struct field f)
{
    const char *colon = memchr(f.text, ':', f.length);
    if (!colon) lines_fail(l, "\"%.*s\" is no index:value pair", lines_shown(f.length), f.text);
    struct field index = {f.text, (size_t)(colon - f.text)};
    struct field value = {colon + 1, f.length - index.length - 1};
    uint32_t column = index_of(l, index, 1, INDEX_MAX, "index") - 1;
    double number = number_of(l, value, "value");
    cells_add(c, (uint32_t)c->response_count - 1, column, number);
}

static void read_libsvm_line(struct cells *c, const struct lines *l)
{
    const char *at = l->text, *end = l->text + l->length;
    const char *comment = memchr(at, '#', l->length);
    struct field f;
    if (comment) end = comment;
    if (!next_field(&at, end, &f)) return;
    cells_add_response(c, number_of(l, f, "response"));
    while (next_field(&at, end, &f)) read_pair(c, l, f);
}

/* ---- MatrixMarket ---- */

struct market {
    bool is_array;
    uint32_t rows, columns;
    uint64_t values, read;
};

static bool is_market(const struct lines *l)
{
    return l->number == 1 && l->length >= sizeof banner - 1 &&
           strncasecmp(l->text, banner, sizeof banner - 1) == 0;
}

static bool is_word(struct field f, const char *word)
{
    return f.length == strlen(word) && strncasecmp(f.text, word, f.length) == 0;
}

static void read_banner(struct market *m, const struct lines *l)
{
    const char *at = l->text + sizeof banner - 1, *end = l->text + l->length;
    struct field f[4] = {{0}};
    for (int i = 0; i < 4; i++) next_field(&at, end, &f[i]);
    m->is_array = is_word(f[1], "array");
    bool has_format = is_word(f[0], "matrix") && (m->is_array || is_word(f[1], "coordinate"));
    if (!has_format || !(is_word(f[2], "real") || is_word(f[2], "integer")) ||
        !is_word(f[3], "general"))
        lines_fail(l, "must be \"%s matrix\", coordinate or array, real or integer, and general",
                   banner);
}

static size_t split(const struct lines *l, struct field *fields)
{
    const char *at = l->text, *end = l->text + l->length;
    size_t count = 0;
    while (count < FIELDS_MAX && next_field(&at, end, &fields[count])) count++;
    return count;
}

static void read_size(struct market *m, const struct lines *l, const struct field *f, size_t count)
{
    size_t wanted = m->is_array ? 2 : 3;
    if (count != wanted) lines_fail(l, "has %zu numbers; a size here has %zu", count, wanted);
    m->rows = index_of(l, f[0], 1, INDEX_MAX, "number of rows");
    m->columns = index_of(l, f[1], 1, INDEX_MAX, "number of columns");
    m->values = (uint64_t)m->rows * m->columns;
    double values;
    if (m->is_array) return;
    if (!lines_number(f[2].text, f[2].length, &values) || values < 0 || values > (double)m->values)
        lines_fail(l, "\"%.*s\" is no number of values: must be 0 to %" PRIu64,
                   lines_shown(f[2].length), f[2].text, m->values);
    m->values = (uint64_t)values;
}

typedef void use_value(struct cells *, uint32_t row, uint32_t column, double value);

static void read_value(struct cells *c, struct market *m, const struct lines *l,
                       const struct field *f, size_t count, use_value *use)
{
    size_t wanted = m->is_array ? 1 : 3;
    if (count != wanted) lines_fail(l, "has %zu numbers; a value here has %zu", count, wanted);
    if (m->read == m->values)
        lines_fail(l, "there are more values than the %" PRIu64 " declared", m->values);
    uint32_t row = (uint32_t)(m->read % m->rows), column = (uint32_t)(m->read / m->rows);
    if (!m->is_array) row = index_of(l, f[0], 1, m->rows, "row") - 1;
    if (!m->is_array) column = index_of(l, f[1], 1, m->columns, "column") - 1;
    use(c, row, column, number_of(l, f[wanted - 1], "value"));
    m->read++;
}

/* The banner is the current line. */
static void read_market(struct cells *c, struct lines *l, struct market *m, use_value *use)
{
    struct field f[FIELDS_MAX];
    read_banner(m, l);
    while (lines_next(l)) {
        size_t count = split(l, f);
        if (count == 0 || l->text[0] == '%') continue;
        if (m->rows == 0) {
            read_size(m, l, f, count);
        } else {
            read_value(c, m, l, f, count, use);
        }
    }
    if (m->rows == 0) lines_fail(l, "the file ends before its size");
    if (m->read < m->values)
        lines_fail(l, "the file ends after %" PRIu64 " of %" PRIu64 " values", m->read, m->values);
}

static void use_cell(struct cells *c, uint32_t row, uint32_t column, double value)
{
    if (value < 0 || value > 0) cells_add(c, row, column, value);
}

/* The first column; responses that are not named are 0. */
static void use_response(struct cells *c, uint32_t row, uint32_t column, double value)
{
    if (column > 0) return;
    while (c->response_count <= row) cells_add_response(c, 0);
    c->response[row] = value;
}

static void read_response(struct cells *c, const char *path)
{
    struct lines l;
    struct market m = {0};
    lines_open(&l, path);
    if (!lines_next(&l)) fail("%s is empty", path);
    if (!is_market(&l)) lines_fail(&l, "is no MatrixMarket banner: a response is one column");
    read_market(c, &l, &m, use_response);
    if (m.columns != 1) fail("%s has %u columns: a response is one", path, m.columns);
    while (c->response_count < m.rows) cells_add_response(c, 0);
    lines_close(&l);
}

void cells_read(struct cells *c, const char *path, const char *response)
{
    struct lines l;
    struct market m = {0};
    lines_open(&l, path);
    while (lines_next(&l)) {
        if (is_market(&l)) {
            read_market(c, &l, &m, use_cell);
            break;
        }
        read_libsvm_line(c, &l);
    }
    lines_close(&l);
    if (m.rows > c->rows) c->rows = m.rows;
    if (m.columns > c->columns) c->columns = m.columns;
    if ((m.rows > 0) != (response != NULL))
        fail("%s is %s: --response is for MatrixMarket, and must be given with it", path,
             m.rows > 0 ? "MatrixMarket" : "not MatrixMarket");
    if (response) read_response(c, response);
}
