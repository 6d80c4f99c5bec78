/*
 * scheduler.h - the actor that makes rounds: a thread with a schedule and a worker of its own.
 *
 *     write the next round, if a slot is free --> look for the changes of the oldest --> again
 *
 * Memory    the schedule's, and a row of each mailbox
 * Waiting   the thread: for workers, and for rows of other nodes. Closing: for the thread
 * Life      locus_scheduler_open() starts the thread; locus_scheduler_close() ends it. A failed
 *           call ends it, too: workers are told, and closing returns the reason
 */
#ifndef LOCUS_SCHEDULING_SCHEDULER_H
#define LOCUS_SCHEDULING_SCHEDULER_H

#include "scheduling/mail.h"

#include <pthread.h>

struct locus_scheduler {
    struct mail mail;
    unsigned number, workers;
    locus_schedule *schedule;
    locus_worker *worker;
    pthread_t thread;
    bool is_closing; /* atomic */
    bool has_ended;  /* of a simulation */
    bool is_closed;
    int rc; /* of the thread */
    char sentence[512];

    uint64_t given, done;     /* rounds of this scheduler */
    uint64_t tried;           /* there was none when so many were done, and 1 */
    struct locus_part *parts; /* of all slots */
    size_t *counts;
    float *row, *clear; /* as long as the longest; zeros */
};

/* The thread, until it is closed or something fails. A simulation, built with LOCUS_FIBERS, calls
 * it on a fiber: there locus_scheduler_open() starts no thread. */
void *scheduler_run(void *scheduler);

#endif
