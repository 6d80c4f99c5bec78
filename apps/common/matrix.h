/*
 * matrix.h - products of matrices of floats, one thread, at most of the processor's speed.
 *
 * The right factor is packed into panels first: blocks of vec_best()->panel_columns columns, each
 * contiguous, row by row, padded with zeros. Each element of a product is summed in the same order
 * whatever its position, so equal factors give equal results, and a ranking may count ties.
 *
 * Callers   any thread
 * Memory    the caller's; panels of k by n need matrix_panels(k, n) floats
 * Waiting   never
 */
#ifndef APPS_MATRIX_H
#define APPS_MATRIX_H

#include <stddef.h>

size_t matrix_panels(size_t k, size_t n);

/* The right factor is k rows of n floats. */
void matrix_pack(float *panels, const float *const *rows, size_t k, size_t n);
/* The right factor is what these rows become when they are turned: n rows of k floats. */
void matrix_pack_turned(float *panels, const float *const *rows, size_t k, size_t n);
/* The same, for rows that are columns first ... first + count - 1 of n; `first` is a multiple of
 * VEC_PANEL_MAX. Callers with different columns may be at work at once. */
void matrix_pack_turned_part(float *panels, const float *const *rows, size_t k, size_t first,
                             size_t count);
/* One column of the right factor. */
void matrix_unpack_column(float *column, const float *panels, size_t k, size_t at);

/* c = or += a * panels. a is m by k: element (i, j) is a[i * a_row + j * a_column]. c is m rows of
 * n, c_row apart. */
void matrix_multiply(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                     const float *panels, size_t m, size_t n, size_t k, int accumulate);
/* The same for columns first ... first + n - 1 of the product only; `first` is a multiple of
 * VEC_PANEL_MAX. */
void matrix_multiply_part(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                          const float *panels, size_t m, size_t first, size_t n, size_t k,
                          int accumulate);

#endif
