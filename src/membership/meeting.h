/*
 * meeting.h - what is said where all nodes meet: a barrier at which each may say a word, and all
 * hear the same answer.
 *
 * A word is a failure (a negative errno and its sentence), or a text, or nothing. The answer is the
 * first failure that anybody said; where nobody failed, the first text. So a step of all nodes
 * succeeds on each of them or on none.
 *
 * Callers   collective.c and those who meet there; rendezvous.c and server.c carry it
 * Memory    the caller's
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_MEMBERSHIP_MEETING_H
#define LOCUS_MEMBERSHIP_MEETING_H

#include <stdbool.h>

enum { WORD_TEXT_BYTES = 512 };

struct word {
    int rc;                     /* 0 or a negative errno */
    char text[WORD_TEXT_BYTES]; /* its sentence; or what all shall hear; "": nothing */
};

struct meeting {
    const char *name; /* appears in messages */
    /* all who come to this one come to the next one, too, and no node that is absent now is back
     * before that; if nobody failed */
    bool goes_on;
    bool needs_all; /* a node that is absent or leaves does not count as arrived: it fails */
};

/* Takes what another one said into the answer. */
void word_add(struct word *answer, const struct word *said);

#endif
