/*
 * doubles.h - doubles in rows of floats: each is stored exactly, as the sum of three floats (3
 * times 24 bits are more than 53) and a power of 2.
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef APPS_DOUBLES_H
#define APPS_DOUBLES_H

#include <stddef.h>

enum { DOUBLES_FLOATS = 4 }; /* of each */

void doubles_put(float *floats, const double *, size_t count);
/* To what is there. */
void doubles_add(double *, const float *floats, size_t count);

#endif
