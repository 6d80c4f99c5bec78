/*
 * roll_call.h - which hosts still answer: each is asked over ssh, all at once, for the version of
 * this program.
 *
 * Memory    a process a host, meanwhile
 * Waiting   ROLL_CALL_S at most, or until a signal asks us to end
 */
#ifndef LOCUS_RUN_ROLL_CALL_H
#define LOCUS_RUN_ROLL_CALL_H

#include "hosts.h"

enum { ROLL_CALL_S = 30 };

/* Strikes those from the list that do not answer, with a sentence each. 0, or a status with a
 * sentence. */
int roll_call(struct hosts *, const char *ssh, const char *keeper);

#endif
