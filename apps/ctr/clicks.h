/*
 * clicks.h - examples with a label, as they were read: which features each has, with what value and
 * in which field; those to train with, then those to test with, then those to validate with.
 *
 * Callers   one thread adds; any thread reads
 * Memory    10 bytes an entry, 17 an example, and names
 * Waiting   never
 */
#ifndef CTR_CLICKS_H
#define CTR_CLICKS_H

#include "names.h"

#include <stdbool.h>

enum { CLICKS_FIELDS_MAX = 4096 };

/* One of them; the arrays are somebody else's. */
struct click {
    uint32_t count;
    const uint32_t *feature;
    const uint16_t *field;
    const float *value;
    float weight; /* counts as so many examples */
    bool is_click;
};

struct clicks {
    uint32_t *features;
    uint16_t *fields;
    float *values;
    uint64_t entries, entry_capacity;
    uint64_t *starts; /* of each example among the entries, and the end */
    uint8_t *labels;
    float *weights;
    uint64_t count, capacity;
    uint32_t *order; /* examples to train with, to test with, to validate with */
    uint64_t train, test, validate;
    uint32_t feature_count, field_count, entries_max; /* of an example */
    struct names names; /* of features; none where they have numbers */
    bool has_fields;    /* in the files: LIBFFM */
};

void clicks_init(struct clicks *);
void clicks_fini(struct clicks *);

/* The next example's entries, one after the other; then its label and its weight. */
void clicks_add(struct clicks *, uint32_t feature, uint32_t field, float value);
void clicks_end(struct clicks *, bool is_click, float weight);

/* What examples are for. */
struct clicks_split {
    uint64_t
        train; /* the first so many are to learn from, all others to test with; or, if there are no
                     * others, */
    double test;     /* this share is, chosen by the seed; */
    double validate; /* and this share of the rest is to validate with */
    uint64_t seed;
};
/* Before they are used. Training examples come in random order. */
void clicks_finish(struct clicks *, const struct clicks_split *);

/* Number 0 ... train - 1, behind those the ones to test with, then the ones to validate with. */
struct click clicks_get(const struct clicks *, uint64_t number);
/* As many entries as so many examples have at most. */
size_t clicks_entries(const struct clicks *, size_t examples);
/* Into train.txt, valid.txt and test.txt of the folder, which need not be there: those of a purpose in
 * the order of the files, without weights. */
void clicks_write(const struct clicks *, const char *folder);
uint64_t clicks_digest(const struct clicks *);

#endif
