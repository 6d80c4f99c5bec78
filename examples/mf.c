/* Stochastic matrix factorization: cells of a matrix, in random order, are explained by the product
 * of a row of factors for its row and one for its column. The matrix is made up. Each node has two
 * training threads, each with a worker of its own. */
#include <locus.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, COLUMNS = 500, RANK = 8, CELLS = 40000, EPOCHS = 8, AHEAD = 100, WORKERS = 2 };
static const struct locus_table tables[] = {{.name = "rows", .rows = ROWS, .length = RANK},
                                            {.name = "columns", .rows = COLUMNS, .length = RANK},
                                            {.name = "errors", .rows = EPOCHS, .length = 1}};
static locus *node;

struct cell {
    locus_key keys[2]; /* of its row and of its column: the tables lie end to end */
    float value;
};

static void check(int rc)
{
    if (rc) exit((puts(locus_error()), 1));
}

/* Of the worker `me` of `all`: it has rows of its own; columns are everybody's. */
static struct cell draw(unsigned *seed, int me, int all)
{
    int row = (rand_r(seed) % (ROWS / all)) * all + me, column = rand_r(seed) % COLUMNS;
    return (struct cell){.keys = {(locus_key)row, (locus_key)(ROWS + column)},
                         .value = sinf((float)row) * cosf((float)column)};
}

/* Returns the squared error before the step. */
static float train(locus_worker *worker, const struct cell *c)
{
    float f[2][RANK], step[2][RANK], error = c->value;
    check(locus_pull(worker, c->keys, 2, f[0]));
    for (int i = 0; i < RANK; i++) error -= f[0][i] * f[1][i];
    for (int i = 0; i < RANK; i++) step[0][i] = 0.1F * error * f[1][i];
    for (int i = 0; i < RANK; i++) step[1][i] = 0.1F * error * f[0][i];
    check(locus_push(worker, c->keys, 2, step[0]));
    return error * error;
}

static void *work(void *unused)
{
    locus_worker *worker;
    check(locus_worker_open(node, &worker));
    int me = locus_rank(node) * WORKERS + locus_worker_id(worker), all = locus_size(node) * WORKERS;
    int count = CELLS / all;
    unsigned seed = (unsigned)me + 1;
    struct cell *cells = malloc((size_t)count * sizeof *cells);
    for (int i = 0; i < count; i++) cells[i] = draw(&seed, me, all);
    /* Rows that no one has written are zero, where this model would learn nothing. */
    for (locus_key key = (locus_key)me; key < ROWS + COLUMNS; key += (locus_key)all) {
        float f[RANK];
        for (int i = 0; i < RANK; i++) f[i] = (float)(rand_r(&seed) % 2000 - 1000) / 2000;
        check(locus_set(worker, &key, 1, f));
    }
    check(locus_barrier(worker)); /* of all workers of all nodes */
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        float sum = 0;
        for (int i = 0; i < count; i++) {
            locus_clock soon = locus_current_clock(worker) + AHEAD; /* a cell takes a clock */
            const struct cell *later = &cells[(i + AHEAD) % count];
            check(locus_intent(worker, later->keys, 2, soon, soon + 1));
            sum += train(worker, &cells[i]);
            locus_advance_clock(worker);
        }
        locus_key slot = (locus_key)(ROWS + COLUMNS + epoch); /* a row that adds up: all workers' */
        check(locus_push(worker, &slot, 1, &sum));
        check(locus_quiesce(worker));
        check(locus_pull(worker, &slot, 1, &sum));
        if (me == 0) printf("epoch %d: error %.4f\n", epoch + 1, sqrtf(sum / (float)(count * all)));
    }
    free(cells);
    check(locus_worker_close(worker));
    return unused;
}

int main(void)
{
    pthread_t threads[WORKERS];
    struct locus_config config;
    locus_config_init(&config);
    config.tables = tables;
    config.table_count = 3;
    config.workers = WORKERS;
    check(locus_open(&config, &node));
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return puts("no thread"), 1;
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    return locus_close(node) != 0;
}
