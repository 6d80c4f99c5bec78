/* Node 0, and its keys of node 1's rows. */
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
    fprintf(stderr, "remote_access: %s: %s%s%s\n", call, locus_strerror(rc), *message ? ": " : "", message);
    end();
}

void *must_alloc(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory != NULL) return memset(memory, 0, bytes);
    fprintf(stderr, "remote_access: no memory for %zu MiB more\n", bytes >> 20);
    end();
}

float row_value(locus_key key)
{
    return (float)(key % 1000);
}

void node_config(struct locus_config *c, struct locus_table tables[LENGTHS], const struct bench *b, int rank,
                 const char *rendezvous)
{
    for (unsigned i = 0; i < LENGTHS; i++) {
        tables[i] = (struct locus_table){.rows = rows_of(b, i), .length = lengths[i]};
    }
    locus_config_init(c);
    c->tables = tables;
    c->table_count = LENGTHS;
    c->technique = LOCUS_STATIC;
    c->rank = rank;
    c->size = 2;
    c->rendezvous = rendezvous;
    c->join_timeout_s = 20;
}

/* Writes the keys of [first, first + rows) that are not ours: on two nodes they are the other's. Returns how many. */
static size_t others_keys(locus *node, locus_key first, uint64_t rows, locus_key *keys)
{
    locus_key owned[256], next = first, end = first + rows;
    size_t count = 0, n;
    while (next < end && (n = locus_owned(node, next, owned, 256)) > 0) {
        for (size_t i = 0; i < n && next < end; i++, next++) {
            while (next < owned[i] && next < end) keys[count++] = next++;
        }
    }
    while (next < end) keys[count++] = next++;
    return count;
}

static void draw_keys(struct bench *b, unsigned length, locus_key first)
{
    uint64_t rows = rows_of(b, length);
    locus_key *others = must_alloc(rows * sizeof *others);
    size_t count = others_keys(b->node, first, rows, others);
    if (count == 0) {
        fprintf(stderr, "remote_access: node 1 owns none of %" PRIu64 " rows\n", rows);
        end();
    }
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
        fprintf(stderr, "remote_access: key %" PRIu64 " is %g ... %g, not %g as node 1 set it\n", key, (double)row[0],
                (double)row[floats - 1], (double)row_value(key));
        end();
    }
}

static void start_other(struct bench *b, const char *rendezvous)
{
    const char *const arguments[] = {"--other-node", rendezvous, b->options.quick ? "--quick" : NULL, NULL};
    b->other = node_process_start("node 1", arguments);
}

static void join(struct bench *b)
{
    struct locus_table tables[LENGTHS];
    struct locus_config config;
    char rendezvous[32];
    snprintf(rendezvous, sizeof rendezvous, "127.0.0.1:%u", node_process_port());
    start_other(b, rendezvous);
    node_config(&config, tables, b, 0, rendezvous);
    must(locus_open(&config, &b->node), "cannot open a cluster of two nodes: locus_open");
    must(locus_worker_open(b->node, &b->worker), "locus_worker_open");
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
    must(locus_worker_close(b->worker), "locus_worker_close");
    must(locus_close(b->node), "locus_close");
    int status = node_process_end(b->other, 20);
    for (unsigned i = 0; i < LENGTHS; i++) free(b->keys[i]);
    free(b->values);
    if (status == 0) return;
    fprintf(stderr, "remote_access: node 1 ended with status %d\n", status);
    end();
}
