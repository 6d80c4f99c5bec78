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

#include "base/time.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* 0: the system does not tell. */
static inline double footprint_resident_bytes(void)
{
    unsigned long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %llu", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Of the machine; SIZE_MAX: the system does not tell. */
static inline size_t footprint_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
}

static inline double footprint_cpu_s(void)
{
    return 1e-9 * (double)time_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Between these two, what is written beyond `ulimit -f` fails with EFBIG, and does not end the
 * process by SIGXFSZ, which the system sends to the thread that writes. */
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
