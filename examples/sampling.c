/* Negative samples that the manager draws: frequent keys more often, and their rows are here when
 * they are pulled. Twenty samples are prepared ahead, as one would for the batches of a loader. */
#include <locus.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 10000, LENGTH = 32, NEGATIVES = 64, STEPS = 2000, AHEAD = 20 };

static void check(int rc)
{
    if (rc) exit((puts(locus_error()), 1));
}

int main(void)
{
    struct locus_table table = {.name = "words", .rows = WORDS, .length = LENGTH};
    struct locus_config config;
    locus *node;
    locus_worker *worker;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    check(locus_open(&config, &node));
    check(locus_worker_open(node, &worker));

    static double weights[WORDS];
    for (int i = 0; i < WORDS; i++) weights[i] = 1.0 / (i + 1);
    locus_distribution *noise; /* every node registers the same */
    check(locus_distribution_weighted(node, 0, weights, WORDS, LOCUS_BOUNDED, 0, &noise));

    locus_sample samples[AHEAD]; /* of step s: samples[s % AHEAD] */
    for (int s = 0; s < AHEAD; s++)
        check(locus_prepare_sample(worker, noise, NEGATIVES, s, s + 1, &samples[s]));

    static float rows[NEGATIVES * LENGTH], updates[NEGATIVES * LENGTH];
    locus_key keys[NEGATIVES];
    long first_ten = 0;
    for (int step = 0; step < STEPS; step++) {
        locus_sample *sample = &samples[step % AHEAD];
        check(locus_pull_sample(worker, *sample, NEGATIVES, keys, rows));
        for (int i = 0; i < NEGATIVES * LENGTH; i++) updates[i] = -0.01f * rows[i]; /* train here */
        check(locus_push(worker, keys, NEGATIVES, updates));
        check(locus_finish_sample(worker, *sample));
        for (int i = 0; i < NEGATIVES; i++) first_ten += keys[i] < 10;
        check(
            locus_prepare_sample(worker, noise, NEGATIVES, step + AHEAD, step + AHEAD + 1, sample));
        locus_advance_clock(worker);
    }
    /* 1 + 1/2 + ... + 1/10 is 2.93, of 9.79 for all weights */
    printf(
        "node %d: the ten most frequent words make %.1f %% of the samples; 29.9 were asked for\n",
        locus_rank(node), 100.0 * (double)first_ten / STEPS / NEGATIVES);
    check(locus_worker_close(worker)); /* finishes the samples that are still prepared */
    locus_distribution_free(noise);
    return locus_close(node) != 0;
}
