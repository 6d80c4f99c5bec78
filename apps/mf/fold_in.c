#include "fold_in.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fold_in_open(struct fold_in *f, size_t numbers)
{
    f->numbers = numbers;
    f->matrix = take_memory(numbers * numbers, sizeof *f->matrix);
    f->target = take_memory(numbers, sizeof *f->target);
}

void fold_in_close(struct fold_in *f)
{
    free(f->matrix);
    free(f->target);
    *f = (struct fold_in){0};
}

void fold_in_cell(struct fold_in *f, const float *column, double rating)
{
    for (size_t i = 0; i < f->numbers; i++) {
        double *line = f->matrix + i * f->numbers;
        for (size_t j = 0; j <= i; j++) line[j] += (double)column[i] * (double)column[j];
        f->target[i] += rating * (double)column[i];
    }
}

/* Cholesky's: the matrix becomes its root. */
static void take_root(struct fold_in *f)
{
    size_t n = f->numbers;
    for (size_t i = 0; i < n; i++) {
        double *line = f->matrix + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = f->matrix + j * n;
            double rest = line[j];
            for (size_t k = 0; k < j; k++) rest -= line[k] * other[k];
            line[j] = i == j ? sqrt(rest) : rest / other[j];
        }
    }
}

void fold_in_row(struct fold_in *f, double ridge, float *row)
{
    const double least = 1e-9; /* where ratings do not tell all numbers */
    size_t n = f->numbers;
    double *x = f->target, largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, f->matrix[i * n + i]);
    for (size_t i = 0; i < n; i++) f->matrix[i * n + i] += fmax(ridge, least * (largest + 1));
    take_root(f);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) x[i] -= f->matrix[i * n + k] * x[k];
        x[i] /= f->matrix[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) x[i] -= f->matrix[k * n + i] * x[k];
        x[i] /= f->matrix[i * n + i];
        row[i] = (float)x[i];
    }
    memset(f->matrix, 0, n * n * sizeof *f->matrix);
    memset(f->target, 0, n * sizeof *f->target);
}
