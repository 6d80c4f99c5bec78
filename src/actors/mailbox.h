/*
 * mailbox.h - requests from one worker to one shard, in order: a lock-free queue with one writer
 * and one reader.
 *
 * It is never full: it has a place for every request of the worker's pool, and a worker whose pool
 * is used up waits for the pool (operation.h). The reactor wakes the reader.
 *
 * Callers   the worker's thread puts, the shard's thread takes
 * Memory    8 bytes a place, at init
 * Waiting   never
 * Life      mailbox_init, put / take, mailbox_fini
 */
#ifndef LOCUS_ACTORS_MAILBOX_H
#define LOCUS_ACTORS_MAILBOX_H

#include "protocol/request.h"

#include <ck_ring.h>

enum { MAILBOX_PLACES = 2 * REQUEST_NUMBERS_MAX };

struct mailbox {
    ck_ring_t ring;
    ck_ring_buffer_t *buffer;
};

bool mailbox_init(struct mailbox *); /* false: no memory */
void mailbox_fini(struct mailbox *);
void mailbox_put(struct mailbox *, struct request *);
struct request *mailbox_take(struct mailbox *); /* NULL: empty */
/* For the reader: how many there are, at least; and is there none? */
unsigned mailbox_count(struct mailbox *);
bool mailbox_is_empty(struct mailbox *);

#endif
