/*
 * small_steps.c - a trainer of small steps, for price.py: a factorization machine that learns from a
 * stream of clicks. A step has one example, ten rows of nine floats and about 3 us of arithmetic.
 *
 * A worker draws its examples itself, some steps ahead, and signals them: no other thread helps, and
 * no batch hides what a call costs. Each example comes once, so that an epoch's loss is that of
 * examples not seen before. They are the same for any number of nodes, which share them.
 */
#include "common/args.h"
#include "common/figures.h"
#include "common/keys.h"
#include "common/params.h"
#include "common/rng.h"
#include "common/vec.h"
#include "../apps/common/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 10, CATEGORIES = 20000, FACTORS = 8, LENGTH = 1 + FACTORS };
enum { FLOATS = FIELDS * LENGTH, AHEAD = 1024, ROUNDS = 24 };
#define RATE 0.05F

static uint64_t epochs = 4, examples = 300000, seed = 1;
static int technique = LOCUS_ADAPTIVE;
static const char *const techniques[] = {"adaptive",  "static", "relocate",
                                         "replicate", "full",   NULL};

static const struct args_option options[] = {
    OPTION_COUNT("--epochs", "N", &epochs, 1, 1000, 0, "parts of the stream"),
    OPTION_COUNT("--examples", "N", &examples, 1, 1e9, 0, "of an epoch, of all nodes together"),
    OPTION_COUNT("--seed", "N", &seed, 0, 1e9, 0, "of the examples and of the first values"),
    OPTION_CHOICE("--technique", "NAME", &technique, techniques, 0, "how rows are managed"),
};

struct example {
    locus_key keys[FIELDS];
    float click; /* 1 or 0 */
};

/* The weights, and the product of the factors of each two rows; `sums` of the factors. */
static float logit_of(const float *rows, float sums[FACTORS])
{
    float logit = 0;
    for (int k = 0; k < FACTORS; k++) sums[k] = 0;
    for (const float *row = rows; row < rows + FLOATS; row += LENGTH) {
        logit += row[0];
        for (int k = 0; k < FACTORS; k++) {
            sums[k] += row[1 + k];
            logit -= row[1 + k] * row[1 + k] / 2;
        }
    }
    for (int k = 0; k < FACTORS; k++) logit += sums[k] * sums[k] / 2;
    return logit;
}

static float probability_of(float logit)
{
    return 1 / (1 + expf(-logit));
}

/* The categories by Zipf's law, frequent ones anywhere; the click by a planted model. */
static void draw(struct example *e, uint64_t number)
{
    float planted[FLOATS], sums[FACTORS];
    struct rng rng;
    keys_fill(e->keys, FIELDS, KEYS_ZIPF, CATEGORIES, rng_mix(seed << 40 ^ number));
    for (uint64_t f = 0; f < FIELDS; f++) {
        e->keys[f] = f * CATEGORIES + e->keys[f] * 7919 % CATEGORIES;
        rng_fill(~seed, e->keys[f], 0.6, planted + f * LENGTH, LENGTH);
    }
    rng_init(&rng, seed, number);
    e->click = rng_real(&rng) < (double)probability_of(logit_of(planted, sums));
}

/* An implicit step: of the error that is left behind it, which is found by so many rounds. Returns
 * the loss before. */
static float train(struct params *p, const struct example *e)
{
    const float *rows[FIELDS];
    float now[FLOATS], moved[FLOATS], slope[FLOATS], sums[FACTORS];
    struct params_update *u = params_begin(p);
    params_read(p, e->keys, FIELDS, rows);
    for (int f = 0; f < FIELDS; f++) memcpy(now + f * LENGTH, rows[f], LENGTH * sizeof *now);
    float logit = logit_of(now, sums), error = probability_of(logit) - e->click;
    for (int i = 0; i < FLOATS; i++) slope[i] = i % LENGTH > 0 ? sums[i % LENGTH - 1] - now[i] : 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < FLOATS; i++) moved[i] = now[i] - RATE * error * slope[i];
        error = (error + probability_of(logit_of(moved, sums)) - e->click) / 2;
    }
    for (int f = 0; f < FIELDS; f++)
        params_step(p, u, e->keys[f], rows[f], LENGTH, vec_best()->gradient,
                    &(struct vec_gradient){slope + f * LENGTH, .scale = error});
    params_release(p);
    params_end(p, u);
    return log1pf(expf(e->click > 0 ? -logit : logit));
}

/* Factors that are all zero stay so. */
static void draw_first(const void *unused, uint64_t row, float *values)
{
    (void)unused;
    rng_fill(seed, row, 0.05, values + 1, FACTORS);
}

static void work(struct pool_member *m, void *counters)
{
    struct example *ring = take_memory(AHEAD, sizeof *ring);
    struct params params;
    uint64_t steps = examples / m->total, drawn = 0;
    params_open(&params, m, FIELDS, FLOATS);
    rows_init(m, 0, draw_first, NULL);
    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        double sums[2] = {0, (double)steps};
        counters_begin(counters, m);
        for (uint64_t end = epoch * steps, at = end - steps; at < end; at++) {
            for (; drawn < at + AHEAD; drawn++) {
                struct example *e = &ring[drawn % AHEAD];
                draw(e, drawn * m->total + m->place);
                must_intend(locus_intent(m->worker, e->keys, FIELDS, (locus_clock)drawn,
                                         (locus_clock)drawn + 1));
            }
            sums[0] += (double)train(&params, &ring[at % AHEAD]);
            locus_advance_clock(m->worker);
        }
        params_flush(&params);
        counters_end(counters, m);
        pool_sum(m, sums, 2);
        const struct figure loss = {.name = "loss", .value = sums[0] / sums[1]};
        if (m->place == 0) figures_say(true, "epoch", "", &loss, 1);
    }
    struct counters all = counters_take(counters, m);
    if (m->place == 0) counters_show(&all, m->pool->size, true);
    params_close(&params);
    free(ring);
}

int main(int argc, char **argv)
{
    static const struct args_program program = {
        "small_steps", "Trains from a stream: see bench/price.py.", .options = options,
        .option_count = sizeof options / sizeof *options};
    static const struct locus_table table = {.name = "categories",
                                             .rows = FIELDS * CATEGORIES,
                                             .length = LENGTH,
                                             .optimizer = LOCUS_ADAGRAD,
                                             .rule = {.rate = RATE}};
    static struct counters counters;
    static struct pool pool;
    struct pool_config config = {.tables = &table, .table_count = 1, .workers = 1};
    fail_set_program(program.name);
    args_parse(&program, argc, argv);
    config.technique = (enum locus_technique)technique;
    pool_open(&pool, &config);
    pool_run(&pool, work, &counters);
    pool_close(&pool);
    return fail_unless_printed();
}
