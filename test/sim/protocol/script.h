/*
 * script.h - what the workers of a run will do, written down before it begins: from a seed, or for
 * a purpose.
 *
 * Memory    one script at a time, static
 * Waiting   never
 * Life      script_write
 */
#ifndef LOCUS_SIM_SCRIPT_H
#define LOCUS_SIM_SCRIPT_H

#include "sim/fibers.h"
#include "locus.h"

enum {
    SCRIPT_STEPS_MAX = 600,
    SCRIPT_KEYS_MAX = 8, /* of a call */
    SCRIPT_WORKERS_MAX = 12,
};

enum script_kind {
    STEP_PULL,
    STEP_PUSH,
    STEP_SET,
    STEP_LOCALIZE,
    STEP_PULL_LOCAL,
    STEP_VIEW,    /* a section that looks at the keys, `amount` times at most */
    STEP_WAIT,    /* for one of the operations under way */
    STEP_ALL,     /* for all */
    STEP_SLEEP,   /* `amount` ns */
    STEP_BARRIER, /* of all workers; `amount` is its number, as of the next */
    STEP_QUIESCE,
    STEP_BREAK,    /* the links between this node and node `amount` */
    STEP_LEAVE,    /* all workers of its node close at their next step, and it leaves */
    STEP_LOSE,     /* node `peer` is lost after `amount` more entries, and the others go on */
    STEP_LOSE_TOO, /* node `peer` is lost `amount` entries after the next change of members began */
    STEP_JOIN, /* node `peer` comes back, as soon as it may, if it was lost; its workers go on from here */
    STEP_HOLD,   /* for `amount` ns nothing comes from node `peer` */
    STEP_STOP,   /* for `amount` ns this node's shards do nothing */
    STEP_INTENT, /* from `amount` clocks ahead, for `clocks`; async: by a loader */
    STEP_CLOCK,
    STEP_BOUND, /* with a staleness of `amount` */
    STEP_KEEP,  /* the node intends the keys for ever; async: by a loader */
    STEP_UNKEEP,
    STEP_LOCAL,  /* the keys must be here: an intent was signaled early enough */
    STEP_OVER,   /* the node may want the keys no longer than its workers have said */
    STEP_SAMPLE, /* of conformity `amount` % 4, `amount` / 4 clocks ahead */
    STEP_RELOAD, /* the worker's loader closes, and another one opens */
    STEP_KINDS
};

struct script_step {
    uint8_t kind, n, worker;
    bool async;
    uint8_t clocks, peer;
    uint32_t amount;
    uint8_t key[SCRIPT_KEYS_MAX];
};

struct script {
    unsigned nodes, shards, workers; /* workers of a node; worker w is of node w / workers */
    unsigned keys;
    enum locus_technique technique;
    bool has_sets, acts_immediately, survives;
    /* content.h; the seed says it, whatever the script */
    enum locus_optimizer optimizer;
    bool has_bf16;
    unsigned count;
    struct script_step step[SCRIPT_STEPS_MAX];
};

enum { SCRIPTS = 17 };
extern const char *const script_names[SCRIPTS];

/* nodes 0: drawn. False: there is no script of that name. */
bool script_write(struct script *, const char *name, unsigned nodes, enum locus_technique,
                  struct dice);

const char *script_kind_name(enum script_kind);

#endif
