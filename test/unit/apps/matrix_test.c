#include "fail.h"
#include "matrix.h"
#include "rng.h"
#include "test.h"
#include "vec.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct rng rng = {{5, 6, 7, 8}};

static float *matrix_of(size_t rows, size_t columns)
{
    float *m = take_memory(rows * columns, sizeof *m);
    for (size_t i = 0; i < rows * columns; i++) m[i] = (float)(2 * rng_real(&rng) - 1);
    return m;
}

static const float **rows_of(const float *m, size_t rows, size_t columns)
{
    const float **r = take_memory(rows, sizeof *r);
    for (size_t i = 0; i < rows; i++) r[i] = m + i * columns;
    return r;
}

static void is_product(const float *c, size_t m, size_t n, size_t k, const float *a, bool a_turned,
                       const float *b, bool b_turned, double times)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += (double)(a_turned ? a[l * m + i] : a[i * k + l]) *
                       (b_turned ? b[j * k + l] : b[l * n + j]);
            if (fabs(c[i * n + j] - times * sum) > 1e-4)
                test_fail(__FILE__, __LINE__, "(%zu, %zu) is wrong", i, j);
        }
    }
}

/* All the forms that a training step needs, of sizes around the edges of blocks. */
static void check_size(size_t m, size_t n, size_t k)
{
    CLOSED_BY(free_at) float *a = matrix_of(m, k);
    CLOSED_BY(free_at) float *b = matrix_of(k, n);
    CLOSED_BY(free_at) float *c = matrix_of(m, n);
    CLOSED_BY(free_at) float *column = take_memory(k, sizeof *column);
    CLOSED_BY(free_at) float *panels = take_memory(matrix_panels(k, n), sizeof *panels);
    CLOSED_BY(free_at) const float **straight = rows_of(b, k, n);
    CLOSED_BY(free_at) const float **turned = rows_of(b, n, k);
    matrix_pack(panels, straight, k, n);
    matrix_multiply(c, n, a, k, 1, panels, m, n, k, 0);
    is_product(c, m, n, k, a, false, b, false, 1);
    matrix_multiply(c, n, a, k, 1, panels, m, n, k, 1);
    is_product(c, m, n, k, a, false, b, false, 2);
    matrix_multiply(c, n, a, 1, m, panels, m, n, k, 0);
    is_product(c, m, n, k, a, true, b, false, 1);
    matrix_pack_turned(panels, turned, k, n);
    matrix_multiply(c, n, a, k, 1, panels, m, n, k, 0);
    is_product(c, m, n, k, a, false, b, true, 1);
    for (size_t j = 0; j < n; j++) {
        matrix_unpack_column(column, panels, k, j);
        CHECK(memcmp(column, b + j * k, k * sizeof *column) == 0);
    }
}

TEST(matrix, products_of_all_sizes)
{
    static const size_t sizes[] = {1, 2, 5, 12, 13, 31, 32, 33, 70};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < SIZES; j++) {
            for (size_t l = 0; l < SIZES; l += 2) check_size(sizes[i], sizes[j], sizes[l]);
        }
    }
    check_size(3, 40, 256);
    check_size(14, 33, 600);
}

TEST(matrix, parts_are_those_of_the_whole)
{
    enum { M = 5, N = 100, K = 19, FIRST = 64 };
    size_t floats = matrix_panels(K, N);
    float whole[M * N], part[M * N];
    CLOSED_BY(free_at) float *a = matrix_of(M, K);
    CLOSED_BY(free_at) float *b = matrix_of(N, K);
    CLOSED_BY(free_at) float *panels = take_memory(floats, sizeof *panels);
    CLOSED_BY(free_at) float *again = take_memory(floats, sizeof *again);
    CLOSED_BY(free_at) const float **rows = rows_of(b, N, K);
    matrix_pack_turned(panels, rows, K, N);
    matrix_pack_turned_part(again, rows + FIRST, K, FIRST, N - FIRST);
    matrix_pack_turned_part(again, rows, K, 0, FIRST);
    CHECK(memcmp(panels, again, floats * sizeof *panels) == 0);
    matrix_multiply(whole, N, a, K, 1, panels, M, N, K, 0);
    matrix_multiply_part(part, N, a, K, 1, panels, M, FIRST, N - FIRST, K, 0);
    for (size_t i = 0; i < M; i++)
        CHECK(memcmp(part + i * N, whole + i * N + FIRST, (N - FIRST) * sizeof *part) == 0);
}

/* Ranking counts ties by comparing: equal columns must have equal products, in full panels, narrow
 * ones and alone. */
TEST(matrix, equal_columns_have_equal_products)
{
    enum { M = 13, N = 75, K = 300 };
    float c[M * N];
    CLOSED_BY(free_at) float *a = matrix_of(M, K);
    CLOSED_BY(free_at) float *b = matrix_of(1, K);
    CLOSED_BY(free_at) float *panels = take_memory(matrix_panels(K, N), sizeof *panels);
    const float *rows[N];
    for (size_t j = 0; j < N; j++) rows[j] = b;
    matrix_pack_turned(panels, rows, K, N);
    matrix_multiply(c, N, a, K, 1, panels, M, N, K, 0);
    for (size_t i = 0; i < M; i++) {
        float alone[VEC_PANEL_MAX];
        matrix_multiply_part(alone, VEC_PANEL_MAX, a + i * K, K, 1, panels, 1, 64, N - 64, K, 0);
        for (size_t j = 0; j < N; j++) CHECK(c[i * N + j] == c[i * N]);
        CHECK(alone[3] == c[i * N]);
    }
}
