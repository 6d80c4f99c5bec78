/* The parts of ctr: what is read, how clicks are judged, and the gradients. */
#include "common/folder.h"
#include "ctr/click_batch.h"
#include "ctr/clicks_read.h"
#include "ctr/ctr_quality.h"
#include "ctr/wide_deep.h"
#include "ending.h"
#include "fail.h"
#include "pools.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rng rng = {{9, 8, 7, 6}};

/* ---- quality ---- */

enum { SCORES = 300 };

/* A weight of 2 is as if the example came twice. */
TEST(ctr_quality, auc_counts_ties_half)
{
    float logits[SCORES], weights[SCORES];
    bool is_click[SCORES];
    for (int levels = 1; levels <= SCORES; levels *= 4) {
        double above = 0, pairs = 0, loss = 0, sum = 0;
        for (int i = 0; i < SCORES; i++) {
            logits[i] = (float)rng_below(&rng, (uint64_t)levels) / 16 - 2;
            is_click[i] = rng_below(&rng, 3) == 0;
            weights[i] = levels == 4 ? 1 : (float)(i % 3);
        }
        for (int i = 0; i < SCORES; i++) {
            double p = 1 / (1 + exp(-(double)logits[i])), weight = (double)weights[i];
            loss -= weight * log(is_click[i] ? p : 1 - p);
            sum += weight;
            for (int j = 0; j < SCORES; j++) {
                if (!is_click[i] || is_click[j]) continue;
                pairs += weight * (double)weights[j];
                above += weight * (double)weights[j] *
                         (logits[i] > logits[j]   ? 1
                          : logits[i] < logits[j] ? 0
                                                  : 0.5);
            }
        }
        struct ctr_quality q =
            ctr_quality_of(logits, is_click, levels == 4 ? NULL : weights, SCORES);
        CHECK(fabs(q.auc - above / pairs) < 1e-12);
        CHECK(fabs(q.log_loss - loss / sum) < 1e-9);
    }
}

TEST(ctr_quality, calibration_is_of_the_clicks_that_come)
{
    static const float logits[] = {0, 0, 0, 0, 100, -100}, fewer[] = {0, 0, 100, -100},
                       weights[] = {1, 3, 1, 1};
    static const bool as_foretold[] = {true, false, true, false, true, false},
                      less[] = {true, false, false, false, true, false},
                      first[] = {true, false, true, false};
    static const struct ctr_bin bins[CTR_BINS] = {{1, 0, 0}, [5] = {4, 2, 1}, [9] = {1, 1, 1}};
    struct ctr_quality q = ctr_quality_of(logits, as_foretold, NULL, 6);
    CHECK(fabs(q.calibration - 1) < 1e-6 && q.calibration_error < 1e-6);
    for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
        q = is_weighted ? ctr_quality_of(fewer, first, weights, 4)
                        : ctr_quality_of(logits, less, NULL, 6);
        CHECK(fabs(q.calibration - 1.5) < 1e-6 && fabs(q.calibration_error - 1 / 6.0) < 1e-6);
        for (int i = 0; i < CTR_BINS; i++)
            CHECK(fabs(q.bins[i].examples - bins[i].examples) < 1e-12 &&
                  fabs(q.bins[i].foretold - bins[i].foretold) < 1e-6 &&
                  fabs(q.bins[i].came - bins[i].came) < 1e-12);
    }
}

/* ---- reading ---- */

/* Reads texts; examples in the order in which they stand. */
static void read_texts(struct clicks *c, const char *train, const char *test, const char *weights)
{
    char path[3][2 * FOLDER_PATH_BYTES], folder[FOLDER_PATH_BYTES];
    const char *const names[] = {"train", "test", "weights"}, *const texts[] = {train, test,
                                                                                weights};
    folder_new(folder);
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
        if (texts[i]) folder_write(folder, names[i], texts[i], 0);
    }
    clicks_init(c);
    const struct clicks_source s = {
        .train = path[0], .test = path[1], .weights = weights ? path[2] : NULL};
    uint64_t count = clicks_read(c, &s);
    clicks_finish(c, &(struct clicks_split){.train = count, .seed = 1});
    for (uint64_t i = 0; i < c->count; i++) c->order[i] = (uint32_t)i;
}

/* How many features there are, examples as "+field:feature..." or "-...", those to test with behind
 * |, and the names of features; or what is complained of. */
struct reading {
    const char *train, *test, *said, *weights;
};

static void read_both(const void *reading)
{
    const struct reading *r = reading;
    CLOSED_BY(clicks_fini) struct clicks c;
    read_texts(&c, r->train, r->test, r->weights);
    printf("%u", c.feature_count);
    for (uint64_t k = 0; k < c.count; k++) {
        struct click x = clicks_get(&c, k);
        printf("%s%c", k == c.train ? " |" : "", x.is_click ? '+' : '-');
        for (uint32_t j = 0; j < x.count; j++)
            printf("%s%u:%u", j ? "," : "", x.field[j], x.feature[j]);
    }
    for (uint32_t k = 0; k < c.names.count; k++) printf(" %s", names_get(&c.names, k));
    printf("\n");
}

TEST(ctr_files, libsvm_and_libffm_have_fields)
{
    static const struct reading readings[] = {
        /* by position where all have as many */
        {"1 3:1 7:0.5\n-1 3:1 9:1\n", "+1 2:1 9:2\n", "10+0:3,1:7-0:3,1:9 |+0:2,1:9\n", NULL},
        {"1 3:1 7:0.5\n-1 3:1\n", "-1 2:1\n", "8+0:3,0:7-0:3 |-0:2\n", NULL},
        {"1 0:3:1 4:7:0.5 4:8:0.5\n0 2:1:1\n", "1 2:1:1\n", "9+0:3,4:7,4:8-2:1 |+2:1\n", NULL},
        {"0\n0 2:1 7:1\n1 5:1\n", "1\n", "8--0:2,0:7+0:5 |+\n", NULL},
        /* a large number is no size */
        {"1 1:1 500000000:1\n0 2:1\n", "1 500000000:1\n", "3+0:0,0:2-0:1 |+0:2 1 2 500000000\n",
         NULL},
        {"1 1:1 2:1\n0 3:1\n", "1 0:1 1:1\n0 2:1 3:0\n", "4+0:1,0:2-0:3 |+0:0,0:1-0:2,0:3\n",
         NULL}};
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        ends_with(read_both, &readings[i], 0, readings[i].said);
    CLOSED_BY(clicks_fini) struct clicks c;
    read_texts(&c, "1 1:1\n0 1:0.5 2:1 3:1 4:1\n0 2:1 3:1\n", "1 1:1 2:2\n", "0.5\n3\n0\n");
    CHECK(clicks_get(&c, 1).value[0] == 0.5F && clicks_get(&c, 3).value[1] == 2);
    CHECK(clicks_entries(&c, 1) == 4 && clicks_entries(&c, 3) == 8 && clicks_entries(&c, 99) == 9);
    static const float weights[] = {0.5F, 3, 0, 1};
    for (uint64_t i = 0; i < 4; i++) CHECK(clicks_get(&c, i).weight == weights[i]);
}

#define GOOD "1 1:1\n0 2:1\n"

TEST(ctr_files, read_refuses_other_lines)
{
    static const struct reading refusals[] = {
        /* numbers of features and fields that may begin with 0 or 1 */
        {"1 1:1 2:1\n0 3:1\n", "1 0:1 1:1\n0 2:1\n", "numbers features from 0 to 2, and", NULL},
        {"1 1:1\n0 2:1\n-1 2:1\n", GOOD, ":3: has the label -1, and another line has 0: which",
         NULL},
        {"2 1:1\n", GOOD, ":1: \"2\" is no label: must be 1 for a click, 0 or -1 for none. A line",
         NULL},
        {"click,age\n1,7\n", GOOD, ":1: \"click,age\" is no label", NULL},
        {"1 1:1\n1 2:1\n", GOOD, "every example is a click", NULL},
        {GOOD, "1 1:x\n", ":1: \"x\" is no value: must be a number", NULL},
        {GOOD, "1 0:1:1\n1 1:1\n", "either all features have a field, or none", NULL},
        {GOOD, "",
         "is empty. A line must be \"label index:value ..., or label field:index:value ...\"",
         NULL},
        {"0\n1\n", GOOD, "has no features. A line must be", NULL},
        {GOOD, GOOD, "has fewer lines than", "1\n"},
        {GOOD, GOOD, ":3: is one more than", "1\n2\n1\n"},
        {GOOD, GOOD, ":2: -1 is no weight: must be 0, or from 1e-9 to 1e9", "1\n-1\n"}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        ends_with(read_both, &refusals[i], 1, refusals[i].said);
}

TEST(ctr_files, write_gives_files_that_read_takes)
{
    static const char *const texts[][2] = {
        {"1 3:0.25 7:1\n-1 3:1 9:1\n", "1 3:0.25 7:1\n0 3:1 9:1\n"},
        {"1 0:3:1 4:500000000:2\n0 2:1:-1\n0\n", "1 0:3:1 4:500000000:2\n0 2:1:-1\n0\n"}};
    for (int i = 0; i < 2; i++) {
        char folder[2 * FOLDER_PATH_BYTES], made[FOLDER_PATH_BYTES], text[128] = "";
        CLOSED_BY(clicks_fini) struct clicks c;
        read_texts(&c, texts[i][0], i ? "1 0:3:1\n" : "1 3:1\n", NULL);
        folder_new(made);
        snprintf(folder, sizeof folder, "%s/split", made);
        clicks_write(&c, folder);
        snprintf(folder, sizeof folder, "%s/split/train.txt", made);
        FILE *file = fopen(folder, "r");
        CHECK(file != NULL);
        CHECK(fread(text, 1, sizeof text - 1, file) > 0);
        fclose(file);
        CHECK_EQ(strcmp(text, texts[i][1]), 0);
    }
}

/* ---- gradients ---- */

enum { FIELD_COUNT = 3, DIM = 5, EXAMPLES = 6, FEATURES = 9 };

static double loss_of(struct wide_deep *w, const struct click_batch *b)
{
    const float *logits = wide_deep_predict(w, b);
    double loss = 0;
    for (uint32_t i = 0; i < b->examples; i++)
        loss += (1 + i % 3 / 2.0) *
                log1p(exp(b->is_click[i] ? -(double)logits[i] : (double)logits[i]));
    return loss / EXAMPLES;
}

/* By plain arrays, whose values can be changed; with a rate of 0 a step changes none of them. */
static void check_gradients(struct pool_member *m, void *ctr)
{
    static const uint32_t features[] = {1, 4, 6, 8};
    static const uint16_t fields[] = {0, 1, 2, 2};
    static const float values[] = {1, 0.5F, -1, 2};
    const struct pool_table *t = &m->pool->tables[CTR_FEATURES];
    struct ctr *c = ctr;
    CLOSED_BY(wide_deep_close) struct wide_deep w;
    CLOSED_BY(click_batch_close) struct click_batch b;
    CLOSED_BY(places_fini) struct places places;
    for (uint64_t i = 0; i < t->rows * t->stride; i++)
        t->values[i] = (float)(i % t->stride <= DIM ? 2 * rng_real(&rng) - 1 : 1); /* sums: 1 */
    dense_rows_init(&c->plan, m, CTR_LAYERS, 11, NULL, 0);
    wide_deep_open(&w, c, m, EXAMPLES);
    click_batch_open(&b, EXAMPLES, ctr_entries(c, EXAMPLES));
    places_init(&places, ctr_entries(c, EXAMPLES));
    click_batch_clear(&b, &places);
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        uint32_t own[4];
        for (uint32_t j = 0; j < 4; j++) own[j] = (features[j] + (j < 2 ? i : 0)) % FEATURES;
        struct click x = {.count = 3 + i % 2,
                          .feature = own,
                          .field = fields,
                          .value = values,
                          .weight = 1 + (float)(i % 3) / 2,
                          .is_click = i % 3 == 0};
        click_batch_add(&b, &places, &x);
    }
    CHECK_EQ(b.key_count, FEATURES); /* of 21 entries */
    double trained = wide_deep_train(&w, &b) / EXAMPLES;
    CHECK(fabs(trained - loss_of(&w, &b)) < 1e-5);
    for (uint32_t i = 0; i < b.key_count; i++) {
        for (uint32_t j = 0; j <= DIM; j++) {
            const float by = 2e-3F;
            float *at = t->values + b.keys[i] * t->stride + j, before = *at;
            *at = before + by;
            double above = loss_of(&w, &b);
            *at = before - by;
            double slope = (above - loss_of(&w, &b)) / (2 * (double)by);
            double gradient = (double)w.gradients[i * (DIM + 1) + j];
            *at = before;
            if (!(fabs(gradient - slope) < 2e-3 + 0.02 * fabs(slope)))
                test_fail(__FILE__, __LINE__, "key %u, %u: gradient %g, slope %g", i, j, gradient,
                          slope);
        }
    }
}

TEST(wide_deep, gradients_of_features_are_slopes)
{
    static struct ctr c = {.options = {.dim = DIM, .batch = EXAMPLES},
                           .train = EXAMPLES,
                           .features = FEATURES,
                           .fields = FIELD_COUNT};
    clicks_init(&c.clicks); /* as many entries as ours */
    for (uint32_t i = 0; i < EXAMPLES; i++) {
        for (uint32_t j = 0; j < 4; j++) clicks_add(&c.clicks, 0, 0, 0);
        clicks_end(&c.clicks, false, 1);
    }
    dense_plan_add(&c.plan, (size_t)FIELD_COUNT * DIM, 7, true);
    dense_plan_add(&c.plan, 7, 1, false);
    struct locus_table tables[] = {
        {.rows = FEATURES, .length = DIM + 1, .optimizer = LOCUS_ADAGRAD},
        {.rows = c.plan.rows, .length = c.plan.length, .optimizer = LOCUS_ADAGRAD},
        {.rows = 1, .length = CTR_SCORES_OF_ROW},
    };
    pools_run(tables, 3, 1, true, check_gradients, &c);
    clicks_fini(&c.clicks);
}

/* ---- bins ---- */
