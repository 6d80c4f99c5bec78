/*
 * machine.h - what the figures were measured on.
 *
 * Callers   one thread
 * Memory    static
 * Waiting   never
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>

/* "AMD EPYC, 2 processors, Linux 6.18.5, gcc 12.2.0". Valid until the next call. */
const char *machine_name(void);

/* Threads that ran or wanted to run during the last minute, on average; negative when unknown. */
double machine_load(void);

/* Bytes of this process that are in memory now. */
size_t machine_resident_bytes(void);
/* Those in huge pages that nobody had to ask for; 0: none, or unknown. */
size_t machine_huge_bytes(void);

#endif
