#include "protocol/look.h"

#include "protocol/holders.h"
#include "protocol/location.h"
#include "protocol/replica.h"

static void look_at_holders(const struct shard *s, struct record *r, struct key_look *out)
{
    uint64_t version = holders_version(r, shard_row_ref(s, r->index));
    uint32_t now_us = (uint32_t)(out->now_ns / 1000);
    for (unsigned i = 0; i < r->holders; i++) {
        const struct holder *h = &r->holder[i];
        if (out->holders == LOOK_HOLDERS_MAX) {
            out->more_holders++;
            continue;
        }
        out->holder[out->holders++] =
            (struct look_holder){.node = h->node,
                                 .is_kept = h->is_kept,
                                 .is_current = h->seen >= version,
                                 .brought_ns = UINT64_C(1000) * (uint32_t)(now_us - h->brought_us)};
    }
}

static void look_at_record(const struct shard *s, struct record *r, struct key_look *out)
{
    out->is_asking = r->sync != SYNC_NONE;
    for (const struct parked *p = r->parked; p; p = p->next) out->parked++;
    if (out->is_here) look_at_holders(s, r, out);
}

void shard_look(struct shard *s, uint64_t index, struct key_look *out)
{
    struct location l = location_of(s, shard_row_ref(s, index));
    const struct key_state *state = &s->records.state[index];
    struct record *r = record_find(&s->records, index);
    *out = (struct key_look){.now_ns = s->platform->now_ns(s->platform->context),
                             .owner = l.owner,
                             .term = l.term,
                             .is_here = l.is_here,
                             .is_replica = l.is_replica,
                             .is_kept = state->is_kept,
                             .wanted = state->wanted};
    if (l.is_replica) {
        uint64_t heard_ns = s->replicas->source[r && r->version ? r->source : l.owner].heard_ns;
        out->heard_ns = out->now_ns > heard_ns ? out->now_ns - heard_ns : 0;
    }
    if (r) look_at_record(s, r, out);
}
