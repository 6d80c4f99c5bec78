#include <locus.h>
#include <stdio.h>

enum { LENGTH = 128, STEPS = 1000, AHEAD = 50 };

int main(void)
{
    struct locus_table table = {.name = "entities", .rows = 1000000, .length = LENGTH};
    struct locus_config config;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    locus *node;
    locus_worker *worker;
    if (locus_open(&config, &node) || locus_worker_open(node, &worker))
        return puts(locus_error()), 1;
    float row[LENGTH], update[LENGTH] = {1};
    for (int step = 0; step < STEPS; step++) {
        locus_key now = step % 100, soon = (step + AHEAD) % 100; /* what we need now, and soon */
        locus_intent(worker, &soon, 1, step + AHEAD, step + AHEAD + 1);
        locus_pull(worker, &now, 1, row);    /* wherever the row is: it should be here by now */
        locus_push(worker, &now, 1, update); /* adds */
        locus_advance_clock(worker);         /* this step is over: on to the intents of the next */
    }
    locus_quiesce(worker); /* all nodes: after this every copy holds every update */
    locus_pull(worker, &(locus_key){7}, 1, row);
    printf("node %d of %d: row 7 begins with %g\n", locus_rank(node), locus_size(node), row[0]);
    locus_worker_close(worker);
    return locus_close(node) != 0;
}
