/*
 * machine.h - does this machine let a node run? Kernel, io_uring, limits, memory, cores, network
 * interfaces.
 *
 * Memory    none
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_DOCTOR_MACHINE_H
#define LOCUS_DOCTOR_MACHINE_H

#include "findings.h"

/* For one of `nodes` nodes, of which `here` run on this machine, with `workers` each. */
struct machine_plan {
    unsigned nodes, here, workers;
};
void machine_check(struct findings *, const struct machine_plan *);

#endif
