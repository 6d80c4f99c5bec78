#include "columns.h"

#include "digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void columns_fini(struct columns *c)
{
    free(c->start);
    free(c->row);
    free(c->value);
    free(c->shift);
    free(c->mean);
    free(c->norm);
    free(c->response);
    names_fini(&c->names);
    *c = (struct columns){0};
}

uint32_t columns_find_number(const struct names *names, uint64_t columns, uint32_t index)
{
    char text[16];
    if (names->count == 0) return index - 1 < columns ? index - 1 : NAMES_NONE;
    return names_find(names, text, (size_t)snprintf(text, sizeof text, "%" PRIu32, index));
}

uint32_t columns_number(const struct names *names, uint32_t column)
{
    const char *name = names->count > 0 ? names_get(names, column) : NULL;
    return name ? (uint32_t)strtoul(name, NULL, 10) : column + 1;
}

uint64_t columns_digest(const struct columns *c)
{
    uint32_t shape[] = {c->rows, c->count};
    uint64_t values = c->start[c->count], digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    digest = names_digest(&c->names, c->names.count, digest);
    digest = digest_add(digest, c->row, values * sizeof *c->row);
    digest = digest_add(digest, c->value, values * sizeof *c->value);
    return digest_add(digest, c->response, c->rows * sizeof *c->response);
}

/* ---- arithmetic ---- */

double columns_dot(const struct columns *c, uint64_t first, uint64_t end, const double *rows)
{
    double even = 0, odd = 0;
    uint64_t i = first;
    for (; i + 1 < end; i += 2) {
        even += (double)c->value[i] * rows[c->row[i]];
        odd += (double)c->value[i + 1] * rows[c->row[i + 1]];
    }
    if (i < end) even += (double)c->value[i] * rows[c->row[i]];
    return even + odd;
}

void columns_add(const struct columns *c, uint64_t first, uint64_t end, double scale, double *rows)
{
    for (uint64_t i = first; i < end; i++) rows[c->row[i]] += scale * (double)c->value[i];
}

uint64_t columns_find(const struct columns *c, uint32_t column, uint32_t row)
{
    uint64_t first = c->start[column], end = c->start[column + 1];
    while (first < end) {
        uint64_t middle = first + (end - first) / 2;
        if (c->row[middle] < row) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}
