#include "matrix.h"

#include "vec.h"

#include <string.h>

/* Rows of a panel that are used again while they are in the first cache. */
enum { DEPTH = 256 };

static size_t panel_columns(void)
{
    return vec_best()->panel_columns;
}

size_t matrix_panels(size_t k, size_t n)
{
    size_t columns = panel_columns();
    return (n + columns - 1) / columns * columns * k;
}

void matrix_pack(float *panels, const float *const *rows, size_t k, size_t n)
{
    size_t columns = panel_columns();
    for (size_t first = 0; first < n; first += columns) {
        size_t width = n - first < columns ? n - first : columns;
        for (size_t i = 0; i < k; i++) {
            memcpy(panels, rows[i] + first, width * sizeof *panels);
            memset(panels + width, 0, (columns - width) * sizeof *panels);
            panels += columns;
        }
    }
}

/* Eight floats of each row at a time: what is written stays near. */
static void turn_panel(float *panel, const float *const *rows, size_t k, size_t width,
                       size_t columns)
{
    enum { STEP = 8 };
    if (width < columns) memset(panel, 0, k * columns * sizeof *panel);
    for (size_t j = 0; j < k; j += STEP) {
        size_t end = k - j < STEP ? k - j : STEP;
        for (size_t i = 0; i < width; i++) {
            const float *from = rows[i] + j;
            float *to = panel + j * columns + i;
            for (size_t s = 0; s < end; s++) to[s * columns] = from[s];
        }
    }
}

void matrix_pack_turned_part(float *panels, const float *const *rows, size_t k, size_t first,
                             size_t count)
{
    size_t columns = panel_columns();
    for (size_t at = 0; at < count; at += columns) {
        size_t width = count - at < columns ? count - at : columns;
        turn_panel(panels + (first + at) * k, rows + at, k, width, columns);
    }
}

void matrix_pack_turned(float *panels, const float *const *rows, size_t k, size_t n)
{
    matrix_pack_turned_part(panels, rows, k, 0, n);
}

void matrix_unpack_column(float *column, const float *panels, size_t k, size_t at)
{
    size_t columns = panel_columns();
    const float *from = panels + at / columns * columns * k + at % columns;
    for (size_t i = 0; i < k; i++) column[i] = from[i * columns];
}

void matrix_multiply_part(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                          const float *panels, size_t m, size_t first, size_t n, size_t k,
                          int accumulate)
{
    const struct vec *v = vec_best();
    size_t columns = v->panel_columns;
    for (size_t depth = 0; depth < k; depth += DEPTH) {
        size_t part = k - depth < DEPTH ? k - depth : DEPTH;
        for (size_t at = 0; at < n; at += columns) {
            const float *panel = panels + (first + at) * k + depth * columns;
            v->panel(m, part, a + depth * a_column, a_row, a_column, panel, c + at, c_row,
                     n - at < columns ? n - at : columns, accumulate || depth > 0);
        }
    }
}

void matrix_multiply(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                     const float *panels, size_t m, size_t n, size_t k, int accumulate)
{
    matrix_multiply_part(c, c_row, a, a_row, a_column, panels, m, 0, n, k, accumulate);
}
