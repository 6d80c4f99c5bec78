/*
 * saves.h - what rows were, at nodes that outlive their owner (README.md, "A node is lost"): what an
 * owner saves elsewhere, and what who gave a row away keeps until its new owner has saved it.
 *
 * The guardian of a key is its home; if the home owns the row, the node that would inherit the key
 * from it (loss.h). So a home that must decide about a row always has the save itself. Each shard
 * sweeps now and then: it sends each row here that has changed or come since it was last saved to
 * its guardian, in batches that are acknowledged. When all are, and all rows that were given away
 * meanwhile have been received, the sweep is over, and who gave us rows before it hears that: until
 * then he keeps them. Of two saves of a row the one with the higher term and then version is later;
 * what was kept has version 0. A row that was never written has none: it is zeros anyway, and no save
 * of an earlier term has values.
 *
 * The first change of a clean row puts it into the dirty set, and from there it comes to `unsaved`.
 * A sweep cleans the row before it reads it. So a row pays for one addition a sweep.
 *
 * Callers   the shard's thread
 * Memory    16 bytes and two bits a key, of those that had saves or changed; at most one row of
 *           another node for each key, in the slab; 16 bytes for each row given away and kept
 * Waiting   never, except as dispatch.h says
 * Life      saves_init after loss_init, any use, saves_fini
 */
#ifndef LOCUS_PROTOCOL_SAVES_H
#define LOCUS_PROTOCOL_SAVES_H

#include "protocol/shard.h"

/* Between the beginnings of two sweeps. And saves take at most 3 % of the time: what a sweep takes is
 * a quarter of it, as guardians store each row, and a worker marks it anew, which the shard hears. */
#define SAVES_PAUSE_NS UINT64_C(100000000)
enum { SAVES_PAUSES = 31 * 4 };
/* Sweeps of more than SAVES_FEW_BYTES wait until this node has sent 100 / SAVES_PERCENT times as much
 * of everything else as the last one took, but never for longer than that: a node that is silent is
 * missed no sooner. */
#define SAVES_AGE_NS UINT64_C(10000000000)
enum { SAVES_PERCENT = 15, SAVES_FEW_BYTES = 1 << 16 };
/* Of keys: so many rows that have come, at least, make a sweep due, as who gave them keeps them. */
enum { SAVES_CAME_MIN = 1 << 18 };

/* Of a row that is elsewhere. */
struct saved {
    uint64_t term : 63;
    uint64_t is_stray : 1; /* its guardian is another node by now, and may not have a save yet */
    uint32_t version;      /* the owner's sweep; 0: kept */
    uint32_t place;        /* its slot + 1; 0: there is none */
};

struct given {
    uint64_t index, term;
};

struct saves_peer {
    struct given *given; /* given[first ... count-1] went there, and are not yet saved */
    size_t first, count, capacity;
    uint64_t forgotten;        /* that went there before them */
    uint64_t received, before; /* rows that came from there; before the present sweep */
    uint32_t asked;            /* the batch of which it owes the acknowledgement; 0: none */
    bool has_some;             /* of the present batch */
    uint64_t age_ns;           /* of its saves: saves_ages */
};

/* How old saves become, from the beginning of a sweep to the end of the next: those of rows here, and
 * of the node that was lost last. */
struct saves_ages {
    uint64_t here_ns, lost_ns;
};

struct saves {
    struct saved *of; /* [keys] */
    size_t of_bytes;
    struct bitset unsaved, taken; /* rows here; those that this sweep will say */
    struct saves_peer *peer;      /* [nodes] */
    bool is_sweeping;
    uint32_t sweep, batch;     /* numbers of the last ones */
    unsigned awaited;          /* acknowledgements */
    uint32_t covers;           /* the loss whose repair is over with the next sweep; 0: none */
    uint64_t began_ns, cpu_ns; /* of the sweep */
    uint64_t bytes, took_ns;   /* likewise */
    uint64_t sent_before;      /* bytes of all kinds, at its end */
    uint64_t came;             /* rows from others, since it began */
    uint64_t due_ns;           /* the next one; 0: at once */
    unsigned strays;           /* sweeps until those are dropped; 0: there are none */
    struct saves_ages age;     /* atomic */
};

int saves_init(struct shard *); /* where losses are survived: 0 or -ENOMEM */
void saves_fini(struct shard *);

/* The main copy here has changed since it was last saved. */
static inline void saves_changed(struct shard *s, uint64_t index)
{
    if (s->saves) bitset_add(&s->saves->unsaved, index);
}

/* The row has come from that node; our rank: from none. It was given to that node just now. */
void saves_came(struct shard *, struct row_ref, unsigned from);
void saves_keep(struct shard *, struct row_ref, unsigned to, uint64_t term);

/* The most of what was there and the shard's. Any thread. */
static inline void saves_add_ages(const struct shard *s, struct saves_ages *all)
{
    uint64_t here_ns = __atomic_load_n(&s->saves->age.here_ns, __ATOMIC_RELAXED);
    uint64_t lost_ns = __atomic_load_n(&s->saves->age.lost_ns, __ATOMIC_RELAXED);
    if (here_ns > all->here_ns) all->here_ns = here_ns;
    if (lost_ns > all->lost_ns) all->lost_ns = lost_ns;
}

/* Sweeps, if it is due. Returns the time of the next call that it needs. */
uint64_t saves_turn(struct shard *);

/* From peers. They return NULL, or what is wrong with the message. */
const char *saves_take(struct shard *, const struct arrival *);
const char *saves_heard(struct shard *, const struct arrival *);

/* ---- a node was lost (repair.h) ---- */

/* Before our claims: what it was given and we keep is the home's, as are saves of which we are no longer
 * the guardian. We have both for two sweeps more: that home may be lost, too. */
void saves_repair(struct shard *);
/* The row is here: who would have its save? */
void saves_claimed(struct shard *, struct row_ref);
/* The values of the save here; NULL: there is none. Is there one of a later term than that? */
static inline const float *saves_row(const struct shard *s, struct row_ref ref)
{
    const struct saved *c = &s->saves->of[ref.index];
    return c->place ? partition_row(ref.partition, c->place - 1) : NULL;
}
/* Its slot, which is the caller's from now on: there is none here any more. */
uint64_t saves_give_slot(struct shard *, struct row_ref);
static inline bool saves_has_later(const struct shard *s, uint64_t index, uint64_t term)
{
    return s->saves->of[index].place && s->saves->of[index].term > term;
}
/* We leave, and nothing changes any more: goes on until all that is here is saved. */
bool saves_all(struct shard *);
/* Homes and heirs will pass, to a node that joins: what we guard no longer its owner saves elsewhere.
 * We drop it when that must have happened, after two sweeps of ours. */
void saves_pass(struct shard *);
/* All but one sweep is done: then the platform hears that the loss is repaired. */
void saves_repaired(struct shard *);

#endif
