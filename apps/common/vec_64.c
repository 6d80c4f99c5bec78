/* AVX-512: loops that keep sums in registers; the others are better off with 32 bytes. */
#if defined(__x86_64__)
#define WIDE_BYTES 64
#define ROWS_AT_ONCE 12
#define VEC_TABLE vec_64
#include "vec_body.h"
#endif
