#include <locus.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 128, STEPS = 100000 };

int main(int argc, char **argv)
{
    int ahead = argc > 1 ? atoi(argv[1]) : 1000; /* steps; 0: say nothing ahead */
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
        locus_key now = step % 1000, soon = (step + ahead) % 1000;
        if (ahead) locus_intent(worker, &soon, 1, step + ahead, step + ahead + 1);
        locus_pull(worker, &now, 1, row);    /* wherever the row is: it should be here by now */
        locus_push(worker, &now, 1, update); /* adds */
        locus_advance_clock(worker);         /* this step is over: on to the intents of the next */
    }
    locus_quiesce(worker); /* all nodes: after this every copy holds every update */
    locus_pull(worker, &(locus_key){7}, 1, row);
    struct locus_stats s;
    locus_stats_read(node, &s);
    double left = 100.0 * (double)(s.pulled_remote + s.pushed_remote) / (2 * STEPS + 1);
    printf("node %d of %d: row 7 begins with %g; %.1f %% of accesses left the node\n",
           locus_rank(node), locus_size(node), row[0], left);
    locus_worker_close(worker);
    return locus_close(node) != 0;
}
