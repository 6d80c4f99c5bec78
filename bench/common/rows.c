#include "rows.h"

#include "must.h"

#include <stdlib.h>

enum { CHUNK = 256 };

float row_value(locus_key key)
{
    return (float)(key % 1000);
}

float row_zero(locus_key key)
{
    (void)key;
    return 0;
}

static float *fill(float *row, uint32_t length, float value)
{
    for (uint32_t i = 0; i < length; i++) row[i] = value;
    return row + length;
}

static void write_rows(const locus *node, locus_worker *worker, const locus_key *keys, size_t n,
                       float (*value)(locus_key))
{
    size_t floats = 0;
    for (size_t i = 0; i < n; i++) floats += locus_length(node, keys[i]);
    float *values = must_alloc(floats * sizeof *values), *row = values;
    for (size_t i = 0; i < n; i++) row = fill(row, locus_length(node, keys[i]), value(keys[i]));
    must(locus_set(worker, keys, n, values), "locus_set");
    free(values);
}

void rows_write_own(locus *node, locus_worker *worker, float (*value)(locus_key))
{
    locus_key keys[CHUNK];
    size_t n;
    for (locus_key from = 0; (n = locus_owned(node, from, keys, CHUNK)) > 0; from = keys[n - 1] + 1)
        write_rows(node, worker, keys, n, value);
}

size_t rows_elsewhere(locus *node, locus_key first, uint64_t rows, locus_key *keys)
{
    locus_key owned[CHUNK], next = first, end = first + rows;
    size_t count = 0, n;
    while (next < end && (n = locus_owned(node, next, owned, CHUNK)) > 0) {
        for (size_t i = 0; i < n && next < end; i++, next++) {
            while (next < owned[i] && next < end) keys[count++] = next++;
        }
    }
    while (next < end) keys[count++] = next++;
    return count;
}
