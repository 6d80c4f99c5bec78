/*
 * screen.h - `locus top` on a terminal: the table of nodes, one node, its hottest keys.
 *
 * Memory    some KiB
 * Waiting   for keys, and between two looks
 * Life      none
 */
#ifndef LOCUS_TOP_SCREEN_H
#define LOCUS_TOP_SCREEN_H

#include "look.h"

/* Until the user ends it. Returns the exit status. */
int screen_show(struct look *, double interval_s);

#endif
