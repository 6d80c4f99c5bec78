/* The node, the array beside it, and what each thread has of its own. */
#include "bench.h"

#include "../common/cluster.h"
#include "../common/machine.h"

#include <inttypes.h>
#include <stdlib.h>

struct bench bench;

static void array_open(uint32_t length)
{
    uint64_t rows = rows_of(length);
    bench.floors = floors_new(rows, length);
    if (bench.floors == NULL)
        fail("no memory for an array of %" PRIu64 " rows of %" PRIu32 " floats; --quick needs less",
             rows, length);
}

static void lanes_open(uint32_t length)
{
    for (unsigned i = 0; i < bench.workers; i++) {
        struct lane *l = &bench.lanes[i];
        l->floors = bench.floors;
        l->length = length;
        l->batch = must_alloc(BATCH * length * sizeof(float));
        l->keys = must_alloc(bench.sequence * sizeof *l->keys);
    }
}

static void workers_open(uint32_t length)
{
    struct locus_table table = {.name = "rows", .rows = rows_of(length), .length = length};
    struct locus_config config = cluster_config(&table, 1, LOCUS_ADAPTIVE, 0, 1, NULL);
    config.workers = bench.workers;
    must(locus_open(&config, &bench.node), "locus_open");
    for (unsigned i = 0; i < bench.workers; i++)
        must(locus_worker_open(bench.node, &bench.lanes[i].worker), "locus_worker_open");
}

/* A row that was never written has no memory; reading it would be too cheap. */
static void write_all_rows(uint64_t rows)
{
    struct lane *l = &bench.lanes[0];
    locus_key keys[BATCH];
    for (uint64_t first = 0; first < rows; first += BATCH) {
        size_t n = 0;
        for (; n < BATCH && first + n < rows; n++) keys[n] = first + n;
        must(locus_set(l->worker, keys, n, l->batch), "locus_set");
    }
}

void node_open(uint32_t length, struct cell *c)
{
    uint64_t rows = rows_of(length);
    double values = (double)rows * length * sizeof(float);
    size_t huge = machine_huge_bytes();
    array_open(length);
    *cell_figure(c, "array_in_huge_pages") = ((double)machine_huge_bytes() - (double)huge) / values;
    lanes_open(length);
    batches_reset();
    /* What the process grows by while the rows come, minus their values, is what locus keeps beside
     * them. */
    size_t before = machine_resident_bytes();
    huge = machine_huge_bytes();
    workers_open(length);
    write_all_rows(rows);
    double grown = (double)machine_resident_bytes() - (double)before;
    *cell_figure(c, "bytes_beside_values_per_key") = (grown - values) / (double)rows;
    *cell_figure(c, "in_huge_pages") = ((double)machine_huge_bytes() - (double)huge) / grown;
}

void node_close(void)
{
    for (unsigned i = 0; i < bench.workers; i++) {
        must(locus_worker_close(bench.lanes[i].worker), "locus_worker_close");
        free(bench.lanes[i].batch);
        free(bench.lanes[i].keys);
    }
    must(locus_close(bench.node), "locus_close");
    floors_free(bench.floors);
}

void draw_keys(enum key_choice choice, uint64_t rows)
{
    for (unsigned i = 0; i < bench.workers; i++)
        keys_fill(bench.lanes[i].keys, bench.sequence, choice, rows, 1 + i);
    bench.sequence_at = 0;
}

size_t next_keys(size_t keys)
{
    if (bench.sequence_at + keys > bench.sequence) bench.sequence_at = 0;
    size_t at = bench.sequence_at;
    bench.sequence_at += keys;
    return at;
}

/* Ones, so that pushed values stay small numbers, whatever was pulled into the buffer before. */
void batches_reset(void)
{
    for (unsigned i = 0; i < bench.workers; i++) {
        for (size_t j = 0; j < BATCH * bench.lanes[i].length; j++) bench.lanes[i].batch[j] = 1;
    }
}

double digest_take(unsigned lanes)
{
    double digest = 0;
    for (unsigned i = 0; i < lanes; i++) {
        struct lane *l = &bench.lanes[i];
        digest += l->digest;
        l->digest = 0;
        for (size_t j = 0; j < BATCH * l->length; j++) digest += (double)l->batch[j];
    }
    return digest;
}
