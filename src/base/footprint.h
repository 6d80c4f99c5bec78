/*
 * footprint.h - the memory and processor time that this process uses, and the memory that there is.
 *
 * Memory    none
 * Waiting   never, except for a system call or two
 * Life      none
 */
#ifndef LOCUS_BASE_FOOTPRINT_H
#define LOCUS_BASE_FOOTPRINT_H

#include <stddef.h>

double footprint_resident_bytes(void); /* 0: the system does not tell */
size_t footprint_memory_bytes(void);   /* of the machine; SIZE_MAX: likewise */
double footprint_cpu_s(void);

#endif
