/* What both nodes do: open, write the rows that they own, look at them again; and what node 1 does,
 * which is what node 0 asks. */
#include "bench.h"

#include "../common/keys.h"
#include "../common/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 25 to 80 MB of values, half of them on node 1; where rows move 6 to 40, and an even number of
 * blocks: each node has half of them when both take at once. */
static uint64_t rows_of(enum phase phase, unsigned length)
{
    static const uint64_t accessed[LENGTHS] = {400000, 100000, 20000};
    static const uint64_t blocks[2][LENGTHS] = {{100, 50, 10}, {8, 6, 4}};
    if (phase == RELOCATION) return BLOCK_KEYS * blocks[run.quick][length];
    return run.quick ? accessed[length] / 10 : accessed[length];
}

/* The same sequence for the same seed. */
static void shuffle(locus_key *keys, size_t count, unsigned seed)
{
    uint64_t *draws = must_alloc((count + 1) * sizeof *draws);
    keys_fill(draws, count, KEYS_UNIFORM, UINT32_MAX, 1 + seed);
    for (uint64_t i = count; i > 1; i--) {
        uint64_t j = draws[i - 1] % i;
        locus_key key = keys[i - 1];
        keys[i - 1] = keys[j];
        keys[j] = key;
    }
    free(draws);
}

static void join(struct node *n, int rank, const char *rendezvous)
{
    struct locus_table tables[LENGTHS];
    enum locus_technique technique = n->phase == ACCESS ? LOCUS_STATIC : LOCUS_RELOCATE;
    for (unsigned i = 0; i < LENGTHS; i++)
        tables[i] = (struct locus_table){.rows = rows_of(n->phase, i), .length = lengths[i]};
    struct locus_config c = cluster_config(tables, LENGTHS, technique, rank, 2, rendezvous);
    if (n->phase == RELOCATION) c.workers = 2;
    cluster_open(&c, &n->locus, &n->worker);
}

static void choose_keys(struct node *n, int rank)
{
    locus_key first = 0;
    for (unsigned i = 0; i < LENGTHS; i++) {
        uint64_t rows = rows_of(n->phase, i);
        n->keys[i] = must_alloc(rows * sizeof *n->keys[i]);
        for (uint64_t k = 0; k < rows; k++) n->keys[i][k] = first + k;
        n->count[i] = rows;
        if (n->phase == ACCESS) n->count[i] = rows_elsewhere(n->locus, first, rows, n->keys[i]);
        if (n->count[i] == 0) fail("node %d owns all of %" PRIu64 " rows", rank, rows);
        shuffle(n->keys[i], n->count[i], i);
        first += rows;
    }
}

static void check_row(struct node *n, locus_key key, float *row)
{
    must(locus_pull(n->worker, &key, 1, row), "locus_pull");
    for (uint32_t i = 0; i < locus_length(n->locus, key); i++) {
        if (row[i] == row_value(key)) continue;
        fail("key %" PRIu64 " has %g at %" PRIu32 ", not %g as it was set", key, (double)row[i], i,
             (double)row_value(key));
    }
}

/* That what is timed really brings the other node's rows. */
static void check_rows_there(struct node *n)
{
    float *row = must_alloc(row_bytes(LENGTHS - 1));
    for (unsigned i = 0; i < LENGTHS; i++)
        for (size_t k = 0; k < n->count[i] && k < 1000; k++) check_row(n, n->keys[i][k], row);
    free(row);
}

/* That rows are still what they were, wherever they have been. */
static void check_own_rows(struct node *n)
{
    float *row = must_alloc(row_bytes(LENGTHS - 1));
    locus_key keys[256];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, 256)) > 0;
         from = keys[count - 1] + 1) {
        for (size_t k = 0; k < count; k++) check_row(n, keys[k], row);
    }
    free(row);
}

void node_open(struct node *n, enum phase phase, int rank, const char *rendezvous)
{
    n->phase = phase;
    join(n, rank, rendezvous);
    choose_keys(n, rank);
    rows_write_own(n->locus, n->worker, row_value);
    if (phase == RELOCATION) {
        background_open(&n->background, n->locus);
        return;
    }
    must(locus_barrier(n->worker), "locus_barrier");
    if (rank == 0) check_rows_there(n);
}

void node_close(struct node *n)
{
    if (n->phase == RELOCATION) {
        check_own_rows(n);
        background_close(&n->background);
    }
    cluster_close(n->locus, n->worker);
    for (unsigned i = 0; i < LENGTHS; i++) free(n->keys[i]);
}

/* ---- Node 1 ---- */

static struct taken answer(struct node *n, const struct node_question *q, struct taken last)
{
    struct background *a = &n->background;
    uint64_t number = 0, length = q->numbers[0];
    struct node_figures figures;
    struct take t;
    _Static_assert(sizeof t == sizeof q->numbers,
                   "a struct take travels as the numbers of a question");
    switch (q->what) {
    case NODE_FIGURES:
        figures = node_figures(n->locus);
        node_process_answer(&figures, sizeof figures);
        return last;
    case NODE_TAKEN: node_process_answer(&last, sizeof last); return last;
    case NODE_ACCESS: background_begin(a, n->keys[length], n->count[length]); break;
    case NODE_REST: background_end(a); break;
    case NODE_ACCESSES: number = a->done; break;
    default: break;
    }
    node_process_answer(&number, sizeof number);
    if (q->what != NODE_TAKE) return last;
    memcpy(&t, q->numbers, sizeof t);
    return take_rows(n, &t, NULL);
}

int other_node(const struct cluster_node *told)
{
    static struct node n;
    struct node_question q = {0};
    struct taken last = {0};
    node_open(&n, told->number == RELOCATION ? RELOCATION : ACCESS, told->rank, told->rendezvous);
    while (q.what != NODE_LEAVE) {
        node_process_question(&q);
        last = answer(&n, &q, last);
    }
    node_close(&n);
    return 0;
}
