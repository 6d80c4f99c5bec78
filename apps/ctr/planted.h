/*
 * planted.h - examples of the shape of click logs with a known model in them, each computed from
 * the seed and its number: there is no file, and nothing is kept.
 *
 * Each field has one category, by Zipf's law. The first field has half of all categories, the
 * second a quarter, and so on, at least four each; frequent ones lie anywhere. The logit is a
 * constant, a weight of each category, and what rectified units make of short vectors of the
 * categories of some fields, three each; what a category adds becomes less as it becomes rarer. An
 * example is a click with the probability that the logit says: no model can do better than that.
 *
 * Callers   planted_init: main(); planted_get: any thread, each with a planted_click of its own
 * Memory    the struct
 * Waiting   never
 */
#ifndef CTR_PLANTED_H
#define CTR_PLANTED_H

#include "clicks.h"
#include "made_up.h"

enum { PLANTED_FIELDS_MAX = 64, PLANTED_VECTOR = 4, PLANTED_UNITS = 8, PLANTED_SEEN = 3 };

struct planted {
    uint32_t fields;
    uint64_t categories, examples;
    double exponent;
    uint64_t seed;
    struct planted_field {
        uint32_t first, count;
    } field[PLANTED_FIELDS_MAX];
    struct planted_unit {
        uint32_t field[PLANTED_SEEN];
        float weights[PLANTED_SEEN * PLANTED_VECTOR];
    } units[PLANTED_UNITS];
    float outputs[PLANTED_UNITS];
};

/* Where an example is written. */
struct planted_click {
    uint32_t feature[PLANTED_FIELDS_MAX];
    uint16_t field[PLANTED_FIELDS_MAX];
    float value[PLANTED_FIELDS_MAX];
    double logit; /* the planted model's */
};

/* Reads "26x10000000x1000000" into fields, categories and examples; gives up when it is no such
 * text. Then draws the model. */
void planted_init(struct planted *, const char *text, double exponent, uint64_t seed);
struct click planted_get(const struct planted *, uint64_t number, struct planted_click *);

#endif
