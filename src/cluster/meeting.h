/*
 * meeting.h - a barrier of all nodes at which each may say a word, and all get the same answer.
 *
 * A word is a failure (a negative errno and its sentence), or a text, or numbers, or nothing. The
 * answer is the failure of the lowest rank that has failed; if no node has, the text of the lowest
 * that said one, and the sums of the numbers, by rank: the same bits in every run. So a step of all
 * nodes succeeds either on all of them or on none.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_CLUSTER_MEETING_H
#define LOCUS_CLUSTER_MEETING_H

#include "locus.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_TEXT_BYTES = 512 };

struct word {
    int rc;                     /* 0 or a negative errno */
    char text[WORD_TEXT_BYTES]; /* its sentence; or the text for all nodes; "": nothing */
    unsigned count;             /* numbers; all that say some say as many */
    double number[LOCUS_SUM_MAX];
};

struct meeting {
    const char *name; /* appears in messages */
    /* if no node failed, all nodes that come to this barrier come to the next one, too, and no node
     * that is absent now is back before that */
    bool goes_on;
    /* a node that is absent or leaves does not count as arrived: the barrier fails */
    bool needs_all;
};

/* Adds the word of another node to the answer. */
static inline void word_add(struct word *answer, const struct word *said)
{
    for (unsigned i = 0; i < said->count; i++) answer->number[i] += said->number[i];
    if (said->count) answer->count = said->count;
    if (answer->rc || (said->rc == 0 && (!said->text[0] || answer->text[0]))) return;
    answer->rc = said->rc;
    memcpy(answer->text, said->text, sizeof answer->text);
}

#endif
