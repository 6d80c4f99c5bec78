#include "protocol/location.h"

#include "base/error.h"

void location_learn(struct shard *s, struct spot spot, unsigned owner, uint64_t epoch)
{
    struct location known = location_of(s, spot);
    /* Only the shard's thread makes a row come or go, so a word that says elsewhere is ours to
     * change. */
    if (known.is_here || epoch <= known.epoch || epoch >> DIRECTORY_EPOCH_BITS) return;
    if (known.is_replica) {
        struct record *r = record_find(&s->records, spot.index);
        if (!r || spot.part->is_full) return;
        r->owner = (uint16_t)owner;
        r->epoch = epoch;
        return;
    }
    directory_publish(spot_word(spot), directory_elsewhere(owner, epoch));
}

/* Half of its patience is for whoever comes next. */
static void forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    struct wire_entry half = *e;
    if (e->operation == WIRE_ENTRY) half.tag /= 2;
    struct wire_entry *on = s->platform->entry(s->platform->context, to.owner, e->length,
                                               shard_can_wait_until(s, &half));
    if (!on) return; /* that link has failed: the shard will be told */
    memcpy(on, e, wire_entry_bytes(e->length));
    on->tag = half.tag;
    on->owner = (uint16_t)to.owner;
    on->epoch = to.epoch;
    if (on->hops < UINT8_MAX) on->hops++;
    shard_count(&s->counters.forwards, 1);
}

const char *location_forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    /* Else two nodes might send it to and fro for ever. */
    if (e->owner == s->rank && e->epoch == to.epoch)
        return "a request by an ownership that another node has";
    forward(s, e, to);
    return NULL;
}

/* Where rows follow each intent, or a worker's call, the next who wants it is soon on its way. */
static uint64_t may_learn_by(const struct shard *s, const struct wire_entry *request)
{
    if (request->operation != WIRE_ENTRY || s->technique != LOCUS_ADAPTIVE) return 0;
    uint64_t soon = s->now_ns + LOCATION_WAIT_NS, patience = shard_can_wait_until(s, request);
    return patience > soon ? patience : soon;
}

void location_announce(struct shard *s, struct spot spot, const struct wire_entry *request)
{
    unsigned home = spot_home(spot);
    struct location l = location_of(s, spot);
    if (home == s->rank || home == l.owner) return;
    struct wire_entry *e =
        s->platform->entry(s->platform->context, home, 0, may_learn_by(s, request));
    if (!e) return;
    e->operation = WIRE_LOCATION;
    e->owner = (uint16_t)l.owner;
    e->origin = (uint16_t)s->rank;
    e->key = request->key;
    e->epoch = l.epoch;
}

const char *location_news(struct shard *s, const struct wire_entry *e)
{
    if (e->owner >= s->nodes || e->length != 0) return "news of a node that does not exist";
    if (e->owner == s->rank) return "news of a row that is ours"; /* the row itself tells that */
    if (e->epoch >> DIRECTORY_EPOCH_BITS) return "news of no possible epoch";
    location_learn(s, store_spot(s->store, e->key), e->owner, e->epoch);
    return NULL;
}
