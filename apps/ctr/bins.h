/*
 * bins.h - where a column of numbers is cut into bins of about as many examples. A value that
 * would fill a bin has one of its own, and the others share the rest: most columns of counts and
 * amounts are mostly zeros.
 *
 * Callers   the reader, one column at a time
 * Memory    16 bytes a different value, for the call
 * Waiting   never
 */
#ifndef CTR_BINS_H
#define CTR_BINS_H

#include <stddef.h>

/* Sorts the values, and writes cuts, fewer than `bins`, ascending: a value's bin is how many of
 * them are at most as large. Returns how many; 0: there are no more different values than bins, and
 * each may be one. */
size_t bins_cut(double *values, size_t count, size_t bins, double *cuts);

#endif
