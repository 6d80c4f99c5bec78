/*
 * world_private.h - what the files of the world share: its state, and small looks at it.
 *
 * world.c has what happens; invariants.c what must hold, hash.c what tells two states apart,
 * words.c how they are shown.
 *
 * Callers   those four
 * Memory    world.c's
 * Waiting   never
 * Life      the world's
 */
#ifndef LOCUS_EXHAUSTIVE_WORLD_PRIVATE_H
#define LOCUS_EXHAUSTIVE_WORLD_PRIVATE_H

#include "world.h"

#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "protocol/repair.h"
#include "protocol/saves.h"
#include "sim/content.h"
#include "sim/parts.h"

#include <string.h>

enum {
    NODES_MAX = SCENARIO_NODES_MAX,
    LENGTH = 3, /* floats of the row: content.h */
    CAPACITY = 4,
    MESSAGES_MAX = 24, /* on a link */
};

struct message {
    struct wire_entry entry;
    float values[SCENARIO_CALLS_MAX]; /* of a row, or tags */
};

/* From one node to another; entries one by one: that they came in one frame is the same as one
 * after the other. */
struct lane {
    unsigned count;
    struct message message[MESSAGES_MAX];
};

enum call_state { CALL_FUTURE, CALL_POSTED, CALL_TAKEN, CALL_DONE };

struct call {
    enum call_state state;
    unsigned done_before; /* calls that were done when it was called, as bits */
    locus_clock gate;     /* of its node then: up to there it sees everything */
    struct request request;
    struct request_item item;
    float values[CAPACITY];
};

struct node {
    unsigned rank, workers;
    /* of its workers, for bounds: their clocks, INT64_MAX when closed; requests that they posted */
    locus_clock progress[SCENARIO_WORKERS_MAX];
    uint64_t posted[SCENARIO_WORKERS_MAX];
    struct node_plan plan;
    struct platform calls;
    struct shard shard;
};

/* Beside the arena all that changes. */
struct world_state {
    struct node node[NODES_MAX];
    struct call call[SCENARIO_CALLS_MAX];
    /* A node is lost, or has joined, and another one is lost; the row was lost with it. */
    bool has_lost, has_lost_too, row_is_lost;
    bool has_left; /* or has said that all it had is with others */
    /* By nodes: of world_news that they have heard; the numbers of changes that they repair and have
     * repaired last. */
    unsigned heard[NODES_MAX];
    uint32_t view[NODES_MAX], repaired[NODES_MAX];
    /* Calls whose answers were under way when their writer was lost, as bits; nodes that have heard of
     * each from each writer; the row may hold a write twice (check_doubt). */
    unsigned unanswered[NODES_MAX], told[NODES_MAX][SCENARIO_CALLS_MAX];
    bool is_doubtful;
    /* what a shard said of a message, or what else went wrong in the last step */
    const char *wrong;
};
extern struct world_state world_state;
extern struct lane world_lane[NODES_MAX][NODES_MAX];

extern struct store world_store[NODES_MAX];
extern struct scenario world_scenario;
static const struct content_layout world_layout = {.length = LENGTH};

/* The row at a node that holds it; behind a replica the sum of its updates. */
float *world_row_of(unsigned node);
/* Of a worker, -1: none. The next call of its script; the first one that no shard has taken. */
int world_next_call(unsigned worker);
int world_first_posted(unsigned worker);

bool world_has_sets(void);
/* Is the row at a node that lives, or on its way to one, or as good as that? */
bool world_has_row(void);
/* A node was lost, and what of its frames comes is decided. */
void world_note_loss(unsigned node);

static inline unsigned nodes(void)
{
    return world_scenario.nodes;
}

static inline bool joins(void)
{
    return world_scenario.change == CHANGE_JOINS;
}

static inline bool leaves(void)
{
    return world_scenario.change == CHANGE_LEAVES;
}

static inline bool is_first(unsigned node)
{
    return node + 1 == world_scenario.loses;
}

static inline bool is_lost(unsigned node)
{
    if (world_state.has_lost_too &&
        (node + 1 == world_scenario.loses_too || (leaves() && is_first(node))))
        return true;
    return world_state.has_lost != joins() && is_first(node) && (!leaves() || world_state.has_left);
}

/* What rank 0 has said: the changes, and of who leaves that it is lost, by the number of that one. */
enum { NEWS_MAX = 3 };
static inline unsigned news(void)
{
    unsigned second = leaves() && !is_first(world_scenario.loses_too - 1) ? 2 : 1;
    return world_state.has_lost + (world_state.has_lost_too ? second : 0);
}
struct change world_news(unsigned place);

/* A node is lost, or has joined, and not all members have repaired that. */
static inline bool is_repairing(void)
{
    if (!world_state.has_lost) return false;
    for (unsigned n = 0; n < nodes(); n++)
        if (!is_lost(n) && !(leaves() && is_first(n)) &&
            world_state.repaired[n] < world_news(news() - 1).number)
            return true;
    return false;
}

static inline bool is_lost_call(unsigned call)
{
    return is_lost(world_scenario.node[world_scenario.call[call].worker]);
}

/* Does the scenario wait for clocks? */
static inline bool has_clocks(void)
{
    return world_scenario.has_clocks;
}

static inline const struct clocks *clocks_at(unsigned node)
{
    return world_state.node[node].shard.clocks;
}

/* The worker's own number at its node. */
unsigned world_number_of(unsigned worker);
/* The worker has done all, and has not closed. */
bool world_can_close(unsigned worker);

static inline struct row_ref row_ref_at(unsigned node)
{
    return store_row_ref(&world_store[node], 0);
}

static inline bool is_here(unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    return row_ref_is_here(ref, directory_load(row_ref_word(ref)));
}

static inline bool replicates(void)
{
    return world_scenario.technique != LOCUS_STATIC;
}

static inline bool moves(void)
{
    return world_scenario.technique == LOCUS_ADAPTIVE || world_scenario.technique == LOCUS_RELOCATE;
}

/* Do replicas come into being in this scenario? Else every read must see what came before it. */
static inline bool has_replicas(void)
{
    bool keeps = false;
    for (unsigned i = 0; i < world_scenario.calls; i++)
        keeps |= world_scenario.call[i].kind == CALL_KEEP;
    return world_scenario.technique == LOCUS_RELOCATE ? keeps : replicates();
}
static inline struct record *record_of(unsigned node)
{
    return record_find(&world_state.node[node].shard.records, 0);
}

static inline bool read_row(unsigned node, float row[CAPACITY])
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    memset(row, 0, CAPACITY * sizeof *row);
    if (!row_ref_is_held(ref, w)) return false;
    if (directory_has_row(w))
        memcpy(row, partition_row(ref.partition, directory_slot(w)), LENGTH * sizeof *row);
    return true;
}
static inline unsigned wanted(unsigned node)
{
    return world_state.node[node].shard.records.state[0].wanted;
}

static inline bool keeps(unsigned node)
{
    return world_state.node[node].shard.records.state[0].is_kept;
}

static inline bool is_about_a_key(const struct wire_entry *e)
{
    return wire_rules[e->operation].route != WIRE_OF_SHARD;
}

#endif
