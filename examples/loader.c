/* Intent from a loader thread: it prepares batches ahead and signals for their rows; the worker
 * only trains. Here: logistic regression on made-up examples with 8 of 5,000 features each. */
#include <locus.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEATURES = 5000, ACTIVE = 8, BATCH = 64, KEYS = BATCH * ACTIVE, STEPS = 2000, AHEAD = 64 };

struct batch {
    locus_key keys[KEYS];
    float label[BATCH];
};
static struct batch ring[AHEAD]; /* of step s: ring[s % AHEAD] */
static sem_t filled, empty;

/* The truth to be learned: of every feature a weight of -1 or 1. */
static float truth(locus_key feature)
{
    return feature * 2654435761u % 97 < 48 ? -1 : 1;
}

static void prepare(struct batch *b, unsigned *seed)
{
    for (int i = 0; i < BATCH; i++) {
        float sum = 0;
        for (int j = 0; j < ACTIVE; j++) { /* squared: some features are far more frequent */
            double u = (double)rand_r(seed) / RAND_MAX;
            b->keys[i * ACTIVE + j] = (locus_key)(u * u * u * (FEATURES - 1));
            sum += truth(b->keys[i * ACTIVE + j]);
        }
        b->label[i] = sum > 0;
    }
}

static void *load(void *argument)
{
    locus_loader *loader = argument; /* belongs to this thread; its worker to another */
    unsigned seed = (unsigned)(size_t)pthread_self();
    for (int step = 0; step < STEPS; step++) {
        sem_wait(&empty);
        struct batch *b = &ring[step % AHEAD];
        prepare(b, &seed);
        if (locus_loader_intent(loader, b->keys, KEYS, step, step + 1))
            puts(locus_error()); /* a hint that failed: training goes on, slower */
        sem_post(&filled);
    }
    return NULL;
}

/* Returns how many examples were guessed right. */
static int train(locus_worker *worker, const struct batch *b)
{
    static float weight[KEYS], step[KEYS];
    int right = 0;
    if (locus_pull(worker, b->keys, KEYS, weight)) exit((puts(locus_error()), 1));
    for (int i = 0; i < BATCH; i++) {
        float sum = 0;
        for (int j = 0; j < ACTIVE; j++) sum += weight[i * ACTIVE + j];
        float guess = 1 / (1 + expf(-sum));
        for (int j = 0; j < ACTIVE; j++) step[i * ACTIVE + j] = 0.5f * (b->label[i] - guess);
        right += (guess > 0.5f) == (b->label[i] > 0.5f);
    }
    if (locus_push(worker, b->keys, KEYS, step)) exit((puts(locus_error()), 1));
    return right;
}

int main(void)
{
    struct locus_table table = {.name = "weights", .rows = FEATURES, .length = 1};
    struct locus_config config;
    locus *node;
    locus_worker *worker;
    locus_loader *loader;
    pthread_t thread;
    int right = 0;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    if (locus_open(&config, &node) || locus_worker_open(node, &worker) ||
        locus_loader_open(worker, &loader))
        return puts(locus_error()), 1;
    sem_init(&filled, 0, 0);
    sem_init(&empty, 0, AHEAD);
    if (pthread_create(&thread, NULL, load, loader)) return puts("no thread"), 1;
    for (int step = 0; step < STEPS; step++) {
        sem_wait(&filled);
        int n = train(worker, &ring[step % AHEAD]);
        if (step >= STEPS - 100) right += n;
        sem_post(&empty);
        locus_advance_clock(worker);
    }
    pthread_join(thread, NULL);
    printf("node %d: %.1f %% right at last\n", locus_rank(node), right / (100.0 * BATCH) * 100);
    locus_loader_close(loader);
    locus_worker_close(worker);
    return locus_close(node) != 0;
}
