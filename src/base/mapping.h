/*
 * mapping.h - orders the mapping and unmapping of memory that the thread sanitizer does not see.
 *
 * liburing calls the kernel directly, and so does the dynamic loader when hwloc loads and unloads
 * its plugins. If one thread's mapping ends and another thread's begins at the same address, the
 * sanitizer sees neither and reports a race. So under the sanitizer these calls take turns;
 * otherwise nothing is done.
 *
 * Callers   any thread
 * Memory    none
 * Waiting   for other threads between their begin and end; only under the sanitizer
 * Life      none
 */
#ifndef LOCUS_BASE_MAPPING_H
#define LOCUS_BASE_MAPPING_H

#include "base/tsan.h"

#ifdef LOCUS_TSAN
void mapping_begin(void);
void mapping_end(void);
#else
static inline void mapping_begin(void)
{
}
static inline void mapping_end(void)
{
}
#endif

#endif
