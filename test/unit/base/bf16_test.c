#include "base/floats.h"

#include "test.h"

#include <math.h>
#include <string.h>

enum { N = 37, WORDS = 19 };

static float of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* One value, and back. */
static float rounded(float value, uint64_t draw)
{
    float word, back;
    bf16_best()->round(&word, &value, 1, draw);
    bf16_best()->widen(&back, &word, 1);
    return back;
}

TEST(bf16, round_keeps_what_has_16_bits)
{
    for (uint32_t half = 0; half < 1 << 16; half++) {
        float value = of_bits(half << 16);
        if (!isnan(value)) CHECK_EQ(bits_of(rounded(value, half)), half << 16);
    }
}

TEST(bf16, round_keeps_finite_values_finite_and_nan_nan)
{
    static const uint32_t nan[] = {0x7FC00000, 0x7F800001, 0xFF80FFFF, 0xFFFFFFFF};
    for (uint64_t draw = 0; draw < 1000; draw++) {
        for (size_t i = 0; i < 4; i++) {
            float kept = rounded(of_bits(nan[i]), draw);
            CHECK(isnan(kept) && !signbit(kept) == !(nan[i] >> 31));
        }
        CHECK_EQ(bits_of(rounded(of_bits(0x7F7FFFFF), draw)), 0x7F7F0000);
        CHECK_EQ(bits_of(rounded(of_bits(0xFF7F8001), draw)), 0xFF7F0000);
    }
}

/* The mean, within five of its standard deviations; and only neighbours come. */
static void check_mean(uint32_t bits)
{
    enum { DRAWS = 100000 };
    double low = (double)of_bits(bits & 0xFFFF0000), part = (bits & 0xFFFF) / 65536.0,
           high = (double)of_bits((bits & 0xFFFF0000) + 0x10000);
    unsigned up = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        double got = (double)rounded(of_bits(bits), bf16_draw(bits, i));
        CHECK(got == low || got == high);
        up += got == high;
    }
    CHECK(fabs(up - part * DRAWS) <= 5 * sqrt(part * (1 - part) * DRAWS));
}

TEST(bf16, round_is_right_in_the_mean)
{
    static const uint32_t bits[] = {
        0x3F800001,                                     /* hardly above 1 */
        0x3F808000, 0xBF80C000, 0x3DCCCCCD, 0x7F7E5555, /* nearly the largest */
        0x3FFFF000,                                     /* to the next power of two */
        0x00000100, 0x80014000,                         /* denormal */
        0x007FFFF0,                                     /* to the first that is not */
    };
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) check_mean(bits[i]);
}

/* Values of a row, and draws, must not move together: then sums would not be right. */
TEST(bf16, round_of_neighbours_is_independent)
{
    enum { ROWS = 4000 };
    float values[N], words[WORDS], back[N];
    unsigned pairs = 0, draws = 0, last_up[N] = {0};
    for (unsigned i = 0; i < N; i++) values[i] = of_bits(0x3F808000);
    for (unsigned row = 0; row < ROWS; row++) {
        bf16_best()->round(words, values, N, bf16_draw(row / 2, row % 2));
        bf16_best()->widen(back, words, N);
        for (unsigned i = 0; i < N; i++) {
            unsigned up = back[i] > 1;
            pairs += i > 0 && up == (back[i - 1] > 1);
            draws += row > 0 && up == last_up[i];
            last_up[i] = up;
        }
    }
    double n = ROWS * (N - 1.0), m = (ROWS - 1.0) * N;
    CHECK(fabs(pairs - n / 2) <= 5 * sqrt(n) / 2);
    CHECK(fabs(draws - m / 2) <= 5 * sqrt(m) / 2);
}

TEST(bf16, versions_for_all_processors_round_alike)
{
    float values[N];
    for (uint32_t i = 0; i < N; i++) values[i] = of_bits((i + 1) * UINT32_C(0x9E3779B1));
    values[3] = of_bits(0x7F800001);
    for (unsigned n = 1; n <= N; n++) {
        float first[WORDS + 1] = {0}, words[WORDS + 1] = {0}, wide[N + 1];
        for (unsigned v = 0; bf16_variant(v); v++) {
            float *to = v == 0 ? first : words;
            for (unsigned i = 0; i <= WORDS; i++) to[i] = 7;
            bf16_variant(v)->round(to, values, n, 12345);
            for (unsigned i = 0; i <= WORDS; i++) CHECK_EQ(bits_of(to[i]), bits_of(first[i]));
            CHECK(to[(n + 1) / 2] == 7);
            CHECK(n % 2 == 0 || bits_of(to[n / 2]) >> 16 == 0);
            wide[n] = 7;
            bf16_variant(v)->widen(wide, to, n);
            CHECK(wide[n] == 7);
            for (unsigned i = 0; i < n; i++)
                CHECK_EQ(bits_of(wide[i]), bits_of(to[i / 2]) >> (i % 2 * 16) << 16);
        }
    }
}
