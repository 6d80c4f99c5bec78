/* Values of 16 bits. */
#include "base/floats.h"

#define INLINE static inline __attribute__((always_inline))
#define INFINITE UINT32_C(0x7F800000)
#define LARGEST UINT32_C(0x7F7F0000) /* of those with 16 bits that are finite */

/* Of a row's word: 32 bits, 16 for each of its values. */
INLINE uint32_t random_of(uint64_t draw, uint32_t word)
{
    uint32_t x = ((uint32_t)draw + word * UINT32_C(0x9E3779B9)) ^ (uint32_t)(draw >> 32);
    x = (x ^ x >> 16) * UINT32_C(0x7FEB352D);
    x = (x ^ x >> 15) * UINT32_C(0x846CA68B);
    return x ^ x >> 16;
}

/* The upper half of the result counts. */
INLINE uint32_t rounded(uint32_t bits, uint32_t random)
{
    uint32_t size = bits & ~(UINT32_C(1) << 31);
    uint32_t up = size < LARGEST ? random & 0xFFFF : 0;
    uint32_t quiet = size > INFINITE ? UINT32_C(1) << 22 : 0; /* the payload may be cut off */
    return (bits + up) | quiet;
}

INLINE uint32_t bits_of(const float *f)
{
    uint32_t bits;
    memcpy(&bits, f, sizeof bits);
    return bits;
}

INLINE uint32_t word_of(const float *from, uint32_t word, uint64_t draw, bool has_two)
{
    uint32_t random = random_of(draw, word);
    uint32_t low = rounded(bits_of(from + 2 * (size_t)word), random) >> 16;
    uint32_t high = has_two ? rounded(bits_of(from + 2 * (size_t)word + 1), random >> 16) >> 16 : 0;
    return high << 16 | low;
}

#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)

static void widen_plain(float *to, const float *from, size_t n)
{
    const uint32_t *words = (const void *)from;
    for (size_t i = 0; i < n; i++) {
        if (i == n / 2) LOCUS_YIELD();
        uint32_t word = __atomic_load_n(&words[i / 2], __ATOMIC_RELAXED);
        word = i % 2 ? word & 0xFFFF0000 : word << 16;
        memcpy(to + i, &word, sizeof word);
    }
}

static void round_plain(float *to, const float *from, size_t n, uint64_t draw)
{
    uint32_t *words = (void *)to;
    for (uint32_t i = 0; i < (n + 1) / 2; i++) {
        if (i == n / 4) LOCUS_YIELD();
        __atomic_store_n(&words[i], word_of(from, i, draw, 2 * (size_t)i + 1 < n),
                         __ATOMIC_RELAXED);
    }
}

static const struct bf16_loops plain = {widen_plain, round_plain};

const struct bf16_loops *bf16_variant(unsigned i)
{
    return i == 0 ? &plain : NULL;
}

#else

typedef uint16_t half __attribute__((may_alias));
typedef uint32_t whole __attribute__((may_alias));

/* Plain C, of which the compiler makes vectors (mk/config.mk). */
#define VARIANT(variant, target) \
    target static void widen_##variant(float *restrict to, const float *restrict from, size_t n) \
    { \
        const half *values = (const void *)from; \
        whole *wide = (void *)to; \
        for (size_t i = 0; i < n; i++) wide[i] = (uint32_t)values[i] << 16; \
    } \
    target static void round_##variant(float *restrict to, const float *restrict from, size_t n, \
                                       uint64_t draw) \
    { \
        whole *words = (void *)to; \
        uint32_t full = (uint32_t)n / 2; \
        for (uint32_t i = 0; i < full; i++) words[i] = word_of(from, i, draw, true); \
        if (n % 2) words[full] = word_of(from, full, draw, false); \
    } \
    static const struct bf16_loops variant = {widen_##variant, round_##variant};

VARIANT(plain, )
#if defined(__x86_64__)
VARIANT(avx2, __attribute__((target("avx2"))))
VARIANT(avx512, __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2"))))
#endif

const struct bf16_loops *bf16_variant(unsigned i)
{
    if (i == 0) return &plain;
#if defined(__x86_64__)
    bool runs = __builtin_cpu_supports("avx2");
    if (i == 1 && runs) return &avx2;
    runs = runs && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (i == 2 && runs) return &avx512;
#endif
    return NULL;
}

#endif

const struct bf16_loops *bf16_best(void)
{
    unsigned best = 0;
    while (bf16_variant(best + 1)) best++;
    return bf16_variant(best);
}
