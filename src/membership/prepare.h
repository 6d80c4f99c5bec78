/*
 * prepare.h - starts nng, before anything of a node that has others.
 *
 * Memory    none
 * Waiting   for threads that are tried, once
 * Life      once in a process
 */
#ifndef LOCUS_MEMBERSHIP_PREPARE_H
#define LOCUS_MEMBERSHIP_PREPARE_H

/* Without signals, which nng's threads inherit otherwise. 0, or with the sentence in locus_error():
 * -EPERM, this process was forked by one that has used nng; -EAGAIN, too few threads; -ENOMEM. */
int prepare_nng(void);

#endif
