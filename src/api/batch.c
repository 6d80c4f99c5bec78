/* Batches: rows gathered, gradients added up. */
#include "base/error.h"
#include "base/team.h"
#include "base/floats.h"
#include "worker/call.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART_FLOATS = 8192, /* the fewest that are worth another thread */
    PARTS_MAX = 256,
};

struct batch {
    const float *from;
    float *to;
    const int64_t *places;
    size_t n, count, length; /* rows of the batch, different ones, floats in each */
    uint32_t each;           /* places of a row that is gathered */
    unsigned parts;
    floats_add_fn *add;
    /* To add up: the rows of the batch with place 0, 1, ...; where those of each place begin. */
    uint32_t *order, *start;
};

static int check_places(const char *call, const locus_worker *w, const int64_t *places, size_t n,
                        uint32_t each, size_t count, uint32_t length)
{
    int rc = w ? call_check_worker(call, w) : 0;
    if (rc) return rc;
    if (length == 0) return error_set(-EINVAL, "%s: `length` is 0", call);
    if (each == 0) return error_set(-EINVAL, "%s: `each` is 0", call);
    if (n > 0 && !places) {
        call_no_array(call, "places", n);
        return -EINVAL; /* what an analyzer would not know of that */
    }
    if (n > PTRDIFF_MAX / sizeof *places / each || n > PTRDIFF_MAX / sizeof(float) / length)
        return call_no_count(call, n);
    uint64_t most = 0;
    for (size_t i = 0; i < n * each; i++)
        most = (uint64_t)places[i] > most ? (uint64_t)places[i] : most;
    if (n == 0 || most < count) return 0;
    return error_set(-EINVAL, "%s: a place is %lld: must be at least 0 and below %zu", call,
                     (long long)most, count);
}

static unsigned parts_of(size_t rows, size_t length)
{
    size_t parts = rows * length / PART_FLOATS;
    if (parts > rows) parts = rows;
    return parts < 1 ? 1 : parts < PARTS_MAX ? (unsigned)parts : PARTS_MAX;
}

static void run(locus_worker *w, struct batch *b, team_work *work)
{
    b->add = floats_best()->add;
    team_do(w ? w->team : NULL, b->parts, work, b);
}

static void gather_part(void *batch, unsigned part)
{
    const struct batch *b = batch;
    const size_t end = b->n * (part + 1) / b->parts, row = b->length * sizeof(float);
    for (size_t i = b->n * part / b->parts; i < end; i++) {
        const int64_t *place = b->places + i * b->each;
        float *to = b->to + i * b->length;
        memcpy(to, b->from + (size_t)place[0] * b->length, row);
        for (uint32_t k = 1; k < b->each; k++)
            b->add(to, b->from + (size_t)place[k] * b->length, b->length);
    }
}

int locus_gather(locus_worker *w, const float *rows, size_t count, uint32_t length,
                 const int64_t *places, size_t n, uint32_t each, float *values)
{
    static const char call[] = "locus_gather";
    int rc = check_places(call, w, places, n, each, count, length);
    if (rc || n == 0) return rc;
    if (!rows) return call_no_array(call, "rows", count);
    if (!values) return call_no_array(call, "values", n);
    struct batch b = {.from = rows, .to = values, .places = places, .n = n, .length = length};
    b.each = each;
    b.parts = parts_of(n, length);
    run(w, &b, gather_part);
    return 0;
}

/* Sorts by place, those of a place in their order. */
static void sort_places(const struct batch *b)
{
    memset(b->start, 0, (b->count + 1) * sizeof *b->start);
    for (size_t i = 0; i < b->n; i++) b->start[b->places[i]]++;
    uint32_t sum = 0;
    for (size_t d = 0; d <= b->count; d++) {
        sum += b->start[d];
        b->start[d] = sum; /* the end */
    }
    for (size_t i = b->n; i-- > 0;) b->order[--b->start[b->places[i]]] = (uint32_t)i;
}

/* Where a part begins: parts have equally many rows to add, but for one that many have. */
static size_t begin_of(const struct batch *b, unsigned part)
{
    if (part == b->parts) return b->count;
    size_t low = 0, high = b->count, wanted = b->n * part / b->parts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->start[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_part(void *batch, unsigned part)
{
    const struct batch *b = batch;
    const size_t end = begin_of(b, part + 1), length = b->length;
    for (size_t d = begin_of(b, part); d < end; d++) {
        float *to = b->to + d * length;
        uint32_t at = b->start[d];
        const uint32_t last = b->start[d + 1];
        if (at == last)
            memset(to, 0, length * sizeof *to);
        else
            memcpy(to, b->from + b->order[at++] * length, length * sizeof *to);
        for (; at < last; at++) b->add(to, b->from + b->order[at] * length, length);
    }
}

int locus_scatter_add(locus_worker *w, const float *values, size_t n, uint32_t length,
                      const int64_t *places, size_t count, float *sums)
{
    static const char call[] = "locus_scatter_add";
    if (n > INT32_MAX)
        return error_set(-EINVAL, "%s: n is %zu: at most %d rows in a call", call, n, INT32_MAX);
    int rc = check_places(call, w, places, n, 1, count, length);
    if (rc || count == 0) return rc;
    if (count > PTRDIFF_MAX / sizeof(float) / length)
        return error_set(-EINVAL, "%s: `count` is %zu: no array has so many rows", call, count);
    if (n > 0 && !values) return call_no_array(call, "values", n);
    if (!sums) return call_no_array(call, "sums", count);
    struct batch b = {.from = values, .to = sums, .places = places, .n = n, .length = length};
    b.count = count;
    b.parts = parts_of(n, length);
    b.start = malloc((count + 1 + n) * sizeof *b.start);
    if (!b.start) return error_set(-ENOMEM, "%s: no memory for %zu places", call, n);
    b.order = b.start + count + 1;
    sort_places(&b);
    run(w, &b, add_part);
    free(b.start);
    return 0;
}
