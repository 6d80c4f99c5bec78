#include "store/row_type.h"

#include <math.h>

/*
 * Each function is plain C, of which the compiler makes vectors (mk/config.mk), for several
 * instruction sets: VARIANT() at the end. All give the same, to the bit, because nothing is
 * contracted, so nodes with other processors step alike.
 *
 * In a step: row w, gradient g, of n floats each; d: the delta, or NULL. Notes are rare.
 */
#define INLINE static inline __attribute__((always_inline))
/* The arrays of a loop do not overlap, although the state lies behind the values. */
#ifdef __clang__
#define LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define LOOP _Pragma("GCC ivdep")
#endif

/* base^count, from products alone: libm's may differ between machines, which must agree. */
static double power(double base, double count)
{
    double product = 1;
    for (uint64_t left = count > 0 && count < 1e18 ? (uint64_t)count : 0; left; left /= 2) {
        if (left % 2) product *= base;
        base *= base;
    }
    return product;
}

/* ---- deltas: sums, or of what keeps a part of itself in each step what its steps make of it ---- */

INLINE void add(float *restrict to, const float *restrict from, size_t n)
{
    LOOP for (size_t i = 0; i < n; i++) to[i] += from[i];
}

/* `both`: that step took all, and not the rest of `part`. */
INLINE void carry(float *restrict to, float part, float count, bool both,
                  const float *restrict from, size_t n)
{
    float keep = (float)power(part, count), take = both ? 1 : 1 - part;
    LOOP for (size_t i = 0; i < n; i++) to[i] = keep * to[i] + take * from[i];
}

INLINE void merge(const struct row_type *t, const struct locus_rule *rule, float *to,
                  const float *delta, size_t n, bool both)
{
    const size_t stored = row_type_stored(t, (uint32_t)n);
    const float count = delta[stored - !t->counts];
    add(to, delta, t->counts ? n : stored);
    if (rule->momentum != 0) carry(to + n, rule->momentum, count, true, delta + n, n);
    if (rule->beta1 != 0) carry(to + n, rule->beta1, count, both, delta + n, n);
    if (rule->beta2 != 0) carry(to + 2 * n, rule->beta2, count, both, delta + 2 * n, n);
    if (both && t->counts) to[stored] += count;
}

/* ---- SGD ---- */

INLINE void descend(float rate, float *restrict w, const float *g, size_t n, float *restrict d)
{
    LOOP for (size_t i = 0; i < n; i++)
    {
        float by = -rate * g[i];
        w[i] += by;
        if (d) d[i] += by;
    }
}

INLINE void sgd_step(const struct locus_rule *rule, struct row_step step, float *w, const float *g,
                     size_t n, float *d)
{
    (void)rule;
    descend(step.rate, w, g, n, d);
}

/* ---- no optimizer ---- */

INLINE void sum_step(const struct locus_rule *rule, struct row_step step, float *w, const float *g,
                     size_t n, float *d)
{
    (void)rule;
    (void)step;
    descend(-1, w, g, n, d);
}

/* ---- momentum: the state is that of the gradients ---- */

INLINE void momentum_step(const struct locus_rule *rule, struct row_step step, float *restrict w,
                          const float *g, size_t n, float *restrict d)
{
    float *restrict u = w + n, *restrict c = d ? d + n : NULL;
    float keep = rule->momentum, rate = step.rate;
    LOOP for (size_t i = 0; i < n; i++)
    {
        float x = g[i];
        u[i] = keep * u[i] + x;
        float by = -rate * u[i];
        w[i] += by;
        if (!d) continue;
        d[i] += by;
        c[i] = keep * c[i] + x;
    }
    if (d) d[2 * n]++;
}

static void momentum_note(const struct locus_rule *rule, struct row_step step, const float *w,
                          float *unsent, uint32_t n)
{
    const float *u = w + n;
    float *c = unsent + n;
    (void)rule;
    LOOP for (size_t i = 0; i < n; i++)
    {
        c[i] = unsent[i];
        unsent[i] = -step.rate * u[i];
    }
    unsent[2 * n] = 1;
}

/* ---- AdaGrad: the state is the sums of squares ---- */

INLINE void adagrad_step(const struct locus_rule *rule, struct row_step step, float *restrict w,
                         const float *g, size_t n, float *restrict d)
{
    float *restrict s = w + n, *restrict c = d ? d + n : NULL;
    float rate = step.rate, epsilon = rule->epsilon;
    LOOP for (size_t i = 0; i < n; i++)
    {
        float x = g[i], square = x * x;
        s[i] += square;
        float by = -rate * x / (sqrtf(s[i]) + epsilon);
        w[i] += by;
        if (!d) continue;
        d[i] += by;
        c[i] += square;
    }
}

static void adagrad_note(const struct locus_rule *rule, struct row_step step, const float *w,
                         float *unsent, uint32_t n)
{
    const float *s = w + n;
    float *c = unsent + n;
    LOOP for (size_t i = 0; i < n; i++)
    {
        float x = unsent[i];
        c[i] = x * x;
        unsent[i] = -step.rate * x / (sqrtf(s[i]) + rule->epsilon);
    }
}

/* ---- row-wise AdaGrad: one sum, behind the values ---- */

/* Named vectors: of loops over lanes the compiler makes shuffles. Two, because one sum alone waits
 * for each addition. */
enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

INLINE void add_squares(lanes *sums, const float *g)
{
    lanes x = *(const lanes *)g;
    *sums += x * x;
}

INLINE float mean_square(const float *g, size_t n)
{
    lanes even = {0}, odd = {0};
    float sum = 0;
    size_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        add_squares(&even, g + i);
        add_squares(&odd, g + i + LANES);
    }
    for (; i < n; i++) sum += g[i] * g[i];
    even += odd;
    sum += ((even[0] + even[4]) + (even[2] + even[6])) +
           ((even[1] + even[5]) + (even[3] + even[7]));
    return sum / (float)n;
}

INLINE void row_adagrad_step(const struct locus_rule *rule, struct row_step step, float *w,
                             const float *g, size_t n, float *d)
{
    float square = mean_square(g, n);
    w[n] += square;
    if (d) d[n] += square;
    descend(step.rate / (sqrtf(w[n]) + rule->epsilon), w, g, n, d);
}

/* ---- Adam: the state is both moments, and a delta has sums of what they take a part of ---- */

static float adam_factor(const struct locus_rule *rule, uint64_t number)
{
    return (float)(sqrt(1 - power(rule->beta2, (double)number)) /
                   (1 - power(rule->beta1, (double)number)));
}

/* AdamW's has a decay: a part of the values goes with the step. */
INLINE void adam_step(const struct locus_rule *rule, struct row_step step, float *restrict w,
                      const float *g, size_t n, float *restrict d)
{
    float *restrict m = w + n, *restrict v = w + 2 * n;
    float *restrict c = d ? d + n : NULL, *restrict e = d ? d + 2 * n : NULL;
    float keep1 = rule->beta1, keep2 = rule->beta2, take1 = 1 - keep1, take2 = 1 - keep2;
    float size = step.size, epsilon = rule->epsilon, shrink = step.rate * rule->decay;
    LOOP for (size_t i = 0; i < n; i++)
    {
        float x = g[i], square = x * x;
        m[i] = keep1 * m[i] + take1 * x;
        v[i] = keep2 * v[i] + take2 * square;
        float by = -size * m[i] / (sqrtf(v[i]) + epsilon) - shrink * w[i];
        w[i] += by;
        if (!d) continue;
        d[i] += by;
        c[i] = keep1 * c[i] + x;
        e[i] = keep2 * e[i] + square;
    }
    if (d) d[3 * n]++;
}

/* Behind the gradient are the values before: a part of them went with the step. */
static void adam_note(const struct locus_rule *rule, struct row_step step, const float *w,
                      float *unsent, uint32_t n)
{
    (void)rule;
    (void)step;
    float *c = unsent + n, *e = unsent + 2 * (size_t)n;
    LOOP for (size_t i = 0; i < n; i++)
    {
        float x = unsent[i];
        unsent[i] = w[i] == e[i] ? 0 : w[i] - e[i];
        c[i] = x;
        e[i] = x * x;
    }
    unsent[3 * n] = 1;
}

/* ---- variants ---- */

/* The compiler sees in which case there is no delta. */
#define FUNCTIONS(name, variant, target) \
    target static void name##_step_##variant(const struct locus_rule *rule, struct row_step step, \
                                             float *row, const float *gradient, uint32_t n, \
                                             float *delta) \
    { \
        if (delta) \
            name##_step(rule, step, row, gradient, n, delta); \
        else \
            name##_step(rule, step, row, gradient, n, NULL); \
    }
#define OF(name, variant) .step = name##_step_##variant, .merge = merge_##variant

#define VARIANT(variant, target) \
    target static void merge_##variant(const struct row_type *t, const struct locus_rule *rule, \
                                       float *to, const float *delta, uint32_t n, bool both) \
    { \
        merge(t, rule, to, delta, n, both); \
    } \
    FUNCTIONS(sum, variant, target) \
    FUNCTIONS(sgd, variant, target) \
    FUNCTIONS(momentum, variant, target) \
    FUNCTIONS(adagrad, variant, target) \
    FUNCTIONS(row_adagrad, variant, target) \
    FUNCTIONS(adam, variant, target) \
    static const struct row_type variant[] = { \
        [LOCUS_NO_OPTIMIZER] = {.name = "LOCUS_NO_OPTIMIZER", OF(sum, variant)}, \
        [LOCUS_SGD] = {.name = "LOCUS_SGD", .usual = {.rate = 1e-3f}, OF(sgd, variant)}, \
        [LOCUS_MOMENTUM] = {.name = "LOCUS_MOMENTUM", \
                            .usual = {.rate = 1e-3f, .momentum = 0.9f}, \
                            .arrays = 1, \
                            .counts = true, \
                            .note = momentum_note, \
                            OF(momentum, variant)}, \
        [LOCUS_ADAGRAD] = {.name = "LOCUS_ADAGRAD", \
                           .usual = {.rate = 0.01f, .epsilon = 1e-10f}, \
                           .arrays = 1, \
                           .note = adagrad_note, \
                           OF(adagrad, variant)}, \
        [LOCUS_ROW_ADAGRAD] = {.name = "LOCUS_ROW_ADAGRAD", \
                               .usual = {.rate = 0.01f, .epsilon = 1e-10f}, \
                               .numbers = 1, \
                               OF(row_adagrad, variant)}, \
        [LOCUS_ADAM] = \
            {.name = "LOCUS_ADAM", \
             .usual = {.rate = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f}, \
             .arrays = 2, \
             .counts = true, \
             .factor = adam_factor, \
             .note = adam_note, \
             OF(adam, variant)}, \
        [LOCUS_ADAMW] = {.name = "LOCUS_ADAMW", \
                         .usual = {.rate = 1e-3f, \
                                   .beta1 = 0.9f, \
                                   .beta2 = 0.999f, \
                                   .epsilon = 1e-8f, \
                                   .decay = 0.01f}, \
                         .arrays = 2, \
                         .counts = true, \
                         .factor = adam_factor, \
                         .note = adam_note, \
                         OF(adam, variant)}, \
    };

VARIANT(plain, )
#if defined(__x86_64__)
VARIANT(avx2, __attribute__((target("avx2,fma"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))))
#endif

const unsigned row_types = sizeof plain / sizeof *plain;

const struct row_type *row_type_variant(unsigned i)
{
    if (i == 0) return plain;
#if defined(__x86_64__)
    bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (i == 1 && runs) return avx2;
    runs = runs && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (i == 2 && runs) return avx512;
#endif
    return NULL;
}
