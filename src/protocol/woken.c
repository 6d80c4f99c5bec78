#include "protocol/woken.h"

#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"

static void consider(struct shard *s, struct record *r)
{
    unsigned roles = r->woken;
    r->woken = 0;
    if (roles & WOKEN_OWNER) owner_consider(s, r);
    if (roles & WOKEN_REPLICA) replica_consider(s, r);
    origin_go_on(s, r);
    if (!r->woken && record_is_empty(r)) record_release(&s->records, r);
}

void woken_consider_all(struct shard *s)
{
    while (s->woken_first) {
        struct record *r = record_at(&s->records, s->woken_first);
        s->woken_first = r->woken_next;
        consider(s, r);
    }
}
