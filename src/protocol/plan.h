/*
 * plan.h - what a node decided when it was opened, and each of its parts points to: its settings,
 * and how rows are managed.
 *
 * Memory    the node's, with the arrays; the tables are constants
 * Waiting   never
 * Life      a plan: filled before the cluster starts, not changed afterwards, until all parts ended
 */
#ifndef LOCUS_PROTOCOL_PLAN_H
#define LOCUS_PROTOCOL_PLAN_H

#include "protocol/change.h"
#include "store/store.h"

#include <stdbool.h>

/* What one technique does and another does not, a row of a table each. Everything else asks these
 * questions, and never which technique it is. */
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
    /* A row may have replicas, or copies of workers (store/copies.h), without anybody asking. */
    bool replicates;
    /* A row goes to the one node that wants it; several hold replicas (AdaPM, Appendix B.2.4). */
    bool moves_to_only_one;
    /* A row of a lost node can be with another one (repair.h). */
    bool survives;
};

/* NULL: there is no such technique. */
const struct technique *technique_of(unsigned number);

struct request;

/* What experiments and tests change, and no program does: LOCUS_LAB (lab/README.md). */
struct lab {
    bool is_immediate, is_tcp_only;
    unsigned rounds; /* a second; 0: as many as the manager likes */
};

struct node_plan {
    struct store *store;
    const struct technique *technique;
    struct locus_config config; /* complete, without what it points to: read where it acts */
    struct lab lab;
    bool remembers;                  /* shards keep what happens to keys: events.h */
    const locus_clock *const *clock; /* [workers]; NULL: there are no intents */
    uint64_t *node_keys;             /* keys of waiting intents on the whole node */
    /* [changes] of the members until this node joins them: its shards begin with the repair of the
     * next one. 0: it is one from the start */
    const struct change *history;
    uint32_t changes;
    /* [workers] atomic, for bounds (clocks.h): the worker's clock, 0 until it first opens,
     * INT64_MAX while it is closed; how many requests it has posted to each shard. NULL: none */
    const locus_clock *const *progress;
    const uint64_t *const *posted;
    /* A request is done, with 0 or a negative errno: on the shard's thread, must not wait. */
    void (*completed)(struct request *, int rc);
};

/* ---- fields of struct locus_config ---- */

/* A row of a table. A field that may be anything on any node needs none; the rules of tables, rank
 * and size are about several fields. */
struct config_field {
    const char *name; /* in sentences */
    size_t offset, bytes;
    enum config_kind {
        CONFIG_COUNT,
        CONFIG_TECHNIQUE,
        CONFIG_SECONDS,
        CONFIG_FINGERPRINT,
        CONFIG_TEXT
    } kind;
    bool is_equal;        /* on all nodes */
    unsigned least, most; /* of a count */
    double standard;      /* of seconds: for 0 */
    const char *variable; /* where it is NULL or 0 */
};

/* Sets what is not given, and checks the rest: -EINVAL names the field and its value. */
int config_complete(struct locus_config *);
/* The variables that stand for fields; NULL after the last one. */
const char *config_variable(size_t i);

/* What must be equal on all nodes, a number each. */
const struct config_field *config_equal(size_t i); /* NULL after the last one */
uint64_t config_value(const struct config_field *, const struct locus_config *);
/* As a sentence has it. */
void config_show(const struct config_field *, uint64_t value, char *text, size_t capacity);

#endif
