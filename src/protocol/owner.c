#include "protocol/owner.h"

#include "protocol/replica.h"
#include "protocol/location.h"
#include "protocol/handover.h"
#include "protocol/round.h"
#include "base/error.h"

#include <stdlib.h>

/* ---- holders ---- */

struct holder *owner_holder(const struct record *r, unsigned node)
{
    for (unsigned i = 0; i < r->holders; i++)
        if (r->holder[i].node == node) return &r->holder[i];
    return NULL;
}

void owner_fetch(const struct shard *s, uint64_t index)
{
    const struct record *r = record_find(&s->records, index);
    if (r && r->holders > 0) __builtin_prefetch(r->holder, 1, 3);
}

static void make_room(struct record *r)
{
    if (r->holders < r->holder_room) return;
    r->holder_room = r->holder_room ? (uint16_t)(2 * r->holder_room) : 4;
    r->holder = realloc(r->holder, r->holder_room * sizeof *r->holder);
    INVARIANT(r->holder != NULL, "no memory for the holders of a replica");
}

static struct holder *add_holder(struct shard *s, struct record *r, struct spot spot, unsigned node)
{
    struct holder *h = owner_holder(r, node);
    if (h) return h;
    if (r->holders == 0) {
        while (row_share(spot)) mover_wait(&s->mover);
        r->seen_word = directory_version(row_word(spot));
        r->version++;
    }
    make_room(r);
    r->holder[r->holders] = (struct holder){.node = (uint16_t)node};
    return &r->holder[r->holders++];
}

static void remove_holder(struct record *r, struct spot spot, unsigned node)
{
    struct holder *h = owner_holder(r, node);
    if (!h) return;
    *h = r->holder[--r->holders];
    if (r->holders > 0) return;
    row_unshare(spot);
    r->version = 0; /* nobody has any: there is nothing to remember */
}

/* Full replication: everybody is a holder from the start, of zeros with version 0. */
static void add_all_holders(struct shard *s, struct record *r, struct spot spot)
{
    if (!shard_is_full(s) || r->holders > 0) return;
    for (unsigned node = 0; node < s->nodes; node++)
        if (node != s->rank) add_holder(s, r, spot, node);
}

/* ---- versions ---- */

static void note_word(struct record *r, directory_word w)
{
    if (directory_version(w) == r->seen_word) return;
    r->seen_word = directory_version(w);
    r->version++;
}

uint64_t owner_version(struct record *r, struct spot spot)
{
    note_word(r, row_word(spot));
    return r->version;
}

/* ---- what the owner says ---- */

static struct wire_entry *say(struct shard *s, const struct record *r, unsigned node, uint8_t operation,
                              uint32_t length, uint64_t until_ns)
{
    struct wire_entry *e = s->port->entry(s->port->context, node, length, until_ns);
    if (!e) return NULL;
    e->operation = operation;
    e->owner = (uint16_t)s->rank;
    e->origin = (uint16_t)node;
    e->length = length;
    e->key = keyspace_key(&s->store->keyspace, s->number, r->index);
    e->epoch = s->records.standing[r->index].epoch;
    e->version = r->version;
    return e;
}

static void say_row(struct shard *s, struct record *r, struct spot spot, struct holder *h, uint8_t operation,
                    uint8_t flags, uint64_t until_ns)
{
    struct wire_entry *e = say(s, r, h->node, operation, spot.part->length, until_ns);
    directory_word w;
    if (!e) return;
    row_read_version(spot, wire_values(e), &w);
    note_word(r, w);
    e->flags = flags;
    e->version = h->seen = r->version;
    h->brought_us = (uint32_t)(s->now_ns / 1000);
    if (operation == WIRE_ANSWER) rounds_answered(s, h->node);
}

size_t owner_refresh(struct shard *s, struct record *r, unsigned node)
{
    struct spot spot = shard_spot(s, r->index);
    struct holder *h = owner_holder(r, node);
    if (!h) return 0;
    h->is_queued = false;
    if (!location_of(s, spot).is_here || h->seen >= owner_version(r, spot)) return 0;
    say_row(s, r, spot, h, WIRE_REFRESH, 0, 0);
    return wire_entry_bytes(spot.part->length);
}

/* Where intents ride along, a replica is there for a pause or two before it is used, mostly once. If it was brought less than
 * three quarters of a pause ago, the next refresh is soon enough. (`scale`, 256 nodes: 49 MB a node and second instead of 56.) */
static bool is_recent(const struct shard *s, const struct holder *h)
{
    const struct governor *g = &s->rounds.governor;
    return g->rounds_are_sparse && s->rounds.settles == 0 &&
           governor_is_recent(g, h->brought_us, (uint32_t)(s->now_ns / 1000));
}

void owner_changed(struct shard *s, struct record *r)
{
    struct spot spot = shard_spot(s, r->index);
    bool once_more = false;
    row_clean(spot);
    add_all_holders(s, r, spot);
    uint64_t version = owner_version(r, spot);
    for (unsigned i = 0; i < r->holders; i++) {
        struct holder *h = &r->holder[i];
        if (h->seen >= version || h->is_queued) continue;
        h->is_queued = !is_recent(s, h);
        once_more |= !h->is_queued;
        if (h->is_queued) rounds_queue_refresh(s, h->node, r->index);
    }
    if (once_more) rounds_put_off(s, r->index);
}

/* ---- decisions ---- */

static bool is_wanted(const struct shard *s, uint64_t index)
{
    return s->records.standing[index].wanted > 0;
}

/* AdaPM, Appendix B.2.4: rows move only when exactly one node wants them, and that is not the owner. */
static struct holder *only_one_who_wants(const struct shard *s, const struct record *r)
{
    return s->technique == LOCUS_ADAPTIVE && r->holders == 1 && !is_wanted(s, r->index) ? &r->holder[0] : NULL;
}

void owner_consider(struct shard *s, struct record *r)
{
    const struct holder *h = only_one_who_wants(s, r);
    if (h && !h->is_poked) rounds_queue_poke(s, r, h->node);
}

bool owner_poke(struct shard *s, struct record *r, unsigned node)
{
    struct holder *h = only_one_who_wants(s, r);
    if (!h || h->is_poked) return false;
    if (h->node != node) { /* it is another one by now */
        rounds_queue_poke(s, r, h->node);
        return false;
    }
    h->is_poked = true;
    say(s, r, node, WIRE_POKE, 0, 0);
    return true;
}

bool owner_lets_go(const struct shard *s, uint64_t index)
{
    const struct record *r = record_find(&s->records, index);
    if (s->technique == LOCUS_RELOCATE) return true;
    return s->technique == LOCUS_ADAPTIVE && (!r || r->holders == 0) && !is_wanted(s, index);
}

static void answer(struct shard *s, struct record *r, struct spot spot, const struct wire_entry *e, bool fresh)
{
    struct holder *h = owner_holder(r, e->origin);
    uint64_t until_ns = shard_can_wait_until(s, e);
    if (!h) {
        say(s, r, e->origin, WIRE_ANSWER, 0, until_ns);
    } else if (fresh) {
        h->seen = r->version;
        struct wire_entry *a = say(s, r, e->origin, WIRE_ANSWER, 0, until_ns);
        if (a) a->flags = WIRE_HOLDER;
    } else {
        say_row(s, r, spot, h, WIRE_ANSWER, WIRE_HOLDER, until_ns);
    }
}

static void merge(struct shard *s, struct record *r, struct spot spot, const struct wire_entry *e)
{
    if (e->flags & WIRE_UPDATE) shard_write(s, spot, wire_values_const(e), ROW_ADD);
    if (e->flags & WIRE_VALUE) shard_write(s, spot, wire_values_const(e), ROW_SET);
    if (e->flags & WIRE_END) remove_holder(r, spot, e->origin);
    struct holder *h = e->flags & WIRE_BEGIN ? add_holder(s, r, spot, e->origin) : owner_holder(r, e->origin);
    if (h) h->is_poked = false;
}

/* A replica that had our version has this one, too, when only its own update came on top; not when a worker of ours has
 * written in between. Every write counts one in the word. One look: what is written after it is a later version. As floats
 * the two may differ: the replica has added one by one what we add at once. Where it becomes the row, its sum counts. */
static bool is_still_fresh(struct record *r, struct spot spot, const struct wire_entry *e, directory_word *w)
{
    if (r->holders == 0) return false; /* the last one left with this entry, and its version with it */
    uint64_t writes = e->flags & WIRE_UPDATE ? 1 : 0;
    directory_word expected = (r->seen_word + writes) << DIRECTORY_VERSION_SHIFT;
    *w = row_word(spot);
    note_word(r, *w);
    return directory_version(*w) == directory_version(expected);
}

static void serve_entry(struct shard *s, struct spot spot, const struct wire_entry *e)
{
    struct record *r = record_get(&s->records, spot.index);
    add_all_holders(s, r, spot);
    bool fresh = r->holders > 0 && e->version == owner_version(r, spot) && !(e->flags & (WIRE_BEGIN | WIRE_VALUE));
    directory_word then;
    merge(s, r, spot, e);
    fresh = fresh && is_still_fresh(r, spot, e, &then);
    struct holder *only = only_one_who_wants(s, r);
    if (only && only->node == e->origin) {
        relocation_give(s, spot, e, fresh ? &then : NULL);
        return; /* the record may be gone */
    }
    answer(s, r, spot, e, fresh);
    owner_consider(s, r);
    entries_settle(s, r);
}

static const char *check(const struct shard *s, const struct wire_entry *e, struct spot spot)
{
    bool has_values = e->flags & (WIRE_UPDATE | WIRE_VALUE);
    if (e->origin >= s->nodes || e->owner >= s->nodes) return "an entry of a node that does not exist";
    if (e->length != (has_values ? spot.part->length : 0)) return "a row of another length than its table's";
    if (e->flags & (WIRE_LOCALIZED | WIRE_ANSWERS | WIRE_HOLDER)) return "an entry with flags of something else";
    if ((e->flags & WIRE_UPDATE && e->flags & WIRE_VALUE) || (e->flags & WIRE_BEGIN && e->flags != WIRE_BEGIN))
        return "an entry that contradicts itself";
    return NULL;
}

const char *owner_entry(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    const char *wrong = check(s, e, spot);
    if (wrong) return wrong;
    bool begins = e->flags == WIRE_BEGIN;
    location_learn(s, spot, e->owner, e->epoch);
    struct location l = location_of(s, spot);
    struct record *r = record_find(&s->records, spot.index);
    if (e->origin == s->rank && (!begins || !r || !r->is_out)) return "an entry in our own name";
    if (!l.is_here) return begins ? location_pass_on(s, peer, e, l) : "an update of a replica whose row is not here";
    if (e->origin == s->rank) { /* the row has come here by another way */
        entries_came_back(s, r);
        return NULL;
    }
    if (begins && owner_lets_go(s, spot.index)) {
        relocation_give(s, spot, e, NULL);
        return NULL;
    }
    if (s->technique == LOCUS_RELOCATE) return "an update of a replica, where there are none";
    if (!begins && !shard_is_full(s) && !(r && owner_holder(r, e->origin)))
        return "an update of a replica that nobody holds";
    serve_entry(s, spot, e);
    return NULL;
}
