/* The node, the array beside it, and what each thread has of its own. */
#include "bench.h"

#include "../common/machine.h"

#include <inttypes.h>
#include <stdlib.h>

static void array_open(struct bench *b, uint32_t length)
{
    uint64_t rows = rows_of(b, length);
    b->floors = floors_new(rows, length);
    if (b->floors == NULL)
        fail("no memory for an array of %" PRIu64 " rows of %" PRIu32 " floats; --quick needs less",
             rows, length);
}

static void lanes_open(struct bench *b, uint32_t length)
{
    for (unsigned i = 0; i < b->workers; i++) {
        struct lane *l = &b->lanes[i];
        l->floors = b->floors;
        l->length = length;
        l->batch = must_alloc(BATCH * length * sizeof(float));
        l->keys = must_alloc(b->sequence * sizeof *l->keys);
    }
}

static void workers_open(struct bench *b, uint32_t length)
{
    struct locus_table table = {.name = "rows", .rows = rows_of(b, length), .length = length};
    struct locus_config config;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    config.workers = b->workers;
    config.size = 1; /* whatever the environment says of a cluster */
    must(locus_open(&config, &b->node), "locus_open");
    for (unsigned i = 0; i < b->workers; i++)
        must(locus_worker_open(b->node, &b->lanes[i].worker), "locus_worker_open");
}

/* A row that was never written has no memory; reading it would be too cheap. */
static void write_all_rows(struct bench *b, uint64_t rows)
{
    struct lane *l = &b->lanes[0];
    locus_key keys[BATCH];
    for (uint64_t first = 0; first < rows; first += BATCH) {
        size_t n = 0;
        for (; n < BATCH && first + n < rows; n++) keys[n] = first + n;
        must(locus_set(l->worker, keys, n, l->batch), "locus_set");
    }
}

void node_open(struct bench *b, unsigned length)
{
    uint32_t floats = lengths[length];
    uint64_t rows = rows_of(b, floats);
    array_open(b, floats);
    lanes_open(b, floats);
    batches_reset(b);
    /* What the process grows by while the rows come, minus their values, is what locus keeps beside
     * them. */
    size_t before = machine_resident_bytes();
    workers_open(b, floats);
    write_all_rows(b, rows);
    double grown = (double)machine_resident_bytes() - (double)before;
    b->bytes_beside[length] = grown / (double)rows - floats * (double)sizeof(float);
}

void node_close(struct bench *b)
{
    for (unsigned i = 0; i < b->workers; i++) {
        must(locus_worker_close(b->lanes[i].worker), "locus_worker_close");
        free(b->lanes[i].batch);
        free(b->lanes[i].keys);
    }
    must(locus_close(b->node), "locus_close");
    floors_free(b->floors);
}

void draw_keys(struct bench *b, enum key_choice choice, uint64_t rows)
{
    for (unsigned i = 0; i < b->workers; i++)
        keys_fill(b->lanes[i].keys, b->sequence, choice, rows, 1 + i);
    b->sequence_at = 0;
}

size_t next_keys(struct bench *b, size_t keys)
{
    if (b->sequence_at + keys > b->sequence) b->sequence_at = 0;
    size_t at = b->sequence_at;
    b->sequence_at += keys;
    return at;
}

/* Ones, so that pushed values stay small numbers, whatever was pulled into the buffer before. */
void batches_reset(struct bench *b)
{
    for (unsigned i = 0; i < b->workers; i++) {
        for (size_t j = 0; j < BATCH * b->lanes[i].length; j++) b->lanes[i].batch[j] = 1;
    }
}

double digest_take(struct bench *b, unsigned lanes)
{
    double digest = 0;
    for (unsigned i = 0; i < lanes; i++) {
        struct lane *l = &b->lanes[i];
        digest += l->digest;
        l->digest = 0;
        for (size_t j = 0; j < BATCH * l->length; j++) digest += (double)l->batch[j];
    }
    return digest;
}
