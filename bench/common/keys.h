/*
 * keys.h - sequences of random keys, made before the clock starts.
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_ZIPF_EXPONENT 1.1

enum key_choice { KEYS_UNIFORM, KEYS_ZIPF };

/* "uniform", "zipf-1.1" */
const char *key_choice_name(enum key_choice choice);

/*
 * Fills `keys` with keys below `rows`. Equal seeds give equal sequences.
 *
 * Zipf: key k is drawn with a probability proportional to 1 / (k+1)^1.1, exactly
 * (rejection-inversion). Hot keys are the low keys, so they are neighbours: the hard case for a
 * store that keeps words of neighbouring keys in one cache line, and what a model gets when its
 * vocabulary is sorted by frequency.
 */
void keys_fill(uint64_t *keys, size_t count, enum key_choice choice, uint64_t rows, uint64_t seed);

/* Zipf keys of a node: of all rows, equal at all nodes but for the seed; or, its own, of its slice of
 * the rows. From malloc. */
uint64_t *keys_of_node(uint64_t rows, unsigned nodes, unsigned rank, bool own, size_t count);

#endif
