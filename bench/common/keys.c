#include "keys.h"

#include "must.h"

#include <math.h>

const char *key_choice_name(enum key_choice choice)
{
    return choice == KEYS_UNIFORM ? "uniform" : "zipf-1.1";
}

/* splitmix64: one addition and a mix of the bits. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In [0, 1). */
static double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/*
 * Rejection-inversion (Hörmann and Derflinger, 1996). The density x^-s is integrated in closed
 * form; a point drawn evenly under it is rounded to a rank, and the few points that lie between the
 * smooth curve and the steps of the discrete distribution are drawn again.
 */
struct zipf {
    double s;
    double ranks;
    /* the integral at the left edge of rank 1 and the right edge of the last */
    double area_first, area_last;
    double sure; /* points at most this far left of their rank need no check */
};

static double zipf_area(double s, double x)
{
    return (pow(x, 1 - s) - 1) / (1 - s);
}

static double zipf_inverse(double s, double area)
{
    return pow(1 + area * (1 - s), 1 / (1 - s));
}

static struct zipf zipf_of(double s, uint64_t ranks)
{
    return (struct zipf){
        .s = s,
        .ranks = (double)ranks,
        .area_first = zipf_area(s, 1.5) - 1,
        .area_last = zipf_area(s, (double)ranks + 0.5),
        .sure = 2 - zipf_inverse(s, zipf_area(s, 2.5) - pow(2, -s)),
    };
}

static uint64_t zipf_key(const struct zipf *z, uint64_t *state)
{
    for (;;) {
        double area = z->area_last + random_unit(state) * (z->area_first - z->area_last);
        double x = zipf_inverse(z->s, area);
        double rank = fmin(fmax(floor(x + 0.5), 1), z->ranks);
        if (rank - x <= z->sure || area >= zipf_area(z->s, rank + 0.5) - pow(rank, -z->s))
            return (uint64_t)rank - 1;
    }
}

void keys_fill(uint64_t *keys, size_t count, enum key_choice choice, uint64_t rows, uint64_t seed)
{
    uint64_t state = seed;
    struct zipf zipf = zipf_of(KEYS_ZIPF_EXPONENT, rows);
    for (size_t i = 0; i < count; i++) {
        keys[i] = choice == KEYS_ZIPF ? zipf_key(&zipf, &state)
                                      : (uint64_t)(random_unit(&state) * (double)rows);
    }
}

uint64_t *keys_of_node(uint64_t rows, unsigned nodes, unsigned rank, bool own, size_t count)
{
    uint64_t *keys = must_alloc(count * sizeof *keys), slice = own ? rows / nodes : rows;
    keys_fill(keys, count, KEYS_ZIPF, slice, 7 + (uint64_t)rank);
    for (size_t i = 0; own && i < count; i++) keys[i] += slice * rank;
    return keys;
}
