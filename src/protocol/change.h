/*
 * change.h - how the members of a running cluster change (README.md, "A node is lost"). Rank 0 says
 * so, and all members go through the same changes in the same order.
 *
 * Callers   any
 * Memory    none
 * Waiting   never
 * Life      a value
 */
#ifndef LOCUS_PROTOCOL_CHANGE_H
#define LOCUS_PROTOCOL_CHANGE_H

#include <stdint.h>

enum change_kind {
    CHANGE_LOST,   /* the node is no member any more, and nothing of it will be heard */
    CHANGE_LEAVES, /* it takes part in this repair, and is none behind it */
    CHANGE_JOINS,  /* it was none, and is one from now on */
    CHANGE_KINDS
};

/* Of a job: who joins is told all that were before. */
enum { CHANGES_MAX = 1024 };

struct change {
    uint32_t number; /* 1, 2, ...; 0: none */
    enum change_kind kind;
    unsigned node; /* its rank */
};

#endif
