/*
 * planted.h - a matrix like that of the paper (STRADS, Section 5.1): neighbouring columns are alike
 * with probability 0.1; one in 100 columns has an effect, and there is noise.
 *
 * Callers   the job, once
 * Memory    that of the columns
 * Waiting   never
 */
#ifndef LASSO_PLANTED_H
#define LASSO_PLANTED_H

#include "columns.h"

/* "ROWSxCOLUMNSxVALUES", the last one in each column. The same seed makes the same. */
void planted_make(struct columns *, const char *text, uint64_t seed);

#endif
