/*
 * detail.h - what `locus top` shows of one node: its shards and peers, or its hottest keys.
 *
 * Memory    the caller's
 * Waiting   detail_keys as scrape.h
 * Life      none
 */
#ifndef LOCUS_TOP_DETAIL_H
#define LOCUS_TOP_DETAIL_H

#include "look.h"

enum { DETAIL_BYTES_MAX = 16384 };

/* Lines of text, as many as fit. Rates are between the last two looks at the row, which keeps what
 * it saw (look_choose). */
void detail_node(const struct look_row *, char text[DETAIL_BYTES_MAX]);
/* Who looks for the first time sees none: the node begins to note them. False: it does not answer,
 * which the text says. */
bool detail_keys(const struct look_row *, char text[DETAIL_BYTES_MAX]);

#endif
