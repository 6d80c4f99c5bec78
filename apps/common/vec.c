#include "vec.h"

extern const struct vec vec_16;
const struct vec *vec_chosen = &vec_16;

#if defined(__x86_64__)
extern const struct vec vec_32, vec_64;

static __attribute__((constructor)) void choose(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
    bool runs_64 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    vec_chosen = runs_64 ? &vec_64 : &vec_32;
}
#endif
