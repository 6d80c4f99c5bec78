/*
 * oversize.h - what is written beyond `ulimit -f` fails with EFBIG, and does not end the process by
 * SIGXFSZ, which the system sends to the thread that writes.
 *
 * Callers   any thread; the two calls by the same one
 * Memory    none
 * Waiting   never
 * Life      oversize_begin, what writes, oversize_end
 */
#ifndef LOCUS_BASE_OVERSIZE_H
#define LOCUS_BASE_OVERSIZE_H

#include <signal.h>
#include <time.h>

static inline sigset_t oversize_begin(void)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    return before;
}

static inline void oversize_end(sigset_t before)
{
    const struct timespec now = {0};
    sigset_t one;
    if (sigismember(&before, SIGXFSZ)) return;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    while (sigtimedwait(&one, NULL, &now) == SIGXFSZ) continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
