/*
 * trial.h - a cluster of two nodes in this process, on loopback, that joins, moves a row and
 * leaves: what fails for want of a resource fails here, with the sentence that a job would see.
 *
 * Memory    the nodes'
 * Waiting   TRIAL_JOIN_S at most to join; then for the nodes
 * Life      none
 */
#ifndef LOCUS_DOCTOR_TRIAL_H
#define LOCUS_DOCTOR_TRIAL_H

#include "findings.h"

enum { TRIAL_JOIN_S = 20 };
void trial_check(struct findings *);

#endif
