/* Which coefficients of lasso may be updated at once: both ways of the filter say what the whole
 * product of two columns says. */
#include "lasso/choice.h"
#include "lasso/lasso_loss.h"
#include "lasso/columns.h"
#include "lasso/standard.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 60, COLUMNS = 40, WIDTH = 8 };

/* Columns of so many values, some of them in rows of the column before. */
static void fill(struct columns *c, uint32_t values)
{
    struct standard to;
    struct rng rng;
    double response[ROWS], value[ROWS];
    uint32_t rows[ROWS], row[ROWS];
    rng_init(&rng, 3, 1);
    for (uint32_t r = 0; r < ROWS; r++) rows[r] = r;
    for (uint32_t r = 0; r < ROWS; r++) response[r] = rng_normal(&rng);
    standard_begin(&to, c, ROWS, COLUMNS, COLUMNS * values);
    for (uint32_t j = 0; j < COLUMNS; j++) {
        uint32_t count = 0;
        bool is_in[ROWS] = {false};
        if (j == 0 || rng_real(&rng) > 0.1) rng_shuffle(&rng, rows, ROWS);
        for (uint32_t i = 0; i < values; i++) is_in[rows[i]] = true;
        for (uint32_t r = 0; r < ROWS; r++)
            if (is_in[r]) row[count++] = r;
        for (uint32_t i = 0; i < values; i++) value[i] = rng_real(&rng);
        standard_add(&to, row, value, values);
    }
    standard_end(&to, response);
}

static struct lasso make(uint32_t values)
{
    struct lasso l = {.options = {.correlation = 0.15}};
    fill(&l.columns, values);
    return l;
}

/* A column as it is used: centred, of unit norm. */
static void spread(const struct lasso *l, uint64_t j, double *rows)
{
    const struct columns *c = &l->columns;
    double squares = 0;
    for (uint32_t r = 0; r < c->rows; r++) rows[r] = -c->shift[j];
    for (uint64_t i = c->start[j]; i < c->start[j + 1]; i++) rows[c->row[i]] += (double)c->value[i];
    for (uint32_t r = 0; r < c->rows; r++) squares += rows[r] * rows[r];
    for (uint32_t r = 0; r < c->rows; r++) rows[r] /= sqrt(squares);
}

static double product(const struct lasso *l, uint64_t a, uint64_t b)
{
    double x[ROWS], y[ROWS], sum = 0;
    spread(l, a, x);
    spread(l, b, y);
    for (uint32_t r = 0; r < l->columns.rows; r++) sum += x[r] * y[r];
    return fabs(sum);
}

/* 1: they fit, 0: they do not, -1: too near to say. */
static int fit(const struct lasso *l, uint64_t column, const uint64_t *chosen, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, product(l, column, chosen[i]));
    if (fabs(most - l->options.correlation) < 1e-5) return -1;
    return most < l->options.correlation;
}

/* Rounds of the schedule's kind: those that fit are added, and then all begins anew. */
static void check_filter(uint32_t values, bool remembers)
{
    struct lasso l = make(values);
    struct locus_schedule_config config = {0};
    struct choice c;
    uint64_t chosen[2 * WIDTH];
    size_t before = 0, count = 0; /* those of the round before are under way, of a window of two */
    unsigned ways = 0, accepted = 0, refused = 0;
    choice_open(&c, &l);
    choice_begin(&c, &config);
    CHECK(config.fits != NULL && config.context == &c);
    if (!remembers) { /* as of many columns */
        free(c.pairs);
        c.pairs = NULL;
    }
    for (uint64_t round = 0, v = 0; round < 200; round++) {
        bool has_window = round % 4 > 1;
        count = has_window ? count - before : 0;
        memmove(chosen, chosen + before, count * sizeof *chosen);
        before = count;
        if (count == 0) chosen[count++] = v++ % COLUMNS;
        for (unsigned tries = 0; tries < 3 * WIDTH && count < before + WIDTH; tries++, v++) {
            uint64_t next = v * 7 % COLUMNS;
            bool is_there = false;
            for (size_t i = 0; i < count; i++) is_there |= chosen[i] == next;
            int wanted = is_there ? -1 : fit(&l, next, chosen, count);
            if (wanted < 0) continue;
            CHECK_EQ(config.fits(&c, next, chosen, count), wanted);
            ways |= 1U << c.way;
            accepted += wanted == 1;
            refused += wanted == 0;
            if (wanted) chosen[count++] = next;
        }
    }
    CHECK_EQ(ways, remembers ? 1 : 3);
    CHECK(accepted > 100 && refused > 100);
    choice_close(&c);
    columns_fini(&l.columns);
}

TEST(lasso_choice, filters_agree_with_products_of_columns)
{
    for (int remembers = 0; remembers < 2; remembers++) {
        check_filter(4, remembers);
        check_filter(12, remembers);
    }
}
