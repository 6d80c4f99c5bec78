/*
 * location.h - where a key's main copy is, as far as this node knows; forwarding requests to it.
 *
 * Whatever a node knows about an owner carries the term of that ownership. Every relocation raises
 * the term by one, so of two pieces of knowledge the one with the higher term is newer, whenever
 * and by whatever way it came (README.md). While the row is elsewhere, owner and term are in the
 * directory word. If the word says that we are the owner, and the row is not here, then it is on
 * its way to us: requests for it are parked until it arrives (handover.h).
 *
 * Memory    only the directory word and the key's record
 * Waiting   never
 * Life      none of its own
 */
#ifndef LOCUS_PROTOCOL_LOCATION_H
#define LOCUS_PROTOCOL_LOCATION_H

#include "base/error.h"
#include "protocol/arrival.h"

/* News of where a row is waits for a frame to its home: at most this long, or as long as the
 * request has slack. A request that reaches the home meanwhile takes one more hop. */
#define LOCATION_WAIT_NS UINT64_C(500000)

struct location {
    unsigned owner;
    bool is_here;    /* the main copy, not only its ownership */
    bool is_replica; /* a replica is here */
    uint64_t term;
};

/* For every entry: a call, with its answer through memory, would be dearer than the look. */
static inline __attribute__((always_inline)) struct location location_of(const struct shard *s,
                                                                         struct row_ref ref)
{
    directory_word w = directory_load(row_ref_word(ref));
    switch (directory_state(w)) {
    case DIRECTORY_UNTOUCHED: {
        unsigned home = row_ref_home(ref);
        return (struct location){home, home == s->rank, home != s->rank && ref.partition->is_full,
                                 0};
    }
    case DIRECTORY_ELSEWHERE:
        return (struct location){directory_owner(w), false, false, directory_term(w)};
    case DIRECTORY_REPLICA: {
        const struct record *r = record_find(&s->records, ref.index);
        if (ref.partition->is_full) return (struct location){row_ref_home(ref), false, true, 0};
        INVARIANT(r != NULL, "a replica that nobody remembers");
        return (struct location){r->owner, false, true, r->term};
    }
    default: return (struct location){s->rank, true, false, s->records.state[ref.index].term};
    }
}

/* A message says that `owner` got the row with this term. */
void location_learn(struct shard *, struct row_ref, unsigned owner, uint64_t term);

/* Forwards an entry to the owner, another node. Returns NULL, or why it cannot. */
const char *location_forward(struct shard *, const struct wire_entry *, struct location);

/* announce: we gave the row away for this request; tells its home, at once unless the row went to
 * the only node that wants it. news: at the home; returns NULL, or what is wrong with the news. */
void location_announce(struct shard *, struct row_ref, const struct wire_entry *request);
const char *location_news(struct shard *, const struct arrival *);

#endif
