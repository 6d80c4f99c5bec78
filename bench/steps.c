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
#include <string.h>

static const char *const about =
    "Trains sparse logistic regression on two nodes, with few and with many keys a step.\n"
    "A cell's name, for --only, is like: adaptive keys=640; further words: static full alone;\n"
    "keys=20 80 640 5120.";

enum { FEATURES = 200000, EPOCH_KEYS = 640000, AHEAD = 64, EPOCHS = 3, CLOSE_S = 60 };
enum { SIZES = 4, WAYS = 4 };
static const unsigned sizes[SIZES] = {20, 80, 640, 5120};
static const struct way {
    const char *name;
    enum locus_technique technique;
    int nodes;
} ways[WAYS] = {{"adaptive", LOCUS_ADAPTIVE, 2},
                {"static", LOCUS_STATIC, 2},
                {"full", LOCUS_FULL_REPLICATION, 2},
                {"alone", LOCUS_ADAPTIVE, 1}};
static const struct locus_table table = {.name = "weights", .rows = FEATURES, .length = 1};

struct cell {
    double seconds[REPETITIONS_MAX], waited[REPETITIONS_MAX], remote[REPETITIONS_MAX];
};

static struct bench {
    struct run run;
    struct cell cell[WAYS][SIZES];
} bench;

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

/* The last epoch's figures. The first ones bring rows to where they are used. */
static void work(struct trainer *t, double *seconds, double *waited, double *remote)
{
    struct locus_stats before, after;
    t->weights = must_alloc(t->size * sizeof(float));
    t->gradient = must_alloc(t->size * sizeof(float));
    draw(t, locus_rank(t->node));
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
        *seconds = 1e-9 * (double)(clock_ns() - began_ns);
        must(locus_stats_read(t->node, &after), "locus_stats_read");
    }
    *waited = after.calls_waited_s - before.calls_waited_s;
    *remote = (double)(after.pulled_remote - before.pulled_remote) / (double)(t->size * t->steps);
    free(t->weights);
    free(t->gradient);
}

static void join(unsigned way, unsigned size, int rank, const char *rendezvous, uint64_t keys,
                 double figures[3])
{
    struct trainer t = {.size = sizes[size], .steps = keys / sizes[size]};
    struct locus_config c =
        cluster_config(&table, 1, ways[way].technique, rank, ways[way].nodes, rendezvous);
    t.keys = must_alloc(t.size * t.steps * sizeof *t.keys);
    cluster_open(&c, &t.node, &t.worker);
    work(&t, &figures[0], &figures[1], &figures[2]);
    must(locus_barrier(t.worker), "locus_barrier");
    cluster_close(t.node, t.worker);
    free(t.keys);
}

/* ---- both nodes ---- */

static uint64_t keys_of(bool is_quick)
{
    return is_quick ? EPOCH_KEYS / 40 : EPOCH_KEYS;
}

/* "way size quick" */
static int other_main(const char *rendezvous, const char *what)
{
    unsigned way, size, is_quick;
    double figures[3];
    if (sscanf(what, "%u %u %u", &way, &size, &is_quick) != 3) fail("other node: %s", what);
    join(way, size, 1, rendezvous, keys_of(is_quick), figures);
    return 0;
}

static void name_of(unsigned way, unsigned size, char name[64])
{
    snprintf(name, 64, "%s keys=%u", ways[way].name, sizes[size]);
}

static void measure(struct bench *b, unsigned way, unsigned size, unsigned repetition)
{
    char rendezvous[CLUSTER_RENDEZVOUS], what[64];
    bool is_quick = b->run.options.quick;
    struct node_process *other = NULL;
    double figures[3];
    name_of(way, size, what);
    if (!run_selects(&b->run, what)) return;
    cluster_rendezvous(rendezvous);
    snprintf(what, sizeof what, "%u %u %d", way, size, is_quick);
    if (ways[way].nodes > 1) other = cluster_start_other(rendezvous, what, NULL);
    if (other) node_process_dismiss(other);
    join(way, size, 0, ways[way].nodes > 1 ? rendezvous : NULL, keys_of(is_quick), figures);
    if (other) node_process_end_well(other, CLOSE_S);
    b->cell[way][size].seconds[repetition] = figures[0];
    b->cell[way][size].waited[repetition] = figures[1];
    b->cell[way][size].remote[repetition] = figures[2];
}

static void report(struct bench *b)
{
    char name[64];
    for (unsigned size = 0; size < SIZES; size++)
        for (unsigned way = 0; way < WAYS; way++) {
            name_of(way, size, name);
            if (!run_selects(&b->run, name)) continue;
            run_cell(&b->run, name);
            run_values(&b->run, "seconds", b->cell[way][size].seconds);
            run_values(&b->run, "waited_s", b->cell[way][size].waited);
            run_values(&b->run, "remote_share", b->cell[way][size].remote);
            json_end(&b->run.json);
        }
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_main(argv[2], argv[3]);
    const struct program program = {.name = "steps", .about = about, .has_no_demo = true};
    run_parse(&b->run, &program, argc, argv);
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 5});
    char name[64];
    bool selects = false;
    for (unsigned i = 0; i < WAYS * SIZES; i++) {
        name_of(i % WAYS, i / WAYS, name);
        selects |= run_selects(&b->run, name);
    }
    run_begin(&b->run, selects);
    for (unsigned r = 0; r < b->run.repetitions; r++)
        for (unsigned i = 0; i < WAYS * SIZES; i++) {
            unsigned k = run_turn(r, i, WAYS * SIZES);
            measure(b, k % WAYS, k / WAYS, r);
        }
    report(b);
    run_end(&b->run);
    return 0;
}
