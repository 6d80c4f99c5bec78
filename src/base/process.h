/*
 * process.h - the memory and processor time that this process uses, and what it may write.
 *
 * Callers   any thread; oversize_begin and oversize_end the same one
 * Memory    none
 * Waiting   never, except for a system call or two
 * Life      oversize_begin, what writes, oversize_end
 */
#ifndef LOCUS_BASE_PROCESS_H
#define LOCUS_BASE_PROCESS_H

#include <signal.h>
#include <stddef.h>
#include <time.h>

/* The memory and processor time that this process uses, and the memory that there is. */

double footprint_resident_bytes(void); /* 0: the system does not tell */
size_t footprint_memory_bytes(void);   /* of the machine; SIZE_MAX: likewise */
double footprint_cpu_s(void);

/*
 * What is written beyond `ulimit -f` fails with EFBIG, and does not end the process by SIGXFSZ,
 * which the system sends to the thread that writes.
 */

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
