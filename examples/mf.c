/* Stochastic matrix factorization: cells of a matrix, in random order, are explained by the product
 * of a row of factors for its row and one for its column. The matrix is made up. Each node has two
 * training threads, each with a worker of its own, whose feed signals its cells ahead. `mf FOLDER`
 * writes a checkpoint after every epoch, and goes on from the newest one. */
#include <errno.h>
#include <locus.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, COLUMNS = 500, RANK = 8, CELLS = 40000, EPOCHS = 8, AHEAD = 4000, WORKERS = 2 };
static const struct locus_table tables[] = {{.name = "rows", .rows = ROWS, .length = RANK},
                                            {.name = "columns", .rows = COLUMNS, .length = RANK}};
static locus *node;
static const char *folder;

struct cell {
    locus_key keys[2]; /* of its row and of its column */
    float value;
};
struct share { /* of the worker `me` of `all`: it has rows of its own; columns are everybody's */
    int me, all, epoch, drawn;
    unsigned seed;
};

static void check(int rc)
{
    /* 2: `locus run --restarts` does not try it again */
    if (rc) exit((puts(locus_error()), rc == -EINVAL || rc == -EBADMSG ? 2 : 1));
}

/* Draws a cell, the same ones in each epoch. The n-th is trained when the worker's clock is n. */
static bool draw(void *share, locus_loader *loader, void *cell)
{
    struct share *s = share;
    struct cell *c = cell;
    if (s->drawn == (EPOCHS - s->epoch) * (CELLS / s->all)) return false;
    if (s->drawn % (CELLS / s->all) == 0) s->seed = (unsigned)s->me + 1;
    int row = (rand_r(&s->seed) % (ROWS / s->all)) * s->all + s->me;
    int column = rand_r(&s->seed) % COLUMNS;
    *c = (struct cell){.keys = {(locus_key)row, locus_table_first(node, 1) + (locus_key)column},
                       .value = sinf((float)row) * cosf((float)column)};
    check(locus_loader_intent(loader, c->keys, 2, s->drawn, s->drawn + 1));
    s->drawn++;
    return true;
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

/* Rows that no one has written are zero, where this model would learn nothing: each node sets those
 * that it owns, many in a call, for none of them leaves the node. */
static void set_first_values(locus_worker *worker, unsigned *seed)
{
    enum { AT_ONCE = 512 };
    locus_key keys[AT_ONCE], from = 0;
    float rows[AT_ONCE * RANK];
    for (size_t n; (n = locus_owned(node, from, keys, AT_ONCE)) > 0; from = keys[n - 1] + 1) {
        for (size_t i = 0; i < n * RANK; i++) rows[i] = (float)(rand_r(seed) % 2000 - 1000) / 2000;
        check(locus_set(worker, keys, n, rows));
    }
}

static void begin(locus_worker *worker, struct share *s)
{
    size_t bytes = sizeof s->epoch;
    int rc = folder ? locus_restore_with(worker, folder, &s->epoch, &bytes) : -ENOENT;
    if (rc == 0 && s->me == 0) printf("goes on after epoch %d\n", s->epoch);
    if (rc != -ENOENT) check(rc);
    if (rc && locus_worker_id(worker) == 0) set_first_values(worker, &s->seed);
    check(locus_barrier(worker)); /* of all workers of all nodes */
}

static void *work(void *unused)
{
    locus_worker *worker;
    locus_feed *feed;
    struct cell cells[AHEAD];
    void *portions[AHEAD];
    for (int i = 0; i < AHEAD; i++) portions[i] = &cells[i];
    check(locus_worker_open(node, &worker));
    int me = locus_rank(node) * WORKERS + locus_worker_id(worker), all = locus_size(node) * WORKERS;
    struct share share = {.me = me, .all = all, .seed = (unsigned)me + 1};
    begin(worker, &share);
    int epoch = share.epoch;
    check(locus_feed_open(worker, draw, &share, portions, AHEAD, &feed));
    while (epoch < EPOCHS) {
        double sums[2] = {0, CELLS / all}; /* of this worker, then of all */
        for (int i = 0; i < CELLS / all; i++) {
            sums[0] += (double)train(worker, locus_feed_next(feed));
            locus_advance_clock(worker);
        }
        epoch++;
        check(locus_sum(worker, sums, 2));
        if (me == 0) printf("epoch %d: error %.4f\n", epoch, sqrt(sums[0] / sums[1]));
        if (folder) check(locus_checkpoint_with(worker, folder, &epoch, sizeof epoch));
    }
    check(locus_feed_close(feed));
    check(locus_worker_close(worker));
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    struct locus_config config;
    folder = argc > 1 ? argv[1] : NULL;
    locus_config_init(&config);
    config.tables = tables;
    config.table_count = 2;
    config.workers = WORKERS;
    check(locus_open(&config, &node));
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return puts("no thread"), 1;
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    return locus_close(node) != 0;
}
