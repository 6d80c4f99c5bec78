/*
 * distinct.h - which keys of a call repeat; locus_distinct() is in distinct.c, too.
 *
 * Callers   any thread
 * Memory    8 to 16 bytes a key, during a call
 * Waiting   none
 */
#ifndef LOCUS_API_DISTINCT_H
#define LOCUS_API_DISTINCT_H

#include "locus.h"

/* Does no key repeat? false also if there is no memory to tell. */
bool distinct_are(const locus_key *keys, size_t n);

#endif
