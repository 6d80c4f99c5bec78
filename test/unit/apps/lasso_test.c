/* lasso's files, and its loss: products are slopes, steps never go up, and what they come to is the
 * least there is. */
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

static void read_text(struct columns *c, const char *text)
{
    struct cells cells = {0};
    const char *path = folder_file(text, 0);
    cells_read(&cells, path);
    cells_finish(&cells, c, path);
}

static void read_data(struct columns *c)
{
    char text[8192] = "", *at = text;
    for (int r = 0; r < ROWS; r++) {
        at += sprintf(at, "%.17g", sin(7.3 * r) + (r % 3 == 0) + 0.8 * cos(3.1 * r * r));
        for (int j = 0; j < COLUMNS; j++)
            if (fabs(value_at(r, j)) > 0) at += sprintf(at, " %d:%.17g", j + 1, value_at(r, j));
        at += sprintf(at, "\n");
    }
    read_text(c, text);
}

/* ---- files ---- */

TEST(lasso, columns_are_read_in_any_order_within_a_line)
{
    CLOSED_BY(columns_fini) struct columns c;
    CLOSED_BY(columns_fini) struct columns same;
    read_text(&c, "1 1:2 3:4\n2.5 2:1\n-3 1:1\n");
    read_text(&same, "1.0 3:4 1:2.0\n25e-1 2:1\n-3 1:+1");
    CHECK(c.rows == 3 && c.count == 3 && c.names.count == 0);
    CHECK(fabs(c.mean[0] - 1) < 1e-12 && fabs(c.response_mean - 0.5 / 3) < 1e-12);
    CHECK_EQ(columns_digest(&c), columns_digest(&same));
}

TEST(lasso, columns_of_large_numbers_are_named)
{
    CLOSED_BY(columns_fini) struct columns c;
    read_text(&c, "1 1:2 1000000000:4\n2.5 2:1\n-3 1:1\n");
    CHECK(c.count == 3 && fabs(c.mean[0] - 1) < 1e-12 && fabs(c.mean[2] - 4 / 3.0) < 1e-12);
    CHECK_STR(names_get(&c.names, 2), "1000000000");
    CHECK_EQ(columns_number(&c.names, 2), 1000000000);
    CHECK_EQ(columns_find_number(&c.names, c.count, 1000000000), 2);
    CHECK_EQ(columns_find_number(&c.names, c.count, 3), NAMES_NONE);
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
    struct columns all[3];
    for (int i = 0; i < 3; i++) {
        const struct columns *c = &all[i], *first = &all[0];
        read_text(&all[i], cases[i].text);
        CHECK_EQ(c->start[2], first->start[2]);
        for (uint64_t k = 0; k < c->start[2]; k++)
            CHECK(fabsf(c->value[k] - first->value[k]) < 1e-6F);
        for (int j = 0; j < 2; j++)
            CHECK(fabs(c->norm[j] / first->norm[j] / cases[i].columns[j] - 1) < 1e-9);
        CHECK(i > 0 || (c->unit <= 1 && c->unit >= 1)); /* as it is */
        double largest = lasso_loss_largest(c), wanted = lasso_loss_largest(first);
        CHECK(fabs(largest * c->unit / wanted / cases[i].response - 1) < 1e-6);
        CHECK(largest > 0.1 && largest < 100);
        CHECK(fabs(c->response_mean / cases[i].response - 2.5) < 1e-12);
    }
    for (int i = 0; i < 3; i++) columns_fini(&all[i]);
}

TEST(lasso, columns_that_are_constant_are_so_to_the_last_digit)
{
    char text[256] = "";
    CLOSED_BY(columns_fini) struct columns c;
    for (int i = 1; i <= 6; i++) sprintf(text + strlen(text), "0.1 1:0.1 2:100000000000%d\n", i);
    read_text(&c, text);
    CHECK_EQ(c.start[1], 0);
    CHECK_EQ(c.start[2], 6); /* differences of a millionth of a millionth are data */
    CHECK(fabs(c.norm[1] - sqrt(17.5)) < 1e-9);
    CHECK(c.response_squares <= 0);
}

static void read_only(const void *text)
{
    struct columns c;
    read_text(&c, text);
}

TEST(lasso, lines_that_are_no_examples_are_refused)
{
    static const char *const cases[][2] = {
        {"",
         " is empty. A line must be \"response index:value ..., indices from 1\"; \"locus prepare"},
        {"1\n2\n", " has no values. A line must be \"response"},
        {"1 0:2\n", ":1: has the index 0: they begin with 1"},
        {"1 1:2\n1 1:2 3:1 3:4\n", ":2: index 3 is given twice"},
        {"1 1000000000:2 7:1 1000000000:3\n", ":1: index 1000000000 is given twice"},
        {"1 1:2\n\n", ":2: is empty"},
        {"1 1:2\r\n", ":1: has a carriage return"},
        {"# made\n", ":1: \"#\" is no response: must be a number. A line must be \"response "
                     "index:value ..., indices from 1\"; \"locus prepare"},
        {"%%MatrixMarket matrix array real general\n", ":1: \"%%MatrixMarket\" is no response"},
        {"1,2,3\n", ":1: \"1,2,3\" is no response"},
        {"1 2 3\n", ":1: \"2\" is no index: must be index:value"},
        {"1 1:NA\n", ":1: \"NA\" is no value"},
        {"1 1:2:3\n", ":1: index 2 has a field before it"},
        {"1 1:2 \n", ":1: has two blanks between words, or one at the end"},
        {"1\t1:2\n", "is no response: must be a number"},
        {"1 1:1e308\n", ":1: \"1e308\" is no value: is too large"},
        {"-1.797693e308 1:1\n", ":1: \"-1.797693e308\" is no response: is too large"}};
    ENDS_EACH(read_only, 1, cases);
}

/* ---- the least ---- */

/* Two workers, each with half of the rows, who sum up their products. */
struct halves {
    struct columns columns;
    struct lasso_loss s[2];
    uint64_t from[2][COLUMNS], to[2][COLUMNS];
    double b[COLUMNS];
};

static void open_halves(struct halves *h)
{
    *h = (struct halves){0};
    read_data(&h->columns);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t first = i * ROWS / 2, end = (i + 1) * ROWS / 2;
        lasso_loss_open(&h->s[i], &h->columns, first, end);
        for (uint32_t j = 0; j < COLUMNS; j++) {
            h->from[i][j] = columns_find(&h->columns, j, first);
            h->to[i][j] = columns_find(&h->columns, j, end);
        }
    }
}

static void close_halves(struct halves *h)
{
    for (int i = 0; i < 2; i++) lasso_loss_close(&h->s[i]);
    columns_fini(&h->columns);
}

static double loss_of(const struct halves *h)
{
    return lasso_loss_value(&h->s[0]) + lasso_loss_value(&h->s[1]);
}

static double objective(const struct halves *h, double lambda)
{
    double sum = loss_of(h);
    for (int j = 0; j < COLUMNS; j++) sum += lambda * fabs(h->b[j]);
    return sum;
}

static double product_of(const struct halves *h, int j)
{
    return lasso_loss_product(&h->s[0], h->from[0][j], h->to[0][j]) +
           lasso_loss_product(&h->s[1], h->from[1][j], h->to[1][j]);
}

static double best_of(const struct halves *h, int j, double lambda)
{
    return lasso_loss_best(&h->columns, (uint64_t)j, product_of(h, j), h->s[0].shift, h->b[j],
                           lambda);
}

static void set(struct halves *h, int j, double to)
{
    for (int i = 0; i < 2; i++)
        lasso_loss_change(&h->s[i], (uint64_t)j, h->from[i][j], h->to[i][j], to - h->b[j]);
    h->b[j] = to;
}

/* What the loss falls by where the coefficient grows a little. */
static double slope_of(struct halves *h, int j)
{
    const double little = 1e-5, at = h->b[j];
    set(h, j, at + little);
    double above = loss_of(h);
    set(h, j, at - little);
    double below = loss_of(h);
    set(h, j, at);
    return (below - above) / (2 * little);
}

/* Of centred columns, which product and shift make up together. */
TEST(lasso_loss, best_value_is_the_old_one_and_the_slope)
{
    struct halves h;
    open_halves(&h);
    CHECK(fabs(h.columns.shift[0]) > 0.1 && fabs(h.columns.shift[2]) <= 0);
    for (int n = 0; n < 3 * (COLUMNS - 1); n++) {
        int j = n % (COLUMNS - 1);
        CHECK(fabs(best_of(&h, j, 0) - h.b[j] - slope_of(&h, j)) < 1e-6);
        set(&h, j, h.b[j] + (j == 1 ? -0.7 : 0.9));
    }
    CHECK_EQ(h.columns.norm[COLUMNS - 1], 0); /* a constant one has no coefficient */
    CHECK_EQ(lasso_loss_best(&h.columns, COLUMNS - 1, 1, 0, 0.25, 0), 0);
    close_halves(&h);
}

/* At the largest lambda nothing is left, and just below something is. */
TEST(lasso_loss, largest_lambda_is_the_least_that_leaves_nothing)
{
    struct halves h;
    int left = 0;
    open_halves(&h);
    double largest = lasso_loss_largest(&h.columns);
    for (int j = 0; j < COLUMNS; j++) {
        CHECK(fabs(best_of(&h, j, largest * (1 + 1e-6))) <= 0);
        left += fabs(best_of(&h, j, largest * 0.999)) > 0;
    }
    CHECK_EQ(left, 1);
    close_halves(&h);
}

/* The least, as the conditions of it say: slopes are the penalty's where there is a coefficient,
 * and no steeper than it begins where there is none. */
static void check_conditions(struct halves *h, double lambda)
{
    int nonzero = 0;
    for (int j = 0; j + 1 < COLUMNS; j++) {
        double slope = slope_of(h, j);
        if (fabs(h->b[j]) > 0) {
            CHECK(fabs(slope - copysign(lambda, h->b[j])) < 1e-6);
            nonzero++;
        } else {
            CHECK(fabs(slope) <= lambda + 1e-6);
        }
    }
    CHECK(nonzero > 0);
}

TEST(lasso_loss, steps_never_go_up_and_end_at_the_least)
{
    static const double ratios[] = {0.5, 0.1, 0.01};
    for (int i = 0; i < 3; i++) {
        struct halves h;
        open_halves(&h);
        double lambda = ratios[i] * lasso_loss_largest(&h.columns), before = INFINITY;
        for (int n = 0; n < 200 * COLUMNS; n++) {
            set(&h, n % COLUMNS, best_of(&h, n % COLUMNS, lambda));
            CHECK(objective(&h, lambda) <= before + 1e-12);
            before = objective(&h, lambda);
        }
        check_conditions(&h, lambda);
        close_halves(&h);
    }
}
