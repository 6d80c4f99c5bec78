/*
 * technique.h - how rows are managed: what one technique does and another does not, a row of a
 * table each. Everything else asks these questions, and never which technique it is.
 *
 * Memory    constants
 * Waiting   never
 */
#ifndef LOCUS_PROTOCOL_TECHNIQUE_H
#define LOCUS_PROTOCOL_TECHNIQUE_H

#include "locus.h"

#include <stdbool.h>

struct technique {
    const char *name;     /* in reports, traces, explanations */
    const char *api_name; /* in locus.h */
    /* A main copy may move, or there may be replicas. */
    bool moves;
    /* Every node holds a replica of every row (full replication). */
    bool every_node_holds;
    /* Intents reach the shards. */
    bool heeds_intents;
    /* locus_localize moves main copies here (Lapse, Section 3.2). */
    bool localizes;
    /* A row goes to the node that intends it last. Owners count only the holders that keep a row
     * for ever (NuPS, Section 4); an intent is said once, and only the row itself answers it. */
    bool rows_follow;
    /* A row may have copies, on other nodes or by workers of one (store/copies.h), without anybody
     * asking for them. */
    bool replicates;
    /* A row goes to the one node that wants it; several hold replicas (AdaPM, Appendix B.2.4). */
    bool moves_to_only_one;
};

/* NULL: there is no such technique. */
const struct technique *technique_of(unsigned number);

#endif
