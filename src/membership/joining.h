/*
 * joining.h - a node's way into the cluster: the checks before anything is sent, and the attempts
 * to reach rank 0 until a deadline.
 *
 * Memory    none
 * Waiting   to the deadline of joining. Every 10 s a line on stderr says what it waits for
 * Life      joining_check, joining_reach_rank_0
 */
#ifndef LOCUS_MEMBERSHIP_JOINING_H
#define LOCUS_MEMBERSHIP_JOINING_H

#include "membership/member.h"

/* 0 or -EINVAL, with the sentence. */
int joining_check(const struct rendezvous_config *);
/* Returns 0 if the cluster runs, or was lost or left meanwhile; otherwise as rendezvous_join(). */
int joining_reach_rank_0(struct rendezvous *, const struct rendezvous_config *);

#endif
