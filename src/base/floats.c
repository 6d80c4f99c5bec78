#include "base/floats.h"

static float gain_of(float before, float after)
{
    uint32_t was, now;
    memcpy(&was, &before, sizeof was);
    memcpy(&now, &after, sizeof now);
    return was == now ? 0 : after - (before - before == 0 ? before : 0);
}

#if defined(LOCUS_TSAN) || defined(LOCUS_FIBERS)

static void add(float *to, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float a, b;
        if (i == n / 2) LOCUS_YIELD();
        __atomic_load(&to[i], &a, __ATOMIC_RELAXED);
        __atomic_load(&from[i], &b, __ATOMIC_RELAXED);
        a += b;
        __atomic_store(&to[i], &a, __ATOMIC_RELAXED);
    }
}

static void gain(float *to, const float *was, const float *now, size_t n, bool adds)
{
    for (size_t i = 0; i < n; i++) {
        float before, after, gained;
        if (i == n / 2) LOCUS_YIELD();
        __atomic_load(&was[i], &before, __ATOMIC_RELAXED);
        __atomic_load(&now[i], &after, __ATOMIC_RELAXED);
        gained = gain_of(before, after);
        if (adds) gained += to[i];
        __atomic_store(&to[i], &gained, __ATOMIC_RELAXED);
    }
}

floats_add_fn *floats_add_best(void)
{
    return add;
}

floats_gain_fn *floats_gain_best(void)
{
    return gain;
}

#else

/* One loop, compiled for several widths: vectors of BYTES bytes, four at a time, then one, then
 * single floats. The vectors are unaligned: rows are packed. */
#define ADD(name, target, BYTES) \
    target static void name(float *to, const float *from, size_t n) \
    { \
        typedef float wide __attribute__((vector_size(BYTES), aligned(4), may_alias)); \
        const size_t step = BYTES / sizeof(float); \
        size_t i = 0; \
        for (; i + 4 * step <= n; i += 4 * step) { \
            wide a = *(wide *)(to + i) + *(const wide *)(from + i); \
            wide b = *(wide *)(to + i + step) + *(const wide *)(from + i + step); \
            wide c = *(wide *)(to + i + 2 * step) + *(const wide *)(from + i + 2 * step); \
            wide d = *(wide *)(to + i + 3 * step) + *(const wide *)(from + i + 3 * step); \
            *(wide *)(to + i) = a; \
            *(wide *)(to + i + step) = b; \
            *(wide *)(to + i + 2 * step) = c; \
            *(wide *)(to + i + 3 * step) = d; \
        } \
        for (; i + step <= n; i += step) *(wide *)(to + i) += *(const wide *)(from + i); \
        for (; i < n; i++) to[i] += from[i]; \
    }

/* The same for gains: a vector at a time. Bits are compared, because NaN is not equal to itself;
 * `base` is the old value, or 0 if that was not finite. */
#define GAIN(name, target, BYTES) \
    target static void name(float *to, const float *was, const float *now, size_t n, bool adds) \
    { \
        typedef float wide __attribute__((vector_size(BYTES), aligned(4), may_alias)); \
        typedef int masks __attribute__((vector_size(BYTES))); \
        const size_t step = BYTES / sizeof(float); \
        size_t i = 0; \
        for (; i + step <= n; i += step) { \
            wide before = *(const wide *)(was + i), after = *(const wide *)(now + i); \
            wide base = (wide)((masks)before & (masks)(before - before == 0)); \
            wide gained = (wide)((masks)(after - base) & (masks)((masks)after != (masks)before)); \
            if (adds) gained += *(const wide *)(to + i); \
            *(wide *)(to + i) = gained; \
        } \
        for (; i < n; i++) to[i] = (adds ? to[i] : 0) + gain_of(was[i], now[i]); \
    }

ADD(add_16_bytes, , 16)
GAIN(gain_16_bytes, , 16)
#if defined(__x86_64__)
ADD(add_32_bytes, __attribute__((target("avx2"))), 32)
GAIN(gain_32_bytes, __attribute__((target("avx2"))), 32)
ADD(add_64_bytes, __attribute__((target("avx512f"))), 64)
GAIN(gain_64_bytes, __attribute__((target("avx512f"))), 64)
#endif

floats_add_fn *floats_add_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return add_64_bytes;
    if (__builtin_cpu_supports("avx2")) return add_32_bytes;
#endif
    return add_16_bytes;
}

floats_gain_fn *floats_gain_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return gain_64_bytes;
    if (__builtin_cpu_supports("avx2")) return gain_32_bytes;
#endif
    return gain_16_bytes;
}

#endif
