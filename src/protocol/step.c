#include "protocol/step.h"

#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"

static struct record *take_woken(struct shard *s)
{
    struct record *r = record_at(&s->records, s->woken_first);
    s->woken_first = r->woken_next;
    return r;
}

static void consider(struct shard *s, struct record *r)
{
    unsigned roles = r->woken;
    r->woken = 0;
    if (roles & WOKEN_OWNER) owner_consider(s, r);
    if (roles & WOKEN_REPLICA) replica_consider(s, r);
    origin_go_on(s, r);
    if (!r->woken && record_is_empty(r)) record_release(&s->records, r);
}

void step_woken(struct shard *s)
{
    while (s->woken_first) consider(s, take_woken(s));
}
