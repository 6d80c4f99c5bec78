/* What both nodes do: open, write the rows that they own, look at all rows in the end. */
#include "bench.h"

#include "../common/keys.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* _exit, because what runs at a usual exit may wait for a cluster that is in trouble. */
static _Noreturn void end(void)
{
    fflush(NULL);
    _exit(1);
}

void must(int rc, const char *call)
{
    if (rc == 0) return;
    const char *message = locus_error();
    fprintf(stderr, "relocation: %s: %s%s%s\n", call, locus_strerror(rc), *message ? ": " : "", message);
    end();
}

void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != NULL) return memset(memory, 0, bytes);
    fprintf(stderr, "relocation: no memory for %zu MiB more\n", bytes >> 20);
    end();
}

float row_value(locus_key key)
{
    return (float)(key % 1000);
}

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

/* A row that was never written has no memory; moving it would be too cheap. */
static void write_own_rows(struct node *n)
{
    float *row = must_alloc(row_bytes(LENGTHS - 1));
    locus_key keys[256];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, 256)) > 0; from = keys[count - 1] + 1) {
        for (size_t k = 0; k < count; k++) {
            for (uint32_t i = 0; i < locus_length(n->locus, keys[k]); i++) row[i] = row_value(keys[k]);
            must(locus_set(n->worker, &keys[k], 1, row), "locus_set");
        }
    }
    free(row);
}

/* That rows are still what they were, wherever they have been. */
static void check_own_rows(struct node *n)
{
    float *row = must_alloc(row_bytes(LENGTHS - 1));
    locus_key keys[256];
    size_t count;
    for (locus_key from = 0; (count = locus_owned(n->locus, from, keys, 256)) > 0; from = keys[count - 1] + 1) {
        for (size_t k = 0; k < count; k++) {
            must(locus_pull(n->worker, &keys[k], 1, row), "locus_pull");
            for (uint32_t i = 0; i < locus_length(n->locus, keys[k]); i++) {
                if (row[i] == row_value(keys[k])) continue;
                fprintf(stderr, "relocation: key %" PRIu64 " has %g at %" PRIu32 ", not %g as it was set\n", keys[k],
                        (double)row[i], i, (double)row_value(keys[k]));
                end();
            }
        }
    }
    free(row);
}

void node_open(struct node *n, bool is_quick, int rank, const char *rendezvous)
{
    struct locus_table tables[LENGTHS];
    struct locus_config c;
    locus_key first = 0;
    for (unsigned i = 0; i < LENGTHS; i++) {
        uint64_t rows = rows_of(is_quick, i);
        tables[i] = (struct locus_table){.rows = rows, .length = lengths[i]};
        n->keys[i] = must_alloc(rows * sizeof *n->keys[i]);
        shuffle(n->keys[i], first, rows, i);
        first += rows;
    }
    locus_config_init(&c);
    c.tables = tables;
    c.table_count = LENGTHS;
    c.technique = LOCUS_RELOCATE;
    c.workers = 2;
    c.rank = rank;
    c.size = 2;
    c.rendezvous = rendezvous;
    c.join_timeout_s = 20;
    must(locus_open(&c, &n->locus), "cannot open a cluster of two nodes: locus_open");
    must(locus_worker_open(n->locus, &n->worker), "locus_worker_open");
    write_own_rows(n);
    accesses_open(&n->accesses, n->locus);
}

void node_close(struct node *n)
{
    check_own_rows(n);
    accesses_close(&n->accesses);
    must(locus_worker_close(n->worker), "locus_worker_close");
    must(locus_close(n->locus), "locus_close");
    for (unsigned i = 0; i < LENGTHS; i++) free(n->keys[i]);
}
