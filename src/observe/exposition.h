/*
 * exposition.h - a text in Prometheus' exposition format, version 0.0.4, which grows as it is
 * written.
 *
 *     exposition_head(&e, "locus_rounds_total", "counter", "Synchronizations with peers.");
 *     exposition_sample(&e, "locus_rounds_total", NULL, 12);
 *
 * Memory    malloc, at most EXPOSITION_BYTES_MAX; beyond that, or without memory, the whole text
 *           fails
 * Waiting   never
 * Life      {0}, any calls, then free(text)
 */
#ifndef LOCUS_OBSERVE_EXPOSITION_H
#define LOCUS_OBSERVE_EXPOSITION_H

#include "locus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPOSITION_BYTES_MAX = 4 << 20 };

struct exposition {
    char *text;
    size_t length, capacity;
    bool failed;
};

/* `kind`: "counter", "gauge", "histogram" or "summary". Before the samples of that name. */
void exposition_head(struct exposition *, const char *name, const char *kind, const char *help);
/* `label`: name="value", or NULL. */
void exposition_sample(struct exposition *, const char *name, const char *label, double value);
/* With a label that is a number. */
void exposition_numbered(struct exposition *, const char *name, const char *label, unsigned of,
                         double value);

/* Of a key. */
void exposition_key(struct exposition *, const char *name, locus_key, const char *place,
                    uint64_t value);

/* A histogram of times in powers of two of nanoseconds, shown in seconds, from a microsecond on;
 * `sum_s` is the sum of all. And one of small numbers, each its own bucket. */
void exposition_times(struct exposition *, const char *name, const struct locus_histogram *,
                      double sum_s);
void exposition_numbers(struct exposition *, const char *name, const struct locus_histogram *);
/* Sum and count of a histogram of times, labeled with a number; its kind is "summary". */
void exposition_summary(struct exposition *, const char *name, const char *label, unsigned of,
                        const struct locus_histogram *);

#endif
