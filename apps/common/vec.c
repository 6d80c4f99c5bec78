#include "vec.h"

extern const struct vec vec_16;

#if defined(__x86_64__)
extern const struct vec vec_32, vec_64;

const struct vec *vec_best(void)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("fma"))
        return &vec_64;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &vec_32;
    return &vec_16;
}
#else
const struct vec *vec_best(void)
{
    return &vec_16;
}
#endif
