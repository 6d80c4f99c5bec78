/*
 * member.h - the role "member": a node of a cluster that a launcher starts, as its environment
 * says. Its argument is a list of words:
 *
 *     once             joins, meets the others, says "rank 1 of 3, sum 3" and leaves; all others
 *                      also join
 *     stays            says "joined" and goes on until it is ended
 *     fails-at=RANK    with `stays`: that one returns 3 when all have joined; the others wait to be
 *                      ended
 *     crashes-at=RANK  with `stays`: that one ends by SIGSEGV; the others return 1 when they notice
 *     timed            says how long locus_open() took
 */
#ifndef LOCUS_TEST_MEMBER_H
#define LOCUS_TEST_MEMBER_H

#include "command.h"

/* What a command has printed has the line of each of so many that joined `once`. */
void member_all_joined(const struct command *, int nodes);

#endif
