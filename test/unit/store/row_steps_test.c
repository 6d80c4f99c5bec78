#include "store/optimizer.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1000, STATE_MAX = 3 * LARGE + 1, GUARD = 16 };

/* A row and a delta, or a reference of either, with guards behind. */
struct copy {
    float row[STATE_MAX + GUARD], delta[STATE_MAX + GUARD];
};
struct exact {
    double row[STATE_MAX], delta[STATE_MAX];
};

static struct locus_rule rule_of(const struct row_type *t)
{
    struct locus_rule r = t->usual;
    r.rate = 0.125f;
    if (r.momentum != 0) r.momentum = 0.5f;
    if (r.beta1 != 0) r.beta1 = r.beta2 = 0.5f;
    return r;
}

static struct row_step step_of(const struct row_type *t, const struct locus_rule *r,
                               uint64_t number)
{
    return (struct row_step){r->rate, r->rate * (t->factor ? t->factor(r, number) : 1)};
}

static void for_all(void check(const struct row_type *, enum locus_optimizer))
{
    for (unsigned v = 0; row_type_variant(v); v++)
        for (enum locus_optimizer o = LOCUS_SGD; o < row_types; o++)
            check(&row_type_variant(v)[o], o);
}

/* ---- the published steps, in doubles ---- */

struct reference {
    const struct locus_rule *rule;
    enum locus_optimizer optimizer;
    uint64_t number; /* of the step, from 1 */
};

/* What is added to value w; `state`: its state, with this gradient's part already in it. */
static double change_of(const struct reference *f, double w, double g, const double *state)
{
    const struct locus_rule *r = f->rule;
    double first = 1 - pow(r->beta1, (double)f->number),
           second = 1 - pow(r->beta2, (double)f->number);
    switch (f->optimizer) {
    case LOCUS_SGD: return -r->rate * g;
    case LOCUS_MOMENTUM: return -r->rate * state[0];
    case LOCUS_ADAGRAD:
    case LOCUS_ROW_ADAGRAD: return -r->rate * g / (sqrt(state[0]) + r->epsilon);
    case LOCUS_ADAM:
    case LOCUS_ADAMW:
        return -(double)r->rate * r->decay * w -
               r->rate * sqrt(second) / first * state[0] / (sqrt(state[1]) + r->epsilon);
    default: return NAN;
    }
}

static void note(double *state, double part, double gained)
{
    *state = part * *state + gained;
}

static void step_exactly(const struct reference *f, struct exact *e, const float *g, uint32_t n)
{
    const struct locus_rule *r = f->rule;
    double squares = 0;
    for (uint32_t i = 0; i < n; i++) squares += (double)g[i] * g[i];
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        double *to = is_delta ? e->delta : e->row;
        if (f->optimizer == LOCUS_ROW_ADAGRAD) to[n] += squares / n;
        if (f->optimizer == LOCUS_MOMENTUM) to[2 * n] += is_delta;
        if (f->optimizer >= LOCUS_ADAM) to[3 * n] += is_delta;
        for (uint32_t i = 0; i < n; i++) {
            double *a = &to[n + i], *b = &to[2 * n + i], square = (double)g[i] * g[i];
            if (f->optimizer == LOCUS_MOMENTUM) note(a, r->momentum, g[i]);
            if (f->optimizer == LOCUS_ADAGRAD) note(a, 1, square);
            if (f->optimizer < LOCUS_ADAM) continue;
            note(a, r->beta1, (is_delta ? 1 : 1 - r->beta1) * g[i]);
            note(b, r->beta2, (is_delta ? 1 : 1 - r->beta2) * square);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        double state[2] = {e->row[f->optimizer == LOCUS_ROW_ADAGRAD ? n : n + i],
                           e->row[2 * n + i]};
        double by = change_of(f, e->row[i], g[i], state);
        e->row[i] += by;
        e->delta[i] += by;
    }
}

static void check_near(const float *now, const double *expected, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        CHECK(fabs(now[i] - expected[i]) <= 2e-6 * (1 + fabs(expected[i])));
    for (uint64_t i = n; i < n + GUARD; i++) CHECK(now[i] == -7);
}

static float random_float(void)
{
    return (float)(rand() % 2001 - 1000) / 500;
}

static struct copy copies[4];
static struct exact exact;

static void begin(uint32_t n, const struct row_type *t)
{
    memset(&exact, 0, sizeof exact);
    for (uint32_t i = 0; i < n; i++) exact.row[i] = random_float();
    for (struct copy *c = copies; c < copies + 4; c++) {
        for (size_t i = 0; i < STATE_MAX + GUARD; i++) c->row[i] = c->delta[i] = -7;
        for (uint64_t i = 0; i < row_type_stored(t, n); i++) c->row[i] = (float)exact.row[i];
        memset(c->delta, 0, row_type_delta(t, n) * sizeof(float));
    }
}

static void check_steps(const struct row_type *t, enum locus_optimizer o, uint32_t n)
{
    struct locus_rule r = rule_of(t);
    r.decay *= 3;
    if (o >= LOCUS_ADAM) r.beta1 = 0.9f, r.beta2 = 0.999f;
    float gradient[LARGE];
    begin(n, t);
    for (uint64_t number = 1; number <= 5; number++) {
        struct row_step s = step_of(t, &r, number);
        for (uint32_t i = 0; i < n; i++) gradient[i] = random_float();
        step_exactly(&(struct reference){&r, o, number}, &exact, gradient, n);
        t->step(&r, s, copies[0].row, gradient, n, copies[0].delta);
        t->step(&r, s, copies[1].row, gradient, n, NULL);
    }
    check_near(copies[0].row, exact.row, row_type_stored(t, n));
    check_near(copies[1].row, exact.row, row_type_stored(t, n));
    check_near(copies[0].delta, exact.delta, row_type_delta(t, n));
}

static void check_lengths(const struct row_type *t, enum locus_optimizer o)
{
    for (uint32_t n = 1; n <= 40; n++) check_steps(t, o, n);
    check_steps(t, o, LARGE - 1);
    check_steps(t, o, LARGE);
}

TEST(row_steps, steps_are_the_published_ones_at_all_lengths)
{
    for_all(check_lengths);
}

/* ---- deltas ---- */

/* `steps` steps of copy c with gradients that do not depend on it: integers, so that with parts of
 * one half all state is exact. */
static void take_steps(const struct row_type *t, struct copy *c, unsigned first, unsigned steps,
                       uint32_t n)
{
    struct locus_rule r = rule_of(t);
    float gradient[LARGE];
    for (unsigned k = first; k < first + steps; k++) {
        for (uint32_t i = 0; i < n; i++) gradient[i] = (float)((int)((k * 7 + i) % 9) - 4);
        t->step(&r, step_of(t, &r, k + 1), c->row, gradient, n, c->delta);
    }
}

/* Equal, but for rounding in what is not exact: values, and means. */
static void check_equal(const struct row_type *t, const float *a, const float *b, uint32_t n,
                        uint64_t floats)
{
    for (uint64_t i = 0; i < floats; i++)
        CHECK(a[i] == b[i] ||
              ((i < n || t->numbers) && fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(a[i]))));
}

/* Seven steps in one row; and in three rows, whose deltas are merged: the state is the same to the
 * bit. */
static void check_laws(const struct row_type *t, uint32_t n)
{
    static struct copy serial;
    struct locus_rule r = rule_of(t);
    uint64_t stored = row_type_stored(t, n), delta = row_type_delta(t, n);
    begin(n, t);
    serial = copies[0];
    take_steps(t, &serial, 0, 7, n);
    take_steps(t, &copies[1], 0, 2, n);
    take_steps(t, &copies[2], 2, 1, n);
    take_steps(t, &copies[3], 3, 4, n);
    t->merge(t, &r, copies[0].row, copies[1].delta, n, false);
    t->merge(t, &r, copies[0].row, copies[2].delta, n, false);
    t->merge(t, &r, copies[0].row, copies[3].delta, n, false);
    memcpy(serial.row, copies[0].row, n * sizeof(float)); /* its values took other steps */
    check_equal(t, copies[0].row, serial.row, n, stored);
    if (t->counts) CHECK(serial.delta[delta - 1] == 7);
    for (uint64_t i = stored; i < stored + GUARD; i++)
        CHECK(serial.row[i] == -7 && serial.delta[i + t->counts] == -7);
}

static void check_laws_of(const struct row_type *t, enum locus_optimizer o)
{
    (void)o;
    for (uint32_t n = 1; n <= 40; n++) check_laws(t, n);
    check_laws(t, LARGE);
}

TEST(row_steps, merge_gives_the_state_of_a_serial_order)
{
    for_all(check_laws_of);
}

/* ---- what a replica keeps of its steps (optimizer.h) ---- */

static struct optimizer optimizer;

/* A step of copies[0], which is kept, and the same of copies[1], whose delta is. */
static void step_both(struct row_step s, uint32_t n, bool is_first)
{
    float gradient[LARGE];
    for (uint32_t i = 0; i < n; i++) gradient[i] = i == 5 ? 0 : random_float() / 3;
    optimizer.element->change(&optimizer, copies[0].row, ROW_ADD, gradient, s, copies[0].delta,
                              is_first, 0);
    optimizer.type->step(&optimizer.rule, s, copies[1].row, gradient, n, copies[1].delta);
    memcpy(copies[2].row, gradient, n * sizeof *gradient);
}

/* Adam's d is the difference of the values, others' are the same to the bit. */
static void check_kept(uint32_t n)
{
    uint64_t floats = row_type_delta(optimizer.type, n);
    CHECK_EQ(
        optimizer.element->collect(&optimizer, copies[0].row, copies[0].delta, copies[3].delta),
        floats);
    for (uint64_t i = 0; i < floats; i++) {
        float a = copies[3].delta[i], b = copies[1].delta[i];
        bool is_near = optimizer.type->factor && i < n && fabsf(a - b) <= 1e-6f;
        CHECK(a == b || is_near);
    }
    for (uint64_t i = 0; i < row_type_stored(optimizer.type, n); i++)
        CHECK(copies[0].row[i] == copies[1].row[i]);
    for (uint64_t i = floats; i < floats + GUARD; i++) CHECK(copies[0].delta[i] == -7);
}

/* A step is told as it was made, whatever the rate and the number are by then. */
static void check_step(struct row_step s, uint32_t n)
{
    float told[LARGE + OPTIMIZER_STEP_FLOATS];
    CHECK_EQ(optimizer.element->collect(&optimizer, copies[0].row, copies[0].delta, told),
             n + OPTIMIZER_STEP_FLOATS);
    CHECK(memcmp(told, copies[2].row, n * sizeof *told) == 0);
    CHECK(told[n] == s.rate && told[n + 1] == s.size);
}

static void check_gradient(const struct row_type *t, enum locus_optimizer o, uint32_t n)
{
    struct locus_rule r = rule_of(t);
    optimizer_init(&optimizer, t, &r, LOCUS_F32, n);
    begin(n, t);
    step_both(step_of(t, &r, 7), n, true);
    optimizer_set_rate(&optimizer, 3);
    if (!optimizer.keeps_gradients) {
        CHECK(n < 3 || o == LOCUS_SGD || o == LOCUS_ROW_ADAGRAD);
        check_kept(n);
        return;
    }
    check_step(step_of(t, &r, 7), n);
    step_both(step_of(t, &r, 8), n, false);
    check_kept(n);
    step_both(step_of(t, &r, 9), n, false);
    check_kept(n);
}

static void check_gradients(const struct row_type *t, enum locus_optimizer o)
{
    for (uint32_t n = 1; n <= 40; n++) check_gradient(t, o, n);
    check_gradient(t, o, LARGE);
}

TEST(row_steps, one_step_is_kept_as_its_gradient)
{
    for_all(check_gradients);
}

/* A replica that made one step, and then gets the owner's row; in copies[1] the step comes last. */
static void check_refresh(const struct row_type *t, enum locus_optimizer o)
{
    enum { N = 37 };
    struct locus_rule r = rule_of(t);
    struct row_step s = step_of(t, &r, 7);
    (void)o;
    optimizer_init(&optimizer, t, &r, LOCUS_F32, N);
    if (!optimizer.keeps_gradients) return;
    begin(N, t);
    step_both(s, N, true);
    for (uint64_t i = 0; i < row_type_stored(t, N); i++) copies[3].row[i] = (float)(i % 5);
    memcpy(copies[1].row, copies[3].row, sizeof copies[1].row);
    memset(copies[1].delta, 0, row_type_delta(t, N) * sizeof(float));
    optimizer.element->refresh(&optimizer, copies[0].row, copies[3].row, copies[0].delta, 0);
    t->step(&r, s, copies[1].row, copies[2].row, N, copies[1].delta);
    check_step(s, N);
    step_both(step_of(t, &r, 8), N, false);
    check_kept(N);
}

TEST(row_steps, one_step_is_made_again_on_a_new_row)
{
    for_all(check_refresh);
}

static void check_version(const struct row_type *t, enum locus_optimizer o)
{
    enum { N = 77 };
    const struct row_type *first = &row_type_variant(0)[o];
    begin(N, t);
    take_steps(first, &copies[0], 0, 9, N);
    take_steps(t, &copies[1], 0, 9, N);
    CHECK(memcmp(&copies[0], &copies[1], sizeof *copies) == 0);
}

TEST(row_steps, versions_for_all_processors_step_alike)
{
    for_all(check_version);
}

/* ---- what is no number ---- */

/* What becomes of a value and its first state after a step with infinity: torch's SGDs go there
 * with it, all others divide infinity by infinity. */
static void check_no_numbers(const struct row_type *t, enum locus_optimizer o)
{
    enum { N = 37 };
    struct locus_rule r = rule_of(t);
    float gradient[N];
    begin(N, t);
    for (uint32_t i = 0; i < N; i++)
        gradient[i] = o == LOCUS_ROW_ADAGRAD || i % 3 == 0 ? 1 : i % 3 == 1 ? NAN : INFINITY;
    for (uint64_t k = 1; k <= 2; k++)
        t->step(&r, step_of(t, &r, k), copies[0].row, gradient, N, copies[0].delta);
    t->merge(t, &r, copies[1].row, copies[0].delta, N, false);
    for (const struct copy *c = copies; c < copies + 2; c++)
        for (uint32_t i = 0; i < N; i++) {
            bool falls = o <= LOCUS_MOMENTUM;
            if (i % 3 == 0 || o == LOCUS_ROW_ADAGRAD)
                CHECK(isfinite(c->row[i]));
            else if (i % 3 == 1)
                CHECK(isnan(c->row[i]) && (!t->arrays || isnan(c->row[N + i])));
            else
                CHECK(falls ? c->row[i] == -INFINITY : isnan(c->row[i]));
            if (i % 3 == 2 && t->arrays) CHECK(c->row[N + i] == INFINITY);
        }
}

static void check_row_without_numbers(const struct row_type *t)
{
    struct locus_rule r = rule_of(t);
    float gradient[3] = {1, INFINITY, 1};
    begin(3, t);
    t->step(&r, step_of(t, &r, 1), copies[0].row, gradient, 3, NULL);
    CHECK(copies[0].row[3] == INFINITY && isnan(copies[0].row[1]));
    CHECK(isfinite(copies[0].row[0])); /* 1 / infinity is no step */
}

TEST(row_steps, nan_and_infinity_stay_in_their_element)
{
    for_all(check_no_numbers);
    check_row_without_numbers(row_type_of(LOCUS_ROW_ADAGRAD));
}

/* ---- many nodes ---- */

enum { NODES = 8, ROUNDS = 60 };

/* Nodes that step copies of one row towards 1, at a rate that falls to nothing, and hand in their
 * deltas after every `steps` steps. The worst distance there was is *worst. */
static double train(const struct row_type *t, unsigned steps, double *worst)
{
    struct locus_rule r = t->usual;
    float row[4] = {0}, copy[NODES][4], delta[4];
    r.decay = 0;
    for (unsigned k = 0; k < ROUNDS; k++) {
        for (unsigned node = 0; node < NODES; node++) memcpy(copy[node], row, sizeof row);
        for (unsigned node = 0; node < NODES; node++) {
            memset(delta, 0, sizeof delta);
            for (unsigned i = 0; i < steps; i++) {
                float fall = 1 - (float)k / ROUNDS, gradient = copy[node][0] - 1;
                r.rate = 0.3f / (float)steps / NODES * fall * fall * fall;
                struct row_step s = step_of(t, &r, k * steps + i + 1);
                t->step(&r, s, copy[node], &gradient, 1, delta);
            }
            t->merge(t, &r, row, delta, 1, false);
        }
        *worst = fmax(*worst, fabsf(row[0] - 1));
    }
    return fabsf(row[0] - 1);
}

TEST(row_steps, adam_converges_on_eight_nodes_that_merge_rarely)
{
    for (enum locus_optimizer o = LOCUS_ADAM; o <= LOCUS_ADAMW; o++)
        for (unsigned steps = 20; steps <= 200; steps *= 10) {
            double worst = 0, last = train(row_type_of(o), steps, &worst);
            CHECK(last < 1e-3 && worst < 3);
        }
}

/* ---- Adam's correction ---- */

TEST(row_steps, adam_factor_is_right_for_late_steps)
{
    const struct row_type *t = row_type_of(LOCUS_ADAMW);
    struct locus_rule r = t->usual;
    const uint64_t numbers[] = {1, 2, 10, 12345, 10000000, UINT64_C(1) << 50};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double first = 1 - pow(r.beta1, (double)numbers[i]),
               second = sqrt(1 - pow(r.beta2, (double)numbers[i]));
        struct row_step s = step_of(t, &r, numbers[i]);
        CHECK(fabs(s.size / (r.rate * second / first) - 1) < 1e-6);
    }
}

/* A delta that holds no number of steps is one of none: nothing of it is waited for. */
TEST(row_steps, merge_ignores_impossible_step_counts)
{
    const struct row_type *t = row_type_of(LOCUS_MOMENTUM);
    const float numbers[] = {-1, NAN, INFINITY, 1e30f};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct locus_rule r = t->usual;
        float row[2] = {1, 2}, delta[3] = {1, 1, numbers[i]};
        t->merge(t, &r, row, delta, 1, false);
        CHECK(row[0] == 2 && row[1] == 3);
    }
}
