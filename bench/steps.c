/*
 * steps.c - what a step of a trainer costs by how many keys it has: sparse logistic regression, one
 * pull and one push a step, with its intents signaled ahead. Two nodes, each with one worker, and a
 * node alone that does one node's share.
 *
 * A call waits for its latest key: with many keys a step, one that is late in a thousand makes each
 * step wait. How long an epoch takes is therefore shown beside the share of the keys that were
 * elsewhere, and the time that calls waited.
 */
#include "common/clock.h"
#include "common/cluster.h"
#include "common/keys.h"
#include "common/must.h"
#include "common/run.h"

#include "locus.h"

#include <math.h>
#include <stdlib.h>

static const char *const about =
    "Trains sparse logistic regression on two nodes, with few and with many keys a step.\n"
    "A cell's name, for --only, is like: adaptive keys=640; further words: static full alone;\n"
    "keys=20 80 640 5120.";

enum { FEATURES = 200000, EPOCH_KEYS = 640000, AHEAD = 64, EPOCHS = 3, CLOSE_S = 60 };
enum { SIZES = 4, WAYS = 4 };
static const size_t sizes[SIZES] = {20, 80, 640, 5120};
static const struct way {
    const char *name;
    enum locus_technique technique;
    int nodes;
} ways[WAYS] = {{"adaptive", LOCUS_ADAPTIVE, 2},
                {"static", LOCUS_STATIC, 2},
                {"full", LOCUS_FULL_REPLICATION, 2},
                {"alone", LOCUS_ADAPTIVE, 1}};
static const struct locus_table table = {.name = "weights", .rows = FEATURES, .length = 1};

static struct job {
    const struct way *way;
    size_t size; /* keys a step */
} jobs[SIZES * WAYS];

/* Of one node's worker. */
struct trainer {
    locus *node;
    locus_worker *worker;
    locus_key *keys;
    size_t size, steps;
    float *weights, *gradient;
};

/* Ranks of Zipf's law lie anywhere among the features. */
static void draw(struct trainer *t, int rank)
{
    size_t count = t->size * t->steps;
    keys_fill(t->keys, count, KEYS_ZIPF, FEATURES, 1 + (uint64_t)rank);
    for (size_t i = 0; i < count; i++) t->keys[i] = t->keys[i] * 123457 % FEATURES;
}

static void intend(const struct trainer *t, size_t step)
{
    const locus_key *keys = t->keys + step % t->steps * t->size;
    must(locus_intent(t->worker, keys, t->size, (locus_clock)step, (locus_clock)step + 1),
         "locus_intent");
}

static void train(struct trainer *t, size_t step)
{
    const locus_key *keys = t->keys + step % t->steps * t->size;
    float sum = 0;
    must(locus_pull(t->worker, keys, t->size, t->weights), "locus_pull");
    for (size_t i = 0; i < t->size; i++) sum += t->weights[i];
    float error = (float)(keys[0] % 2) - 1 / (1 + expf(-sum));
    for (size_t i = 0; i < t->size; i++) t->gradient[i] = 1e-3F * error;
    must(locus_push(t->worker, keys, t->size, t->gradient), "locus_push");
    locus_advance_clock(t->worker);
}

/* What is measured is the last epoch. The first ones bring rows to where they are used. */
static void work(struct trainer *t, struct cell *c)
{
    struct locus_stats before, after;
    double seconds = 0;
    for (size_t i = 0; i < AHEAD; i++) intend(t, i);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        must(locus_barrier(t->worker), "locus_barrier");
        must(locus_stats_read(t->node, &before), "locus_stats_read");
        uint64_t began_ns = clock_ns();
        for (size_t i = 0; i < t->steps; i++) {
            size_t step = (size_t)epoch * t->steps + i;
            intend(t, step + AHEAD);
            train(t, step);
        }
        seconds = 1e-9 * (double)(clock_ns() - began_ns);
        must(locus_stats_read(t->node, &after), "locus_stats_read");
    }
    if (!c) return;
    *cell_figure(c, "seconds") = seconds;
    *cell_figure(c, "waited_s") = after.calls_waited_s - before.calls_waited_s;
    *cell_figure(c, "remote_share") = (double)(after.pulled_remote - before.pulled_remote) /
                                      (double)(t->size * t->steps);
}

static void join(const struct job *j, int rank, const char *rendezvous, struct cell *cell)
{
    size_t keys = run.quick ? EPOCH_KEYS / 40 : EPOCH_KEYS;
    struct trainer t = {.size = j->size, .steps = keys / j->size};
    struct locus_config c =
        cluster_config(&table, 1, j->way->technique, rank, j->way->nodes, rendezvous);
    t.keys = must_alloc(t.size * t.steps * sizeof *t.keys);
    t.weights = must_alloc(t.size * sizeof *t.weights);
    t.gradient = must_alloc(t.size * sizeof *t.gradient);
    draw(&t, rank);
    cluster_open(&c, &t.node, &t.worker);
    work(&t, cell);
    must(locus_barrier(t.worker), "locus_barrier");
    cluster_close(t.node, t.worker);
    free(t.keys);
    free(t.weights);
    free(t.gradient);
}

static void measure(struct cell *c)
{
    const struct job *j = c->what;
    char rendezvous[CLUSTER_RENDEZVOUS];
    struct node_process *other = NULL;
    cluster_rendezvous(rendezvous);
    if (j->way->nodes > 1) {
        other = cluster_start_node(1, rendezvous, (unsigned)(j - jobs));
        node_process_dismiss(other);
    }
    join(j, 0, other ? rendezvous : NULL, c);
    if (other) node_process_end(other, CLOSE_S);
}

int main(int argc, char **argv)
{
    struct cluster_node n;
    for (unsigned i = 0; i < SIZES * WAYS; i++)
        jobs[i] = (struct job){&ways[i % WAYS], sizes[i / WAYS]};
    if (cluster_is_node(argc, argv, &n)) {
        join(&jobs[n.number % (SIZES * WAYS)], n.rank, n.rendezvous, NULL);
        return 0;
    }
    run_parse(&(struct program){.name = "steps", .about = about, .quick = 1, .full = 5}, argc,
              argv);
    for (struct job *j = jobs; j < jobs + SIZES * WAYS; j++)
        run_cell(j, NULL, true, "%s keys=%zu", j->way->name, j->size);
    run_begin();
    run_measure(NULL, measure);
    run_end();
    return 0;
}
