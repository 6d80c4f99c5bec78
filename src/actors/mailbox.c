#include "actors/mailbox.h"

#include "base/error.h"

#include <stdlib.h>

bool mailbox_init(struct mailbox *m)
{
    m->buffer = calloc(MAILBOX_PLACES, sizeof *m->buffer);
    ck_ring_init(&m->ring, MAILBOX_PLACES);
    return m->buffer != NULL;
}

void mailbox_fini(struct mailbox *m)
{
    free(m->buffer);
    m->buffer = NULL;
}

void mailbox_put(struct mailbox *m, struct request *r)
{
    bool ok = ck_ring_enqueue_spsc(&m->ring, m->buffer, r);
    INVARIANT(ok, "a mailbox with a place for every request is full");
}

struct request *mailbox_take(struct mailbox *m)
{
    void *r = NULL;
    return ck_ring_dequeue_spsc(&m->ring, m->buffer, &r) ? r : NULL;
}

unsigned mailbox_count(struct mailbox *m)
{
    return ck_ring_size(&m->ring);
}

bool mailbox_is_empty(struct mailbox *m)
{
    return mailbox_count(m) == 0;
}
