/*
 * loss.h - how a shard's cluster has changed, and what its peers have said of it. repair.h acts on it.
 *
 * Callers   the shard's thread
 * Memory    24 KiB; 17 bytes a node; 32 bytes for each replica of a row of a lost node, at the row's home,
 *           for each change that has begun at a peer and is not decided here
 * Waiting   never
 * Life      loss_init, any use, loss_fini
 */
#ifndef LOCUS_PROTOCOL_LOSS_H
#define LOCUS_PROTOCOL_LOSS_H

#include "protocol/change.h"
#include "protocol/shard.h"

/* Markers that a peer sends for each loss. */
enum { LOSS_PHASES = 3 };

/* A term after loss n is at least n << LOSS_TERM_SHIFT: what is learned then is later than all before. */
enum { LOSS_TERM_SHIFT = 30 };

/* A node has a replica of a row whose owner was lost, as it says in that repair. */
struct offer {
    uint64_t index, term, version;
    uint32_t number;
    unsigned node;
};

struct losses {
    struct change change; /* the last one that has begun here */
    uint32_t repaired;    /* the last one whose repair is over; atomic */
    unsigned phase;
    bool *is_member;  /* [nodes] */
    uint16_t *member; /* [members] ascending */
    unsigned members;
    uint16_t
        *undecided; /* [undecideds] nodes that have changed since this shard has last decided */
    unsigned undecideds;
    uint32_t *said;   /* [nodes] the last marker of each */
    uint32_t *joined; /* [nodes] the last change by which each has joined; 0: none */
    uint32_t *round;  /* [nodes] that ended during the repair, and is to be acknowledged; 0: none */
    struct offer *offer; /* in order of arrival */
    size_t offers, capacity;
    /* of each bucket: the home if its present one is lost; both as soon as the change is repaired */
    uint16_t heir[HOME_BUCKETS], next_home[HOME_BUCKETS], next_heir[HOME_BUCKETS];
    uint32_t leaves; /* the change by which we leave; 0: none */
    bool has_left;   /* and have said that all we had is with others */
    bool we_join;    /* and have not heard all of the others' clocks */
};

int loss_init(struct shard *); /* 0 or -ENOMEM */
void loss_fini(struct shard *);

static inline uint64_t loss_term(const struct losses *l)
{
    return (uint64_t)l->change.number << LOSS_TERM_SHIFT;
}

static inline bool loss_is_join(const struct losses *l)
{
    return l->change.kind == CHANGE_JOINS;
}

/* The members change. What is not decided of changes before is decided with this one. */
void loss_begin(struct shard *, struct change);
/* Decided is all of it: homes and heirs change. */
void loss_pass(struct shard *);
/* Have all members but us said that they are in this phase of the present loss? Who leaves is none,
 * but says the first. */
bool loss_have_all_said(const struct shard *, unsigned phase);
/* The present change is no loss: who leaves gives all away, and has done so, as far as we need it. */
static inline bool loss_is_leave(const struct losses *l)
{
    return l->change.kind == CHANGE_LEAVES;
}
bool loss_has_left(const struct losses *);
/* We leave, and serve the others until they all park what is asked. */
void loss_serves_on(struct shard *);

/* The key's home as soon as the change is repaired: a lost node's are dealt to all that live, and who
 * joins has those that were its own at the start. */
unsigned loss_home(const struct shard *, struct row_ref);
unsigned loss_heir(const struct losses *, struct row_ref); /* if its home is lost */
unsigned loss_next_heir(const struct losses *, struct row_ref);
bool loss_is_undecided(const struct losses *, unsigned node);

void loss_offer(struct shard *, const struct offer *);
/* Those of the present change, of one key the best first. */
size_t loss_sort_offers(struct losses *);
void loss_forget_offers(struct losses *, uint32_t until); /* of that change and those before */

/* From peers. They return NULL, or what is wrong with the message. */
const char *loss_marker(struct shard *, const struct arrival *);
const char *loss_offered(struct shard *, const struct arrival *);

#endif
