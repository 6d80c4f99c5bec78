/*
 * repair.h - a node is lost, and the others go on: which node has each row from now on (README.md,
 * "A node is lost").
 *
 * Every shard of a node that lives repairs with the same shard of the others, in three phases. A
 * marker (WIRE_REPAIR) to all others ends each:
 *
 *   1   from repair_begin on requests of others are parked, and none leaves. Behind our claims: the
 *       rows that we have, told to their homes, and our replicas of rows of the lost node
 *   2   when all are in phase 1, so nothing that they asked is under way to us. Behind WIRE_HELD:
 *       what is parked here, told to who asked it
 *   3   when all are in phase 2, so nothing is under way at all. Each home decides about the rows
 *       that nobody has claimed; who asked what nobody has asks again. Behind rows that replicas
 *       become
 *
 * When all are in phase 3, it is over: what is parked is served, and everything goes on. Another
 * loss does not wait for that: its repair begins in any phase of this one, and decides the rest of it.
 *
 * A node that joins where one was lost goes through the same phases with the others. Nothing is lost
 * then: in phase 1 all tell it which of its keys' rows they have, and who was at home to these keys
 * gives up what nobody has written; in phase 3 it has the rest.
 *
 * Reads and writes of rows and replicas that are here go on meanwhile. All nodes that live repair
 * the same changes in the same order. A peer may be ahead: its markers may come before repair_begin.
 *
 * Callers   the shard's thread, between turns
 * Memory    what is parked (dispatch.h), and loss.h
 * Waiting   never, except as dispatch.h says
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_REPAIR_H
#define LOCUS_PROTOCOL_REPAIR_H

#include "protocol/change.h"
#include "protocol/shard.h"

/* The members change. Of a node that is lost nothing will be heard, and platform->entry to it gives
 * NULL. Between turns. Of two nodes the other one is done at once: platform->repaired may be called
 * before this returns. */
void repair_begin(struct shard *, struct change);
bool repair_is_over(const struct shard *);  /* no repair is under way */
bool repair_has_left(const struct shard *); /* we leave, and the others have all that was here */
/* The number of the last one that is over, though its rows may not be saved anew; 0: none. Any thread. */
uint32_t repair_last(const struct shard *);

/* A turn meanwhile: goes on as far as what peers have said allows. */
void repair_turn(struct shard *);

#endif
