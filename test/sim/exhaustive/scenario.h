/*
 * scenario.h - a handful of operations on one key, by workers of three nodes.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_EXHAUSTIVE_SCENARIO_H
#define LOCUS_EXHAUSTIVE_SCENARIO_H

#include "protocol/change.h"
#include "locus.h"

enum { SCENARIO_NODES = 3, SCENARIO_NODES_MAX, SCENARIO_WORKERS_MAX = 5, SCENARIO_CALLS_MAX = 8 };

enum scenario_kind {
    CALL_PULL,
    CALL_PUSH,
    CALL_SET,
    CALL_LOCALIZE,
    CALL_BEGIN, /* an intent becomes active; and ends */
    CALL_END,
    CALL_KEEP, /* one becomes active that never ends; and is taken back */
    CALL_UNKEEP,
    CALL_CLOCK, /* advances the worker's; and waits for all others', with a staleness of 0 */
    CALL_BOUND,
    CALL_KINDS
};

struct scenario_call {
    enum scenario_kind kind;
    unsigned worker;   /* of all; calls of one worker in their order here */
    bool async;        /* the worker goes on before it is done */
    locus_clock clock; /* of the worker then */
};

struct scenario {
    enum locus_technique technique;
    /* Somebody waits for clocks: workers close at their end, so that nobody waits for ever. Then
     * there are two nodes, where the third has no worker. */
    bool has_clocks;
    /* A node is lost in any state, and the others survive: 1 + its number; 0: none */
    unsigned loses;
    enum change_kind
        change; /* or it leaves, as soon as its workers have done all that they do; or it was
                              * lost before all else, and joins in any state */
    /* Another node is lost, or the same, in any state in which that is not repaired: 1 + its number; 0:
     * none */
    unsigned loses_too;
    unsigned nodes; /* three, or four if the last of them is named */
    unsigned workers;
    unsigned node[SCENARIO_WORKERS_MAX]; /* of each worker */
    unsigned calls;
    struct scenario_call call[SCENARIO_CALLS_MAX];
};

extern const char *const scenario_kind_name[CALL_KINDS];
/* The length of the technique's name that the text begins with; 0: there is none. */
size_t scenario_technique(const char *text, enum locus_technique *);
/* "0:localize,push* 1:pull": workers with their nodes, and their calls; * is asynchronous. Before
 * them the technique, if it is not relocate, and the node that is lost, if one is:
 * "adaptive lose=1 0:begin,push,end 1:begin,pull"; or leave=1, join=1; with ",2" behind that node 2 is
 * lost meanwhile. False: no such scenario. */
bool scenario_parse(struct scenario *, const char *text);
/* Returns `text`. */
const char *scenario_text(const struct scenario *, char *text, size_t bytes);

/* All scenarios of so many calls, each once: 0 ... scenario_count()-1. False: that one is like
 * another. */
uint64_t scenario_count(enum locus_technique, unsigned calls);
bool scenario_number(struct scenario *, enum locus_technique, unsigned calls, uint64_t number);

#endif
