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

static const struct floats_loops plain = {add, gain};

const struct floats_loops *floats_best(void)
{
    return &plain;
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

#define LOOPS(BYTES, target) \
    ADD(add_##BYTES, target, BYTES) \
    GAIN(gain_##BYTES, target, BYTES) \
    static const struct floats_loops loops_##BYTES = {add_##BYTES, gain_##BYTES};

LOOPS(16, )
#if defined(__x86_64__)
LOOPS(32, __attribute__((target("avx2"))))
LOOPS(64, __attribute__((target("avx512f"))))
#endif

const struct floats_loops *floats_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return &loops_64;
    if (__builtin_cpu_supports("avx2")) return &loops_32;
#endif
    return &loops_16;
}

#endif
