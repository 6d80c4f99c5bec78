/*
 * world.h - several nodes' shards in one thread, on a platform of our own: frames wait in queues,
 * and the test decides which link delivers next. Time and chance come from a seed.
 */
#ifndef TEST_PROTOCOL_WORLD_H
#define TEST_PROTOCOL_WORLD_H

#include "sim/parts.h"

enum {
    WORLD_NODES_MAX = 4,
    WORLD_WORKERS_MAX = 4,
    WORLD_FRAME_BYTES = 4096,
    WORLD_FRAMES_MAX = 256
};

/* From one node to another: frames in order, the last one under construction. */
struct world_link {
    struct world_frame {
        struct wire_frame header;
        _Alignas(8) unsigned char body[WORLD_FRAME_BYTES];
    } frame[WORLD_FRAMES_MAX];
    unsigned first, count;
    uint64_t until_ns; /* the last entry can wait; but here all leave at once */
    bool cut;
};

struct world_node {
    struct world *world;
    unsigned rank;
    struct store store;
    struct node_plan plan;
    struct platform calls;
    struct shard shard;
    unsigned completed;
    int last_rc;
    /* Of the workers' intents, where the technique heeds them. */
    locus_clock clock[WORLD_WORKERS_MAX];
    const locus_clock *clocks[WORLD_WORKERS_MAX];
    uint64_t waiting_keys;
};

struct world {
    unsigned nodes;
    uint64_t random;
    uint64_t now_ns; /* the test's: it passes when the test says so */
    struct world_node node[WORLD_NODES_MAX];
    struct world_link link[WORLD_NODES_MAX][WORLD_NODES_MAX];
};

struct world *world_new(unsigned nodes, uint64_t keys, uint32_t length, unsigned workers,
                        size_t credit, uint64_t seed);
/* The same where rows move. */
struct world *world_new_moving(unsigned nodes, uint64_t keys, uint32_t length, unsigned workers,
                               size_t credit, uint64_t seed);
/* The same where rows may be replicated, too, and intents count; by this technique. */
struct world *world_new_managed(enum locus_technique, unsigned nodes, uint64_t keys,
                                uint32_t length, unsigned workers, size_t credit, uint64_t seed);
/* To be put in CLOSED_BY(), or called. */
void world_free(struct world **);
uint64_t world_random(struct world *, uint64_t below);

/* Delivers one frame of a link that has one, chosen by chance. False: nothing was under way. *why:
 * the receiver's complaint, or NULL. */
bool world_step(struct world *, const char **why);
/* The same of this link. */
bool world_deliver(struct world *, unsigned from, unsigned to, const char **why);
/* All frames, until nothing is under way; nobody complains. */
void world_deliver_all(struct world *);
bool world_is_quiet(const struct world *);

/* One frame with one entry, as a faulty or hostile peer might send it; its values are 0. Returns
 * the complaint, or NULL. */
const char *world_receive(struct world *, unsigned to, unsigned from, struct wire_entry);

/* A request of one worker, by hand. */
void world_request(struct request *, unsigned worker, unsigned number, enum request_kind,
                   struct request_item *, uint32_t count);

#endif
