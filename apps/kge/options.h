/*
 * options.h - the command line of kge.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef KGE_OPTIONS_H
#define KGE_OPTIONS_H

#include "task.h"

/* Ends the program on a wrong option, and after --help. */
void kge_options(struct options *, int argc, char **argv);

#endif
