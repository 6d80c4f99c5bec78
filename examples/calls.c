/* Each call of locus.h once, in a few lines. The manual pages show these functions as examples. */
#include <locus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 4, KEYS = 3 };
static const locus_key keys[KEYS] = {7, 42, 99};

static void check(int rc)
{
    if (rc) exit((printf("%s: %s\n", locus_strerror(rc), locus_error()), 1));
}

static locus *open_node(void)
{
    static const struct locus_table tables[] = {
        {.name = "entities", .rows = 1000, .length = LENGTH},
        {.name = "trained",
         .rows = 1000,
         .length = LENGTH,
         .optimizer = LOCUS_SGD}}; /* from key 1000 on */
    struct locus_config config;
    locus_config_init(&config); /* rank, size and rendezvous come from the launcher */
    config.tables = tables;
    config.table_count = 2;
    config.technique = LOCUS_ADAPTIVE;
    config.fingerprint = 42; /* a digest of the data and options, equal on all nodes */
    locus *node;
    check(locus_open(&config, &node));
    return node;
}

static void access_rows(locus_worker *worker)
{
    float rows[KEYS * LENGTH], updates[KEYS * LENGTH] = {1};
    check(locus_push(worker, keys, KEYS, updates)); /* adds */
    check(locus_pull(worker, keys, KEYS, rows));
    check(locus_set(worker, keys, KEYS, rows)); /* overwrites */
}

static void access_without_waiting(locus_worker *worker)
{
    float rows[KEYS * LENGTH], updates[KEYS * LENGTH] = {1};
    locus_ticket pull, push;
    check(locus_pull_async(worker, keys, KEYS, rows, &pull));
    check(locus_push_async(worker, keys, KEYS, updates, &push));
    check(locus_wait(worker, pull)); /* now rows may be read */
    if (!locus_done(worker, push)) check(locus_wait_all(worker));
    check(locus_set_async(worker, keys, KEYS, rows, &push));
    check(locus_wait(worker, push));
}

static void halve(void *context, float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) row[i] *= *(float *)context;
}
static void change_where_it_is(locus_worker *worker)
{
    float half = 0.5F, row[LENGTH];
    if (locus_change_local(worker, keys[0], halve, &half) == 0) return;
    check(locus_pull(worker, keys, 1, row)); /* the row is at another node */
    for (int i = 0; i < LENGTH; i++) row[i] = -half * row[i];
    check(locus_push(worker, keys, 1, row));
}

static void point_to_zero(void *unused, const float *values, float *gradient, uint32_t length)
{
    (void)unused;
    for (uint32_t i = 0; i < length; i++) gradient[i] = 2 * values[i];
}
static void train_with_an_optimizer(locus *node, locus_worker *worker)
{
    locus_key key = 1007;
    float gradient[LENGTH] = {1}, *row = calloc(locus_state_length(node, key), sizeof *row);
    check(locus_table_rate(node, 1, 0.1));        /* of the table "trained" */
    check(locus_push(worker, &key, 1, gradient)); /* the row takes a step */
    if (locus_step_local(worker, key, point_to_zero, NULL)) puts("the row is at another node");
    check(locus_pull_state(worker, &key, 1, row)); /* the values, then the optimizer's state */
    check(locus_set_state(worker, &key, 1, row));
    check(locus_table_steps(node, 1, 100)); /* Adam goes on as after so many */
    free(row);
}

static float sum_in_place(locus_worker *worker)
{
    float sum = 0, row[LENGTH];
    const float *seen;
    locus_prefetch(worker, keys, KEYS);
    locus_read_begin(worker);
    for (int k = 0; k < KEYS; k++)
        if ((seen = locus_view(worker, keys[k]))) sum += seen[0];
    locus_read_end(worker);
    return locus_pull_local(worker, keys[0], row) == 0 ? sum + row[0] : sum;
}

static float add_first_floats(locus_worker *worker)
{
    float copies[KEYS * LENGTH], sum = 0;
    const float *rows[KEYS];
    int is_in_place = locus_read_rows(worker, keys, KEYS, copies, rows);
    if (is_in_place < 0) check(is_in_place);
    for (int i = 0; i < KEYS; i++) sum += rows[i][0];
    if (is_in_place) locus_read_end(worker);
    return sum;
}

static void say_what_comes(locus_worker *worker)
{
    locus_clock now = locus_current_clock(worker);
    check(locus_intent(worker, keys, KEYS, now + 10, now + 11)); /* for the step in ten steps */
    check(locus_intent(worker, keys, 1, now, LOCUS_FOREVER));    /* a hot row: keep a copy here */
    while (locus_advance_clock(worker) < now + 10) check(locus_bound(worker, 2));
    check(locus_unintend(worker, keys, 1));
}

static void fetch_by_hand(locus_worker *worker)
{
    locus_ticket ticket;
    check(locus_localize(worker, keys, KEYS)); /* they are here now, if nobody else intends them */
    check(locus_localize_async(worker, keys, KEYS, &ticket));
    check(locus_wait(worker, ticket));
}

static void load_ahead(locus_worker *worker) /* mostly in a thread of its own */
{
    locus_loader *loader;
    locus_clock next = locus_current_clock(worker) + 1;
    check(locus_loader_open(worker, &loader));
    check(locus_loader_intent(loader, keys, KEYS, next, next + 1));
    check(locus_loader_close(loader)); /* before the worker */
}

static bool fill(void *left, locus_loader *loader, void *batch) /* in the feed's thread */
{
    locus_clock clock = 3 - *(int *)left; /* of the worker, when it trains the batch */
    if ((*(int *)left)-- == 0) return false;
    memcpy(batch, keys, sizeof keys);
    check(locus_loader_intent(loader, keys, KEYS, clock, clock + 1));
    return true;
}
static void train_what_a_feed_prepares(locus_worker *worker)
{
    enum { AHEAD = 100 }; /* as many batches as take 10 to 100 ms */
    int left = 3;
    locus_key batches[AHEAD][KEYS], *batch;
    void *portions[AHEAD];
    for (int i = 0; i < AHEAD; i++) portions[i] = batches[i];
    float rows[KEYS * LENGTH];
    locus_feed *feed;
    check(locus_feed_open(worker, fill, &left, portions, AHEAD, &feed));
    while ((batch = locus_feed_next(feed))) {
        check(locus_pull(worker, batch, KEYS, rows));
        locus_advance_clock(worker);
    }
    check(locus_feed_close(feed)); /* before the worker */
}

/* Indices that repeat: each row is pulled once, and its gradients are pushed as one. */
static void train_on_a_batch(locus_worker *worker, uint64_t rows)
{
    enum { BATCH = 6 };
    const locus_key indices[BATCH] = {7, 9, 7, 8, 7, 9};
    locus_key distinct[BATCH];
    int64_t places[BATCH];
    float row[BATCH * LENGTH], sums[BATCH * LENGTH] = {0};
    size_t count;
    check(locus_use_threads(worker, 2)); /* once, for large batches */
    check(locus_distinct(indices, BATCH, rows, distinct, places, &count)); /* 7, 9, 8 */
    check(locus_pull(worker, distinct, count, row));
    for (int i = 0; i < BATCH; i++) /* forward and backward: of index i it is row places[i] */
        for (int f = 0; f < LENGTH; f++)
            sums[places[i] * LENGTH + f] += 0.01F * row[places[i] * LENGTH + f];
    check(locus_push(worker, distinct, count, sums));
}

static void draw_negatives(locus *node, locus_worker *worker)
{
    enum { COUNT = 5 };
    float rows[COUNT * LENGTH];
    double weights[1000];
    locus_key drawn[COUNT];
    locus_distribution *uniform, *weighted;
    locus_sample sample;
    locus_clock now = locus_current_clock(worker);
    for (int i = 0; i < 1000; i++) weights[i] = 1.0 / (i + 1);
    check(locus_distribution_uniform(node, 0, 1000, LOCUS_BOUNDED, 0, &uniform));
    check(locus_distribution_weighted(node, 0, weights, 1000, LOCUS_CONFORM, 0, &weighted));
    check(locus_distribution_seed(weighted, 1)); /* before the first sample */
    check(locus_prepare_sample(worker, weighted, COUNT, now + 10, now + 11, &sample));
    check(locus_pull_sample(worker, sample, COUNT, drawn, rows)); /* when the clock is there */
    check(locus_finish_sample(worker, sample));
    locus_distribution_free(uniform), locus_distribution_free(weighted);
}

static void meet(locus_worker *worker)
{
    check(locus_barrier(worker)); /* all workers of all nodes are here */
    check(locus_quiesce(worker)); /* and all copies hold all updates */
    double loss[2] = {0.25, 1};   /* of this worker, and of how many examples */
    check(locus_sum(worker, loss, 2));
    check(locus_meet(worker, loss, 2)); /* so do nodes that have joined the running job */
    check(locus_checkpoint(worker, "calls.checkpoints"));
    check(locus_restore(worker, "calls.checkpoints"));
}

static void go_on_where_it_ended(locus_worker *worker)
{
    struct {
        int epochs;
    } note = {3};
    size_t bytes = sizeof note;
    check(locus_checkpoint_with(worker, "calls.checkpoints", &note, bytes));
    check(locus_restore_with(worker, "calls.checkpoints", &note, &bytes));
    if (bytes == sizeof note) printf("%d epochs are over\n", note.epochs);
}

static void look(locus *node)
{
    struct locus_stats stats;
    struct locus_histogram waits;
    struct locus_losses losses;
    locus_key mine[10];
    check(locus_stats_read(node, &stats));
    check(locus_losses_read(node, &losses));
    check(locus_histogram_read(node, LOCUS_BLOCKED_TIME, &waits));
    locus_key trained = locus_table_first(node, 1);
    size_t count = locus_owned(node, trained, mine, 10); /* ten keys of it whose rows are here */
    check(locus_report_value(node, "loss", 0.5));        /* a point of a curve of the report */
    printf("node %d of %d: %zu and more of %llu keys here, %llu pulled elsewhere\n",
           locus_rank(node), locus_size(node), count, (unsigned long long)locus_keys(node),
           (unsigned long long)stats.pulled_remote);
    if (losses.lost > 0) printf("%u nodes go on without node %d\n", losses.members, losses.last);
}

/* A node that has to go before the others have done all: for example because its host is needed. */
static int leave(locus *node, bool must_go)
{
    return must_go ? locus_leave(node) : locus_close(node);
}

int main(void)
{
    locus *node = open_node();
    locus_worker *worker;
    check(locus_worker_open(node, &worker));
    train_what_a_feed_prepares(worker), access_rows(worker), access_without_waiting(worker),
        change_where_it_is(worker), say_what_comes(worker);
    train_with_an_optimizer(node, worker), fetch_by_hand(worker), load_ahead(worker),
        draw_negatives(node, worker), meet(worker), go_on_where_it_ended(worker);
    train_on_a_batch(worker, locus_keys(node));
    printf("worker %d: the first floats add up to %g\n", locus_worker_id(worker),
           sum_in_place(worker) + add_first_floats(worker));
    look(node);
    check(locus_worker_close(worker));
    return leave(node, false) != 0;
}
