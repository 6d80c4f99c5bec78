#include "protocol/location.h"

#include "base/error.h"

void location_learn(struct shard *s, struct row_ref ref, unsigned owner, uint64_t term)
{
    struct location known = location_of(s, ref);
    /* Only the shard's thread moves rows, so it may change a word that says elsewhere. */
    if (known.is_here || term <= known.term || term >> DIRECTORY_TERM_BITS) return;
    if (known.is_replica) {
        struct record *r = record_find(&s->records, ref.index);
        if (!r || ref.partition->is_full) return;
        r->owner = (uint16_t)owner;
        r->term = term;
        return;
    }
    directory_publish(row_ref_word(ref), directory_elsewhere(owner, term));
    row_ref_touched(ref);
}

/* Half of its slack is for whoever comes next. */
static void forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    struct wire_entry half = *e;
    if (e->operation == WIRE_SYNC) half.slack_us /= 2;
    struct wire_entry *on = s->platform->entry(s->platform->context, to.owner, e->length,
                                               shard_can_wait_until(s, &half));
    if (!on) return; /* that link has failed: the shard will be told */
    memcpy(on, e, wire_entry_bytes(e->length));
    on->tag = half.tag;
    on->owner = (uint16_t)to.owner;
    on->term = to.term;
    if (on->hops < UINT8_MAX) on->hops++;
    shard_count(&s->counters.forwards, 1);
}

const char *location_forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    /* Else two nodes might send it to and fro for ever. */
    if (e->owner == s->rank && e->term == to.term)
        return "a request by an ownership that another node has";
    forward(s, e, to);
    return NULL;
}

/* Where rows follow each intent, or a worker's call, the next request for it soon comes. */
static uint64_t may_learn_by(const struct shard *s, const struct wire_entry *request)
{
    if (request->operation != WIRE_SYNC || !s->technique->moves_to_only_one) return 0;
    uint64_t soon = s->now_ns + LOCATION_WAIT_NS, slack = shard_can_wait_until(s, request);
    return slack > soon ? slack : soon;
}

void location_announce(struct shard *s, struct row_ref ref, const struct wire_entry *request)
{
    unsigned home = row_ref_home(ref);
    struct location l = location_of(s, ref);
    if (home == s->rank || home == l.owner) return;
    struct wire_entry *e =
        s->platform->entry(s->platform->context, home, 0, may_learn_by(s, request));
    if (!e) return;
    e->operation = WIRE_LOCATION;
    e->owner = (uint16_t)l.owner;
    e->origin = (uint16_t)s->rank;
    e->key = request->key;
    e->term = l.term;
}

const char *location_news(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (e->term >> DIRECTORY_TERM_BITS) return "news of no possible term";
    location_learn(s, a->ref, e->owner, e->term);
    return NULL;
}
