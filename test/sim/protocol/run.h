/*
 * run.h - one run: a cluster, a script, a schedule; everything follows from the options.
 *
 * Memory    as its parts; a run that failed leaves its cluster behind
 * Waiting   never
 * Life      run_once
 */
#ifndef LOCUS_SIM_RUN_H
#define LOCUS_SIM_RUN_H

#include "script.h"

struct run_options {
    uint64_t seed, schedule; /* the same script under another schedule and network */
    unsigned nodes;          /* 0: drawn */
    const char *script;
    enum locus_technique technique;
    const bool *is_dropped; /* [SCRIPT_STEPS_MAX] steps that are left out; NULL: none */
    bool tracing;
};

struct run_result {
    bool is_good;
    uint64_t operations, keys, relocations, replicas, fiber_steps, entries;
    unsigned undecided; /* histories */
    uint64_t lost_nodes, lost_meanwhile, lost_rows, doubtful, left,
        joined; /* invariants.h, platform.h */
};

struct run_result run_once(const struct run_options *);

/* The script of these options. */
const struct script *run_script(const struct run_options *);

/* The command that runs it again; returns `text`. */
const char *run_command(const struct run_options *, char *text, size_t bytes);

#endif
