/*
 * member.h - the role "member": a node of a cluster that a launcher starts, as its environment
 * says. It joins, meets the others, says "rank 1 of 3, sum 6" and leaves; all others also join.
 */
#ifndef LOCUS_TEST_MEMBER_H
#define LOCUS_TEST_MEMBER_H

#include "command.h"

#endif
