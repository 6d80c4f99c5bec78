/*
 * vec_body.h - the functions of vec.h for one width. Each vec_*.c defines VEC_TABLE, WIDE_BYTES and
 * ROWS_AT_ONCE, and includes this file; mk/config.mk gives each the flags of its width, -O3 and
 * -ffast-math: loops of plain C become vectors.
 *
 * Memory    none
 * Waiting   never
 */
#ifndef APPS_VEC_BODY_H
#define APPS_VEC_BODY_H

#include "vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#ifndef WIDE_BYTES
#define WIDE_BYTES 16
#define ROWS_AT_ONCE 6
#define VEC_TABLE vec_alone
#endif

#define TINY 1e-10f /* keeps a gradient of 0 from dividing by 0 */

typedef float wide __attribute__((vector_size(WIDE_BYTES), aligned(4), may_alias));
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
enum { WIDE = WIDE_BYTES / sizeof(float), PANEL = 2 * WIDE, FOUR = 4 };

static float dot(const float *restrict a, const float *restrict b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static float square_distance(const float *restrict a, const float *restrict b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static void distances(float *restrict products, float *restrict distances, float square,
                      const float *restrict squares, float margin, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float both = square + squares[i], least = 1e-6f * both + 1e-12f,
              found = both - 2 * products[i];
        distances[i] = sqrtf(found > least ? found : least);
        products[i] = margin - distances[i];
    }
}

static float divide(float *restrict x, const float *restrict by, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] /= by[i];
        sum += x[i];
    }
    return sum;
}

static void add_scaled(float *restrict to, float scale, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] += scale * from[i];
}

/* The sums stay in registers. */
static void add_rows(float *to, const float *scales, const float *const *rows, size_t count,
                     size_t n)
{
    enum { MANY = 32, WIDES = MANY / WIDE };
    size_t at = 0;
    for (; at + MANY <= n; at += MANY) {
        wide sums[WIDES];
        for (size_t k = 0; k < WIDES; k++) sums[k] = *(const wide *)(to + at + k * WIDE);
        for (size_t i = 0; i < count; i++) {
#pragma GCC unroll 8
            for (size_t k = 0; k < WIDES; k++)
                sums[k] += scales[i] * *(const wide *)(rows[i] + at + k * WIDE);
        }
        for (size_t k = 0; k < WIDES; k++) *(wide *)(to + at + k * WIDE) = sums[k];
    }
    for (; at + FOUR <= n; at += FOUR) {
        four sum = *(const four *)(to + at);
        for (size_t i = 0; i < count; i++) sum += scales[i] * *(const four *)(rows[i] + at);
        *(four *)(to + at) = sum;
    }
    for (size_t i = 0; at < n && i < count; i++)
        add_scaled(to + at, scales[i], rows[i] + at, n - at);
}

static void add(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

static void add_rectified(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float sum = to[i] + from[i];
        to[i] = sum > 0 ? sum : 0;
    }
}

static void clear_unless_positive(float *restrict to, const float *restrict by, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = by[i] > 0 ? to[i] : 0;
}

static void set_scaled(float *restrict to, float scale, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = scale * from[i];
}

static void gradient(void *vec_gradient, const float *row, float *to, uint32_t n)
{
    const struct vec_gradient *g = vec_gradient;
    set_scaled(to, g->scale, g->direction, n);
    if (g->decay != 0) add_scaled(to, g->decay, row, n);
}

static void difference(float *restrict to, const float *restrict after, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = after[i] - to[i];
}

static void add_difference(float *restrict to, const float *restrict after,
                           const float *restrict before, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] += after[i] - before[i];
}

static void multiply(float *restrict to, const float *restrict a, const float *restrict b, size_t n)
{
    size_t half = n / 2;
    for (size_t i = 0; i < half; i++) {
        to[i] = a[i] * b[i] - a[half + i] * b[half + i];
        to[half + i] = a[i] * b[half + i] + a[half + i] * b[i];
    }
}

static void multiply_conjugate(float *restrict to, const float *restrict a, const float *restrict b,
                               size_t n)
{
    size_t half = n / 2;
    for (size_t i = 0; i < half; i++) {
        to[i] = a[i] * b[i] + a[half + i] * b[half + i];
        to[half + i] = a[i] * b[half + i] - a[half + i] * b[i];
    }
}

static void multiply_add(float *restrict to, const float *restrict a, const float *restrict b,
                         size_t n)
{
    size_t half = n / 2;
    for (size_t i = 0; i < half; i++) {
        to[i] += a[i] * b[i] - a[half + i] * b[half + i];
        to[half + i] += a[i] * b[half + i] + a[half + i] * b[i];
    }
}

static void multiply_conjugate_add(float *restrict to, const float *restrict a,
                                   const float *restrict b, size_t n)
{
    size_t half = n / 2;
    for (size_t i = 0; i < half; i++) {
        to[i] += a[i] * b[i] + a[half + i] * b[half + i];
        to[half + i] += a[i] * b[half + i] - a[half + i] * b[i];
    }
}

/* ---- AdaGrad ---- */

/* What is to be added to a parameter whose sum of squares is `sum` before this gradient. */
static inline float change_of(float gradient, float sum, float rate)
{
    return -rate * gradient * (1 / sqrtf(sum + gradient * gradient + TINY));
}

static void adagrad_scaled(float *restrict row, float scale, const float *restrict direction,
                           size_t n, float rate)
{
    float *restrict sums = row + n;
    for (size_t i = 0; i < n; i++) {
        float gradient = scale * direction[i];
        row[i] += change_of(gradient, sums[i], rate);
        sums[i] += gradient * gradient;
    }
}

static void add_cubed(float *restrict to, float weight, const float *restrict x, size_t n,
                      bool is_complex)
{
    size_t half = n / 2;
    weight *= 3;
    if (!is_complex)
        for (size_t i = 0; i < n; i++) to[i] += weight * fabsf(x[i]) * x[i];
    for (size_t i = 0; i < half && is_complex; i++) {
        float factor = weight * sqrtf(x[i] * x[i] + x[half + i] * x[half + i]);
        to[i] += factor * x[i];
        to[half + i] += factor * x[half + i];
    }
}

static void factors(float *restrict a, float *restrict b, size_t n, size_t sums,
                    struct vec_factors f)
{
    float *restrict a_sums = a + sums, *restrict b_sums = b + sums;
    for (size_t i = 0; i < n; i++) {
        float x = a[i], y = b[i];
        float g = f.error * y + f.regularization * x, h = f.error * x + f.regularization * y;
        a[i] = x + change_of(g, a_sums[i], f.rate);
        b[i] = y + change_of(h, b_sums[i], f.rate);
        a_sums[i] += g * g;
        b_sums[i] += h * h;
    }
}

/* Products of two rows, as sums that do not wait for each other: CHAINS wide ones, and a narrow one
 * of what is left. */
enum { CHAINS = 4 };
struct products {
    wide ab[CHAINS], aa[CHAINS], bb[CHAINS];
    four left_ab, left_aa, left_bb;
};

static inline __attribute__((always_inline)) void multiply_wide(struct products *p, size_t chain,
                                                                const float *a, const float *b)
{
    wide x = *(const wide *)a, y = *(const wide *)b;
    p->ab[chain] += x * y;
    p->aa[chain] += x * x;
    p->bb[chain] += y * y;
}

static inline __attribute__((always_inline)) void multiply_four(struct products *p, four x, four y)
{
    p->left_ab += x * y;
    p->left_aa += x * x;
    p->left_bb += y * y;
}

static inline __attribute__((always_inline)) float sum_of(const wide *chain, four left)
{
    union {
        wide all;
        four part[WIDE / FOUR];
    } sum = {.all = (chain[0] + chain[1]) + (chain[2] + chain[3])};
    for (size_t i = 0; i < WIDE / FOUR; i++) left += sum.part[i];
    return (left[0] + left[2]) + (left[1] + left[3]);
}

static inline __attribute__((always_inline)) void multiply_rows(struct products *p, const float *a,
                                                                const float *b, size_t n)
{
    size_t i = 0;
    for (; i + CHAINS * WIDE <= n; i += CHAINS * WIDE) {
#pragma GCC unroll 4
        for (size_t k = 0; k < CHAINS; k++) multiply_wide(p, k, a + i + k * WIDE, b + i + k * WIDE);
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < CHAINS - 1; k++) {
        if (i + WIDE > n) break;
        multiply_wide(p, k, a + i, b + i);
        i += WIDE;
    }
#pragma GCC unroll 1
    for (; i + FOUR <= n; i += FOUR)
        multiply_four(p, *(const four *)(a + i), *(const four *)(b + i));
#pragma GCC unroll 1
    for (; i < n; i++) multiply_four(p, (four){a[i]}, (four){b[i]});
}

static inline __attribute__((always_inline)) struct vec_products products_of(const float *a,
                                                                             const float *b,
                                                                             size_t n)
{
    struct products p = {0};
    multiply_rows(&p, a, b, n);
    return (struct vec_products){.ab = sum_of(p.ab, p.left_ab),
                                 .aa = sum_of(p.aa, p.left_aa),
                                 .bb = sum_of(p.bb, p.left_bb)};
}

/* Of all pairs, whether or not they are used: the loop has a constant length. */
static void plan_steps(struct vec_pairs *p, const struct vec_products *products, size_t n,
                       struct vec_factors f)
{
    float share = 1 / (float)n;
    for (size_t i = 0; i < 2 * VEC_PAIRS; i++) {
        size_t pair = i % VEC_PAIRS;
        const struct vec_products *x = &products[pair];
        bool is_a = i < VEC_PAIRS;
        float own = is_a ? x->aa : x->bb, other = is_a ? x->bb : x->aa, error = p->error[pair];
        float squares = error * error * other + 2 * error * f.regularization * x->ab +
                        f.regularization * f.regularization * own;
        squares = squares > 0 ? squares * share : 0;
        float rate = f.rate * (1 / sqrtf(p->sum[i] + squares + TINY));
        p->sum[i] += squares;
        p->keep[i] = 1 - rate * f.regularization;
        p->rate[i] = rate * error;
    }
}

static void plan_pairs(struct vec_pairs *p, size_t count, size_t n, size_t sum,
                       struct vec_factors f)
{
    struct vec_products products[VEC_PAIRS] = {0};
    for (size_t i = 0; i < count; i++) {
        const float *a = p->a[i], *b = p->b[i];
        products[i] = products_of(a, b, n);
        p->error[i] += products[i].ab;
        p->sum[i] = a[sum];
        p->sum[VEC_PAIRS + i] = b[sum];
    }
    plan_steps(p, products, n, f);
}

static void step_pair(float *restrict a, float *restrict b, size_t n, size_t sum,
                      const struct vec_pairs *p, size_t pair)
{
    float a_keep = p->keep[pair], a_rate = p->rate[pair];
    float b_keep = p->keep[VEC_PAIRS + pair], b_rate = p->rate[VEC_PAIRS + pair];
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE) {
        wide x = *(const wide *)(a + i), y = *(const wide *)(b + i);
        *(wide *)(a + i) = a_keep * x - a_rate * y;
        *(wide *)(b + i) = b_keep * y - b_rate * x;
    }
#pragma GCC unroll 1
    for (; i + FOUR <= n; i += FOUR) {
        four x = *(const four *)(a + i), y = *(const four *)(b + i);
        *(four *)(a + i) = a_keep * x - a_rate * y;
        *(four *)(b + i) = b_keep * y - b_rate * x;
    }
#pragma GCC unroll 1
    for (; i < n; i++) {
        float x = a[i], y = b[i];
        a[i] = a_keep * x - a_rate * y;
        b[i] = b_keep * y - b_rate * x;
    }
    a[sum] = p->sum[pair];
    b[sum] = p->sum[VEC_PAIRS + pair];
}

/* ---- losses ---- */

/* exp, to about 2 units in the last place: 2^k times a polynomial of what is left, below half a
 * power of two. */
static inline float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    int32_t k = (int32_t)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
    float rest = x - (float)k * 0.693359375f + (float)k * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * rest + 1.3981999507e-3f;
    p = p * rest + 8.3334519073e-3f;
    p = p * rest + 4.1665795894e-2f;
    p = p * rest + 1.6666665459e-1f;
    p = p * rest + 5.0000001201e-1f;
    p = p * rest * rest + rest + 1;
    int32_t bits = (k + 127) * (1 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

static float exponentials(float *restrict x, size_t n, float shift)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = exponential(x[i] - shift);
        sum += x[i];
    }
    return sum;
}

static float maximum(const float *restrict x, size_t n)
{
    float most = x[0];
    for (size_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

static void scale(float *restrict x, float by, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] *= by;
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)): each of the factors is at most 2, so a product
 * of a hundred still is a float, and one logarithm serves them all. */
static float logistic_part(float *restrict x, size_t n)
{
    float product = 1, sum = 0;
    for (size_t i = 0; i < n; i++) {
        float e = exponential(-fabsf(x[i])), positive = x[i] > 0 ? x[i] : 0;
        product *= 1 + e;
        sum += positive;
        x[i] = (x[i] > 0 ? 1 : e) / (1 + e);
    }
    return sum + logf(product);
}

static float logistic(float *x, size_t n)
{
    enum { PART = 100 };
    float sum = 0;
    for (size_t i = 0; i < n; i += PART) sum += logistic_part(x + i, n - i < PART ? n - i : PART);
    return sum;
}

static size_t count_greater(const float *restrict x, size_t n, float than, size_t *equal)
{
    uint32_t greater = 0, same = 0;
    for (size_t i = 0; i < n; i++) {
        greater += x[i] > than;
        same += x[i] == than;
    }
    *equal += same;
    return greater;
}

/* ---- matrix product ---- */

/* m is a constant where this is called: the sums stay in registers. */
static inline __attribute__((always_inline)) void panel_rows(size_t m, size_t k, const float *a,
                                                             size_t a_row, size_t a_column,
                                                             const float *b, float *c, size_t c_row,
                                                             int accumulate)
{
    wide left[ROWS_AT_ONCE], right[ROWS_AT_ONCE];
    for (size_t i = 0; i < m; i++) left[i] = right[i] = (wide){0};
    for (size_t j = 0; j < k; j++) {
        wide x = *(const wide *)b, y = *(const wide *)(b + WIDE);
#pragma GCC unroll 16
        for (size_t i = 0; i < m; i++) {
            left[i] += a[i * a_row] * x;
            right[i] += a[i * a_row] * y;
        }
        a += a_column;
        b += PANEL;
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < m; i++) {
        wide *to = (wide *)(c + i * c_row), *beside = (wide *)(c + i * c_row + WIDE);
        if (accumulate) {
            left[i] += *to;
            right[i] += *beside;
        }
        *to = left[i];
        *beside = right[i];
    }
}

static void panel_block(size_t m, size_t k, const float *a, size_t a_row, size_t a_column,
                        const float *b, float *c, size_t c_row, int accumulate)
{
#define PANEL_CASE(M) \
    case M: panel_rows(M, k, a, a_row, a_column, b, c, c_row, accumulate); break;
    switch (m) {
        PANEL_CASE(1)
        PANEL_CASE(2)
        PANEL_CASE(3)
        PANEL_CASE(4)
        PANEL_CASE(5)
        PANEL_CASE(6)
#if ROWS_AT_ONCE > 6
        PANEL_CASE(7)
        PANEL_CASE(8)
        PANEL_CASE(9)
        PANEL_CASE(10)
        PANEL_CASE(11)
        PANEL_CASE(12)
#endif
    default: break;
    }
#undef PANEL_CASE
}

/* The last panel is narrower than it is computed. */
static void panel_narrow(size_t m, size_t k, const float *a, size_t a_row, size_t a_column,
                         const float *b, float *c, size_t c_row, size_t columns, int accumulate)
{
    float whole[ROWS_AT_ONCE * PANEL];
    panel_block(m, k, a, a_row, a_column, b, whole, PANEL, 0);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < columns; j++)
            c[i * c_row + j] = whole[i * PANEL + j] + (accumulate ? c[i * c_row + j] : 0);
    }
}

static void panel(size_t m, size_t k, const float *a, size_t a_row, size_t a_column, const float *b,
                  float *c, size_t c_row, size_t columns, int accumulate)
{
    for (size_t i = 0; i < m; i += ROWS_AT_ONCE) {
        size_t rows = m - i < ROWS_AT_ONCE ? m - i : ROWS_AT_ONCE;
        if (columns == PANEL) {
            panel_block(rows, k, a + i * a_row, a_row, a_column, b, c + i * c_row, c_row,
                        accumulate);
        } else {
            panel_narrow(rows, k, a + i * a_row, a_row, a_column, b, c + i * c_row, c_row, columns,
                         accumulate);
        }
    }
}

extern const struct vec VEC_TABLE;
const struct vec VEC_TABLE = {
#define VEC_TEXT(bytes) VEC_TEXT_(bytes)
#define VEC_TEXT_(bytes) #bytes "-byte vectors"
    .name = VEC_TEXT(WIDE_BYTES),
    .dot = dot,
    .square_distance = square_distance,
    .distances = distances,
    .divide = divide,
    .add_scaled = add_scaled,
    .add_rows = add_rows,
    .add = add,
    .add_rectified = add_rectified,
    .clear_unless_positive = clear_unless_positive,
    .set_scaled = set_scaled,
    .gradient = gradient,
    .difference = difference,
    .add_difference = add_difference,
    .multiply = multiply,
    .multiply_conjugate = multiply_conjugate,
    .multiply_add = multiply_add,
    .multiply_conjugate_add = multiply_conjugate_add,
    .add_cubed = add_cubed,
    .adagrad_scaled = adagrad_scaled,
    .factors = factors,
    .plan_pairs = plan_pairs,
    .step_pair = step_pair,
    .exponentials = exponentials,
    .maximum = maximum,
    .scale = scale,
    .logistic = logistic,
    .count_greater = count_greater,
    .panel = panel,
    .panel_columns = PANEL,
};

#endif
