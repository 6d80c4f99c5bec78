#include "planted.h"

#include "rng.h"

#include <math.h>

enum { LEAST = 4, CATEGORIES_MAX = 1 << 30 };

/* A category of this rank adds half of the variance that the first one does. */
#define HALF_RANK 200.0
#define CONSTANT (-1.2)
#define WIDE_DEVIATION 1.0 /* of the weights' sum, if all categories were frequent */
#define DEEP_DEVIATION 1.0 /* of the other part, about */

static void parse(struct planted *p, const char *text)
{
    static const char option[] = "--zipf";
    struct made_up_size s[] = {{.name = "fields", .least = 1, .most = PLANTED_FIELDS_MAX},
                               {.name = "categories", .least = 1, .most = CATEGORIES_MAX},
                               {.name = "examples", .least = 1, .most = UINT32_MAX}};
    made_up_sizes(option, text, "FIELDSxCATEGORIESxEXAMPLES, as 26x100000x1000000", s, 3);
    s[1].least = 2 * LEAST * s[0].is;
    made_up_check(option, text, &s[1]);
    p->fields = (uint32_t)s[0].is;
    p->categories = s[1].is;
    p->examples = s[2].is;
}

static void share_categories(struct planted *p)
{
    uint64_t left = p->categories, first = 0;
    for (uint32_t f = p->fields; f-- > 0;) {
        uint64_t count = f < 40 ? p->categories >> (f + 1) : 0;
        if (count < LEAST) count = LEAST;
        if (f == 0) count = left;
        p->field[f] = (struct planted_field){.first = (uint32_t)first, .count = (uint32_t)count};
        first += count;
        left -= count;
    }
}

void planted_init(struct planted *p, const char *text, double exponent, uint64_t seed)
{
    struct rng rng;
    *p = (struct planted){.exponent = exponent, .seed = rng_mix(seed)};
    parse(p, text);
    share_categories(p);
    rng_init(&rng, seed, 3);
    for (size_t u = 0; u < PLANTED_UNITS; u++) {
        struct planted_unit *unit = &p->units[u];
        for (size_t i = 0; i < PLANTED_SEEN; i++)
            unit->field[i] = (uint32_t)rng_below(&rng, p->fields);
        for (size_t i = 0; i < PLANTED_SEEN * PLANTED_VECTOR; i++)
            unit->weights[i] = (float)(rng_normal(&rng) / sqrt(PLANTED_SEEN * PLANTED_VECTOR));
        /* Both signs alike: the sum has no mean. A rectified normal has the variance 0.34. */
        p->outputs[u] =
            (float)((u % 2 ? -1 : 1) * DEEP_DEVIATION / sqrt(0.34 * (double)PLANTED_UNITS));
    }
}

/* ---- an example ---- */

/* Uniform, of variance 1. */
static float unit_of(uint64_t bits)
{
    return ((float)(bits & 0xffff) / 65536.0F - 0.5F) * 3.4641016F;
}

/* The factor is a prime above all counts. */
static uint32_t feature_of(const struct planted_field *f, uint32_t rank)
{
    return f->first + (uint32_t)((rank * UINT64_C(2654435761) + 17) % f->count);
}

static double logit_of(const struct planted *p, const uint32_t *rank, const uint32_t *feature)
{
    float vectors[PLANTED_FIELDS_MAX][PLANTED_VECTOR];
    double wide = 0, deep = 0;
    for (uint32_t i = 0; i < p->fields; i++) {
        uint64_t bits = rng_mix(p->seed ^ ((uint64_t)feature[i] << 20)), more = rng_mix(bits);
        float strength = 1 / sqrtf(1 + (float)(rank[i] / HALF_RANK));
        wide += (double)(strength * unit_of(more));
        for (uint32_t j = 0; j < PLANTED_VECTOR; j++)
            vectors[i][j] = strength * unit_of(bits >> 16 * j);
    }
    for (uint32_t u = 0; u < PLANTED_UNITS; u++) {
        const float *weights = p->units[u].weights;
        float sum = 0;
        for (uint32_t i = 0; i < PLANTED_SEEN; i++, weights += PLANTED_VECTOR)
            for (uint32_t j = 0; j < PLANTED_VECTOR; j++)
                sum += weights[j] * vectors[p->units[u].field[i]][j];
        if (sum > 0) deep += (double)(p->outputs[u] * sum);
    }
    return CONSTANT + WIDE_DEVIATION * wide / sqrt(p->fields) + deep;
}

struct click planted_get(const struct planted *p, uint64_t number,
                         struct planted_click *planted_click)
{
    uint32_t rank[PLANTED_FIELDS_MAX];
    struct rng rng;
    rng_init(&rng, p->seed, 1000 + number);
    for (uint32_t i = 0; i < p->fields; i++) {
        rank[i] = made_up_rank(&rng, p->field[i].count, p->exponent);
        planted_click->feature[i] = feature_of(&p->field[i], rank[i]);
        planted_click->field[i] = (uint16_t)i;
        planted_click->value[i] = 1;
    }
    planted_click->logit = logit_of(p, rank, planted_click->feature);
    return (struct click){.count = p->fields,
                          .feature = planted_click->feature,
                          .field = planted_click->field,
                          .value = planted_click->value,
                          .weight = 1,
                          .is_click = rng_real(&rng) * (1 + exp(-planted_click->logit)) < 1};
}
