/*
 * plan.h - what a node decided when it was opened, and each of its parts points to: the cluster,
 * its reactors, their shards. A setting is read here, where it acts.
 *
 * Memory    the node's. The arrays are its, too
 * Waiting   never
 * Life      filled before the cluster starts, not changed afterwards, valid until all parts have
 *           ended
 */
#ifndef LOCUS_PROTOCOL_PLAN_H
#define LOCUS_PROTOCOL_PLAN_H

#include "protocol/technique.h"
#include "store/store.h"

struct request;

/* What experiments and tests change, and no program does: LOCUS_LAB (lab/README.md). */
struct lab {
    bool is_immediate, is_tcp_only;
    unsigned rounds; /* a second; 0: as many as the manager likes */
};

struct node_plan {
    struct store *store;
    const struct technique *technique;
    struct locus_config config; /* complete (config.h), without what it points to */
    struct lab lab;
    bool remembers;                  /* shards keep what happens to keys: events.h */
    const locus_clock *const *clock; /* [workers]; NULL: there are no intents */
    uint64_t *node_keys;             /* keys of waiting intents on the whole node */
    /* [workers] for bounds (clocks.h): the clock of each, and what it has posted to each shard; or
     * NULL */
    const locus_clock *const *progress;
    const uint64_t *const *posted;
    /* A worker's request is done, with 0 or a negative errno: on the shard's thread, must not wait. */
    void (*completed)(struct request *, int rc);
};

#endif
