/*
 * explained.h - what `locus explain` prints: sentences, or JSON.
 *
 * Memory    the caller's
 * Waiting   for stdout
 * Life      none
 */
#ifndef LOCUS_EXPLAIN_EXPLAINED_H
#define LOCUS_EXPLAIN_EXPLAINED_H

#include "known.h"

struct explained {
    struct known *known; /* [count] by those nodes that have answered, at least one */
    size_t count;
    double now_s;
};

void explained_show(struct explained *);
/* An object for the key, for each replica, for each intent, for each decision. */
void explained_json(struct explained *);

#endif
