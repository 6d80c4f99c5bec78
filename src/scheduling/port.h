/*
 * port.h - a worker's end of the mailboxes: it takes rounds, and sums up with the other workers.
 *
 *     --schedule--> scheduled --push--> pushed --pull--> pulled --sync-->
 *
 * Each of these calls counts rounds; the number under way is the first count minus the last, at
 * most the window. With each push, while the worker waits for sums, it also asks for rounds that
 * schedulers have written ahead, and intends their variables at once: so the manager knows what
 * this worker will write.
 *
 * Memory    rounds and rows of all slots, taken when it opens
 * Waiting   locus_port_schedule() for a scheduler, locus_port_pull() for the other workers
 * Life      open; rounds; close, between rounds or within one
 */
#ifndef LOCUS_SCHEDULING_PORT_H
#define LOCUS_SCHEDULING_PORT_H

#include "scheduling/mail.h"

/* Rounds asked for at a time: one is needed as each round ends; a second one catches up. */
enum { PORT_LOOK = 2 };

/* A push under way. */
struct port_push {
    locus_key key;
    locus_ticket ticket;
    float *row;
};

struct locus_port {
    struct mail mail;
    locus_worker *worker;
    unsigned number, workers;
    locus_key variable_key;
    uint64_t scheduled, pushed, pulled, synced; /* rounds of which each call has been made */
    uint64_t known;                             /* rounds before it have been read */
    locus_clock clock;                          /* of round 0 */
    unsigned slots_all;                         /* of all schedulers */
    struct locus_part *parts;                   /* of all slots */
    size_t *counts;
    locus_key *keys; /* of intents */
    /* Rounds that are asked for, from `known` on; 0: none are. */
    unsigned looked;
    locus_key look_keys[PORT_LOOK];
    locus_ticket look;
    float *rounds;
    float *sums;              /* a row */
    struct port_push *pushes; /* of each round of the window */
    float *push_rows;
    float *sync_row;
    locus_key sync_key;
    locus_ticket sync;
    struct locus_port_stats stats;
    double began_s;
    bool is_closed;
};

#endif
