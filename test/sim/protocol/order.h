/*
 * order.h - the order of what was done to a key that is set as well as added to.
 *
 * Memory    a table of states, static
 * Waiting   never
 * Life      order_of_sets
 */
#ifndef LOCUS_SIM_ORDER_H
#define LOCUS_SIM_ORDER_H

#include "journal.h"

/* At most JOURNAL_SET_EVENTS_MAX events. */
enum journal_verdict order_of_sets(const struct journal_key *);

#endif
