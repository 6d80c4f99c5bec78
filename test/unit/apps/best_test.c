
#include "rows.h"
#include "test.h"

enum { MODEL, KEPT, ROWS = 3000, LENGTH = 4, PARAMETERS = 3 };

static const struct best_rows rows[] = {{MODEL, KEPT}};

static void draw(const void *epoch, uint64_t row, float *values)
{
    for (int i = 0; i < LENGTH; i++)
        values[i] = (float)(*(const int *)epoch * 10000 + (int)row + 0.25 * i);
}

/* An epoch, which is the same for all parameters. */
struct expected {
    int parameters, rest;
};

static void check_row(void *expected, uint64_t row, const float *values)
{
    const struct expected *e = expected;
    float of_parameters[LENGTH], of_rest[LENGTH];
    draw(&e->parameters, row, of_parameters);
    draw(&e->rest, row, of_rest);
    for (int i = 0; i < LENGTH; i++)
        CHECK(!(values[i] < (i < PARAMETERS ? of_parameters : of_rest)[i]) &&
              !(values[i] > (i < PARAMETERS ? of_parameters : of_rest)[i]));
}

static void train(struct pool_member *m, void *unused)
{
    (void)unused;
    static const bool is_better[] = {true, true, false};
    for (int epoch = 1; epoch <= 3; epoch++) {
        rows_init(m, MODEL, draw, &epoch);
        /* What others say does not count. */
        CHECK_EQ(
            best_offer(m, m->place == 0 ? is_better[epoch - 1] : !is_better[epoch - 1], rows, 1),
            is_better[epoch - 1]);
    }
    best_take(m, rows, 1);
    struct expected e = {.parameters = 2, .rest = 3};
    rows_visit(m, MODEL, 0, ROWS, check_row, &e);
}

TEST(best, the_parameters_of_the_best_epoch_come_back)
{
    for (int baseline = 0; baseline < 2; baseline++) {
        for (unsigned workers = 1; workers <= 3; workers++) {
            struct pool pool;
            struct locus_table tables[2] = {
                [MODEL] = {.name = "model", .rows = ROWS, .length = LENGTH}};
            tables[KEPT] = best_table(&tables[MODEL], "best model", PARAMETERS);
            CHECK_EQ(tables[KEPT].length, PARAMETERS);
            pool_open(&pool, &(struct pool_config){.tables = tables,
                                                   .table_count = 2,
                                                   .workers = workers,
                                                   .is_baseline = baseline});
            pool_run(&pool, train, NULL);
            pool_close(&pool);
        }
    }
}
