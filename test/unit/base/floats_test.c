#include "base/floats.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH_MAX = 300, GUARD = 16 };

/* Values with guards around, at any offset from a cache line. */
struct field {
    float *memory, *at;
};

static struct field field_of(size_t n, size_t offset, float guard)
{
    float *memory = aligned_alloc(64, (LENGTH_MAX + 3 * GUARD) * sizeof(float) / 64 * 64 + 64);
    CHECK(memory != NULL);
    struct field f = {memory, memory + GUARD + offset};
    for (size_t i = 0; i < GUARD + offset; i++) memory[i] = guard;
    for (size_t i = 0; i < GUARD; i++) f.at[n + i] = guard;
    return f;
}

static void check_guards(struct field f, size_t n, size_t offset, float guard)
{
    for (size_t i = 0; i < GUARD + offset; i++) CHECK(f.memory[i] == guard);
    for (size_t i = 0; i < GUARD; i++) CHECK(f.at[n + i] == guard);
    free(f.memory);
}

static void add_once(floats_add_fn *add, size_t n, size_t to_offset, size_t from_offset)
{
    struct field to = field_of(n, to_offset, -1), from = field_of(n, from_offset, -2);
    for (size_t i = 0; i < n; i++) {
        to.at[i] = (float)i * 1000;
        from.at[i] = (float)i + 1;
    }
    add(to.at, from.at, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(to.at[i] == (float)i * 1000 + (float)i + 1);
        CHECK(from.at[i] == (float)i + 1);
    }
    check_guards(to, n, to_offset, -1);
    check_guards(from, n, from_offset, -2);
}

TEST(floats, add_writes_each_element_once_and_nothing_beside)
{
    for (size_t n = 0; n <= 140; n++)
        for (size_t offset = 0; offset < 16; offset += 5)
            add_once(floats_best()->add, n, offset, 15 - offset);
    add_once(floats_best()->add, LENGTH_MAX, 1, 2);
}

static void gain_once(floats_gain_fn *gain, size_t n, size_t offset, bool adds)
{
    struct field to = field_of(n, offset, -1), was = field_of(n, 15 - offset, -2),
                 now = field_of(n, offset / 2, -3);
    for (size_t i = 0; i < n; i++) {
        bool is_infinite = i % 7 == 3;
        to.at[i] = (float)i * 1000;
        was.at[i] = is_infinite ? INFINITY : (float)i;
        now.at[i] = is_infinite ? INFINITY : (float)i + (float)(i % 5);
    }
    gain(to.at, was.at, now.at, n, adds);
    for (size_t i = 0; i < n; i++) {
        float gained = i % 7 == 3 ? 0 : (float)(i % 5);
        CHECK(to.at[i] == (adds ? (float)i * 1000 : 0) + gained);
    }
    check_guards(to, n, offset, -1);
    check_guards(was, n, 15 - offset, -2);
    check_guards(now, n, offset / 2, -3);
}

/* A row that diverged: what was not touched gains nothing, and what was set anew gains that. */
TEST(floats, gain_is_never_nan)
{
    enum { N = 37 };
    float was[N], now[N], to[N];
    for (unsigned i = 0; i < N; i++) {
        was[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : 1;
        now[i] = i % 2 ? was[i] : 5;
        to[i] = 7;
    }
    for (int adds = 0; adds < 2; adds++) {
        floats_best()->gain(to, was, now, N, adds);
        for (unsigned i = 0; i < N; i++) {
            float gained = i % 2 ? 0 : i % 3 == 2 ? 4 : 5;
            CHECK(to[i] == gained * (float)(1 + adds));
        }
    }
}

TEST(floats, gain_is_the_difference_and_zero_between_infinities)
{
    for (size_t n = 0; n <= 140; n++)
        for (size_t offset = 0; offset < 16; offset += 5)
            for (int adds = 0; adds < 2; adds++) gain_once(floats_best()->gain, n, offset, adds);
}

TEST(floats, copy_writes_each_element_and_nothing_beside)
{
    for (size_t n = 0; n <= 140; n++)
        for (size_t offset = 0; offset < 16; offset += 5) {
            struct field to = field_of(n, offset, -1), from = field_of(n, 15 - offset, -2);
            for (size_t i = 0; i < n; i++) {
                to.at[i] = -3;
                from.at[i] = (float)i + 0.5f;
            }
            floats_copy(to.at, from.at, n);
            for (size_t i = 0; i < n; i++)
                CHECK(to.at[i] == (float)i + 0.5f && from.at[i] == (float)i + 0.5f);
            check_guards(to, n, offset, -1);
            check_guards(from, n, 15 - offset, -2);
        }
}
