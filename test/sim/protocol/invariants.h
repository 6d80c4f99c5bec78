/*
 * invariants.h - what must hold after every step, whatever the order of things: the design's
 * invariants of one key.
 *
 *   1  at most one node has the main copy; exactly one while no row travels. Terms of ownership
 *      rise by one, and nobody knows another owner of a term than the one that it had. When a node
 *      is lost, those that it had begin anew, in the first term of the new view
 *   2  main copy + updates under way: every update once, a completed one not missing
 *   7  nothing goes round for ever: hops are bounded; at the end nothing waits, is parked or under
 *      way
 *   8  at the end every slot in use holds a row
 * What workers saw (3, 4) is journal.h's.
 *
 * Memory    a few words a key, static
 * Waiting   never
 * Life      invariants_begin, steps, invariants_at_rest
 */
#ifndef LOCUS_SIM_INVARIANTS_H
#define LOCUS_SIM_INVARIANTS_H

#include "platform.h"
#include "script.h"

void invariants_begin(const struct script *);
struct platform_hooks invariants_hooks(void);
/* At every step of a fiber. */
void invariants_watch(void);

/* Moments of arrivals, for invariants_localized(). */
uint64_t invariants_moment(void);
/* A worker of the node has signaled that it keeps the key, or has taken that back. */
void invariants_kept(unsigned node, locus_key key, bool keeps);

bool invariants_is_here(unsigned node, locus_key);
/* A localize that began at that moment, when the row was not here, says that it has come since. */
void invariants_localized(unsigned node, locus_key, uint64_t began);

/* After the last worker: nothing is under way. Reads every row for the journal. */
void invariants_at_rest(void);

/* Prints what every node and message says of the key. */
void invariants_print(locus_key);

uint64_t invariants_relocations(void);
/* Nodes lost; rows lost with them; rows that may hold a write twice; nodes that have left, and that
 * came back. */
struct invariants_losses {
    uint64_t nodes, rows, doubtful, left, joined;
};
struct invariants_losses invariants_losses(void);

#endif
