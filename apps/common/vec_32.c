/* AVX2 and FMA. */
#if defined(__x86_64__)
#define WIDE_BYTES 32
#define ROWS_AT_ONCE 6
#define VEC_TABLE vec_32
#include "vec_body.h"
#endif
