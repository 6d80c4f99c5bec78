#include "samples.h"

double weight_of(int i)
{
    return i % 10 == 3 ? 0 : 1.0 / (1 + (i + KEYS / 2) % KEYS);
}

const double *zipf(void)
{
    static double weights[KEYS];
    for (int i = 0; i < KEYS; i++) weights[i] = weight_of(i);
    return weights;
}

locus_distribution *uniform(locus *n, enum locus_conformity level, unsigned flags)
{
    locus_distribution *d;
    CHECK_EQ(locus_distribution_uniform(n, FIRST, KEYS, level, flags, &d), 0);
    CHECK(d != NULL);
    return d;
}

locus_distribution *weighted(locus *n, enum locus_conformity level, unsigned flags)
{
    locus_distribution *d;
    CHECK_EQ(locus_distribution_weighted(n, FIRST, zipf(), KEYS, level, flags, &d), 0);
    CHECK(d != NULL);
    return d;
}

locus_sample prepared(locus_worker *w, locus_distribution *d, size_t n)
{
    locus_sample s;
    locus_clock now = locus_current_clock(w);
    CHECK_EQ(locus_prepare_sample(w, d, n, now, now + 1, &s), 0);
    return s;
}

void set_rows(locus_worker *w)
{
    for (locus_key key = 0; key < ROWS; key++) {
        const float row[LENGTH] = {(float)key, (float)key * 2, -(float)key};
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
}

void check_rows(const locus_key *keys, size_t n, const float *values)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(keys[i] >= FIRST && keys[i] < FIRST + KEYS);
        CHECK(values[i * LENGTH] == (float)keys[i] && values[i * LENGTH + 1] == (float)keys[i] * 2);
        CHECK(values[i * LENGTH + 2] == -(float)keys[i]);
    }
}

void pull(locus_worker *w, locus_sample s, size_t n, locus_key *keys)
{
    CLOSED_BY(free_at) float *values = floats_of(n * LENGTH);
    CHECK_EQ(locus_pull_sample(w, s, n, keys, values), 0);
    check_rows(keys, n, values);
}

void sample_keys(locus_worker *w, locus_distribution *d, size_t n, locus_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i += n) {
        size_t now = count - i < n ? count - i : n;
        locus_sample s = prepared(w, d, now);
        pull(w, s, now, keys + i);
        CHECK_EQ(locus_finish_sample(w, s), 0);
        locus_advance_clock(w);
    }
}

locus_key *keys_of(size_t n)
{
    locus_key *keys = calloc(n, sizeof *keys);
    CHECK(keys != NULL);
    return keys;
}

struct scene scene(void)
{
    struct scene s;
    s.node = one_node(ROWS, LENGTH, 1);
    s.worker = worker_of(s.node);
    set_rows(s.worker);
    return s;
}

void scene_end(struct scene *s)
{
    close_both(s->node, s->worker);
}
