/* A skip-gram trainer (word2vec with negative samples), as it was for a classic parameter server,
 * and ported, as docs/guides/port-c.md explains. The text is made up.
 *     ./port 0       as it was    ./port 256     intent is signaled 256 steps ahead */
#include <locus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 20000, TOKENS = 200000, LENGTH = 64, AROUND = 6, NEGATIVES = 5, AHEAD_MAX = 4096 };
enum { KEYS = AROUND + 1 + NEGATIVES };
static int text[TOKENS];

static void check(int rc)
{
    if (rc) exit((puts(locus_error()), 1));
}

/* The rows of a step: of the words around, of the middle one, of the negatives. */
static void read_step(locus_key *keys, int at, unsigned *seed)
{
    for (int i = 0; i < AROUND; i++) keys[i] = (locus_key)text[at + i + (i >= AROUND / 2)];
    keys[AROUND] = (locus_key)(WORDS + text[at + AROUND / 2]);
    for (int i = AROUND + 1; i < KEYS; i++)
        keys[i] = (locus_key)(WORDS + text[rand_r(seed) % TOKENS]);
}

static double train(locus_worker *worker, const locus_key *keys)
{
    float row[KEYS][LENGTH], update[KEYS][LENGTH] = {0}, loss = 0;
    check(locus_pull(worker, keys, KEYS, row[0]));
    for (int i = 0; i < AROUND; i++)
        for (int o = AROUND; o < KEYS; o++) {
            float score = 0, is_middle = o == AROUND;
            for (int j = 0; j < LENGTH; j++) score += row[i][j] * row[o][j];
            float guess = 1 / (1 + expf(-score)), by = 0.05F * (is_middle - guess);
            for (int j = 0; j < LENGTH; j++) update[i][j] += by * row[o][j];
            for (int j = 0; j < LENGTH; j++) update[o][j] += by * row[i][j];
            loss -= logf(1e-6F + (is_middle > 0 ? guess : 1 - guess));
        }
    check(locus_push(worker, keys, KEYS, update[0]));
    return loss;
}

static double train_before(locus_worker *worker, int first, int end, unsigned seed)
{
    locus_key keys[KEYS];
    double loss = 0;
    for (int at = first; at < end; at++) {
        read_step(keys, at, &seed);
        loss += train(worker, keys);
    }
    return loss;
}

static double train_ported(locus_worker *worker, int first, int end, unsigned seed, int ahead)
{
    static locus_key ring[AHEAD_MAX][KEYS]; /* the steps from `at` on, already read */
    double loss = 0;
    for (int at = first, read = first; at < end; at++) {
        for (; read < end && read < at + ahead; read++) {
            locus_key *keys = ring[read % ahead];
            read_step(keys, read, &seed);
            locus_clock when = read - first;
            check(locus_intent(worker, keys, KEYS, when, when + 1));
        }
        loss += train(worker, ring[at % ahead]);
        locus_advance_clock(worker);
    }
    return loss;
}

/* Inputs begin at random values, outputs at zero. Each node sets the rows that it owns. */
static void set_first_values(locus *node, locus_worker *worker)
{
    enum { AT_ONCE = 512 };
    unsigned seed = (unsigned)locus_rank(node) + 1;
    locus_key keys[AT_ONCE], from = 0;
    float rows[AT_ONCE][LENGTH];
    for (size_t n; (n = locus_owned(node, from, keys, AT_ONCE)) > 0; from = keys[n - 1] + 1) {
        for (size_t i = 0; i < n; i++)
            for (int j = 0; j < LENGTH; j++)
                rows[i][j] = keys[i] < WORDS ? (float)(rand_r(&seed) % 1000 - 500) / 1000 / LENGTH
                                             : 0;
        check(locus_set(worker, keys, n, rows[0]));
    }
}

int main(int argc, char **argv)
{
    struct locus_table table = {.name = "inputs and outputs", .rows = 2 * WORDS, .length = LENGTH};
    struct locus_config config;
    struct locus_stats stats;
    locus *node;
    locus_worker *worker;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    check(locus_open(&config, &node) || locus_worker_open(node, &worker));
    int rank = locus_rank(node), part = (TOKENS - AROUND) / locus_size(node), first = rank * part;
    for (int i = 0; i < TOKENS; i++) /* sentences of eight words of one of 400 subjects */
        text[i] = (int)(pow((double)rand() / RAND_MAX, 3) * 49.99) * 400 +
                  (i % 8 ? text[i - 1] : rand()) % 400;
    set_first_values(node, worker);
    check(locus_barrier(worker));
    int ahead = argc > 1 ? atoi(argv[1]) % AHEAD_MAX : 256;
    double loss = ahead > 0 ? train_ported(worker, first, first + part, (unsigned)rank, ahead)
                            : train_before(worker, first, first + part, (unsigned)rank);
    check(locus_stats_read(node, &stats));
    printf("node %d: loss %.3f, %.2f %% of pulls went to another node; calls waited %.1f s\n", rank,
           loss / part / AROUND, 100.0 * (double)stats.pulled_remote / part / KEYS,
           stats.calls_waited_s);
    return locus_worker_close(worker) || locus_close(node);
}
