/*
 * floors.h - what the same accesses cost without a parameter manager: the floors that benchmarks
 * compare with.
 *
 * One packed array of rows, in huge pages where the kernel gives them, all of it touched; and 1000
 * mutexes, of which the key chooses one: a classic parameter server's way to keep rows whole. Rows
 * go to and from a batch buffer of FLOOR_BATCH rows, used round and round, as a training loop does.
 *
 * The loops are plain on purpose: no prefetching ahead. What is better than 1.0x has earned it.
 *
 * Callers   benchmarks; several threads at once. The loops without mutexes then race on shared
 *           rows, as the fastest unsafe program would; the array is for timing, not for results
 * Memory    rows * length * 4 bytes from floors_new() to floors_free()
 * Waiting   only for a mutex
 */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stddef.h>
#include <stdint.h>

enum { FLOOR_BATCH = 64, FLOOR_MUTEXES = 1000 };

struct floors;

/* Every row is filled with small numbers. NULL: not enough memory. */
struct floors *floors_new(size_t rows, size_t length);
void floors_free(struct floors *f);

/* memcpy out */
void floor_read(const struct floors *f, const uint64_t *keys, size_t n, float *batch);
/* row[i] += d[i] */
void floor_add(struct floors *f, const uint64_t *keys, size_t n, const float *batch);
/* memcpy in */
void floor_write(struct floors *f, const uint64_t *keys, size_t n, const float *batch);
/* under the mutex */
void floor_locked_read(struct floors *f, const uint64_t *keys, size_t n, float *batch);
/* under the mutex */
void floor_locked_add(struct floors *f, const uint64_t *keys, size_t n, const float *batch);
/* reads rows in place */
float floor_sum(const struct floors *f, const uint64_t *keys, size_t n);

/* The sum of a row. Whoever compares reading in place calls this for both sides. */
float row_sum(const float *row, size_t length);

/* row[i] += d[i]. Likewise, for changing in place. */
void row_increase(float *row, const float *d, size_t length);

#endif
