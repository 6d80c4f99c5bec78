#include "actors/mailbox.h"

#include <errno.h>
#include <stdlib.h>

int outbox_init(struct outbox *o, unsigned nodes)
{
    *o = (struct outbox){.until_ns = UINT64_MAX};
    o->peer = calloc(nodes, sizeof *o->peer);
    o->leaving = calloc(nodes, sizeof *o->leaving);
    o->waiting = calloc(nodes, sizeof *o->waiting);
    if (!o->peer || !o->leaving || !o->waiting) {
        outbox_fini(o);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < nodes; i++) o->peer[i].until_ns = UINT64_MAX;
    return 0;
}

void outbox_fini(struct outbox *o)
{
    free(o->peer);
    free(o->leaving);
    free(o->waiting);
    *o = (struct outbox){0};
}

/* What has waited as long as it may leaves; what has left already waits no longer. */
static void end_waits(struct outbox *o, uint64_t now_ns)
{
    unsigned still = 0;
    o->until_ns = UINT64_MAX;
    for (unsigned i = 0; i < o->waiting_count; i++) {
        unsigned peer = o->waiting[i];
        struct outbox_peer *p = &o->peer[peer];
        if (p->until_ns <= now_ns) outbox_say(o, peer, 0);
        p->waits = p->until_ns != UINT64_MAX;
        if (!p->waits) continue;
        o->waiting[still++] = peer;
        if (p->until_ns < o->until_ns) o->until_ns = p->until_ns;
    }
    o->waiting_count = still;
}

void outbox_flush(struct outbox *o, uint64_t now_ns, void (*leave)(void *context, unsigned peer),
                  void *context)
{
    if (now_ns >= o->until_ns) end_waits(o, now_ns);
    for (unsigned i = 0; i < o->leaving_count; i++) {
        o->peer[o->leaving[i]].leaves = false;
        leave(context, o->leaving[i]);
    }
    o->leaving_count = 0;
}
