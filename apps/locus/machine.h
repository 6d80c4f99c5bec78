/*
 * machine.h - does this machine let a node run? Kernel, io_uring, limits, memory, cores, network
 * interfaces.
 *
 * Memory    none
 * Waiting   machine_check_rings: a second, for the kernel
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
/* After what else uses rings: can all that these nodes open here be had together? Some kernels count
 * them as locked memory, those of all of a user's processes. */
void machine_check_rings(struct findings *, const struct machine_plan *);

#endif
