/* The floor: a packed array without protection. */
#include "layout.h"

#include "../common/floors.h"

static void *open_array(uint64_t rows, uint32_t length)
{
    return floors_new(rows, length);
}

static void close_array(void *rows)
{
    floors_free(rows);
}

static void pull(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    floor_read(rows, keys, n, batch);
}

static void push(void *rows, const uint64_t *keys, size_t n, float *batch)
{
    floor_add(rows, keys, n, batch);
}

const struct layout layout_array = {"array", open_array, close_array, {pull, pull, push, push}};
