/*
 * ring.h - an io_uring from its opening to its end.
 *
 * Memory    the kernel's, mapped. Linux before 5.12, and that of 2025, count it as locked, where
 *           CAP_IPC_LOCK is missing: of all rings of a user, 8 KiB for the smallest
 * Waiting   never, except for the system calls
 * Life      ring_open, ring_close
 */
#ifndef LOCUS_BASE_RING_H
#define LOCUS_BASE_RING_H

#include "base/sync.h"

#include <liburing.h>

/* 0, or a negative errno. `params` as io_uring_setup(2) has them. */
static inline int ring_open(struct io_uring *ring, unsigned entries, struct io_uring_params *params)
{
    mapping_begin();
    int rc = io_uring_queue_init_params(entries, ring, params);
    mapping_end();
    /* A forked child would keep the ring, and the operations under way, alive. */
    if (rc == 0) io_uring_ring_dontfork(ring);
    return rc;
}

static inline void ring_close(struct io_uring *ring)
{
    mapping_begin();
    io_uring_queue_exit(ring);
    mapping_end();
}

#endif
