/* Vectors of 16 bytes: what every processor has that this runs on. */
#define WIDE_BYTES 16
#define ROWS_AT_ONCE 6
#define VEC_TABLE vec_16
#include "vec_body.h"
