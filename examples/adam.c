/* Logistic regression with Adam in the table: what is pushed is a gradient, with which the row takes
 * a step; its moments lie beside it. The examples are made up, each of a few features of many. */
#include <locus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEATURES = 2000, OF_EXAMPLE = 8, EXAMPLES = 40000, EPOCHS = 5, AHEAD = 100 };
static const struct locus_table table = {.rows = FEATURES, .length = 1, .optimizer = LOCUS_ADAM};

static void check(int rc)
{
    if (rc) exit((puts(locus_error()), 1));
}

/* Its features; returns what they mean. */
static float draw(unsigned seed, locus_key *keys)
{
    float logit = 0;
    for (int i = 0; i < OF_EXAMPLE; i++)
        logit += sinf((float)(keys[i] = (locus_key)rand_r(&seed) % FEATURES));
    return logit > 0;
}

static float train(locus_worker *worker, const locus_key *keys, float label)
{
    float weights[OF_EXAMPLE], gradients[OF_EXAMPLE], logit = 0;
    check(locus_pull(worker, keys, OF_EXAMPLE, weights));
    for (int i = 0; i < OF_EXAMPLE; i++) logit += weights[i];
    float chance = 1 / (1 + expf(-logit));
    for (int i = 0; i < OF_EXAMPLE; i++) gradients[i] = chance - label;
    check(locus_push(worker, keys, OF_EXAMPLE, gradients));
    return -logf(label > 0 ? chance : 1 - chance); /* the loss before the step */
}

int main(void)
{
    struct locus_config config;
    locus *node;
    locus_worker *worker;
    locus_config_init(&config);
    config.tables = &table, config.table_count = 1;
    check(locus_open(&config, &node) || locus_worker_open(node, &worker));
    unsigned rank = (unsigned)locus_rank(node), size = (unsigned)locus_size(node);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        locus_key keys[OF_EXAMPLE];
        double loss = 0;
        check(locus_table_rate(node, 0, 0.02 / (1 + epoch))); /* of this node: all set the same */
        for (unsigned i = rank; i < EXAMPLES; i += size) {
            locus_clock soon = locus_current_clock(worker) + AHEAD; /* an example takes a clock */
            draw(i + AHEAD * size, keys);
            check(locus_intent(worker, keys, OF_EXAMPLE, soon, soon + 1));
            loss += (double)train(worker, keys, draw(i, keys)) / EXAMPLES;
            locus_advance_clock(worker);
        }
        check(locus_sum(worker, &loss, 1));
        if (rank == 0) printf("epoch %d: loss %.4f\n", epoch + 1, loss);
    }
    return locus_worker_close(worker) || locus_close(node);
}
