/*
 * changes.h - worlds whose members change, and what is true of them behind each change: as the test
 * says, or by chance.
 */
#ifndef TEST_PROTOCOL_CHANGES_H
#define TEST_PROTOCOL_CHANGES_H

#include "protocol/repair.h"
#include "world.h"

struct world *survivors(enum locus_technique, unsigned nodes);
/* Frames and turns, until nothing is under way and all is saved. */
void finish(struct world *);
/* All hear of the changes of which they have not heard, and these are repaired. */
void all_hear(struct world *);
/* A loss or a newcomer, and all of that. */
void all_change(struct world *, enum change_kind, unsigned node);

/* The node that has a save of the row at this owner. */
unsigned guardian_of(struct world *, unsigned owner, locus_key);
/* The first save's first float that the node has of it; -1: none. */
float saved_at(struct world *, unsigned node, locus_key);

/* ---- by chance ---- */

enum { CHANCE_KEYS = 6, CHANCE_CALLS = 3 };

/* Writes of workers by hand; when all write, their pushes, too. */
enum writes { NO_WRITES, OWNERS_WRITE, ALL_WRITE };

struct chance {
    struct world *w;
    enum writes writes;
    struct call call[WORLD_NODES_MAX][CHANCE_CALLS];
    bool waits[WORLD_NODES_MAX][CHANCE_CALLS]; /* the shard has not taken it on yet */
    unsigned pushed[WORLD_NODES_MAX][CHANCE_KEYS];
};

/* Two to four nodes, of one technique or another. */
void chance_open(struct chance *, uint64_t seed);
/* A worker does something, time passes, a frame arrives, or a node hears of a change: any but the
 * last one, which all_hear_of_it() tells. */
void chance_steps(struct chance *, uint64_t times);
void all_hear_of_it(struct chance *);
/* Nothing is under way any more, and nothing waits. */
void chance_settle(struct chance *);

unsigned value_of(struct world *, locus_key);
unsigned pushed_by(const struct chance *, locus_key, bool by_lost);
/* All rows are what was pushed; or from now on what they are counts as that. */
void check_values(struct chance *);
void take_values(struct chance *);

/* Of those that live, or that were lost. */
unsigned chance_node(struct chance *, bool is_lost);
/* One that was lost comes back; of the others nobody hears of it yet. */
void chance_join(struct chance *);
/* One that was lost comes back while others ask, and does so, too: nothing is lost, or done twice. */
void join_by_chance(struct chance *);

#endif
