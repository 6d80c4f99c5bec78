/*
 * quantile.h - what part of a histogram of Prometheus' lies below what, between two looks at it.
 *
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_TOP_QUANTILE_H
#define LOCUS_TOP_QUANTILE_H

enum { QUANTILE_BUCKETS_MAX = 48 };

struct quantile {
    unsigned buckets;
    double end[QUANTILE_BUCKETS_MAX], count[QUANTILE_BUCKETS_MAX]; /* count: up to the end */
};

/* `name` with "_bucket". Without it there are no buckets. */
void quantile_read(struct quantile *, const char *text, const char *name);
/* Below it are so many of a hundred of what came between the looks; 0: nothing came. */
double quantile_between(const struct quantile *before, const struct quantile *now, double percent);

#endif
