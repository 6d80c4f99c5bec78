/*
 * preparer.h - the thread that prepares a sample and signals intent for it: the worker itself, or
 * one of its loaders.
 *
 * Callers   the preparer's thread
 * Memory    none
 * Waiting   never
 * Life      that of one call
 */
#ifndef LOCUS_SAMPLING_PREPARER_H
#define LOCUS_SAMPLING_PREPARER_H

#include "locus.h"

struct preparer {
    locus_worker *worker;
    locus_loader *loader; /* NULL: the worker */
};

/* Signals that the worker will read and write the keys while its clock is in [start, end). Also
 * returns 0 if the limit of waiting intents is reached: then the rows are accessed wherever they
 * are. */
int preparer_intend(const struct preparer *, const locus_key *keys, size_t n, locus_clock start,
                    locus_clock end);

#endif
