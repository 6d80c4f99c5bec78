/*
 * error.h - the sentence behind a failed call.
 *
 * Memory    one buffer a thread, static
 * Waiting   never
 * Life      none: a thread's message stands until its next failure
 */
#ifndef LOCUS_BASE_ERROR_H
#define LOCUS_BASE_ERROR_H

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

#endif
