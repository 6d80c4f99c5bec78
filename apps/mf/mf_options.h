/*
 * mf_options.h - the command line of mf.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never
 */
#ifndef MF_MF_OPTIONS_H
#define MF_MF_OPTIONS_H

#include "mf.h"

/* Ends the process when it is wrong, and after --help. */
void mf_options(struct mf_options *, int argc, char **argv);

#endif
