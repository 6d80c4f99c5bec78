/*
 * quick.h - is it repeatable? Each program trains twice on a few modelled nodes with a little
 * generated data: the two outputs must be the same to the bit, and those of another seed must not.
 *
 * Memory    a folder for temporary files, removed at the end
 * Waiting   for child processes: each run is one
 */
#ifndef BENCH_PAPERS_QUICK_H
#define BENCH_PAPERS_QUICK_H

#include "cluster.h"

/* The exit status. */
int quick_run(const struct machine *);

#endif
