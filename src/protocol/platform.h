/*
 * platform.h - what a shard needs from its environment: a table of calls. So the same shard runs on
 * a reactor (real links, real workers) and in a simulation (a seeded network, virtual time).
 *
 * Memory    the implementation's
 * Waiting   never
 * Life      as the shard's
 */
#ifndef LOCUS_PROTOCOL_PLATFORM_H
#define LOCUS_PROTOCOL_PLATFORM_H

#include "net/wire.h"

struct request;

struct platform {
    void *context;
    /* Space for an entry with `length` floats in the frame to `peer`, with a zeroed header; valid
     * until the next call. Entries to one peer arrive in the order of these calls. The frame leaves
     * at the end of the turn. But if all its entries can wait, it leaves when the first of them can
     * wait no longer (`until_ns`), and entries of later turns join it. `until_ns` 0: the entry
     * cannot wait. Returns NULL if the link has failed; the shard will hear of that. */
    struct wire_entry *(*entry)(void *context, unsigned peer, uint32_t length, uint64_t until_ns);
    /* The request is done, with 0 or a negative errno; it belongs to its worker again. */
    void (*complete)(void *context, struct request *, int rc);
    /* Nanoseconds since some fixed moment; never goes back. */
    uint64_t (*now_ns)(void *context);
    /* Processor time of this thread so far. A call takes half a microsecond. */
    uint64_t (*cpu_ns)(void *context);
};

#endif
