/*
 * closed.h - what is left of handles that were closed.
 *
 * A program that uses a handle after it has closed it shall hear so, and not crash. So the memory
 * of the handle itself, which says that it is closed, is kept for a while: until CLOSED_MAX others
 * were closed, or those that were closed later take more than CLOSED_BYTES_MAX.
 *
 * Memory    CLOSED_BYTES_MAX, and the last handle
 * Waiting   for a lock that is held for a moment
 * Life      the process's
 */
#ifndef LOCUS_BASE_CLOSED_H
#define LOCUS_BASE_CLOSED_H

#include <stddef.h>

enum { CLOSED_MAX = 256, CLOSED_BYTES_MAX = 1 << 20 };

/* Takes over `handle`, of malloc(), and what `more` points to (NULL: nothing): `bytes` together. */
void closed_keep(void *handle, void *more, size_t bytes);

#endif
