/*
 * mapping.h - an order of all that maps and unmaps memory behind the thread sanitizer's back.
 *
 * liburing calls the kernel by itself, and so does the loader, which hwloc has load and unload its
 * plugins. The sanitizer sees neither the end of one nor the beginning of the next, another
 * thread's, at the same address, and calls that a race. So under it they take turns; elsewhere
 * nothing is done.
 *
 * Callers   ring.c, pinning.c; any thread
 * Memory    none
 * Waiting   for other threads between their begin and end, under the sanitizer alone
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
