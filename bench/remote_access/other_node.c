/* Node 1: writes the rows that it owns, then waits in barriers while node 0 measures. */
#include "bench.h"

#include "../common/cluster.h"
#include "../common/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct other {
    struct bench bench;
    atomic_bool leaves;
};

/* Beside the worker, which waits in a barrier all the time. */
static void *answer(void *argument)
{
    struct other *o = argument;
    struct node_question q = {0};
    while (q.what != NODE_LEAVE) {
        node_process_question(&q);
        if (q.what == NODE_LEAVE) atomic_store(&o->leaves, true);
        struct node_figures figures = node_figures(o->bench.node);
        node_process_answer(&figures, sizeof figures);
    }
    return NULL;
}

static void work(struct other *o)
{
    struct bench *b = &o->bench;
    pthread_t thread;
    rows_write_own(b->node, b->worker, row_value);
    must(-pthread_create(&thread, NULL, answer, o), "pthread_create");
    while (!atomic_load(&o->leaves)) must(locus_barrier(b->worker), "locus_barrier");
    pthread_join(thread, NULL);
}

static void join(struct bench *b, const char *rendezvous)
{
    struct locus_table tables[LENGTHS];
    struct locus_config config;
    node_config(&config, tables, b, 1, rendezvous);
    cluster_open(&config, &b->node, &b->worker);
}

/* The arguments: the rendezvous, and --quick or nothing. */
int other_node(int argc, char **argv)
{
    static struct other other;
    struct bench *b = &other.bench;
    b->run.options.quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    join(b, argv[0]);
    work(&other);
    cluster_close(b->node, b->worker);
    return 0;
}
