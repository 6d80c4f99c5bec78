#include "bins.h"

#include "fail.h"

#include <stdbool.h>
#include <stdlib.h>

/* A value, and how many examples have it. */
struct run {
    double value;
    size_t count;
    bool is_alone; /* has a bin of its own */
};

struct runs {
    struct run *list;
    size_t count;
    size_t alone;    /* of them */
    size_t segments; /* stretches of the others between those */
    size_t shared;   /* examples in those */
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t different(const double *sorted, size_t count)
{
    size_t n = count > 0;
    for (size_t i = 1; i < count; i++) n += sorted[i] > sorted[i - 1];
    return n;
}

static void find_runs(struct runs *r, const double *sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i] > sorted[i - 1]) r->list[r->count++].value = sorted[i];
        r->list[r->count - 1].count++;
    }
    r->shared = count;
    r->segments = 1;
}

static void count_segments(struct runs *r)
{
    r->segments = 0;
    for (size_t i = 0; i < r->count; i++)
        r->segments += !r->list[i].is_alone && (i == 0 || r->list[i - 1].is_alone);
}

/* Each that leaves makes the bins of the others smaller: until none is left that would fill one. */
static void set_apart(struct runs *r, size_t bins)
{
    for (bool goes_on = true; goes_on && r->alone < bins;) {
        goes_on = false;
        double fill = (double)r->shared / (double)(bins - r->alone);
        for (size_t i = 0; i < r->count && r->alone < bins; i++) {
            struct run *x = &r->list[i];
            if (x->is_alone || (double)x->count < fill) continue;
            x->is_alone = goes_on = true;
            r->alone++;
            r->shared -= x->count;
        }
    }
    count_segments(r);
}

/* The smallest that have one, where bins would be too few for what is between them. */
static void take_back(struct runs *r, size_t bins)
{
    while (r->alone + r->segments > bins) {
        struct run *least = NULL;
        for (size_t i = 0; i < r->count; i++)
            if (r->list[i].is_alone && (!least || r->list[i].count < least->count))
                least = &r->list[i];
        if (!least) return;
        least->is_alone = false;
        r->alone--;
        r->shared += least->count;
        count_segments(r);
    }
}

/* Of a segment, which begins at a run: its end, and its examples. */
static size_t end_of(const struct runs *r, size_t first, size_t *examples)
{
    size_t end = first;
    for (*examples = 0; end < r->count && !r->list[end].is_alone; end++)
        *examples += r->list[end].count;
    return end;
}

/* Into so many bins at most, each as near to an equal part of the rest as a value allows. Cuts are
 * between them; the first is before the segment. */
static size_t cut_segment(const struct runs *r, size_t first, size_t end, size_t examples,
                          size_t bins, double *cuts)
{
    size_t in_bin = 0, count = 0;
    cuts[count++] = r->list[first].value;
    for (size_t i = first; i < end; i++) {
        double part = (double)examples / (double)bins, half = (double)r->list[i].count / 2;
        if (in_bin > 0 && bins > 1 && (double)in_bin + half > part) {
            cuts[count++] = r->list[i].value;
            examples -= in_bin;
            bins--;
            in_bin = 0;
        }
        in_bin += r->list[i].count;
    }
    return count;
}

/* Cuts are where bins begin, but for the first. */
static size_t cut_all(struct runs *r, size_t bins, double *begins)
{
    size_t count = 0, left = bins - r->alone;
    for (size_t i = 0; i < r->count;) {
        if (r->list[i].is_alone) {
            begins[count++] = r->list[i++].value;
            continue;
        }
        size_t examples, end = end_of(r, i, &examples), most = left - (r->segments - 1);
        size_t own = (size_t)((double)left * (double)examples / (double)r->shared + 0.5);
        if (own > most) own = most;
        if (own < 1) own = 1;
        count += cut_segment(r, i, end, examples, own, begins + count);
        left -= own;
        r->shared -= examples;
        r->segments--;
        i = end;
    }
    return count;
}

size_t bins_cut(double *values, size_t count, size_t bins, double *cuts)
{
    qsort(values, count, sizeof *values, by_value);
    size_t n = different(values, count);
    if (n <= bins) return 0;
    struct runs r = {.list = take_memory(n, sizeof *r.list)};
    double *begins = take_memory(bins, sizeof *begins);
    find_runs(&r, values, count);
    set_apart(&r, bins);
    take_back(&r, bins);
    size_t found = cut_all(&r, bins, begins);
    for (size_t i = 1; i < found; i++) cuts[i - 1] = begins[i];
    free(r.list);
    free(begins);
    return found - 1;
}
