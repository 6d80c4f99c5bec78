#include "rng.h"

#include <math.h>

__extension__ typedef unsigned __int128 product;

void rng_init(struct rng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = rng_mix(seed) ^ rng_mix(~stream);
    for (int i = 0; i < 4; i++)
        r->state[i] = rng_mix(x + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15));
}

/* Multiplication instead of division; the few numbers that would make some results likelier are
 * drawn again (Lemire). */
uint64_t rng_below(struct rng *r, uint64_t bound)
{
    product p = (product)rng_next(r) * bound;
    if ((uint64_t)p < bound) {
        uint64_t unfair = -bound % bound;
        while ((uint64_t)p < unfair) p = (product)rng_next(r) * bound;
    }
    return (uint64_t)(p >> 64);
}

double rng_normal(struct rng *r)
{
    double radius = sqrt(-2 * log(1 - rng_real(r)));
    return radius * cos(6.283185307179586 * rng_real(r));
}

void rng_shuffle(struct rng *r, uint32_t *numbers, uint64_t n)
{
    for (uint64_t i = n; i > 1; i--) {
        uint64_t j = rng_below(r, i);
        uint32_t kept = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = kept;
    }
}

void rng_fill(uint64_t seed, uint64_t stream, double deviation, float *values, size_t count)
{
    struct rng r;
    rng_init(&r, seed, stream);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(deviation * sqrt(12) * (rng_real(&r) - 0.5));
}
