/*
 * options.h - the command line of `locus run`.
 *
 * Memory    texts belong to argv
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_RUN_OPTIONS_H
#define LOCUS_RUN_OPTIONS_H

#include "args.h"

enum {
    OPTIONS_NODES_MAX = 4096, /* as many as a cluster can have */
    OPTIONS_RESTARTS_MAX = 1000,
};

enum prefix { PREFIX_ON_TERMINALS, PREFIX_ALWAYS, PREFIX_NEVER };

struct options {
    unsigned nodes;
    unsigned workers;  /* 0: not given */
    unsigned port;     /* 0: not given */
    unsigned restarts; /* 0: none */
    bool survives;
    double grace_s;
    int prefix;            /* enum prefix */
    const char *directory; /* NULL: ours */
    char **argv;           /* of the program, NULL at its end */
};

/* argv: "run", options, program and its arguments. 0, or STATUS_USAGE with a sentence; --help, and
 * an option that is wrong, end the process. */
int options_parse(struct options *, int argc, char **argv);

#endif
