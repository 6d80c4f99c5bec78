/* Reads LIBSVM and MatrixMarket. */
#include "cells.h"
#include "fail.h"
#include "libsvm.h"
#include "matrix_market.h"

#include <inttypes.h>
#include <math.h>

/* Rows cost memory, so a size is refused that has more of them than this, and a thousand times as
 * many as there are values. */
enum { ROWS_MAX = 1 << 20, ROWS_TO_A_VALUE = 1000 };

static void read_libsvm(struct cells *c, const char *path)
{
    struct libsvm s;
    struct libsvm_pair p;
    libsvm_open(&s, path);
    while (libsvm_next(&s)) {
        cells_add_response(c, lines_take_number(&s.lines, s.label, "response"));
        while (libsvm_pair(&s, "index", &p)) {
            if (p.has_field)
                lines_fail(&s.lines, "index %" PRIu32 " has a field before it", p.index);
            if (p.index == 0) lines_fail(&s.lines, "has the index 0: they begin with 1");
            cells_add(c, (uint32_t)c->response_count - 1, p.index - 1,
                      lines_take_number(&s.lines, p.value, "value"));
        }
    }
    libsvm_close(&s);
}

static void read_matrix(struct cells *c, const char *path)
{
    struct matrix_market m;
    struct matrix_market_cell cell;
    matrix_market_open(&m, path, MATRIX_ARRAY);
    while (matrix_market_next(&m, &cell))
        if (cell.value < 0 || cell.value > 0) cells_add(c, cell.row, cell.column, cell.value);
    c->rows = m.rows;
    c->columns = m.columns;
    matrix_market_close(&m);
}

/* One column; responses that are not named are 0. */
static void read_response(struct cells *c, const char *path)
{
    struct matrix_market m;
    struct matrix_market_cell cell;
    matrix_market_open(&m, path, MATRIX_ARRAY);
    if (m.columns != 1) fail("%s has %u columns: a response is one", path, m.columns);
    if (m.rows != c->rows)
        fail("%s has %" PRIu32 " rows, and the matrix has %" PRIu32 ": each must have a response",
             path, m.rows, c->rows);
    if (m.rows > ROWS_MAX && m.rows / ROWS_TO_A_VALUE > c->count + m.cells)
        fail("%s says that it has %" PRIu32 " rows, and hardly any of them has a value", path,
             m.rows);
    while (c->response_count < m.rows) cells_add_response(c, NAN);
    while (matrix_market_next(&m, &cell)) {
        if (!isnan(c->response[cell.row]))
            lines_fail(&m.lines, "row %" PRIu32 " has a response already", cell.row + 1);
        c->response[cell.row] = cell.value;
    }
    for (uint32_t i = 0; i < m.rows; i++)
        if (isnan(c->response[i])) c->response[i] = 0;
    matrix_market_close(&m);
}

void cells_read(struct cells *c, const char *path, const char *response, const char *option)
{
    bool is_matrix = matrix_market_is(path);
    if (is_matrix != (response != NULL))
        fail("%s is %s: %s is for MatrixMarket, and must be given with it", path,
             is_matrix ? "MatrixMarket" : "not MatrixMarket", option);
    if (is_matrix) {
        read_matrix(c, path);
        read_response(c, response);
    } else {
        read_libsvm(c, path);
    }
}
