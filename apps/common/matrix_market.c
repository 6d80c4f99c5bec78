#include "matrix_market.h"

#include "fail.h"
#include "plain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WORDS_MAX = 4, BANNER_WORDS = 5 };

/* One more than there may be is looked for. */
static size_t words_of(const struct lines *l, struct field *words, size_t max)
{
    const char *at = l->text;
    size_t count = 0;
    while (count < max && lines_word(l, &at, &words[count])) {
        if (*words[count].text == '%') break; /* a comment behind data */
        count++;
    }
    return count;
}

/* Goes to the banner, which is the current line then. */
static bool find_banner(struct lines *l)
{
    while (lines_next(l)) {
        if (lines_is_banner(l)) return true;
        if (!lines_is_passed_over(l)) return false;
    }
    return false;
}

bool matrix_market_is(const char *path)
{
    struct lines l;
    lines_open(&l, path);
    bool is_matrix = find_banner(&l);
    lines_close(&l);
    return is_matrix;
}

static void read_banner(struct matrix_market *m, unsigned kinds)
{
    const struct lines *l = &m->lines;
    struct field w[BANNER_WORDS + 1] = {{0}}; /* the first is the banner itself */
    const char *at = l->text;
    for (size_t i = 0; i <= BANNER_WORDS; i++)
        if (!lines_word(l, &at, &w[i]) || (i > 0 && *w[i].text == '%'))
            w[i] = (struct field){"", 0};
    m->is_array = field_is_word(w[2], "array");
    m->is_pattern = field_is_word(w[3], "pattern");
    m->is_integer = field_is_word(w[3], "integer");
    m->is_symmetric = field_is_word(w[4], "symmetric");
    bool is_whole = w[0].length == sizeof LINES_MATRIX_MARKET - 1 && w[BANNER_WORDS].length == 0;
    bool has_form = m->is_array ? kinds & MATRIX_ARRAY : field_is_word(w[2], "coordinate");
    bool has_values = m->is_pattern ? !m->is_array && kinds & MATRIX_PATTERN
                                    : field_is_word(w[3], "real") || m->is_integer;
    bool has_cells = m->is_symmetric ? !m->is_array && kinds & MATRIX_SYMMETRIC
                                     : field_is_word(w[4], "general");
    if (!is_whole || !field_is_word(w[1], "matrix") || !has_form || !has_values || !has_cells)
        lines_fail(l, "must be \"%s matrix\", coordinate%s, real, integer%s, and general%s",
                   LINES_MATRIX_MARKET, kinds & MATRIX_ARRAY ? " or array" : "",
                   kinds & MATRIX_PATTERN ? " or pattern" : "",
                   kinds & MATRIX_SYMMETRIC ? " or symmetric" : "");
}

static void read_size(struct matrix_market *m)
{
    struct field w[WORDS_MAX];
    const struct lines *l = &m->lines;
    size_t wanted = m->is_array ? 2 : 3;
    if (!lines_next_data(&m->lines)) lines_fail(l, "the file ends before its size");
    size_t count = words_of(l, w, WORDS_MAX);
    if (count != wanted)
        lines_fail(l, "has %zu number%s; a size here has %zu", count, plain_s(count), wanted);
    m->rows = (uint32_t)lines_take_whole(l, w[0], 1, MATRIX_MARKET_SIZE_MAX, "number of rows");
    m->columns =
        (uint32_t)lines_take_whole(l, w[1], 1, MATRIX_MARKET_SIZE_MAX, "number of columns");
    if (m->is_symmetric && m->rows != m->columns)
        lines_fail(l, "has %" PRIu32 " rows and %" PRIu32 " columns: symmetric ones have as many",
                   m->rows, m->columns);
    m->cells = (uint64_t)m->rows * m->columns;
    if (!m->is_array) m->cells = lines_take_whole(l, w[2], 0, m->cells, "number of values");
}

void matrix_market_open(struct matrix_market *m, const char *path, unsigned kinds)
{
    *m = (struct matrix_market){0};
    lines_open(&m->lines, path);
    if (!find_banner(&m->lines)) fail("%s has no banner: must be MatrixMarket", path);
    read_banner(m, kinds);
    read_size(m);
}

void matrix_market_close(struct matrix_market *m)
{
    lines_close(&m->lines);
}

static bool value_of(const struct matrix_market *m, struct field f, double *value)
{
    return lines_number(f.text, f.length, value) && fabs(*value) <= LINES_NUMBER_MAX &&
           (!m->is_integer || *value <= floor(*value));
}

bool matrix_market_cell(const struct matrix_market *m, const struct lines *l,
                        struct matrix_market_cell *c)
{
    struct field w[WORDS_MAX];
    uint64_t row, column;
    size_t wanted = m->is_pattern ? 2 : 3;
    if (words_of(l, w, WORDS_MAX) != wanted || !field_whole(w[0], 1, m->rows, &row) ||
        !field_whole(w[1], 1, m->columns, &column))
        return false;
    *c = (struct matrix_market_cell){(uint32_t)row - 1, (uint32_t)column - 1, 1};
    return m->is_pattern || value_of(m, w[2], &c->value);
}

/* The current line is no cell, or one too many. */
static _Noreturn void complain(const struct matrix_market *m)
{
    struct field w[WORDS_MAX];
    const struct lines *l = &m->lines;
    size_t wanted = m->is_array ? 1 : m->is_pattern ? 2 : 3, count = words_of(l, w, WORDS_MAX);
    if (count != wanted)
        lines_fail(l, "has %zu number%s; a line here has %zu%s", count, plain_s(count), wanted,
                   m->is_array     ? ""
                   : m->is_pattern ? ": row and column"
                                   : ": row, column and value");
    if (m->read == m->cells)
        lines_fail(l, "there are more values than the %" PRIu64 " declared", m->cells);
    if (!m->is_array) {
        lines_take_whole(l, w[0], 1, m->rows, "row");
        lines_take_whole(l, w[1], 1, m->columns, "column");
    }
    if (!m->is_pattern) lines_take_number(l, w[wanted - 1], "value");
    lines_fail(l, "\"%.*s\" is no whole number, and the banner says integer",
               lines_shown(w[wanted - 1].length), w[wanted - 1].text);
}

void matrix_market_take(struct matrix_market *m, struct matrix_market_cell *c)
{
    struct field w[WORDS_MAX];
    const struct lines *l = &m->lines;
    bool is_cell = m->is_array ? words_of(l, w, WORDS_MAX) == 1 && value_of(m, w[0], &c->value)
                               : matrix_market_cell(m, l, c);
    if (!is_cell || m->read == m->cells) complain(m);
    if (m->is_array) {
        c->row = (uint32_t)(m->read % m->rows);
        c->column = (uint32_t)(m->read / m->rows);
    }
    m->read++;
}

void matrix_market_end(const struct matrix_market *m)
{
    if (m->read < m->cells)
        lines_fail(&m->lines, "the file ends after %" PRIu64 " of %" PRIu64 " values", m->read,
                   m->cells);
}

bool matrix_market_next(struct matrix_market *m, struct matrix_market_cell *c)
{
    bool has_line = lines_next_data(&m->lines);
    if (has_line) {
        matrix_market_take(m, c);
    } else {
        matrix_market_end(m);
    }
    return has_line;
}
