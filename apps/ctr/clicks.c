#include "clicks.h"

#include "digest.h"
#include "fail.h"
#include "rng.h"
#include "saving.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void clicks_init(struct clicks *c)
{
    *c = (struct clicks){0};
    names_init(&c->names);
}

void clicks_fini(struct clicks *c)
{
    names_fini(&c->names);
    free(c->features);
    free(c->fields);
    free(c->values);
    free(c->starts);
    free(c->labels);
    free(c->weights);
    free(c->order);
    *c = (struct clicks){0};
}

void clicks_add(struct clicks *c, uint32_t feature, uint32_t field, float value)
{
    if (c->entries == c->entry_capacity) {
        c->entry_capacity = c->entry_capacity ? c->entry_capacity + c->entry_capacity / 2 : 4096;
        c->features = resize_memory(c->features, c->entry_capacity, sizeof *c->features,
                                    "examples or features");
        c->fields =
            resize_memory(c->fields, c->entry_capacity, sizeof *c->fields, "examples or features");
        c->values =
            resize_memory(c->values, c->entry_capacity, sizeof *c->values, "examples or features");
    }
    c->features[c->entries] = feature;
    c->fields[c->entries] = (uint16_t)field;
    c->values[c->entries++] = value;
    if (feature >= c->feature_count) c->feature_count = feature + 1;
    if (field >= c->field_count) c->field_count = field + 1;
}

void clicks_end(struct clicks *c, bool is_click, float weight)
{
    if (c->count == UINT32_MAX) fail("there are more than %u examples", UINT32_MAX);
    if (c->count + 1 >= c->capacity) {
        c->capacity = c->capacity ? c->capacity + c->capacity / 2 : 1024;
        c->starts =
            resize_memory(c->starts, c->capacity + 1, sizeof *c->starts, "examples or features");
        c->labels =
            resize_memory(c->labels, c->capacity, sizeof *c->labels, "examples or features");
        c->weights =
            resize_memory(c->weights, c->capacity, sizeof *c->weights, "examples or features");
    }
    if (c->count == 0) c->starts[0] = 0;
    uint64_t entries = c->entries - c->starts[c->count];
    if (entries > c->entries_max) c->entries_max = (uint32_t)entries;
    c->weights[c->count] = weight;
    c->labels[c->count++] = is_click;
    c->starts[c->count] = c->entries;
}

/* Whether an example is held back depends on its place in the file alone. */
static bool is_held(uint64_t number, double share, uint64_t seed)
{
    return (double)(rng_mix(rng_mix(seed) + number) >> 11) * 0x1p-53 < share;
}

enum purpose { TRAIN, TEST, VALIDATE };

static enum purpose purpose_of(const struct clicks *c, const struct clicks_split *s,
                               uint64_t number)
{
    bool has_test = s->train < c->count;
    if (has_test ? number >= s->train : is_held(number, s->test, s->seed)) return TEST;
    return is_held(number, s->validate, ~s->seed) ? VALIDATE : TRAIN;
}

/* Puts those of one purpose behind the others; returns how many. What weighs nothing together
 * teaches nothing, and says nothing of a model. */
static uint64_t put(struct clicks *c, const struct clicks_split *s, enum purpose purpose,
                    uint64_t at)
{
    static const char *const verbs[] = {"train", "test", "validate"}; /* of the purposes */
    uint64_t first = at;
    double weight = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        if (purpose_of(c, s, i) != purpose) continue;
        weight += (double)c->weights[i];
        c->order[at++] = (uint32_t)i;
    }
    if (at > first && weight <= 0)
        fail("all examples to %s with have the weight 0 (--weights)", verbs[purpose]);
    return at - first;
}

void clicks_finish(struct clicks *c, const struct clicks_split *s)
{
    struct rng rng;
    c->order = take_memory(c->count, sizeof *c->order);
    c->train = put(c, s, TRAIN, 0);
    c->test = put(c, s, TEST, c->train);
    c->validate = put(c, s, VALIDATE, c->train + c->test);
    if (c->train == 0)
        fail("there is no example left to train with: --hold-back or --validate less");
    rng_init(&rng, s->seed, 1);
    rng_shuffle(&rng, c->order, c->train);
}

struct click clicks_get(const struct clicks *c, uint64_t number)
{
    uint32_t i = c->order[number];
    uint64_t start = c->starts[i];
    return (struct click){.count = (uint32_t)(c->starts[i + 1] - start),
                          .feature = c->features + start,
                          .field = c->fields + start,
                          .value = c->values + start,
                          .weight = c->weights[i],
                          .is_click = c->labels[i]};
}

size_t clicks_entries(const struct clicks *c, size_t examples)
{
    size_t entries = 0, *having = take_memory((size_t)c->entries_max + 1, sizeof *having);
    for (uint64_t i = 0; i < c->count; i++) having[c->starts[i + 1] - c->starts[i]]++;
    for (size_t each = c->entries_max; each > 0 && examples > 0; each--) {
        size_t n = having[each] < examples ? having[each] : examples;
        entries += n * each;
        examples -= n;
    }
    free(having);
    return entries;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void write_feature(const struct clicks *c, uint64_t at, FILE *file)
{
    uint32_t feature = c->features[at];
    if (c->has_fields)
        fprintf(file, " %u:", c->fields[at]);
    else
        fputc(' ', file);
    if (c->names.count > 0)
        fprintf(file, "%s:%.9g", names_get(&c->names, feature), (double)c->values[at]);
    else
        fprintf(file, "%" PRIu32 ":%.9g", feature, (double)c->values[at]);
}

static void write_purpose(const struct clicks *c, const char *folder, const char *name,
                          uint64_t first, uint64_t count)
{
    struct saving s;
    uint32_t *order = take_memory(count, sizeof *order);
    if (count > 0) memcpy(order, c->order + first, count * sizeof *order);
    qsort(order, count, sizeof *order, by_number);
    saving_open_in(&s, folder, name);
    for (uint64_t i = 0; i < count; i++) {
        fputc(c->labels[order[i]] ? '1' : '0', s.file);
        for (uint64_t at = c->starts[order[i]]; at < c->starts[order[i] + 1]; at++)
            write_feature(c, at, s.file);
        fputc('\n', s.file);
    }
    saving_close(&s);
    free(order);
}

void clicks_write(const struct clicks *c, const char *folder)
{
    write_purpose(c, folder, "train.txt", 0, c->train);
    write_purpose(c, folder, "test.txt", c->train, c->test);
    write_purpose(c, folder, "valid.txt", c->train + c->test, c->validate);
}

uint64_t clicks_digest(const struct clicks *c)
{
    uint64_t shape[] = {c->count, c->entries, c->train, c->test, c->feature_count};
    uint64_t digest = digest_add(DIGEST_FIRST, shape, sizeof shape);
    for (uint64_t i = 0; i < c->entries; i++) {
        uint32_t bits;
        memcpy(&bits, &c->values[i], sizeof bits);
        digest = rng_mix(digest ^ ((uint64_t)c->fields[i] << 32 | c->features[i])) + bits;
    }
    digest = names_digest(&c->names, c->names.count, digest);
    digest = digest_add(digest, c->weights, c->count * sizeof *c->weights);
    return digest_add(digest, c->labels, c->count);
}
