/*
 * A user's program for ThreadSanitizer: two nodes in one process; one reads a row in place while
 * the other adds to it, which is allowed (locus_view). With the argument "race" it has a race of
 * its own beside.
 *
 *     viewer HOST:PORT [race]
 */
#include <locus.h>
#include <pthread.h>
#include <stdio.h>

enum { LENGTH = 64, VIEWS = 20000 };
static const struct locus_table table = {.rows = 100, .length = LENGTH};
static int over, began, careless;
static const char *rendezvous;
static bool races;

/* Again and again: the sanitizer forgets what was long ago. */
static inline __attribute__((always_inline)) void be_careless(void)
{
    if (races) careless++;
}

static void *run_node(void *rank)
{
    struct locus_config c;
    locus *node;
    locus_worker *w;
    float ones[LENGTH], sum = 0;
    locus_config_init(&c);
    c.tables = &table;
    c.table_count = 1;
    c.rank = *(int *)rank;
    c.size = 2;
    c.rendezvous = rendezvous;
    if (locus_open(&c, &node) || locus_worker_open(node, &w)) return puts(locus_error()), rank;
    locus_key key = 0;
    for (int i = 0; i < LENGTH; i++) ones[i] = 1;
    if (c.rank == 0)
        while (locus_owned(node, 0, &key, 1) == 0) continue;
    locus_barrier(w);
    if (c.rank == 0) {
        /* Until the other is at it, too. Relaxed: the sanitizer learns no order from it. */
        for (int i = 0; i < VIEWS || !__atomic_load_n(&began, __ATOMIC_RELAXED); i++) {
            locus_read_begin(w);
            const float *row = locus_view(w, key);
            for (int j = 0; row && j < LENGTH; j++) sum += row[j];
            if (sum < 0) puts("only ones were added");
            locus_read_end(w);
            be_careless();
        }
        __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    } else {
        while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
            for (locus_key k = 0; k < 100; k++) {
                locus_push(w, &k, 1, ones);
                be_careless();
            }
            __atomic_store_n(&began, 1, __ATOMIC_RELAXED);
        }
    }
    locus_barrier(w);
    locus_worker_close(w);
    return locus_close(node) ? rank : NULL;
}

int main(int argc, char **argv)
{
    int rank[2] = {0, 1};
    pthread_t other;
    void *failed;
    if (argc < 2) return 2;
    rendezvous = argv[1];
    races = argc > 2;
    pthread_create(&other, NULL, run_node, &rank[1]);
    void *mine = run_node(&rank[0]);
    pthread_join(other, &failed);
    printf("done %d\n", careless);
    return mine || failed;
}
