/*
 * surroundings.h - would a node started here, with this environment, find its cluster? The
 * launcher's variables, the secret, the rendezvous, the address for peers. It asks the library's
 * own parts, and so says what a node would say.
 *
 * Memory    none
 * Waiting   for the resolver (10 s for a name that nobody knows), and 2 s for the rendezvous; 10 s
 *           for the doctors of other ranks, if a launcher has started them
 * Life      surroundings_check, surroundings_await_others
 */
#ifndef LOCUS_DOCTOR_SURROUNDINGS_H
#define LOCUS_DOCTOR_SURROUNDINGS_H

#include "findings.h"

/* Those whose names are almost names that are read. */
void surroundings_check_variables(struct findings *);
/* The number of nodes that the launcher speaks of; 0: none did. */
unsigned surroundings_check(struct findings *);
/* By rank 0, at the end: until the doctors of all other ranks have reached it. */
void surroundings_await_others(void);

#endif
