/* Several nodes in one process, a thread each: how to try and to debug a trainer, or to test it.
 *
 *     ./several 127.0.0.1:7777 4       the rendezvous, at a free port, and how many nodes */
#include <locus.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES_MAX = 16, KEYS = 1000, LENGTH = 4, ROUNDS = 200 };
static const struct locus_table table = {.name = "counts", .rows = KEYS, .length = LENGTH};
static const char *rendezvous;
static int nodes;

/* Returns NULL, or the sentence that says what failed. */
static const char *work(locus *node, locus_worker *worker)
{
    static const float ones[LENGTH] = {1, 1, 1, 1};
    float row[LENGTH];
    for (int round = 0; round < ROUNDS; round++) {
        locus_key key = (locus_key)(round * 7 % KEYS);
        if (locus_push(worker, &key, 1, ones)) return locus_error();
    }
    if (locus_quiesce(worker)) return locus_error();
    for (locus_key key = 0; key < ROUNDS * 7 && key < KEYS; key += 7)
        if (locus_pull(worker, &key, 1, row))
            return locus_error();
        else if (row[0] < (float)nodes)
            return "an update was lost";
    printf("node %d of %d: all updates are there\n", locus_rank(node), locus_size(node));
    return NULL;
}

static void *run_node(void *rank)
{
    struct locus_config config;
    locus *node;
    locus_worker *worker;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    config.rank = *(int *)rank; /* what a launcher's variables say otherwise */
    config.size = nodes;
    config.rendezvous = rendezvous;
    if (locus_open(&config, &node)) return puts(locus_error()), rank;
    const char *failed = locus_worker_open(node, &worker) ? locus_error() : work(node, worker);
    if (failed) puts(failed);
    locus_worker_close(worker);
    return locus_close(node) || failed ? rank : NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[NODES_MAX];
    int ranks[NODES_MAX], failed = 0;
    if (argc != 3) return puts("usage: several HOST:PORT NODES"), 2;
    rendezvous = argv[1];
    nodes = atoi(argv[2]);
    if (nodes < 1 || nodes > NODES_MAX) return puts("NODES is 1 to 16"), 2;
    for (int r = 0; r < nodes; r++) {
        ranks[r] = r;
        if (pthread_create(&threads[r], NULL, run_node, &ranks[r])) return puts("no thread"), 1;
    }
    for (int r = 0; r < nodes; r++) {
        void *bad;
        pthread_join(threads[r], &bad);
        failed += bad != NULL;
    }
    return failed;
}
