/*
 * shrink.h - the shortest script that still fails, as far as leaving steps out leads there.
 *
 * Memory    the caller's
 * Waiting   for child processes: each attempt is one, so that it may end in any way
 * Life      shrink
 */
#ifndef LOCUS_SIM_SHRINK_H
#define LOCUS_SIM_SHRINK_H

#include "run.h"

/* Marks what can be left out; may choose another schedule. Returns how many steps are left. */
unsigned shrink(struct run_options *, bool is_dropped[SCRIPT_STEPS_MAX], unsigned seconds);

/* Runs it in a child process. Does it fail? */
bool shrink_fails(const struct run_options *, bool silently);

#endif
