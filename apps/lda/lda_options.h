/*
 * lda_options.h - the command line of lda.
 *
 * Callers   main(), once
 * Memory    texts belong to argv
 * Waiting   never. Ends the process when something is wrong
 */
#ifndef LDA_LDA_OPTIONS_H
#define LDA_LDA_OPTIONS_H

#include "lda.h"

void lda_options(struct lda_options *, int argc, char **argv);

#endif
