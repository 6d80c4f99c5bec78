/*
 * gathering.h - how simulated nodes meet: who has arrived, who is absent, and what all hear.
 *
 * Callers   platforms that stand for cluster.h
 * Memory    the caller's
 * Waiting   never
 */
#ifndef LOCUS_TEST_SIM_GATHERING_H
#define LOCUS_TEST_SIM_GATHERING_H

#include "membership/meeting.h"

struct attendant {
    bool arrived, absent;
    struct word word; /* its own until all have arrived, then that of all */
};

/* Whether the meeting is over now: all have arrived, but for those that are absent. NULL: a node
 * that is not there yet, or has left. */
static inline bool gathering_ends(struct attendant *const *of, unsigned nodes)
{
    struct word all = {.rc = 0};
    bool anybody = false;
    for (unsigned n = 0; n < nodes; n++) {
        if (!of[n] || (!of[n]->arrived && !of[n]->absent)) return false;
        if (!of[n]->arrived) continue;
        anybody = true;
        word_add(&all, &of[n]->word);
    }
    for (unsigned n = 0; anybody && n < nodes; n++) {
        of[n]->word = all;
        of[n]->arrived = false;
    }
    return anybody;
}

#endif
