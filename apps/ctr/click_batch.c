#include "click_batch.h"

#include "fail.h"

#include <stdlib.h>
#include <string.h>

void click_batch_open(struct click_batch *b, size_t examples_max, size_t entries)
{
    *b = (struct click_batch){0};
    b->keys = take_memory(entries, sizeof *b->keys);
    b->starts = take_memory(examples_max + 1, sizeof *b->starts);
    b->place = take_memory(entries, sizeof *b->place);
    b->field = take_memory(entries, sizeof *b->field);
    b->value = take_memory(entries, sizeof *b->value);
    b->is_click = take_memory(examples_max, sizeof *b->is_click);
    b->weight = take_memory(examples_max, sizeof *b->weight);
}

void click_batch_close(struct click_batch *b)
{
    free(b->keys);
    free(b->starts);
    free(b->place);
    free(b->field);
    free(b->value);
    free(b->is_click);
    free(b->weight);
    *b = (struct click_batch){0};
}

void click_batch_clear(struct click_batch *b, struct places *places)
{
    b->examples = b->entries = b->key_count = 0;
    b->is_last = false;
    b->weights = 0;
    places_clear(places);
}

void click_batch_add(struct click_batch *b, struct places *places, const struct click *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        locus_key key = c->feature[i];
        uint32_t place = places_find(places, b->keys, b->key_count, key);
        if (place == b->key_count) b->keys[b->key_count++] = key;
        b->place[b->entries + i] = place;
    }
    memcpy(b->field + b->entries, c->field, c->count * sizeof *b->field);
    memcpy(b->value + b->entries, c->value, c->count * sizeof *b->value);
    b->entries += c->count;
    b->weight[b->examples] = c->weight;
    b->weights += (double)c->weight;
    b->is_click[b->examples++] = c->is_click;
    b->starts[b->examples] = b->entries;
}
