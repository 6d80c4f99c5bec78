/*
 * footprint.h - the memory and processor time that this process uses.
 *
 * Memory    none
 * Waiting   never, except for a system call or two
 * Life      none
 */
#ifndef LOCUS_BASE_FOOTPRINT_H
#define LOCUS_BASE_FOOTPRINT_H

double footprint_resident_bytes(void); /* 0: the system does not tell */
double footprint_cpu_s(void);

#endif
