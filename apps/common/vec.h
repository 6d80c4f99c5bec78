/*
 * vec.h - the arithmetic of the training programs, compiled for several widths of vectors; the
 * widest that this processor has is chosen when the program runs.
 *
 * Vectors need no alignment. Complex vectors of n floats hold n/2 real parts, then n/2 imaginary
 * parts. Results differ in the last bits between widths; each width is deterministic.
 *
 * Callers   any thread
 * Memory    the caller's; arrays of one call do not overlap, unless said otherwise
 * Waiting   never
 */
#ifndef APPS_VEC_H
#define APPS_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* scale * direction + decay * row */
struct vec_gradient {
    const float *direction;
    float scale, decay;
};

/* An AdaGrad step of two factors. */
struct vec_factors {
    float error, regularization, rate;
};

/* Of two rows. */
struct vec_products {
    float ab, aa, bb;
};

/* Steps of pairs of rows. Behind what is of each pair's first row stands what is of its second. */
enum { VEC_PAIRS = 4 };
struct vec_pairs {
    const float *a[VEC_PAIRS], *b[VEC_PAIRS];
    float error[VEC_PAIRS];
    float sum[2 * VEC_PAIRS];                       /* of squares, after the step */
    float keep[2 * VEC_PAIRS], rate[2 * VEC_PAIRS]; /* a row becomes keep * itself - rate * other */
};

struct vec {
    const char *name;

    float (*dot)(const float *a, const float *b, size_t n);
    /* |a - b|^2 */
    float (*square_distance)(const float *a, const float *b, size_t n);
    /* Products of one vector with `n` others become what is left of `margin` behind the distances of
     * both, which are kept. Squares are the vectors' products with themselves. Of a distance that is
     * lost in the rounding of its square, the least that is not is taken. */
    void (*distances)(float *products, float *distances, float square, const float *squares,
                      float margin, size_t n);
    /* x becomes x / by; returns the sum. */
    float (*divide)(float *x, const float *by, size_t n);
    /* to += scale * from */
    void (*add_scaled)(float *to, float scale, const float *from, size_t n);
    /* to += scales[i] * rows[i], in that order, `count` of them */
    void (*add_rows)(float *to, const float *scales, const float *const *rows, size_t count,
                     size_t n);
    /* to += from */
    void (*add)(float *to, const float *from, size_t n);
    /* to = max(0, to + from) */
    void (*add_rectified)(float *to, const float *from, size_t n);
    /* to becomes 0 where `by` is not above 0: the gradient of what was rectified to `by` */
    void (*clear_unless_positive)(float *to, const float *by, size_t n);
    /* to = scale * from */
    void (*set_scaled)(float *to, float scale, const float *from, size_t n);
    /* A locus_gradient. */
    void (*gradient)(void *vec_gradient, const float *row, float *to, uint32_t n);
    /* to = after - to: what became of it */
    void (*difference)(float *to, const float *after, size_t n);
    /* to += after - before */
    void (*add_difference)(float *to, const float *after, const float *before, size_t n);

    /* Complex numbers: to = a b, to = conj(a) b, and the same added to `to`. */
    void (*multiply)(float *to, const float *a, const float *b, size_t n);
    void (*multiply_conjugate)(float *to, const float *a, const float *b, size_t n);
    void (*multiply_add)(float *to, const float *a, const float *b, size_t n);
    void (*multiply_conjugate_add)(float *to, const float *a, const float *b, size_t n);

    /* Adds weight * 3 |x| x, the gradient of the cubed norm |x|^3 (N3; Lacroix et al., 2018). */
    void (*add_cubed)(float *to, float weight, const float *x, size_t n, bool is_complex);
    /* A step of a row for the gradient scale * direction (AdaGrad; Duchi et al., 2011): `n`
     * parameters, then `n` sums of squared gradients. */
    void (*adagrad_scaled)(float *row, float scale, const float *direction, size_t n, float rate);
    /* Two factors of one product: the gradient of each is error * the other, and regularization *
     * itself. Of each, n parameters, whose sums of squares are `sums` floats behind. */
    void (*factors)(float *a, float *b, size_t n, size_t sums, struct vec_factors);
    /* The same with one rate for each row, in two halves, so that a processor computes several
     * pairs at once: what becomes of `count` pairs that have no row in common; and making it so. A
     * row has n parameters, and `sum` floats behind its beginning the sum of its gradients' mean
     * squares. f.error is not used: p->error is what a pair's product is added to, and then the
     * sum of both. */
    void (*plan_pairs)(struct vec_pairs *p, size_t count, size_t n, size_t sum,
                       struct vec_factors f);
    void (*step_pair)(float *a, float *b, size_t n, size_t sum, const struct vec_pairs *,
                      size_t pair);

    /* x becomes exp(x - shift); returns the sum. */
    float (*exponentials)(float *x, size_t n, float shift);
    float (*maximum)(const float *x, size_t n); /* n is at least 1 */
    void (*scale)(float *x, float by, size_t n);
    /* x becomes 1 / (1 + exp(-x)); returns the sum of log(1 + exp(x)) over the old x: the logistic
     * loss of labels "false" and its gradient. */
    float (*logistic)(float *x, size_t n);

    /* How many of x are greater than `than`; adds to *equal how many are equal. */
    size_t (*count_greater)(const float *x, size_t n, float than, size_t *equal);

    /* c (m rows, c_row apart, `columns` wide) = or += a (m by k; elements at i * a_row + j *
     * a_column) times a panel: k rows of panel_columns floats. For matrix.c. */
    void (*panel)(size_t m, size_t k, const float *a, size_t a_row, size_t a_column,
                  const float *panel, float *c, size_t c_row, size_t columns, int accumulate);
    size_t panel_columns; /* at most VEC_PANEL_MAX */
};

enum { VEC_PANEL_MAX = 32 };

extern const struct vec *vec_chosen; /* before main() */

/* Never NULL; always the same. */
static inline const struct vec *vec_best(void)
{
    return vec_chosen;
}

#endif
