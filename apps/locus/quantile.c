#include "quantile.h"

#include "scrape.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void quantile_read(struct quantile *q, const char *text, const char *name)
{
    struct scrape_sample s;
    q->buckets = 0;
    while ((text = scrape_next(text, name, &s)) && q->buckets < QUANTILE_BUCKETS_MAX) {
        const char *end = strstr(s.labels, "le=\"");
        if (!end) continue;
        q->end[q->buckets] = strtod(end + 4, NULL); /* that of the last is infinity */
        q->count[q->buckets++] = s.value;
    }
}

static double came(const struct quantile *before, const struct quantile *now, unsigned bucket)
{
    bool is_new = before->buckets != now->buckets;
    double n = now->count[bucket] - (is_new ? 0 : before->count[bucket]);
    return n > 0 ? n : 0;
}

/* Within a bucket it is as if all were as far apart as any others. */
double quantile_between(const struct quantile *before, const struct quantile *now, double percent)
{
    double all = now->buckets ? came(before, now, now->buckets - 1) : 0, below = 0, begin = 0;
    double wanted = all * percent / 100;
    for (unsigned i = 0; i < now->buckets && all > 0; i++) {
        double up_to = came(before, now, i);
        if (isinf(now->end[i])) return begin;
        if (up_to >= wanted && up_to > below)
            return begin + (now->end[i] - begin) * (wanted - below) / (up_to - below);
        below = up_to;
        begin = now->end[i];
    }
    return 0;
}
