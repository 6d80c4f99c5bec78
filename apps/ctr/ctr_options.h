/*
 * ctr_options.h - the command line of ctr.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never; a wrong option, or --help, ends the program
 */
#ifndef CTR_CTR_OPTIONS_H
#define CTR_CTR_OPTIONS_H

#include "ctr.h"

void ctr_options(struct ctr_options *, int argc, char **argv);

#endif
