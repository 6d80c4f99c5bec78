/*
 * platform.h - what an actor asks of the world. Actors reach it through this table only, so that
 * the same shard runs on a reactor (real links, real workers) and in a simulation (a seeded
 * network, virtual time).
 *
 * Callers   the actors of one shard, on its thread
 * Memory    the implementation's
 * Waiting   no call waits
 * Life      as the shard's
 */
#ifndef LOCUS_PROTOCOL_PLATFORM_H
#define LOCUS_PROTOCOL_PLATFORM_H

#include "net/wire.h"

struct request;

struct platform {
    void *context;
    /* Space for an entry with `length` floats in the frame to `peer`, its header zero; valid until
     * the next call. Entries to one peer arrive in the order of these calls. The frame leaves when
     * the turn ends; or, while all its entries can wait, when the first of them no longer can, at
     * `until_ns`: those of later turns join them. 0: it cannot wait. NULL: that link has failed,
     * and the shard will be told so. */
    struct wire_entry *(*entry)(void *context, unsigned peer, uint32_t length, uint64_t until_ns);
    /* The request is done, with 0 or a negative errno; it is its worker's again. */
    void (*complete)(void *context, struct request *, int rc);
    /* Nanoseconds since some fixed moment; never goes back. */
    uint64_t (*now_ns)(void *context);
    /* Processor time of this thread so far. A call takes half a microsecond. */
    uint64_t (*cpu_ns)(void *context);
};

#endif
