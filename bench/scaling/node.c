/* The node, the array beside it, and what each thread has of its own. */
#include "bench.h"

#include <stdlib.h>

static unsigned last_team(const struct bench *b)
{
    return b->teams[b->team_count - 1];
}

static void lanes_open(struct bench *b)
{
    for (unsigned i = 0; i < last_team(b); i++) {
        struct lane *l = &b->lanes[i];
        l->floors = b->floors;
        l->batch = must_alloc((size_t)BATCH * b->length * sizeof *l->batch);
        l->keys = must_alloc(b->sequence * sizeof *l->keys);
        must(locus_worker_open(b->node, &l->worker), "locus_worker_open");
    }
}

/* A row that was never written has no memory. */
static void write_all_rows(const struct bench *b)
{
    locus_key keys[BATCH];
    for (uint64_t first = 0; first < b->rows; first += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) keys[i] = first + i;
        must(locus_set(b->lanes[0].worker, keys, BATCH, b->lanes[0].batch), "locus_set");
    }
}

void node_open(struct bench *b, unsigned shards)
{
    const struct locus_table table = {.name = "rows", .rows = b->rows, .length = b->length};
    struct locus_config config;
    locus_config_init(&config);
    config.tables = &table;
    config.table_count = 1;
    config.workers = last_team(b);
    config.shards = shards;
    config.size = 1; /* whatever the environment says of a cluster */
    must(locus_open(&config, &b->node), "locus_open");
    b->floors = floors_new(b->rows, b->length);
    if (b->floors == NULL) fail("no memory for the arrays; --quick needs less");
    lanes_open(b);
    write_all_rows(b);
}

void node_close(struct bench *b)
{
    for (unsigned i = 0; i < last_team(b); i++) {
        must(locus_worker_close(b->lanes[i].worker), "locus_worker_close");
        free(b->lanes[i].batch);
        free(b->lanes[i].keys);
    }
    must(locus_close(b->node), "locus_close");
    floors_free(b->floors);
}

void draw_keys(struct bench *b, enum key_choice choice)
{
    for (unsigned i = 0; i < last_team(b); i++)
        keys_fill(b->lanes[i].keys, b->sequence, choice, b->rows, 1 + i);
    b->sequence_at = 0;
}

size_t next_keys(struct bench *b, size_t keys)
{
    if (b->sequence_at + keys > b->sequence) b->sequence_at = 0;
    size_t at = b->sequence_at;
    b->sequence_at += keys;
    return at;
}
