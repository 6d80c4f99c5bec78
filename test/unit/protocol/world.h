/*
 * world.h - several nodes' shards in one thread, on a platform of our own: frames wait in queues,
 * and the test decides which link delivers next. Time and chance are the test's.
 */
#ifndef TEST_PROTOCOL_WORLD_H
#define TEST_PROTOCOL_WORLD_H

#include "protocol/change.h"
#include "sim/parts.h"

enum {
    WORLD_NODES_MAX = 4,
    WORLD_WORKERS_MAX = 4,
    WORLD_FRAME_BYTES = 4096,
    WORLD_FRAMES_MAX = 256,
    WORLD_KEYS = 64,
    WORLD_LENGTH = 5,
    WORLD_CREDIT = 1 << 20, /* never used up */
    WORLD_CHANGES_MAX = 16,
};

#define WORLD_MS UINT64_C(1000000)

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
    uint32_t repaired; /* the view of the last repair that is over */
    locus_clock clock[WORLD_WORKERS_MAX];
    const locus_clock *clocks[WORLD_WORKERS_MAX];
    uint64_t waiting_keys;
};

/* 0: as above, and one worker. */
struct world_config {
    enum locus_technique technique;
    unsigned nodes, workers;
    uint64_t keys;
    uint32_t length;
    size_t credit;
    bool survives;
};

struct world {
    struct world_config config;
    unsigned nodes;
    uint64_t random;
    struct change change[WORLD_CHANGES_MAX]; /* of the members, by world_change() */
    uint32_t changes;
    bool is_lost[WORLD_NODES_MAX]; /* it has no turn, and hears and says nothing */
    uint64_t now_ns;               /* it passes when the test says so */
    struct world_node node[WORLD_NODES_MAX];
    struct world_link link[WORLD_NODES_MAX][WORLD_NODES_MAX];
};

struct world *world_open(struct world_config);
struct world *world_new(enum locus_technique, unsigned nodes);
/* To be put in CLOSED_BY(), or called. */
void world_free(struct world **);
uint64_t world_random(struct world *, uint64_t below);

/* ---- keys ---- */

extern const float world_ones[WORLD_LENGTH];
/* The first of this home. */
locus_key world_key(const struct world *, unsigned home);
struct row_ref world_ref(const struct world *, unsigned node, locus_key);
struct location world_known(struct world *, unsigned node, locus_key);
/* The one member that has the row. */
unsigned world_owner(struct world *, locus_key);
/* What the node reads: the same in all floats. */
float world_value(const struct world *, unsigned node, locus_key);
bool world_is_replica(struct world *, unsigned node, locus_key);
unsigned world_records(const struct world *, unsigned node);

/* ---- what nodes do ---- */

/* An event of this kind, and no turn. */
void world_event(struct world *, unsigned node, enum intent_kind, locus_key);
/* A worker signals, and the shard has its turn. */
void world_intend(struct world *, unsigned node, unsigned worker, locus_key, locus_clock start,
                  locus_clock end);
void world_turn(struct world *, unsigned node);
/* So often: time passes, all have a turn, all arrives. */
void world_pass(struct world *, int times, uint64_t ns);

/* The node stops, and what is under way to it and from it is lost. */
void world_lose(struct world *, unsigned node);
/* The members change; of a node that joins only it knows. Another one hears of it. */
void world_change(struct world *, enum change_kind, unsigned node);
void world_hear(struct world *, unsigned node);

/* One key of one worker's request. */
struct call {
    struct request request;
    struct request_item item;
    float values[WORLD_LENGTH];
};
/* `value` in all floats: what is pushed or set. */
void world_ask(struct world *, struct call *, unsigned node, unsigned number, enum request_kind,
               locus_key, float value);
/* A request of worker 0 by hand. */
void world_request(struct request *, unsigned number, enum request_kind, struct request_item *,
                   uint32_t count);
/* From request to end, nothing else under way. A pull: the value, the same in all floats. */
int world_run(struct world *, unsigned node, enum request_kind, locus_key, float value);
int world_pulled(const struct call *);

/* ---- what arrives ---- */

/* One frame. False: there is none. *why: the receiver's complaint, or NULL. */
bool world_deliver(struct world *, unsigned from, unsigned to, const char **why);
/* All frames link by link, at least one each: "120" is from 1 to 2, and from 2 to 0. */
void world_travel(struct world *, const char *nodes);
/* All, in an order of chance, until nothing is under way; nobody complains. */
void world_deliver_all(struct world *);
bool world_is_quiet(const struct world *);
unsigned world_entries(const struct world *, unsigned from, unsigned to);

/* One frame with one entry, as a faulty or hostile peer might send it; its values are 0. Returns
 * the complaint, or NULL. */
const char *world_receive(struct world *, unsigned to, unsigned from, struct wire_entry);

#endif
