/*
 * matrix_market.h - a file in MatrixMarket's format: a banner, a size, and values with their row
 * and column, or (array) all values column by column. apps/common/FORMATS.md has the rules.
 *
 *     if (matrix_market_is(path)) {
 *         matrix_market_open(&m, path, MATRIX_ARRAY);
 *         while (matrix_market_next(&m, &cell)) ...
 *         matrix_market_close(&m);
 *     }
 *
 * Several threads may read parts of the lines that are left (line_parts.h), with
 * matrix_market_cell().
 *
 * Callers   one thread for each file
 * Memory    the mapped file (lines.h); nothing is as large as the size that is declared
 * Waiting   for the disk. What is malformed ends the program, with file and line
 */
#ifndef APPS_MATRIX_MARKET_H
#define APPS_MATRIX_MARKET_H

#include "format.h"
#include "lines.h"

enum { MATRIX_MARKET_SIZE_MAX = 1 << 30 };

/* What a program takes beside values that are real or integer, of a general matrix, by
 * coordinates. */
enum matrix_market_kinds { MATRIX_ARRAY = 1, MATRIX_PATTERN = 2, MATRIX_SYMMETRIC = 4 };

struct matrix_market {
    struct lines lines;
    bool is_array, is_pattern, is_integer;
    bool is_symmetric; /* half of the cells are in the file */
    uint32_t rows, columns;
    uint64_t cells, read; /* declared, and read */
};

struct matrix_market_cell {
    uint32_t row, column; /* from 0 */
    double value;         /* of a pattern 1 */
};

/* Whether the first line that is neither blank nor a comment is the banner. */
bool matrix_market_is(const char *path);
static inline enum format matrix_market_format(const char *path, enum format other)
{
    return matrix_market_is(path) ? FORMAT_MATRIX : other;
}
/* Reads banner and size. `kinds` are allowed. */
void matrix_market_open(struct matrix_market *, const char *path, unsigned kinds);
/* False: all that were declared have been read. */
bool matrix_market_next(struct matrix_market *, struct matrix_market_cell *);
void matrix_market_close(struct matrix_market *);

/* What matrix_market_next() is made of: the cell of the current line, and that there is no more. */
void matrix_market_take(struct matrix_market *, struct matrix_market_cell *);
void matrix_market_end(const struct matrix_market *);
/* Of a line of coordinates, whatever lines were before. False: it is none. */
bool matrix_market_cell(const struct matrix_market *, const struct lines *,
                        struct matrix_market_cell *);

#endif
