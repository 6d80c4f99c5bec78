/* What both nodes do: open, write the rows that they own, look at all rows in the end. */
#include "bench.h"

#include "../common/cluster.h"
#include "../common/keys.h"
#include "../common/rows.h"

#include <inttypes.h>
#include <stdlib.h>

/* The same sequence at both nodes: every key of the table once. */
static void shuffle(locus_key *keys, locus_key first, uint64_t rows, unsigned seed)
{
    uint64_t *draws = must_alloc(rows * sizeof *draws);
    keys_fill(draws, rows, KEYS_UNIFORM, UINT32_MAX, 1 + seed);
    for (uint64_t i = 0; i < rows; i++) keys[i] = first + i;
    for (uint64_t i = rows; i > 1; i--) {
        uint64_t j = draws[i - 1] % i;
        locus_key key = keys[i - 1];
        keys[i - 1] = keys[j];
        keys[j] = key;
    }
    free(draws);
}

/* That rows are still what they were, wherever they have been. */
static void check_own_rows(struct node *n)
{
    float *row = must_alloc(row_bytes(LENGTHS - 1));
    locus_key keys[256];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, 256)) > 0;
         from = keys[count - 1] + 1) {
        for (size_t k = 0; k < count; k++) {
            must(locus_pull(n->worker, &keys[k], 1, row), "locus_pull");
            for (uint32_t i = 0; i < locus_length(n->locus, keys[k]); i++) {
                if (row[i] == row_value(keys[k])) continue;
                fail("key %" PRIu64 " has %g at %" PRIu32 ", not %g as it was set", keys[k],
                     (double)row[i], i, (double)row_value(keys[k]));
            }
        }
    }
    free(row);
}

void node_open(struct node *n, bool is_quick, int rank, const char *rendezvous)
{
    struct locus_table tables[LENGTHS];
    locus_key first = 0;
    for (unsigned i = 0; i < LENGTHS; i++) {
        uint64_t rows = rows_of(is_quick, i);
        tables[i] = (struct locus_table){.rows = rows, .length = lengths[i]};
        n->keys[i] = must_alloc(rows * sizeof *n->keys[i]);
        shuffle(n->keys[i], first, rows, i);
        first += rows;
    }
    struct locus_config c = cluster_config(tables, LENGTHS, LOCUS_RELOCATE, rank, 2, rendezvous);
    c.workers = 2;
    cluster_open(&c, &n->locus, &n->worker);
    rows_write_own(n->locus, n->worker, row_value);
    accesses_open(&n->accesses, n->locus);
}

void node_close(struct node *n)
{
    check_own_rows(n);
    accesses_close(&n->accesses);
    cluster_close(n->locus, n->worker);
    for (unsigned i = 0; i < LENGTHS; i++) free(n->keys[i]);
}
