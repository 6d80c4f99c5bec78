/*
 * family.h - every process that descends from this one, also those that left their process group or
 * became daemons: this process is made the one to whom the kernel gives orphans
 * (PR_SET_CHILD_SUBREAPER), so that whoever loses its parent becomes a child of ours.
 *
 * Callers   a process's only thread
 * Memory    its own list of processes that were there before
 * Waiting   never
 * Life      family_init, then the others, then family_fini
 */
#ifndef LOCUS_RUN_FAMILY_H
#define LOCUS_RUN_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

struct family {
    /* children from before: who executes a program may have some already. They are left alone */
    pid_t *elder;
    size_t elders;
};

void family_init(struct family *);
void family_fini(struct family *);

/* Sends the signal to all children, elders excepted, and returns how many there are, those not
 * counted that have ended and wait to be reaped. Signal 0 only counts. Grandchildren become
 * children when their parents have ended. */
size_t family_signal(const struct family *, int signal);

#endif
