/*
 * port.h - a worker's end of the mailboxes: it takes rounds, and sums up with the other workers.
 *
 *     IDLE --schedule--> SCHEDULED --push--> PUSHED --pull--> PULLED --sync--> IDLE
 *
 * Rounds that schedulers have written ahead are fetched together with the next one, and what they
 * name is intended at once: the manager knows what this worker will write.
 *
 * Callers   programs, by locus_schedule.h
 * Memory    rounds and rows of all slots, taken when it opens
 * Waiting   locus_port_schedule() for a scheduler, locus_port_pull() for the other workers
 * Life      open; rounds; close, between rounds or within one
 */
#ifndef LOCUS_SCHEDULING_PORT_H
#define LOCUS_SCHEDULING_PORT_H

#include "scheduling/mail.h"

enum port_state { PORT_IDLE, PORT_SCHEDULED, PORT_PUSHED, PORT_PULLED };

struct locus_port {
    struct mail mail;
    locus_worker *worker;
    unsigned number, workers;
    locus_key variable_key;
    enum port_state state;
    uint64_t round;           /* the next, or the one under way */
    uint64_t known;           /* rounds before it have been read */
    locus_clock clock;        /* of round 0 */
    unsigned slots_all;       /* of all schedulers */
    struct locus_part *parts; /* of all slots */
    size_t *counts;
    locus_key *keys;        /* of a call */
    float *rows;            /* of rounds, or one of sums */
    float *pushed, *synced; /* rows under way */
    locus_key push_key, sync_key;
    locus_ticket push, sync;
    struct locus_port_stats stats;
    double began_s;
};

#endif
