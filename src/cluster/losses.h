/*
 * losses.h - the books of how the members of a running cluster have changed (struct locus_losses).
 *
 * Callers   any thread, with the lock of the struct's owner
 * Memory    the caller's
 * Waiting   for stderr
 * Life      none
 */
#ifndef LOCUS_CLUSTER_LOSSES_H
#define LOCUS_CLUSTER_LOSSES_H

#include "protocol/change.h"
#include "locus.h"

#include <stdbool.h>

/* `is_anew`: who was said to leave is lost. */
void losses_note(struct locus_losses *, const struct change *, bool is_anew);
/* One sentence on stderr: `what` has happened, and what has become of the rows here, on node `rank`. */
void losses_report(const struct locus_losses *before, const struct locus_losses *now,
                   const struct change *, const char *what, unsigned rank);

#endif
