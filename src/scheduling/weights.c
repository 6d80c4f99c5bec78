#include "scheduling/weights.h"

#include <errno.h>
#include <stdlib.h>

int weights_init(struct weights *w, uint64_t count)
{
    *w = (struct weights){.count = count, .sum = calloc(2 * count, sizeof *w->sum)};
    return w->sum ? 0 : -ENOMEM;
}

void weights_fini(struct weights *w)
{
    free(w->sum);
    *w = (struct weights){0};
}

void weights_set(struct weights *w, uint64_t index, double weight)
{
    uint64_t node = w->count + index;
    w->sum[node] = weight;
    for (node /= 2; node > 0; node /= 2) w->sum[node] = w->sum[2 * node] + w->sum[2 * node + 1];
}

/* Rounding may leave more than the right side holds; then the rest is on the left. */
uint64_t weights_draw(const struct weights *w, double uniform)
{
    double rest = uniform * weights_total(w);
    uint64_t node = 1;
    while (node < w->count) {
        node *= 2;
        if (rest < w->sum[node] || w->sum[node + 1] <= 0) continue;
        rest -= w->sum[node];
        node++;
    }
    return node - w->count;
}
