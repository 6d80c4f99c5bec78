#include "observe/exposition.h"

#include "base/figures.h"
#include "base/notation.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16384, NUMBERS_SHOWN = 8 };
enum { MICROSECOND = 9 }; /* the bucket below it */

static bool make_room(struct exposition *e, size_t more)
{
    size_t capacity = e->capacity ? e->capacity : FIRST_CAPACITY;
    while (capacity < e->length + more) capacity *= 2;
    if (capacity == e->capacity) return true;
    char *text = capacity <= EXPOSITION_BYTES_MAX ? realloc(e->text, capacity) : NULL;
    if (!text) return false;
    e->text = text;
    e->capacity = capacity;
    return true;
}

static void put(struct exposition *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct exposition *e, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = notation_format(line, sizeof line, format, arguments);
    va_end(arguments);
    if (e->failed || n < 0 || (size_t)n >= sizeof line || !make_room(e, (size_t)n + 1)) {
        e->failed = true;
        return;
    }
    for (int i = 0; i <= n; i++) e->text[e->length + (size_t)i] = line[i];
    e->length += (size_t)n;
}

void exposition_head(struct exposition *e, const char *name, const char *kind, const char *help)
{
    put(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void exposition_sample(struct exposition *e, const char *name, const char *label, double value)
{
    if (label)
        put(e, "%s{%s} %.15g\n", name, label, value);
    else
        put(e, "%s %.15g\n", name, value);
}

void exposition_numbered(struct exposition *e, const char *name, const char *label, unsigned of,
                         double value)
{
    put(e, "%s{%s=\"%u\"} %.15g\n", name, label, of, value);
}

void exposition_key(struct exposition *e, const char *name, locus_key key, const char *place,
                    uint64_t value)
{
    put(e, "%s{key=\"%" PRIu64 "\",place=\"%s\"} %" PRIu64 "\n", name, (uint64_t)key, place, value);
}

static void close_histogram(struct exposition *e, const char *name, uint64_t count, double sum)
{
    put(e, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.15g\n%s_count %" PRIu64 "\n", name, count,
        name, sum, name, count);
}

/* The last bucket has no upper end. */
void exposition_times(struct exposition *e, const char *name, const struct locus_histogram *h,
                      double sum_s)
{
    uint64_t count = 0;
    for (unsigned i = 0; i + 1 < LOCUS_HISTOGRAM_BUCKETS; i++) {
        count += h->count[i];
        if (i >= MICROSECOND)
            put(e, "%s_bucket{le=\"%.9g\"} %" PRIu64 "\n", name, 1e-9 * (double)(UINT64_C(2) << i),
                count);
    }
    close_histogram(e, name, count + h->count[LOCUS_HISTOGRAM_BUCKETS - 1], sum_s);
}

void exposition_numbers(struct exposition *e, const char *name, const struct locus_histogram *h)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < LOCUS_HISTOGRAM_BUCKETS; i++) {
        count += h->count[i];
        if (i < NUMBERS_SHOWN) put(e, "%s_bucket{le=\"%u\"} %" PRIu64 "\n", name, i, count);
    }
    close_histogram(e, name, count, (double)h->sum);
}

void exposition_summary(struct exposition *e, const char *name, const char *label, unsigned of,
                        const struct locus_histogram *h)
{
    uint64_t count = histogram_count(h);
    put(e, "%s_sum{%s=\"%u\"} %.15g\n%s_count{%s=\"%u\"} %" PRIu64 "\n", name, label, of,
        1e-9 * (double)h->sum, name, label, of, count);
}
