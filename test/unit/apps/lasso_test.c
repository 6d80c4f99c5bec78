/* The losses of lasso: products are slopes, steps never go up, and what they come to is the least
 * there is. */
#include "common/folder.h"
#include "ending.h"
#include "lasso/lasso_loss.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 24, COLUMNS = 4 };

/* Sparse columns with a mean, a dense one, and a constant one. */
static double value_at(int row, int column)
{
    switch (column) {
    case 0: return row % 3 == 0 ? 1 + 0.1 * row : 0;
    case 1: return row % 5 == 1 ? 2 : 0;
    case 2: return sin(7.3 * row) + 0.5;
    default: return 3;
    }
}

static bool is_one(int row)
{
    return sin(7.3 * row) + (row % 3 == 0) + 0.8 * cos(3.1 * row * row) > 0.4;
}

static struct lasso read_data(struct lasso_options options, const char *zero, const char *one)
{
    struct lasso l = {.options = options};
    char text[8192] = "", *at = text;
    for (int r = 0; r < ROWS; r++) {
        at += sprintf(at, "\n%s", is_one(r) ? one : zero);
        for (int j = 0; j < COLUMNS; j++)
            if (fabs(value_at(r, j)) > 0) at += sprintf(at, " %d:%.17g", j + 1, value_at(r, j));
    }
    columns_load(&l.columns, folder_file(text, 0), NULL);
    lasso_loss_prepare(&l);
    return l;
}

static uint64_t from(const struct lasso *l, uint64_t j)
{
    return l->columns.start[j];
}

/* ---- files ---- */

struct files {
    const char *matrix, *response, *part; /* what is in them; the second may be NULL */
};

static void load_files(struct columns *c, const struct files *f)
{
    char folder[FOLDER_PATH_BYTES], matrix[2 * FOLDER_PATH_BYTES], response[2 * FOLDER_PATH_BYTES];
    folder_new(folder);
    folder_write(folder, "matrix", f->matrix, 0);
    if (f->response) folder_write(folder, "response", f->response, 0);
    snprintf(matrix, sizeof matrix, "%s/matrix", folder);
    snprintf(response, sizeof response, "%s/response", folder);
    columns_load(c, matrix, f->response ? response : NULL);
}

static void load_only(const void *files)
{
    struct columns c;
    load_files(&c, files);
}

#define BANNER "%%MatrixMarket matrix coordinate real general\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

TEST(lasso, columns_are_the_same_from_any_format)
{
    static const struct files files[] = {
        {.matrix = "1 1:2 3:4\n2.5 2:1\n-3 1:1\n"},
        {.matrix = "\n# made\n1 3:4 1:2 # one\r\n2.5 2:1#\n% x\n-3\t1:1 \n\n#\n"},
        {BANNER "3 3 4\n1 1 2\n1 3 4\n2 2 1\n3 1 1\n", ARRAY "3 1\n1\n2.5\n-3\n", ""},
        {BANNER "3 3 4\n3 1 1\n1 3 4\n2 2 1\n1 1 2\n", BANNER "3 1 3\n1 1 1\n3 1 -3\n2 1 2.5\n",
         ""},
        {ARRAY "3 3\n2\n0\n1\n0\n1\n0\n4\n0\n0\n", ARRAY "3 1\n1\n2.5\n-3\n", ""}};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CLOSED_BY(columns_fini) struct columns c;
        load_files(&c, &files[i]);
        CHECK(c.rows == 3 && c.count == 3 && c.names.count == 0);
        CHECK(fabs(c.mean[0] - 1) < 1e-12 && fabs(c.response_mean - 0.5 / 3) < 1e-12);
        if (i == 0) first = columns_digest(&c);
        if (columns_digest(&c) != first)
            test_fail(__FILE__, __LINE__, "other columns: %s", files[i].matrix);
    }
}

TEST(lasso, columns_of_large_numbers_are_named)
{
    static const struct files files[] = {{.matrix = "1 1:2 1000000000:4\n2.5 2:1\n-3 1:1\n"},
                                         {BANNER
                                          "3 1000000000 4\n1 1 2\n1 1000000000 4\n2 2 1\n3 1 1\n",
                                          ARRAY "3 1\n1\n2\n3\n", ""}};
    for (size_t i = 0; i < 2; i++) {
        CLOSED_BY(columns_fini) struct columns c;
        load_files(&c, &files[i]);
        CHECK(c.count == 3 && fabs(c.mean[0] - 1) < 1e-12 && fabs(c.mean[2] - 4 / 3.0) < 1e-12);
        CHECK_STR(names_get(&c.names, 2), "1000000000");
    }
}

/* Columns have unit norm, whatever their values are measured in; so have responses. */
TEST(lasso, columns_and_responses_may_be_of_any_size)
{
    static const struct {
        const char *text;
        double response, columns[2]; /* how much larger they are than the first */
    } cases[] = {{"1 1:1 2:3\n2 1:2\n4 2:5\n3 1:7 2:1\n", 1, {1, 1}},
                 {"1e100 1:1e200 2:3e-200\n2e100 1:2e200\n4e100 2:5e-200\n3e100 1:7e200 2:1e-200\n",
                  1e100,
                  {1e200, 1e-200}},
                 {"1e-100 1:1 2:3\n2e-100 1:2\n4e-100 2:5\n3e-100 1:7 2:1\n", 1e-100, {1, 1}}};
    struct lasso l[3] = {{.options.alpha = 1}};
    for (int i = 0; i < 3; i++) {
        const struct columns *c = &l[i].columns, *first = &l[0].columns;
        l[i] = (struct lasso){.options.alpha = 1};
        load_files(&l[i].columns, &(struct files){.matrix = cases[i].text});
        lasso_loss_prepare(&l[i]);
        CHECK_EQ(c->start[2], first->start[2]);
        for (uint64_t k = 0; k < c->start[2]; k++)
            CHECK(fabsf(c->value[k] - first->value[k]) < 1e-6F);
        for (int j = 0; j < 2; j++)
            CHECK(fabs(c->norm[j] / first->norm[j] / cases[i].columns[j] - 1) < 1e-9);
        CHECK(i > 0 || (c->unit <= 1 && c->unit >= 1)); /* as it is */
        CHECK(fabs(l[i].largest * c->unit / l[0].largest / cases[i].response - 1) < 1e-6);
        CHECK(l[i].largest > 0.1 && l[i].largest < 100);
        CHECK(fabs(c->response_mean / cases[i].response - 2.5) < 1e-12);
    }
    for (int i = 0; i < 3; i++) columns_fini(&l[i].columns);
}

TEST(lasso, columns_that_are_constant_are_so_to_the_last_digit)
{
    char text[256] = "";
    CLOSED_BY(columns_fini) struct columns c;
    for (int i = 1; i <= 6; i++) sprintf(text + strlen(text), "0.1 1:0.1 2:100000000000%d\n", i);
    load_files(&c, &(struct files){.matrix = text});
    CHECK_EQ(c.start[1], 0);
    CHECK_EQ(c.start[2], 6); /* differences of a millionth of a millionth are data */
    CHECK(fabs(c.norm[1] - sqrt(17.5)) < 1e-9);
    CHECK(c.response_squares <= 0);
}

TEST(lasso, wrong_columns_and_responses_are_refused)
{
#define MATRIX BANNER "3 3 1\n1 1 2\n"
    static const struct files cases[] = {
        {"% no banner\n3 3 4\n1 1 2\n", NULL, ":2: \"3\" is no index: must be index:value"},
        {"1 1:2\n", ARRAY "1 1\n1\n", "is not MatrixMarket: --response is for MatrixMarket"},
        {"1 1:NA\n", NULL, ":1: \"NA\" is no value"},
        {"1 1:1e308\n", NULL, ":1: \"1e308\" is no value: is too large"},
        {"-1.797693e308 1:1\n", NULL, ":1: \"-1.797693e308\" is no response: is too large"},
        {BANNER "3 3 1\n1 1 1e308\n", ARRAY "3 1\n1\n2\n3\n", "\"1e308\" is no value: is too"},
        {MATRIX, ARRAY "3 1\n1\n2\n1e308\n", "\"1e308\" is no value: is too large"},
        {MATRIX, ARRAY "2 1\n1\n2\n", "has 2 rows, and the matrix has 3"},
        {MATRIX, "1\n2\n3\n", "has no banner: must be MatrixMarket"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ends_with(load_only, &cases[i], 1, cases[i].part);
}

/* ---- slopes ---- */

static void change(struct lasso_loss *s, uint64_t j, double by)
{
    lasso_loss_change(s, j, from(s->lasso, j), from(s->lasso, j + 1), by);
}

static struct lasso_slope slope_at(const struct lasso_loss *s, uint64_t j)
{
    return lasso_loss_product(s, from(s->lasso, j), from(s->lasso, j + 1));
}

/* What the loss falls by where the coefficient grows a little, and what that falls by. */
static struct lasso_slope measured(struct lasso_loss *s, uint64_t j)
{
    const double little = 1e-5, more = 1e-4;
    change(s, j, little);
    double above = lasso_loss_value(s);
    change(s, j, -2 * little);
    double below = lasso_loss_value(s);
    change(s, j, little + more);
    double slope_above = slope_at(s, j).product;
    change(s, j, -2 * more);
    double slope_below = slope_at(s, j).product;
    change(s, j, more);
    return (struct lasso_slope){(below - above) / (2 * little),
                                (slope_below - slope_above) / (2 * more)};
}

/* The longer one of the steps by both bounds: by a quarter of the square, and by the curvature,
 * which grows by the largest value on the way. Solved here by halving. */
static double step_of(const struct lasso *l, uint64_t j, double slope, double curvature)
{
    double square = 1 + ROWS * l->columns.shift[j] * l->columns.shift[j], largest = 0, near = 0;
    for (uint64_t i = from(l, j); i < from(l, j + 1); i++)
        largest = fmax(largest, fabs((double)l->columns.value[i]));
    double far = 1000;
    for (int n = 0; n < 100; n++) {
        double middle = (near + far) / 2;
        if (curvature * (exp(largest * middle) - 1) / largest < fabs(slope)) {
            near = middle;
        } else {
            far = middle;
        }
    }
    return copysign(fmax(near, fabs(slope) / (square / 4)), slope);
}

/* Squares: of centred columns, which product and shift make up together. The best value is then
 * the old one and the slope. */
static void check_slopes(int loss)
{
    struct lasso l = read_data((struct lasso_options){.loss = loss, .alpha = 1}, "-1", "1");
    struct lasso_loss s;
    lasso_loss_open(&s, &l, 0, ROWS);
    for (int round = 0; round < 3; round++)
        for (uint64_t j = 0; j + 1 < COLUMNS; j++) {
            struct lasso_slope known = measured(&s, j), at = slope_at(&s, j);
            double slope = known.product;
            double best = lasso_loss_best(&s, j, at, s.shift, 0.25, 0);
            if (loss == LASSO_LOGISTIC) {
                CHECK(fabs(at.product - slope) < 1e-6);
                CHECK(fabs(at.curvature - known.curvature) < 1e-6);
                slope = step_of(&l, j, at.product, at.curvature);
            }
            CHECK(fabs(best - 0.25 - slope) < 1e-6);
            change(&s, j, j == 1 ? -0.7 : 0.9);
            lasso_loss_step(&s, (struct lasso_slope){round - 1.0, 1});
        }
    CHECK_EQ(l.columns.norm[COLUMNS - 1], 0); /* a constant one has no coefficient */
    CHECK_EQ(lasso_loss_best(&s, COLUMNS - 1, (struct lasso_slope){1, 1}, 0, 0.25, 0), 0);
    lasso_loss_close(&s);
    columns_fini(&l.columns);
}

TEST(lasso_loss, products_are_slopes)
{
    check_slopes(LASSO_SQUARED);
    check_slopes(LASSO_LOGISTIC);
}

/* ---- the least ---- */

/* Two workers, each with half of the rows, who sum up their products. */
struct halves {
    struct lasso_loss s[2];
    uint64_t from[2][COLUMNS], to[2][COLUMNS];
    double b[COLUMNS];
};

static void open_halves(struct halves *h, const struct lasso *l)
{
    *h = (struct halves){0};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t first = i * ROWS / 2, end = (i + 1) * ROWS / 2;
        lasso_loss_open(&h->s[i], l, first, end);
        for (uint32_t j = 0; j < COLUMNS; j++) {
            h->from[i][j] = columns_find(&l->columns, j, first);
            h->to[i][j] = columns_find(&l->columns, j, end);
        }
    }
}

/* What a coefficient of glmnet's would be, whose columns have a variance of 1, or are as they
 * are: beside ours, whose columns have unit norm. */
static double as_glmnets(const struct lasso *l, int j)
{
    if (l->columns.norm[j] <= 0) return 0;
    return l->options.is_raw ? 1 / l->columns.norm[j] : 1 / sqrt(ROWS);
}

static double objective(const struct halves *h, double lambda)
{
    double sum = lasso_loss_value(&h->s[0]) + lasso_loss_value(&h->s[1]);
    for (uint64_t j = 0; j < COLUMNS; j++)
        sum += lambda * lasso_loss_penalty(h->s[0].lasso, j, h->b[j]);
    return sum;
}

/* What the loss falls by, of all rows. */
static struct lasso_slope slope_of(const struct halves *h, uint64_t j)
{
    struct lasso_slope sum = {0};
    for (int i = 0; i < 2; i++) {
        struct lasso_slope its = lasso_loss_product(&h->s[i], h->from[i][j], h->to[i][j]);
        sum.product += its.product;
        sum.curvature += its.curvature;
    }
    return sum;
}

static struct lasso_slope intercept_slope(const struct halves *h)
{
    struct lasso_slope a = lasso_loss_slope(&h->s[0]), b = lasso_loss_slope(&h->s[1]);
    return (struct lasso_slope){a.product + b.product, a.curvature + b.curvature};
}

static void step(struct halves *h, uint64_t j, double lambda)
{
    double old = h->b[j];
    h->b[j] = lasso_loss_best(&h->s[0], j, slope_of(h, j), h->s[0].shift, old, lambda);
    for (int i = 0; i < 2; i++)
        lasso_loss_change(&h->s[i], j, h->from[i][j], h->to[i][j], h->b[j] - old);
}

/* The least, as the conditions of it say: slopes are the penalty's where there is a coefficient,
 * and no steeper than it begins where there is none; the intercept's is 0. */
static void check_conditions(const struct halves *h, double lambda)
{
    const struct lasso *l = h->s[0].lasso;
    const struct columns *c = &l->columns;
    CHECK(fabs(intercept_slope(h).product) < 1e-6);
    int nonzero = 0;
    for (int j = 0; j + 1 < COLUMNS; j++) {
        double by = as_glmnets(l, j), first = sqrt(ROWS) * lambda * l->options.alpha * by;
        double squares = sqrt(ROWS) * lambda * (1 - l->options.alpha) * by * by * h->b[j];
        double sum = slope_of(h, (uint64_t)j).product + h->s[0].shift * ROWS * c->shift[j];
        if (fabs(h->b[j]) > 0) {
            CHECK(fabs(sum - copysign(first, h->b[j]) - squares) < 1e-6);
            nonzero++;
        } else {
            CHECK(fabs(sum) <= first + 1e-6);
        }
    }
    CHECK(nonzero > 0);
}

static double first_of(const struct halves *h, uint64_t j, double lambda)
{
    return lasso_loss_best(&h->s[0], j, slope_of(h, j), h->s[0].shift, 0, lambda);
}

/* At the largest lambda nothing is left, and just below something is. */
static void check_largest(const struct halves *h, double largest)
{
    int left = 0;
    for (uint64_t j = 0; j < COLUMNS; j++) {
        CHECK(fabs(first_of(h, j, largest * (1 + 1e-6))) <= 0);
        left += fabs(first_of(h, j, largest * 0.999)) > 0;
    }
    CHECK_EQ(left, 1);
}

static void descend(const struct lasso *l, double lambda)
{
    double before = INFINITY;
    struct halves h;
    open_halves(&h, l);
    check_largest(&h, l->largest);
    for (int n = 0; n < 5000 + 5000 / COLUMNS; n++) {
        int at = n % (COLUMNS + 1);
        const struct lasso_slope slope = intercept_slope(&h);
        if (at < COLUMNS)
            step(&h, (uint64_t)at, lambda);
        else
            for (int w = 0; w < 2; w++) lasso_loss_step(&h.s[w], slope);
        CHECK(objective(&h, lambda) <= before + 1e-12);
        before = objective(&h, lambda);
    }
    check_conditions(&h, lambda);
    for (int w = 0; w < 2; w++) lasso_loss_close(&h.s[w]);
}

TEST(lasso_loss, steps_never_go_up_and_end_at_the_least)
{
    static const double ratios[] = {0.5, 0.1, 0.01};
    static const struct lasso_options options[] = {
        {.loss = LASSO_LOGISTIC, .alpha = 1},
        {.loss = LASSO_LOGISTIC, .alpha = 0.3},
        {.loss = LASSO_LOGISTIC, .alpha = 0.7, .is_raw = true},
        {.loss = LASSO_SQUARED, .alpha = 0.3},
        {.loss = LASSO_SQUARED, .alpha = 1, .is_raw = true}};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        struct lasso l = read_data(options[o], "1", "2");
        for (int i = 0; i < 3; i++) descend(&l, ratios[i] * l.largest);
        columns_fini(&l.columns);
    }
}
