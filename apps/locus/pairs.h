/*
 * pairs.h - `locus doctor --hosts`: what each host of a list finds on itself, and whether, and how
 * well, each two reach each other.
 *
 * Of up to PAIRS_ALL_MAX hosts every pair is looked at, both ways; of more each host with the first
 * and with the next. One pair at a time, so that none is slowed by another.
 *
 * Memory    its own: some KiB a host
 * Waiting   for ssh; for a host that says nothing, half a minute
 * Life      none
 */
#ifndef LOCUS_DOCTOR_PAIRS_H
#define LOCUS_DOCTOR_PAIRS_H

#include "findings.h"
#include "hosts.h"

enum { PAIRS_ALL_MAX = 16 };

struct pairs_manner {
    const char *ssh, *keeper; /* as of `locus run` */
    unsigned port;            /* at which the first host is to be reached, as rank 0's would be */
};
/* 0, or STATUS_* with a sentence when nothing could be started. */
int pairs_check(struct findings *, const struct hosts *, const struct pairs_manner *);

#endif
