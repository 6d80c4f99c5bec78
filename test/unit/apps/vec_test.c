/* Every width that this processor has, against plain loops in double precision. */
#include "rng.h"
#include "test.h"
#include "vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct vec vec_16;
#if defined(__x86_64__)
extern const struct vec vec_32, vec_64;
#endif

enum { LONGEST = 203 };

/* Of all widths that this processor has. */
static void for_each_width(void (*check)(const struct vec *, size_t n), size_t from, size_t to)
{
    const struct vec *tables[3] = {&vec_16};
    size_t count = 1;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables[count++] = &vec_32;
    if (vec_best() == &vec_64) tables[count++] = &vec_64;
#endif
    for (size_t t = 0; t < count; t++)
        for (size_t n = from; n <= to; n++) check(tables[t], n);
}

static struct rng rng = {{1, 2, 3, 4}};

static void draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(4 * rng_real(&rng) - 2);
}

static void is_near(double a, double b, double scale)
{
    if (!(fabs(a - b) <= 2e-6 * (scale + fabs(b))))
        test_fail(__FILE__, __LINE__, "%.9g is not near %.9g", a, b);
}

static void check_sums(const struct vec *v, size_t n)
{
    float a[LONGEST], b[LONGEST], to[4][LONGEST];
    double product = 0, square_distance = 0;
    draw(a, n);
    draw(b, n);
    if (n > 0) b[n / 2] = 0;
    for (size_t i = 0; i < n; i++) square_distance += pow((double)a[i] - b[i], 2);
    for (int i = 0; i < 4; i++) memcpy(to[i], a, sizeof a);
    for (size_t i = 0; i < n; i++) product += (double)a[i] * b[i];
    is_near(v->dot(a, b, n), product, (double)n);
    is_near(v->square_distance(a, b, n), square_distance, (double)n);
    v->add_scaled(to[0], 0.5f, b, n);
    v->add(to[1], b, n);
    v->add_rectified(to[2], b, n);
    v->clear_unless_positive(to[3], b, n);
    for (size_t i = 0; i < n; i++) {
        is_near(to[0][i], a[i] + 0.5 * b[i], 1);
        is_near(to[1][i], (double)a[i] + b[i], 1);
        is_near(to[2][i], fmax(0, (double)a[i] + b[i]), 1);
        is_near(to[3][i], b[i] > 0 ? a[i] : 0, 1);
    }
    v->scale(to[1], 3, n);
    for (size_t i = 0; i < n; i++) is_near(to[1][i], 3 * ((double)a[i] + b[i]), 1);
}

/* One after the other: the same to the bit as one row at a time. */
static void check_rows(const struct vec *v, size_t n)
{
    enum { MOST = 9 };
    float row[MOST][LONGEST], scales[MOST], start[LONGEST], to[LONGEST], one[LONGEST];
    const float *rows[MOST];
    draw(start, n);
    draw(scales, MOST);
    for (size_t i = 0; i < MOST; i++) {
        draw(row[i], n);
        rows[i] = row[i];
    }
    memcpy(one, start, sizeof one);
    for (size_t count = 0; count <= MOST; count++) {
        memcpy(to, start, sizeof to);
        v->add_rows(to, scales, rows, count, n);
        CHECK(memcmp(to, one, n * sizeof *to) == 0);
        if (count < MOST) v->add_scaled(one, scales[count], row[count], n);
    }
}

static void check_gradient(const struct vec *v, size_t n)
{
    float direction[LONGEST], row[LONGEST], to[LONGEST];
    struct vec_gradient g = {.direction = direction, .scale = -0.3F};
    draw(direction, n);
    draw(row, n);
    v->gradient(&g, row, to, (uint32_t)n);
    for (size_t i = 0; i < n; i++) CHECK(to[i] == g.scale * direction[i]);
    g.decay = 0.7F;
    v->gradient(&g, row, to, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        is_near(to[i], (double)g.scale * direction[i] + (double)g.decay * row[i], 1);
}

static void check_complex(const struct vec *v, size_t n)
{
    void (*const products[])(float *, const float *, const float *, size_t) = {
        v->multiply, v->multiply_conjugate, v->multiply_add, v->multiply_conjugate_add};
    float a[LONGEST], b[LONGEST], to[LONGEST], before[LONGEST];
    size_t half = n / 2;
    draw(a, n);
    draw(b, n);
    draw(before, n);
    for (int kind = 0; kind < 4; kind++) {
        double sign = kind % 2 ? 1 : -1, keeps = kind / 2;
        memcpy(to, before, sizeof to);
        products[kind](to, a, b, 2 * half);
        for (size_t i = 0; i < half; i++) {
            double ar = a[i], ai = a[half + i], br = b[i], bi = b[half + i];
            is_near(to[i], keeps * before[i] + ar * br + sign * ai * bi, 4);
            is_near(to[half + i], keeps * before[half + i] + ar * bi - sign * ai * br, 4);
        }
    }
}

/* A gradient of 0, now and then, changes nothing. */
static void check_adagrad(const struct vec *v, size_t n)
{
    float row[2 * LONGEST], gradient[LONGEST], now[2 * LONGEST];
    const double rate = 0.2F;
    n -= n % 2;
    draw(row, 2 * n);
    draw(gradient, n);
    for (size_t i = 0; i < n; i++) row[n + i] = fabsf(row[n + i]);
    for (size_t i = 0; i < n; i += 5) gradient[i] = 0;
    memcpy(now, row, sizeof now);
    v->adagrad_scaled(now, -0.3F, gradient, n, 0.2F);
    for (size_t i = 0; i < n; i++) {
        double g = -0.3F * gradient[i], root = sqrt(row[n + i] + g * g + 1e-10);
        is_near(now[n + i], row[n + i] + g * g, 2);
        if (fabs((double)now[i] - (row[i] - rate * g / root)) > 1e-4 * rate + 2e-6)
            test_fail(__FILE__, __LINE__, "%.9g, after %.9g", (double)now[i], (double)row[i]);
        CHECK(gradient[i] != 0 || now[i] == row[i]);
    }
}

static void check_cubed(const struct vec *v, size_t n)
{
    float x[LONGEST], before[LONGEST], to[LONGEST];
    n -= n % 2;
    draw(x, n);
    draw(before, n);
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        memcpy(to, before, sizeof to);
        v->add_cubed(to, 0.05f, x, n, is_complex);
        for (size_t i = 0; i < n; i++) {
            size_t partner = i < n / 2 ? i + n / 2 : i - n / 2;
            double modulus = is_complex ? hypot((double)x[i], (double)x[partner])
                                        : fabs((double)x[i]);
            is_near(to[i], before[i] + 3 * 0.05 * modulus * x[i], 4);
        }
    }
}

/* One row of a pair: n parameters, a sum of squares behind a float that is none of both. */
static void expect_pair_row(const float *now, const float *own, const float *other, size_t n,
                            double error)
{
    const double weight = 0.05, rate = 0.2;
    double squares = 0;
    for (size_t k = 0; k < n; k++) squares += pow(error * other[k] + weight * own[k], 2);
    double sum = (double)own[n + 1] + squares / (double)n, step = rate / sqrt(sum + 1e-10);
    if (fabs((double)now[n + 1] - sum) > 1e-4 * (1 + sum))
        test_fail(__FILE__, __LINE__, "the sum %.9g is not near %.9g", (double)now[n + 1], sum);
    CHECK(now[n] == own[n]);
    for (size_t k = 0; k < n; k++) {
        double expected = own[k] - step * (error * other[k] + weight * own[k]);
        if (fabs((double)now[k] - expected) > 1e-4 * (1 + fabs(expected)))
            test_fail(__FILE__, __LINE__, "%.9g is not near %.9g", (double)now[k], expected);
    }
}

/* The second half in any order: the first has decided all of it. */
static void check_pairs_of(const struct vec *v, size_t n, size_t count)
{
    float before[2 * VEC_PAIRS][LONGEST + 2], now[2 * VEC_PAIRS][LONGEST + 2];
    struct vec_pairs p = {0};
    for (size_t i = 0; i < 2 * VEC_PAIRS; i++) {
        draw(before[i], n + 2);
        before[i][n + 1] = fabsf(before[i][n + 1]);
    }
    memcpy(now, before, sizeof now);
    for (size_t i = 0; i < count; i++) {
        p.a[i] = now[i];
        p.b[i] = now[VEC_PAIRS + i];
        p.error[i] = 0.25F;
    }
    v->plan_pairs(&p, count, n, n + 1, (struct vec_factors){.regularization = 0.05F, .rate = 0.2F});
    for (size_t i = count; i-- > 0;) v->step_pair(now[i], now[VEC_PAIRS + i], n, n + 1, &p, i);
    for (size_t i = 0; i < count; i++) {
        const float *a = before[i], *b = before[VEC_PAIRS + i];
        double error = 0.25;
        for (size_t k = 0; k < n; k++) error += (double)a[k] * b[k];
        is_near(p.error[i], error, (double)n);
        expect_pair_row(now[i], a, b, n, error);
        expect_pair_row(now[VEC_PAIRS + i], b, a, n, error);
    }
    for (size_t i = count; i < VEC_PAIRS; i++)
        CHECK(memcmp(now[i], before[i], (n + 2) * sizeof(float)) == 0);
}

static void check_pairs(const struct vec *v, size_t n)
{
    for (size_t count = 1; n > 0 && count <= VEC_PAIRS; count++) check_pairs_of(v, n, count);
}

static void check_losses(const struct vec *v, size_t n)
{
    float x[LONGEST] = {0}, y[LONGEST];
    double sum = 0, loss = 0;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) x[i] = (float)(60 * rng_real(&rng) - 30);
    memcpy(y, x, sizeof y);
    float most = x[0];
    for (size_t i = 0; i < n; i++) most = fmaxf(most, x[i]);
    CHECK(v->maximum(x, n) == most);
    for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - most);
    is_near(v->exponentials(y, n, most), sum, 1);
    for (size_t i = 0; i < n; i++) is_near(y[i], exp((double)x[i] - most), 1);
    memcpy(y, x, sizeof y);
    for (size_t i = 0; i < n; i++) loss += log1p(exp((double)x[i]));
    is_near(v->logistic(y, n), loss, 1);
    for (size_t i = 0; i < n; i++) is_near(y[i], 1 / (1 + exp(-(double)x[i])), 1);
    float extreme[2] = {1e4F, -1e4F}; /* they neither overflow nor vanish */
    is_near(v->logistic(extreme, 2), 1e4, 1);
    is_near(extreme[0], 1, 0);
    CHECK(extreme[1] >= 0 && extreme[1] < 1e-30F);
}

static void check_distances(const struct vec *v, size_t n)
{
    float x[LONGEST] = {0}, squares[LONGEST] = {0}, found[LONGEST];
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(2 * rng_real(&rng));
        squares[i] = (float)(2 + rng_real(&rng));
    }
    if (n > 1) x[1] = 10, squares[1] = 6; /* what rounding made of no distance at all */
    float products[LONGEST];
    memcpy(products, x, sizeof x);
    v->distances(x, found, 2, squares, 5, n);
    for (size_t i = 0; i < n; i++) {
        double both = 2.0 + squares[i];
        is_near(found[i], sqrt(fmax(both - 2.0 * products[i], 1e-6 * both)), 1);
        CHECK(x[i] == 5 - found[i]);
        sum += (double)x[i] / found[i];
    }
    is_near(v->divide(x, found, n), sum, 1e3 * (double)n);
    for (size_t i = 0; i < n; i++) is_near(x[i], (5.0 - found[i]) / found[i], 1e3);
}

static void check_counts(const struct vec *v, size_t n)
{
    float x[LONGEST] = {0};
    size_t greater = 0, equal = 0, counted = 5;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)rng_below(&rng, 5);
        greater += x[i] > 2;
        equal += x[i] == 2;
    }
    CHECK_EQ(v->count_greater(x, n, 2, &counted), greater);
    CHECK_EQ(counted, equal + 5);
}

TEST(vec, each_width_does_what_is_said_at_all_lengths)
{
    static void (*const checks[])(const struct vec *, size_t n) = {
        check_sums,  check_rows,  check_gradient, check_complex,   check_adagrad,
        check_cubed, check_pairs, check_losses,   check_distances, check_counts};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        for_each_width(checks[i], 0, LONGEST);
}

enum { ROWS = 30, K = 7 };

static void check_panel(const struct vec *v, size_t m)
{
    float a[ROWS * K], panel[K * VEC_PANEL_MAX], c[ROWS * VEC_PANEL_MAX],
        before[ROWS * VEC_PANEL_MAX];
    size_t wide = v->panel_columns, columns = m % 2 ? wide : 1 + m % wide;
    CHECK(wide <= VEC_PANEL_MAX);
    draw(a, ROWS * K);
    draw(panel, K * wide);
    draw(c, ROWS * wide);
    memcpy(before, c, sizeof before);
    v->panel(m, K, a, K, 1, panel, c, wide, columns, m % 3 == 0);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < wide; j++) {
            double sum = m % 3 == 0 ? before[i * wide + j] : 0;
            for (size_t k = 0; k < K; k++) sum += (double)a[i * K + k] * panel[k * wide + j];
            if (i >= m || j >= columns) sum = before[i * wide + j];
            is_near(c[i * wide + j], sum, 10);
        }
}

TEST(vec, panels_of_a_matrix_product)
{
    for_each_width(check_panel, 1, ROWS);
}
