/*
 * error.h - the sentence behind a failed call, and the memory of closed handles.
 *
 * Memory    one buffer a thread, static; CLOSED_BYTES_MAX, and the last handle
 * Waiting   closed_keep for a lock that is held for a moment
 * Life      the process's: a thread's message stands until its next failure
 */
#ifndef LOCUS_BASE_ERROR_H
#define LOCUS_BASE_ERROR_H

#include <stddef.h>

/* Makes the printf-style sentence the calling thread's last message, and returns `rc`, so that a
 * failure takes one line. */
int error_set(int rc, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* A violated internal invariant: says so on stderr and ends the process. */
_Noreturn void error_bug(const char *file, int line, const char *sentence) __attribute__((cold));

/* Always on: for facts without which rows can no longer be trusted. */
#define INVARIANT(condition, sentence) \
    do { \
        if (__builtin_expect(!(condition), 0)) error_bug(__FILE__, __LINE__, sentence); \
    } while (0)

/* A program that uses a handle after it has closed it shall hear so, and not crash. So the handle,
 * which says that it is closed, is kept for a while: until CLOSED_MAX others were closed, or those
 * that were closed later take more than CLOSED_BYTES_MAX. */
enum { CLOSED_MAX = 256, CLOSED_BYTES_MAX = 1 << 20 };

/* Takes over `handle`, of malloc(), and what `more` points to (NULL: nothing): `bytes` together. */
void closed_keep(void *handle, void *more, size_t bytes);

#endif
