#include "store/floats.h"

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

floats_add_fn *floats_add_best(void)
{
    return add;
}

#else

/* One loop, compiled for several widths: vectors of BYTES bytes, four at a time, then one, then single floats. The
 * vectors are unaligned: rows are packed. */
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

ADD(add_16_bytes, , 16)
#if defined(__x86_64__)
ADD(add_32_bytes, __attribute__((target("avx2"))), 32)
ADD(add_64_bytes, __attribute__((target("avx512f"))), 64)
#endif

floats_add_fn *floats_add_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return add_64_bytes;
    if (__builtin_cpu_supports("avx2")) return add_32_bytes;
#endif
    return add_16_bytes;
}

#endif
