/*
 * ring.h - an io_uring from its opening to its end.
 *
 * A forked child does not get the ring's memory; otherwise it would keep the ring, and the
 * operations under way, alive.
 *
 * Memory    the kernel's, mapped. Linux before 5.12, and that of 2025, count it as locked, where
 *           CAP_IPC_LOCK is missing: of all rings of a user, 8 KiB for the smallest
 * Waiting   never, except for the system calls
 * Life      ring_open, ring_close
 */
#ifndef LOCUS_BASE_RING_H
#define LOCUS_BASE_RING_H

#include <liburing.h>

/* 0, or a negative errno. `params` as io_uring_setup(2) has them. */
int ring_open(struct io_uring *, unsigned entries, struct io_uring_params *params);
void ring_close(struct io_uring *);

#endif
