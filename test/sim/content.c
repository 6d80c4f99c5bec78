#include "content.h"

#include "common/exact_steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What an update adds to the last element: as no other key's updates do. */
static unsigned count_of(struct content_layout l)
{
    return content_is_narrow(l) ? 1 : 1 + l.key * 2 * CONTENT_UPDATES_MAX;
}

/* What all values are multiplied by. */
static float scale_of(struct content_layout l)
{
    return content_is_narrow(l) ? ldexpf(1, (int)l.key) : 1;
}

void content_write_update(float *row, struct content_layout l, unsigned update)
{
    memset(row, 0, l.length * sizeof *row);
    unsigned fields = content_fields(l);
    row[1 + update / fields] = (float)(1u << 2 * (update % fields)) * scale_of(l);
    row[l.length - 1] = (float)count_of(l) * scale_of(l);
}

void content_write_set(float *row, struct content_layout l, unsigned set)
{
    memset(row, 0, l.length * sizeof *row);
    row[0] = content_is_narrow(l) ? (float)set * scale_of(l)
                                  : (float)(set * CONTENT_KEYS_MAX + l.key);
}

/* A whole number below 2^24, or 2^8, times the scale; but for what a momentum adds. */
static bool whole(float f, struct content_layout l, uint32_t *n)
{
    const float slack = content_decays(l) ? 0.4f : 0;
    f /= scale_of(l);
    if (!(f >= -slack && f < (content_is_narrow(l) ? 256 : 16777216))) return false;
    *n = (uint32_t)(f + slack);
    return fabsf((float)*n - f) <= slack;
}

static const char torn[] = "is torn: its count is not that of its updates";

bool content_is_torn(const char *wrong)
{
    return wrong == torn;
}

const char *content_read(const float *row, struct content_layout l, struct content *c)
{
    uint32_t n, updates = 0;
    unsigned fields = content_fields(l);
    *c = (struct content){0};
    for (uint32_t i = 1; i + 1 < l.length; i++) {
        if (!whole(row[i], l, &n)) return "holds a value that nobody wrote";
        for (unsigned f = 0; f < fields; f++, n >>= 2) {
            if ((n & 3) > 1) return "holds an update more than once";
            if (!(n & 3)) continue;
            content_add(c, (i - 1) * fields + f);
            updates++;
        }
    }
    if (!whole(row[0], l, &n)) return "names a set that nobody made";
    if (n && !content_is_narrow(l) && n % CONTENT_KEYS_MAX != l.key) return "is another key's";
    c->set = content_is_narrow(l) ? n : n / CONTENT_KEYS_MAX;
    if (!whole(row[l.length - 1], l, &n)) return "holds a value that nobody wrote";
    if (n % count_of(l)) return "is another key's";
    if (n / count_of(l) != updates) return torn;
    return NULL;
}

/* ---- state ---- */

enum { DIGIT = 11, AGES_MAX = CONTENT_UPDATES_MAX };

struct locus_rule content_rule(enum locus_optimizer o)
{
    struct locus_rule r = exact_steps_rule(o);
    if (o == LOCUS_MOMENTUM) r.momentum = ldexpf(1, -DIGIT);
    if (o >= LOCUS_ADAM) r.beta1 = ldexpf(1, -DIGIT);
    return r;
}

/* What a step leaves of an array of the state; and what part of a gradient or its square it takes. */
static double kept_part(struct content_layout l, unsigned array)
{
    struct locus_rule r = content_rule(l.optimizer);
    if (l.optimizer == LOCUS_MOMENTUM) return (double)r.momentum;
    return l.optimizer == LOCUS_ADAGRAD ? 1 : (double)(array ? r.beta2 : r.beta1);
}

static double taken_part(struct content_layout l, unsigned array)
{
    return l.optimizer >= LOCUS_ADAM ? 1 - kept_part(l, array) : 1;
}

void content_write_record(float *delta, struct content_layout l, const float *pushed)
{
    unsigned arrays = content_floats(l) / l.length - 1;
    for (uint32_t i = 0; i < l.length; i++) {
        delta[i] = arrays ? -pushed[i] : pushed[i];
        if (arrays) delta[l.length + i] = content_decays(l) ? pushed[i] : pushed[i] * pushed[i];
        if (arrays == 2) delta[2 * l.length + i] = pushed[i] * pushed[i];
    }
    delta[content_floats(l)] = 1;
}

void content_merge(float *to, struct content_layout l, const float *delta, bool is_row)
{
    uint32_t floats = content_floats(l);
    for (uint32_t i = 0; i < l.length; i++) to[i] += delta[i];
    for (uint32_t i = l.length; i < floats; i++) {
        unsigned array = i / l.length - 1;
        double keep = pow(kept_part(l, array), (double)delta[floats]);
        double take = is_row ? taken_part(l, array) : 1;
        to[i] = (float)(keep * (double)to[i] + take * (double)delta[i]);
    }
    if (!is_row) to[floats] += delta[floats];
}

/* The digits of a sum that forgets: each is a step of one of the updates, at an age that no other
 * step has, of `steps`. Those that a float has no bits for, or
 * that are next to nothing, are not looked at. */
static bool has_digits(double sum, const struct content *c, unsigned first, unsigned steps,
                       bool *is_taken)
{
    double least = fmax(sum * 0x1p-20, 0x1p-110);
    while (sum > least) {
        int exponent, age;
        frexp(sum, &exponent);
        exponent--;
        age = exponent >= 0 ? 0 : (DIGIT - 1 - exponent) / DIGIT;
        int field = exponent + age * DIGIT;
        if (field % 2 || field / 2 >= CONTENT_FIELDS_NARROW || (unsigned)age >= steps) return false;
        if (!content_has(c, first + (unsigned)field / 2) || is_taken[age]) return false;
        is_taken[age] = true;
        sum -= ldexp(1, field - age * DIGIT);
    }
    return sum >= -least;
}

/* The sums of gradients, to the bit in the last element, whose gradients are equal. */
static bool check_momentum(const float *sums, struct content_layout l, const struct content *c,
                           unsigned steps)
{
    const double keep = kept_part(l, 0), unit = -taken_part(l, 0) * (double)scale_of(l);
    bool is_taken[AGES_MAX] = {0};
    double last = unit * (1 - pow(keep, steps)) / (1 - keep);
    if (fabs((double)sums[l.length - 1] - last) > fabs(last) * 0x1p-23) return false;
    for (uint32_t i = 0; i + 2 < l.length; i++)
        if (!has_digits((double)sums[1 + i] / unit, c, i * content_fields(l), steps, is_taken))
            return false;
    return sums[0] == 0;
}

/* The sums of squares: that of equal gradients; and bounds of the others, whose steps are of any
 * age. */
static bool check_squares(const float *sums, struct content_layout l, const struct content *c,
                          unsigned array, unsigned steps)
{
    const double keep = kept_part(l, array), oldest = steps ? pow(keep, steps - 1) : 1;
    double most[CONTENT_LENGTH_MAX] = {0};
    float update[CONTENT_LENGTH_MAX];
    for (unsigned u = 0; u < content_capacity(l); u++) {
        if (!content_has(c, u)) continue;
        content_write_update(update, l, u);
        for (uint32_t i = 0; i < l.length; i++)
            most[i] += taken_part(l, array) * (double)update[i] * (double)update[i];
    }
    if (keep < 1 && steps) most[l.length - 1] *= (1 - pow(keep, steps)) / (1 - keep) / steps;
    for (uint32_t i = 0; i < l.length; i++) {
        double least = i + 1 < l.length ? oldest * most[i] : most[i];
        if (!((double)sums[i] >= 0.9999 * least && (double)sums[i] <= 1.0001 * most[i]))
            return false;
    }
    return true;
}

const char *content_check_state(const float *row, struct content_layout l, const struct content *c)
{
    unsigned steps = 0, arrays = content_floats(l) / l.length - 1;
    for (unsigned u = 0; u < content_capacity(l); u++) steps += content_has(c, u);
    for (unsigned array = 0; array < arrays; array++) {
        const float *sums = row + (1 + array) * l.length;
        if (!(content_decays(l) && array == 0 ? check_momentum(sums, l, c, steps)
                                              : check_squares(sums, l, c, array, steps)))
            return "has a state that is not that of its updates";
    }
    return NULL;
}

const char *content_text(const struct content *c, char *text, size_t bytes)
{
    int at = snprintf(text, bytes, "set %u +", c->set);
    for (unsigned u = 0; u < CONTENT_UPDATES_MAX && at > 0 && (size_t)at + 8 < bytes; u++)
        if (content_has(c, u)) at += snprintf(text + at, bytes - (size_t)at, " %u", u);
    return text;
}
