/* Node 1: writes the rows that it owns, then waits in barriers while node 0 measures. */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
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

static void write_row(struct bench *b, locus_key key)
{
    for (uint32_t i = 0; i < locus_length(b->node, key); i++) b->values[i] = row_value(key);
    must(locus_set(b->worker, &key, 1, b->values), "locus_set");
}

/* A row that was never written has no memory; reading it would be too cheap. */
static void write_own_rows(struct bench *b)
{
    locus_key keys[256];
    size_t n;
    for (locus_key from = 0; (n = locus_owned(b->node, from, keys, 256)) > 0; from = keys[n - 1] + 1) {
        for (size_t i = 0; i < n; i++) write_row(b, keys[i]);
    }
}

static void work(struct other *o)
{
    struct bench *b = &o->bench;
    pthread_t thread;
    write_own_rows(b);
    must(-pthread_create(&thread, NULL, answer, o), "pthread_create");
    while (!atomic_load(&o->leaves)) must(locus_barrier(b->worker), "locus_barrier");
    pthread_join(thread, NULL);
}

static void join(struct bench *b, const char *rendezvous)
{
    struct locus_table tables[LENGTHS];
    struct locus_config config;
    node_config(&config, tables, b, 1, rendezvous);
    must(locus_open(&config, &b->node), "locus_open");
    must(locus_worker_open(b->node, &b->worker), "locus_worker_open");
}

/* The arguments: the rendezvous, and --quick or nothing. */
int other_node(int argc, char **argv)
{
    static struct other other;
    struct bench *b = &other.bench;
    b->options.quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    b->values = must_alloc(row_bytes(LENGTHS - 1));
    join(b, argv[0]);
    work(&other);
    must(locus_worker_close(b->worker), "locus_worker_close");
    must(locus_close(b->node), "locus_close");
    return 0;
}
