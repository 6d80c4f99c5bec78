/*
 * must.h - what cannot go wrong in a benchmark, or ends it with a sentence that begins with the
 * program's name: must() and fail() of apps/common, and memory.
 *
 * It ends with _exit(1): what runs at a usual exit may wait for a cluster that is in trouble. Our
 * own node processes see the end of their sockets.
 *
 * Callers   any thread
 * Memory    must_alloc() is freed by free()
 * Waiting   never
 */
#ifndef BENCH_MUST_H
#define BENCH_MUST_H

#include "common/fail.h"

#include <stddef.h>

/* Memory that begins at a cache line; zero, and touched before anything is timed. */
void *must_alloc(size_t bytes);

#endif
