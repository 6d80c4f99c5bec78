/*
 * lab.h - LOCUS_LAB in the environment: what experiments and tests change, and no program does. Words
 * with commas between them; lab/README.md says what each is for.
 *
 *   immediate   intents are acted on when they are signaled (AdaPM, Section 5.5)
 *   rounds=N    each shard synchronizes with its peers N times a second at most, 0: as it likes.
 *               Calls that wait are not held up. Intents are acted on two such periods ahead
 *   tcp         nodes of one host use TCP, too
 *
 * Memory    the caller's
 * Waiting   never
 * Life      read when a node opens
 */
#ifndef LOCUS_BASE_LAB_H
#define LOCUS_BASE_LAB_H

#include <stdbool.h>

struct lab {
    bool is_immediate, is_tcp_only;
    unsigned rounds;
};

/* 0; or -EINVAL, with the sentence, for a word that is none. */
int lab_read(struct lab *);

#endif
