/* The parts of ctr: what is read, how clicks are judged, and the gradients. */
#include "common/folder.h"
#include "ctr/bins.h"
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

/* Reads two texts; in the order in which they stand. */
static void read_texts(struct clicks *c, struct clicks_source s, const char *train,
                       const char *test)
{
    char path[FOLDER_PATH_BYTES];
    snprintf(path, sizeof path, "%s", folder_file(train, 0));
    clicks_init(c);
    s.train = path;
    s.test = folder_file(test, 0);
    uint64_t count = clicks_read(c, &s);
    clicks_finish(c, &(struct clicks_split){.train = count, .seed = 1});
    for (uint64_t i = 0; i < c->count; i++) c->order[i] = (uint32_t)i;
}

struct reading {
    struct clicks_source source;
    const char *train, *test, *said;
};

static void read_both(const void *reading)
{
    const struct reading *r = reading;
    CLOSED_BY(clicks_fini) struct clicks c;
    read_texts(&c, r->source, r->train, r->test);
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

/* How many features there are, examples as "+field:feature..." or "-...", those to test with behind
 * |, and the names of features; or what is complained of. */
static void check_readings(const struct reading *r, size_t count, int status)
{
    for (size_t i = 0; i < count; i++) ends_with(read_both, &r[i], status, r[i].said);
}

#define READS(list) check_readings(list, sizeof(list) / sizeof *(list), 0)
#define REFUSES(list) check_readings(list, sizeof(list) / sizeof *(list), 1)

static const struct clicks_source none = {0}, two = {.bins = 2}, nine = {.bins = 9};

TEST(ctr_files, libsvm_and_libffm_have_fields)
{
    static const struct clicks_source of_2 = {.positive = "2"};
    const struct reading readings[] = {
        /* by position where all have as many */
        {none, "1 3:1 7:0.5\n-1 3:1 \t9:1\r\n", "+1 2:1 9:2\n", "10+0:3,1:7-0:3,1:9 |+0:2,1:9\n"},
        {none, "1 3:1 7:0.5\n-1 3:1\n", "0 2:1\n", "8+0:3,0:7-0:3 |-0:2\n"},
        {none, "1 0:3:1 4:7:0.5 4:8:0.5\n0 2:1:1\n", "1 2:1:1\n", "9+0:3,4:7,4:8-2:1 |+2:1\n"},
        {none, "0\n0 2:1 7:1\n1 5:1\n", "1\n", "8--0:2,0:7+0:5 |+\n"},
        /* a large number is no size */
        {none, "1 1:1 500000000:1\n0 2:1\n", "1 500000000:1\n",
         "3+0:0,0:2-0:1 |+0:2 1 2 500000000\n"},
        {none, "1 1:1 2:1\n0 3:1\n", "1 0:1 1:1\n0 2:1 3:0\n", "4+0:1,0:2-0:3 |+0:0,0:1-0:2,0:3\n"},
        {of_2, "2 1:1\n1 2:1\n", "1 1:1\n", "3+0:1-0:2 |-0:1\n"}};
    READS(readings);
    CLOSED_BY(clicks_fini) struct clicks c;
    read_texts(&c, none, "1 1:1\n0 1:0.5 2:1 3:1 4:1\n0 2:1 3:1\n", "1 1:1 2:2\n");
    CHECK(clicks_get(&c, 1).value[0] == 0.5F && clicks_get(&c, 3).value[1] == 2);
    CHECK(clicks_entries(&c, 1) == 4 && clicks_entries(&c, 3) == 8 && clicks_entries(&c, 99) == 9);
}

#define TABS_25 "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t"
#define CRITEO(label, number, word) label "\t" number "\t\t\t\t\t\t\t\t\t\t\t\t\t" word TABS_25 "\n"
#define TENS_60 "111111111111111111111111111111111111111111111111111111111111"

TEST(ctr_files, criteo_has_numbers_and_categories)
{
    const struct reading readings[] = {
        /* the logarithms are alike; ef was not trained with */
        {none, CRITEO("1", "2", "ab") CRITEO("0", "1000", "cd"), CRITEO("1", "1001", "ef"),
         "4+0:0,13:1-0:2,13:3 |+0:2 I1=2 C1=ab I1=l47 C1=cd\n"},
        {none, CRITEO("1", TENS_60, "ab") CRITEO("0", "NA", "ab"), CRITEO("1", "NA", "ab"),
         "2+0:0,13:1-13:1 |+13:1 I1=l18484 C1=ab\n"}};
    READS(readings);
    CLOSED_BY(clicks_fini) struct clicks c;
    read_texts(&c, (struct clicks_source){.hash_bits = 5}, readings[0].train, readings[0].test);
    CHECK(c.feature_count == 32 && clicks_get(&c, 2).count == 2);
    CHECK_EQ(clicks_get(&c, 1).feature[0], clicks_get(&c, 2).feature[0]);
}

#define ROWS "20,x,0\n40,y,1\n60,x,1\n"
#define OF_ROWS "4-0:0,1:1+0:0,1:2+0:3,1:1 |-0:0,1:2 1=[-inf,60) 2=x 2=y 1=[60,inf)\n"

TEST(ctr_files, columns_of_numbers_are_cut_and_words_are_features)
{
    static const struct clicks_source income = {.positive = ">50K.", .bins = 2},
                                      yes = {.label = "bought", .positive = "yes", .bins = 9},
                                      click = {.bins = 2, .label = "click"};
    const struct reading readings[] = {
        /* two parts; x, y and none; 5 and 6. z was not trained with. A full stop is passed over */
        {income, "1, x, 5, >50K\n2, y, 5, <=50K\n3, ?, 6, <=50K\n4, x, 6, >50K\n",
         "|a heading\n9, z, 5, >50K.\n0, x, 7, <=50K.\n",
         "7+0:0,1:1,2:2-0:0,1:3,2:2-0:4,1:5,2:6+0:4,1:1,2:6 |+0:4,2:2-0:0,1:1 1=[-inf,3) "},
        {yes, "bought,what\nyes,\"book\"\nno,pen\n", "bought,what\nno,book\nyes,pen\n",
         "2+0:0-0:1 |-0:0+0:1 2=book 2=pen\n"},
        /* columns to test with are found by name, and more are passed over */
        {two, ROWS, "50,y,0\n", OF_ROWS},
        {two, "age,name,click\n" ROWS, "click,more,name,age\n0,7,y,50\n", "4-0:0,1:1+0:0,1:2+0:3,"},
        {click, "age\tname\tclick\n20\tx\t0\n40\ty\t1\n60\tx\t1\n", "click;age;name\n0;50;y\n",
         "4-0:0,1:1+0:0,1:2+0:3,1:1 |-0:0,1:2 "},
        /* what is missing is no word of a column of numbers, and one of a column of words */
        {two, ROWS "NULL,x,1\n50,?,1\n", "NA,x,1\n",
         "6-0:0,1:1+0:0,1:2+0:3,1:1+0:4,1:1+0:3,1:5 |+0:4,1:1 "},
        /* a word is one however often it comes; those of the test alone are none */
        /* numbers that are equal are one feature, and long ones are not rounded */
        {nine, "1.0,a,0.0\n2.50,b,1.0\n", "2.5,a,1\n", "4-0:0,1:1+0:2,1:3 |+0:2,1:1 "},
        {nine, "-0,1e+05,0\n.5,007,1\n", "5e-1,+100000.0,1\n", "4-0:0,1:1+0:2,1:3 |+0:2,1:1 "},
        /* versions, ranges and days are words, each of them */
        {two,
         "1.2.3\t10-20\t2024-01-01\t0\n1.2.4\t20-30\t2024-01-02\t1\n10.0.0.7\t5-10\t2024-02-01\t1\n",
         "1.2.3\t10-20\t2024-01-01\t0\n", "9-0:0,1:1,2:2+0:3,1:4,2:5+0:6,1:7,2:8 |-0:0,1:1,2:2 "}};
    READS(readings);
}

TEST(ctr_files, columns_have_kinds_and_weights_are_no_features)
{
    static const float weights[] = {0.5F, 3, 0, 2};
    static const int64_t kinds[] = {CLICKS_WEIGHT, CLICKS_LABEL, CLICKS_WORDS, CLICKS_NUMBERS};
    CLOSED_BY(clicks_fini) struct clicks c;
    struct clicks_source s = {.weight = "many", .label = "y", .bins = 2};
    read_texts(&c, s, "many,y,x,z\n0.5,1,a,5\n3,0,b,5\n", "x,many,y,z\nb,0,1,5\na,2,0,5\n");
    CHECK(c.field_count == 2 && c.feature_count == 3 && c.columns.count == 4);
    for (uint64_t i = 0; i < 4; i++) CHECK(clicks_get(&c, i).weight == weights[i]);
    CHECK_EQ(memcmp(c.columns.kind, kinds, sizeof kinds), 0);
}

TEST(ctr_files, digests_tell_names_apart)
{
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        CLOSED_BY(clicks_fini) struct clicks c;
        read_texts(&c, nine, i < 2 ? "x,1\ny,0\n" : "x,1\nz,0\n", "x,1\n");
        digests[i] = clicks_digest(&c);
    }
    CHECK(digests[0] == digests[1] && digests[0] != digests[2]);
}

/* Of one column of so many different numbers, cut into 64 bins at most. */
TEST(ctr_files, few_examples_have_few_bins)
{
    static const uint32_t cases[][2] = {{16, 16}, {100, 16}, {32 * 20, 20}, {32 * 100, 64}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CLOSED_BY(clicks_fini) struct clicks c;
        CLOSED_BY(free_at) char *text = take_memory(cases[k][0], 24);
        size_t at = 0;
        for (unsigned i = 0; i < cases[k][0]; i++)
            at += (size_t)sprintf(text + at, "%u.5,%u\n", i, i % 2);
        read_texts(&c, (struct clicks_source){.bins = 64}, text, "0.5,0\n");
        CHECK_EQ(c.feature_count, cases[k][1]);
    }
}

TEST(ctr_files, weights_that_are_none_are_refused)
{
    static const char good[] = "w,x,y\n1,a,1\n2,b,0\n";
    const struct clicks_source s = {.weight = "w", .bins = 2};
    const struct reading refusals[] = {
        {s, good, "w,x,y\n-1,a,0\n", ":2: its weight, -1, must be 0, or from 1e-9 to"},
        {s, "v,x,y\n1,a,1\n2,b,0\n", good, "no column has the name \"w\" (--weight)"},
        {s, "1 1:1\n0 2:1\n", "1 1:1\n", "--weight is for separated fields"}};
    REFUSES(refusals);
}

TEST(ctr_files, examples_that_cannot_be_told_are_refused)
{
    static const struct clicks_source label = {.bins = 2, .label = "click"};
    const struct reading refusals[] = {
        /* numbers of features and fields that may begin with 0 or 1 */
        {none, "1 1:1 2:1\n0 3:1\n", "1 0:1 1:1\n0 2:1\n", "numbers features from 0 to 2, and"},
        {two, "age,click\n1,0\n2,1\n", "1,0\n", "has no heading, and "},
        {two, "age,z,click\n1,7,0\n2,8,1\n", "age,click\n1,0\n", "has no column \"z\", which "},
        {two, "1,0\n2,1\n3,0\n", "x,1\n", "\"x\" is no number; all others in column 1 are"},
        {two, "label,age\n0,1\n1,2\n", "", "its column \"label\" is not the last: --label"},
        {two, "x,1\nx,0\nx,-1\n", "", ":3: has the label -1, and another line has 0: --positive"},
        {label, "1 1:1\n0 1:1\n", "", "--label is for separated fields, and "},
        {two, "1\t0\n2\t1\n3\t0\n4\t0\n5\t0\n6\t0\n7\t0\n8\t0\n950\t0\n1,050\t1\n", "",
         ":10: \"1,050\", in column 1, is no number, but seems to be one"},
        {two, "1%\t1\n2%\t0\n3%\t1\n4%\t0\n5%\t1\n6%\t0\n7%\t1\n8%\t0\n9%\t1\n", "",
         "in column 1, is no number, but seems to be one"}};
    REFUSES(refusals);
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

enum { BINS_VALUES = 10000 };

/* Nine in ten have one value, which is the least, in the middle, or the greatest: it has a bin alone,
 * and the others share the rest. */
TEST(bins, cut_gives_a_frequent_value_a_bin_of_its_own)
{
    static const double frequent[] = {-1, 500.5, 1000};
    static double values[BINS_VALUES], cuts[16];
    for (int place = 0; place < 3; place++) {
        const double alone = frequent[place];
        size_t in[16] = {0}, before = 0, behind = 0; /* cuts at the value, and at the next */
        for (size_t i = 0; i < BINS_VALUES; i++)
            values[i] = i < 1000 ? (double)(i * 7 % 1000) : alone;
        CHECK_EQ(bins_cut(values, BINS_VALUES, 16, cuts), 15);
        for (size_t i = 0; i < 15; i++) {
            CHECK(i == 0 || cuts[i] > cuts[i - 1]);
            before += !(cuts[i] < alone) && !(cuts[i] > alone);
            behind += cuts[i] > alone && cuts[i] < alone + 1.5;
        }
        CHECK(before == (place > 0) && behind == (place < 2));
        for (size_t i = 0, bin = 0; i < BINS_VALUES; i++, bin = 0) { /* they are sorted now */
            while (bin < 15 && values[i] >= cuts[bin]) bin++;
            in[bin] += values[i] < alone || values[i] > alone;
            CHECK(in[bin] <= 75);
        }
    }
}

/* Several such values, and fewer bins than what lies between them. */
TEST(bins, cut_makes_no_more_bins_than_asked_for)
{
    static double values[BINS_VALUES], cuts[16];
    for (size_t bins = 2; bins <= 16; bins++)
        for (size_t heavy = 1; heavy < 20; heavy++) {
            for (size_t i = 0; i < 4000; i++) values[i] = (double)(i < 100 ? i : i % heavy * 5 + 2);
            size_t found = bins_cut(values, 4000, bins, cuts);
            CHECK(found >= 1 && found < bins);
            for (size_t i = 1; i < found; i++) CHECK(cuts[i] > cuts[i - 1]);
        }
    for (size_t i = 0; i < 100; i++) values[i] = (double)(i % 4);
    CHECK_EQ(bins_cut(values, 100, 4, cuts), 0);
    CHECK_EQ(bins_cut(values, 100, 3, cuts), 2);
}
