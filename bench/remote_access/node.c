/* Node 0, and its keys of node 1's rows. */
#include "bench.h"

#include "../common/cluster.h"
#include "../common/keys.h"
#include "../common/rows.h"

#include <inttypes.h>
#include <stdlib.h>

void node_config(struct locus_config *c, struct locus_table tables[LENGTHS], const struct bench *b,
                 int rank, const char *rendezvous)
{
    for (unsigned i = 0; i < LENGTHS; i++) {
        tables[i] = (struct locus_table){.rows = rows_of(b, i), .length = lengths[i]};
    }
    *c = cluster_config(tables, LENGTHS, LOCUS_STATIC, rank, 2, rendezvous);
}

static void draw_keys(struct bench *b, unsigned length, locus_key first)
{
    uint64_t rows = rows_of(b, length);
    locus_key *others = must_alloc(rows * sizeof *others);
    size_t count = rows_elsewhere(b->node, first, rows, others);
    if (count == 0) fail("node 1 owns none of %" PRIu64 " rows", rows);
    b->keys[length] = must_alloc(b->sequence * sizeof *b->keys[length]);
    keys_fill(b->keys[length], b->sequence, KEYS_UNIFORM, count, 1 + length);
    for (size_t i = 0; i < b->sequence; i++) b->keys[length][i] = others[b->keys[length][i]];
    free(others);
}

/* That what is timed really brings the other node's rows. */
static void check_rows(struct bench *b, unsigned length)
{
    unsigned n = batches[BATCHES - 1];
    uint32_t floats = lengths[length];
    must(locus_pull(b->worker, b->keys[length], n, b->values), "locus_pull");
    for (unsigned i = 0; i < n; i++) {
        const float *row = b->values + (size_t)i * floats;
        locus_key key = b->keys[length][i];
        if (row[0] == row_value(key) && row[floats - 1] == row_value(key)) continue;
        fail("key %" PRIu64 " is %g ... %g, not %g as node 1 set it", key, (double)row[0],
             (double)row[floats - 1], (double)row_value(key));
    }
}

static void join(struct bench *b)
{
    struct locus_table tables[LENGTHS];
    struct locus_config config;
    char rendezvous[CLUSTER_RENDEZVOUS];
    cluster_rendezvous(rendezvous);
    b->other = cluster_start_other(rendezvous, b->run.options.quick);
    node_config(&config, tables, b, 0, rendezvous);
    cluster_open(&config, &b->node, &b->worker);
}

void node_open(struct bench *b)
{
    locus_key first = 0;
    join(b);
    b->values = must_alloc(values_bytes_max());
    for (unsigned i = 0; i < LENGTHS; i++, first += rows_of(b, i - 1)) draw_keys(b, i, first);
    must(locus_barrier(b->worker), "locus_barrier"); /* node 1 has written its rows */
    for (unsigned i = 0; i < LENGTHS; i++) check_rows(b, i);
}

void node_close(struct bench *b)
{
    struct node_figures last;
    node_process_dismiss(b->other);
    node_process_ask(b->other, &(struct node_question){.what = NODE_LEAVE}, &last, sizeof last, 10);
    must(locus_barrier(b->worker), "locus_barrier");
    cluster_close(b->node, b->worker);
    node_process_end_well(b->other, 20);
    for (unsigned i = 0; i < LENGTHS; i++) free(b->keys[i]);
    free(b->values);
}
