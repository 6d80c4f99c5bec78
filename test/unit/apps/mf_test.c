/* How mf trains: which cells its workers visit, its steps, its errors and ranking. */
#include "mf/factors.h"
#include "mf/ranking.h"
#include "mf/visit.h"
#include "mf/ratings.h"
#include "pools.h"
#include "rng.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- visits ---- */

static void small_fini(struct mf *f)
{
    ratings_fini(&f->ratings);
}

/* 600 cells of 60x40 that differ, a few rows and columns with many of them: products of planted
 * factors of three floats, and noise of deviation 0.1. */
static void plant(struct ratings *r)
{
    static const uint32_t rows = 60, columns = 40;
    float factors[100][3];
    bool is_there[60][40] = {{false}};
    struct rng rng;
    rng_init(&rng, 9, 1);
    for (int i = 0; i < 300; i++) factors[i / 3][i % 3] = 0.76F * (float)rng_normal(&rng);
    for (int count = 0; count < 600;) {
        uint32_t row = (uint32_t)rng_below(&rng, 1 + rng_below(&rng, rows)),
                 column = (uint32_t)rng_below(&rng, 1 + rng_below(&rng, columns));
        float value = 0.1F * (float)rng_normal(&rng);
        if (is_there[row][column]) continue;
        is_there[row][column] = true;
        count++;
        for (int i = 0; i < 3; i++) value += factors[row][i] * factors[rows + column][i];
        ratings_add(r, (struct rating){.row = row, .column = column, .value = value});
    }
    r->rows = rows;
    r->columns = columns;
}

/* Three epochs of such cells with these of the options. */
static void small_init(struct mf *f, struct mf_options o)
{
    o.rank = 5;
    o.rate = 0.1;
    o.regularization = 0.01;
    o.common.epochs = o.common.seed = 3;
    *f = (struct mf){.options = o};
    ratings_init(&f->ratings);
    plant(&f->ratings);
    ratings_finish(&f->ratings, 0.1, 9);
}

static void small_work(struct mf *f, unsigned workers, pool_work *work)
{
    uint32_t length = (uint32_t)mf_row_floats(f);
    const struct locus_table tables[] = {{.rows = f->ratings.rows, .length = length},
                                         {.rows = f->ratings.columns, .length = length}};
    pools_run(tables, 2, workers, f->options.common.is_baseline, work, f);
}

static void small_run(struct mf *f, struct mf_options o, unsigned workers, pool_work *work)
{
    small_init(f, o);
    small_work(f, workers, work);
}

/* How often a cell was visited, and by which workers its row and its column, a bit each. */
static struct {
    int cell[60][40];
    unsigned of_row[60], of_column[40];
} visits;
static pthread_mutex_t visits_lock = PTHREAD_MUTEX_INITIALIZER;

/* As long as there are so many columns left, neighbours have different ones. */
static void check_lanes(const struct visit_batch *b)
{
    if (b->columns < VISIT_LANES) return;
    for (uint32_t i = 1; i < b->cells && i < VISIT_LANES; i++)
        for (uint32_t j = 0; j < i; j++) CHECK(b->column[i] != b->column[j]);
}

static void visit_work(struct pool_member *m, void *mf)
{
    struct mf *f = mf;
    CLOSED_BY(visit_close) struct visit v;
    const struct visit_batch *b;
    int epochs = 0, blocks = 0;
    visit_open(&v, f, m, 0);
    while ((b = visit_next(&v)) != NULL) {
        check_lanes(b);
        CHECK(b->cells <= f->options.batch);
        epochs += b->is_last;
        blocks += b->begins_block;
        pthread_mutex_lock(&visits_lock);
        for (uint32_t i = 0; i < b->cells; i++) {
            CHECK(b->column[i] < b->columns);
            locus_key row = b->keys[b->columns + i],
                      column = b->keys[b->column[i]] - f->ratings.rows;
            visits.cell[row][column]++;
            visits.of_row[row] |= 1U << m->index;
            visits.of_column[column] |= 1U << m->index;
        }
        pthread_mutex_unlock(&visits_lock);
    }
    CHECK_EQ(epochs, 3);
    CHECK_EQ(blocks, f->options.visit == MF_BLOCKS ? 9 : 3);
}

static bool has_several(const unsigned *workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (workers[i] & (workers[i] - 1)) return true;
    return false;
}

/* 540 cells are 4.5 for each of three workers in each of 40 columns: with locus, workers divide the
 * rows of columns that are longer than a batch, and otherwise columns. */
TEST(mf, visits_take_every_cell_once_an_epoch)
{
    static const struct {
        struct mf_options options;
        bool by_rows, by_columns;
    } cases[] = {{{.visit = MF_COLUMNS, .batch = 4}, true, false},
                 {{.visit = MF_COLUMNS, .batch = 5}, false, true},
                 {{.visit = MF_COLUMNS, .batch = 4, .common.is_baseline = true}, false, true},
                 {{.visit = MF_COLUMNS, .batch = 16, .common.is_baseline = true}, false, true},
                 {{.visit = MF_BLOCKS, .batch = 16, .common.is_baseline = true}, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLOSED_BY(small_fini) struct mf f;
        memset(&visits, 0, sizeof visits);
        small_run(&f, cases[i].options, 3, visit_work);
        for (size_t k = 0; k < f.ratings.train; k++)
            CHECK_EQ(visits.cell[f.ratings.list[k].row][f.ratings.list[k].column], 3);
        if (cases[i].options.visit == MF_BLOCKS) continue;
        CHECK_EQ(!has_several(visits.of_row, 60), cases[i].by_rows);
        CHECK_EQ(!has_several(visits.of_column, 40), cases[i].by_columns);
    }
}

/* ---- nodes that keep step ---- */

enum {
    NODES = 4,
    COLUMNS = 400,
    CELLS_A_NODE = 60,
    BATCH = 12,
    STEPS = COLUMNS * CELLS_A_NODE / BATCH
};

/* The columns of each step of an epoch of a node's first worker. Each column has as many cells in
 * each node's rows, whole batches of them: nodes keep step for certain. */
static uint32_t walk(const struct mf *f, unsigned workers, int rank,
                     uint32_t columns[STEPS][VISIT_LANES])
{
    struct pool pool = {.rank = rank, .size = NODES, .workers = workers};
    struct pool_member m = {
        .pool = &pool, .place = (unsigned)rank * workers, .total = NODES * workers};
    CLOSED_BY(visit_close) struct visit v;
    const struct visit_batch *b;
    uint32_t steps = 0;
    visit_open(&v, f, &m, 0);
    do {
        b = visit_next(&v);
        if (b->cells == 0) continue;
        CHECK(steps < STEPS && b->columns > 0 && b->columns <= VISIT_LANES);
        for (uint32_t i = 0; i < VISIT_LANES; i++)
            columns[steps][i] = i < b->columns ? (uint32_t)b->keys[i] : VISIT_NOWHERE;
        steps++;
    } while (!b->is_last);
    return steps;
}

/* One in fifty may be the same by chance. */
static void are_apart(uint32_t (*a)[VISIT_LANES], uint32_t (*b)[VISIT_LANES], uint32_t steps)
{
    uint32_t together = 0;
    for (uint32_t s = 0; s < steps; s++)
        for (uint32_t i = 0; i < VISIT_LANES; i++)
            for (uint32_t j = 0; j < VISIT_LANES; j++)
                together += a[s][i] == b[s][j] && a[s][i] != VISIT_NOWHERE;
    if (together > steps / 50) test_fail(__FILE__, __LINE__, "%u of %u steps", together, steps);
}

TEST(mf, visits_of_nodes_in_step_have_different_columns)
{
    static uint32_t columns[NODES][STEPS][VISIT_LANES];
    CLOSED_BY(small_fini)
    struct mf f = {.options = {.rank = 5,
                               .batch = BATCH,
                               .visit = MF_COLUMNS,
                               .common = {.epochs = 1, .seed = 3, .is_baseline = true}}};
    ratings_init(&f.ratings);
    f.ratings.rows = CELLS_A_NODE * NODES;
    f.ratings.columns = COLUMNS;
    for (uint32_t i = 0; i < COLUMNS * f.ratings.rows; i++)
        ratings_add(&f.ratings,
                    (struct rating){.row = i % f.ratings.rows, .column = i / f.ratings.rows});
    ratings_finish(&f.ratings, 0, 1);
    for (unsigned workers = 1; workers <= 2; workers++)
        for (int node = 0; node < NODES; node++) {
            CHECK_EQ(walk(&f, workers, node, columns[node]), STEPS / workers);
            for (int before = 0; before < node; before++)
                are_apart(columns[before], columns[node], STEPS / workers);
        }
}

/* ---- the step ---- */

/* By the book, in double precision: the gradients of both rows before either changes; sums of their
 * squares are of a coordinate, or of a row but for its bias. `rows` are those of both tables. */
static double reference(const struct mf *f, const struct visit_batch *b, double *rows)
{
    size_t rank = f->options.rank, n = mf_parameters(f), floats = mf_row_floats(f);
    bool by_row = f->options.adagrad == MF_BY_ROW;
    double squares = 0, g[2][6];
    for (uint32_t i = 0; i < b->cells; i++) {
        double *row[2] = {rows + b->keys[b->columns + i] * floats,
                          rows + b->keys[b->column[i]] * floats};
        double error = f->ratings.mean - (double)b->values[i];
        for (size_t k = 0; k < n; k++)
            error += k < rank ? row[0][k] * row[1][k] : row[0][k] + row[1][k];
        squares += error * error;
        for (size_t k = 0; k < 2 * n; k++)
            g[k / n][k % n] = error * (k % n < rank ? row[k < n][k % n] : 1) +
                              f->options.regularization * row[k / n][k % n];
        for (size_t k = 0; k < 2 * n; k++) {
            size_t of_row = k % n < rank ? 0 : 1;
            row[k / n][n + (by_row ? of_row : k % n)] += g[k / n][k % n] * g[k / n][k % n] /
                                                         (by_row && of_row == 0 ? (double)rank : 1);
        }
        for (size_t k = 0; k < 2 * n; k++) {
            double sum = row[k / n][n + (by_row ? k % n >= rank : k % n)];
            row[k / n][k % n] -= f->options.rate * g[k / n][k % n] / sqrt(sum + 1e-10);
        }
    }
    return squares;
}

static void fill_row(const void *mf, uint64_t row, float *values)
{
    size_t n = mf_parameters(mf), floats = mf_row_floats(mf);
    for (size_t i = 0; i < n; i++) values[i] = (float)sin((double)row * 7 + (double)i) * 0.5F;
    for (size_t i = n; i < floats; i++) values[i] = 0.5F;
}

static void fill_all(struct pool_member *m, const struct mf *f)
{
    rows_init(m, MF_ROWS, fill_row, f);
    rows_init(m, MF_COLS, fill_row, f);
}

/* Two cells of one row in a batch: with locus the second does not see what the first did to the
 * row. */
static bool has_row_twice(const struct visit_batch *b)
{
    for (uint32_t i = 0; i < b->cells; i++)
        for (uint32_t j = 0; j < i; j++)
            if (b->keys[b->columns + i] == b->keys[b->columns + j]) return true;
    return false;
}

static void step_work(struct pool_member *m, void *mf)
{
    struct mf *f = mf;
    CLOSED_BY(visit_close) struct visit v;
    CLOSED_BY(factors_close) struct factors step;
    static struct pools_copy before, after;
    int compared = 0;
    fill_all(m, f);
    visit_open(&v, f, m, 0);
    factors_open(&step, f, m);
    for (int i = 0; i < 60; i++) {
        const struct visit_batch *b = visit_next(&v);
        pools_copy(m, &before);
        double expected = reference(f, b, before.values), squares = factors_train(&step, &v, b);
        if (m->worker && has_row_twice(b)) continue;
        compared++;
        CHECK(fabs(squares - expected) < 1e-3);
        draft_flush(&step.draft);
        pools_copy(m, &after);
        for (size_t k = 0; k < after.count; k++)
            CHECK(fabs(after.values[k] - before.values[k]) < 1e-4 * (1 + fabs(before.values[k])));
    }
    CHECK(compared > 5);
}

TEST(mf, factors_steps_follow_the_formulas)
{
    for (int kind = 0; kind < 16; kind++) {
        CLOSED_BY(small_fini) struct mf f;
        small_run(&f,
                  (struct mf_options){.visit = kind & 4 ? MF_BLOCKS : MF_COLUMNS,
                                      .has_bias = kind & 1,
                                      .adagrad = kind & 8 ? MF_BY_ROW : MF_BY_COORDINATE,
                                      .common.is_baseline = kind & 2,
                                      .batch = 4},
                  1, step_work);
    }
}

/* ---- how good it is ---- */

enum { BEST = 5 };

/* Of the cell: -1 it is trained with, 1 it is relevant. */
static int relevance(const struct mf *f, uint32_t row, uint32_t column)
{
    for (size_t i = 0; i < f->ratings.train + f->ratings.test; i++) {
        const struct rating *x = &f->ratings.list[i];
        if (x->row != row || x->column != column) continue;
        return i < f->ratings.train ? -1 : (double)x->value >= f->ratings.mean;
    }
    return 0;
}

static double score_of(const struct mf *f, const struct pools_copy *all, uint32_t row,
                       uint32_t column)
{
    double score = 0;
    for (size_t i = 0; i < f->options.rank; i++)
        score += all->values[row * all->length + i] *
                 all->values[(f->ratings.rows + column) * all->length + i];
    return score;
}

/* A column's place is one behind those that are better. */
static void check_ranking(const struct mf *f, const struct pools_copy *all, struct ranking k)
{
    double precision = 0, ndcg = 0, asked = 0, scores[64];
    for (uint32_t row = 0; row < f->ratings.rows; row++) {
        double gain = 0, most = 0, hits = 0;
        int relevant = 0;
        for (uint32_t c = 0; c < f->ratings.columns; c++)
            scores[c] = relevance(f, row, c) < 0 ? -INFINITY : score_of(f, all, row, c);
        for (uint32_t c = 0; c < f->ratings.columns; c++) {
            int place = 1;
            if (relevance(f, row, c) != 1) continue;
            if (++relevant <= BEST) most += 1 / log2(1 + relevant);
            for (uint32_t other = 0; other < f->ratings.columns; other++)
                place += scores[other] > scores[c];
            if (place > BEST) continue;
            gain += 1 / log2(1 + place);
            hits++;
        }
        if (relevant == 0) continue;
        precision += hits / BEST;
        ndcg += gain / most;
        asked++;
    }
    CHECK(asked > 10 && precision > 0);
    CHECK(fabs(k.precision - precision / asked) < 1e-6 && fabs(k.ndcg - ndcg / asked) < 1e-6);
}

static void quality_work(struct pool_member *m, void *mf)
{
    const struct mf *f = mf;
    static struct pools_copy all;
    double squares = 0, distances = 0;
    fill_all(m, f);
    pool_quiesce(m);
    struct rmse r = rmse_of_test(f, m);
    struct ranking ranking = ranking_of_test(f, m, BEST);
    if (m->place > 0) return;
    pools_copy(m, &all);
    for (size_t i = 0; i < f->ratings.test; i++) {
        const struct rating *x = &f->ratings.list[f->ratings.train + i];
        double error = f->ratings.mean + score_of(f, &all, x->row, x->column) - (double)x->value;
        squares += error * error / (double)f->ratings.test;
        distances += fabs(error) / (double)f->ratings.test;
    }
    CHECK(fabs(r.rmse - sqrt(squares)) < 1e-5 && fabs(r.mae - distances) < 1e-5);
    check_ranking(f, &all, ranking);
}

TEST(mf, errors_and_ranking_are_of_the_cells_held_back)
{
    for (int is_baseline = 0; is_baseline < 2; is_baseline++) {
        CLOSED_BY(small_fini) struct mf f;
        small_init(&f, (struct mf_options){
                           .visit = MF_COLUMNS, .batch = 16, .common.is_baseline = is_baseline});
        struct rating *test = f.ratings.list + f.ratings.train;
        test[0] = f.ratings.list[0]; /* it is trained with, and */
        test[2] = test[1];           /* these are the same */
        test[0].value = test[1].value = test[2].value = 1e3;
        small_work(&f, 2, quality_work);
    }
}
