#include "noise.h"

#include "fail.h"

#include <stdlib.h>

void noise_init(struct noise *a, const double *weights, uint32_t count)
{
    double sum = 0;
    double *left = take_memory(count, sizeof *left);
    uint32_t *small = take_memory(count, sizeof *small), *large = take_memory(count, sizeof *large);
    uint32_t smalls = 0, larges = 0;
    *a = (struct noise){.count = count};
    a->share = take_memory(count, sizeof *a->share);
    a->other = take_memory(count, sizeof *a->other);
    for (uint32_t i = 0; i < count; i++) sum += weights[i];
    for (uint32_t i = 0; i < count; i++) {
        left[i] = weights[i] / sum * count;
        a->share[i] = 1;
        a->other[i] = i;
        if (left[i] < 1) {
            small[smalls++] = i;
        } else {
            large[larges++] = i;
        }
    }
    while (smalls && larges) {
        uint32_t i = small[--smalls], j = large[larges - 1];
        a->share[i] = (float)left[i];
        a->other[i] = j;
        left[j] -= 1 - left[i];
        if (left[j] < 1) {
            larges--;
            small[smalls++] = j;
        }
    }
    free(left);
    free(small);
    free(large);
}

void noise_fini(struct noise *a)
{
    free(a->share);
    free(a->other);
    *a = (struct noise){0};
}

uint32_t noise_draw(const struct noise *a, struct rng *r)
{
    double x = rng_real(r) * a->count;
    uint32_t i = (uint32_t)x;
    return x - i < (double)a->share[i] ? i : a->other[i];
}
