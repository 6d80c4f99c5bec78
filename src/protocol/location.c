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

static void forward(struct shard *s, const struct wire_entry *e, struct location to)
{
    struct wire_entry on = *e;
    uint64_t until_ns = shard_can_wait_until(s, e);
    on.owner = (uint16_t)to.owner;
    on.term = to.term;
    if (on.hops < UINT8_MAX) on.hops++;
    struct wire_entry *sent = shard_entry(s, to.owner, on, until_ns);
    if (!sent) return;
    memcpy(wire_values(sent), wire_values_const(e), e->length * sizeof(float));
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
    shard_entry(s, home,
                (struct wire_entry){.operation = WIRE_LOCATION,
                                    .owner = (uint16_t)l.owner,
                                    .origin = (uint16_t)s->rank,
                                    .key = request->key,
                                    .term = l.term},
                may_learn_by(s, request));
}

const char *location_news(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (e->term >> DIRECTORY_TERM_BITS) return "news of no possible term";
    location_learn(s, a->ref, e->owner, e->term);
    return NULL;
}
