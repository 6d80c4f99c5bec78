#include "actors/rounds.h"

#include "actors/access.h"
#include "actors/location.h"
#include "actors/owner.h"
#include "error.h"
#include "store/yield.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The windows of all workers are looked at again this often at most. */
#define WINDOWS_PAUSE_NS UINT64_C(100000)

/* timing_quantile(2 * 1) */
enum { WINDOW_OF_A_CLOCK = 9 };

/* ---- lists ---- */

static size_t list_length(const struct index_list *l)
{
    return l->count - l->first;
}

static void list_push(struct shard *s, struct index_list *l, uint64_t index)
{
    if (l->count == l->room && l->first > l->room / 2) {
        l->count -= l->first;
        memmove(l->index, l->index + l->first, l->count * sizeof *l->index);
        l->first = 0;
    }
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->index = realloc(l->index, l->room * sizeof *l->index);
        INVARIANT(l->index != NULL, "no memory for the keys of the next round");
    }
    l->index[l->count++] = index;
    s->rounds.waiting++;
}

static uint64_t list_pop(struct shard *s, struct index_list *l)
{
    uint64_t index = l->index[l->first++];
    if (l->first == l->count) l->first = l->count = 0;
    s->rounds.waiting--;
    return index;
}

/* ---- whom a turn looks at ---- */

static void set_bit(uint64_t *bits, unsigned peer, bool value)
{
    uint64_t bit = UINT64_C(1) << peer % 64;
    bits[peer / 64] = value ? bits[peer / 64] | bit : bits[peer / 64] & ~bit;
}

static unsigned words_of_peers(const struct shard *s)
{
    return (s->nodes + 63) / 64;
}

/* May intents and pokes wait for a round that synchronizes, or begin with it? */
static bool some_ride_along(const struct shard *s)
{
    return s->rounds.governor.rounds_are_sparse;
}

static bool is_urgent(const struct shard *s, const struct peer_round *p)
{
    return list_length(&p->urgent) > 0 || (list_length(&p->poke) > 0 && !some_ride_along(s));
}

static bool waits_for_governor(const struct peer_round *p)
{
    return list_length(&p->lazy) > 0 || list_length(&p->refresh) > 0 || list_length(&p->poke) > 0;
}

/* After whatever changed what waits for the peer, or whether its round is under way. */
static void note_peer(struct shard *s, unsigned peer)
{
    const struct peer_round *p = &s->rounds.peer[peer];
    bool waits = waits_for_governor(p), soon = is_urgent(s, p) || (p->goes_on && waits);
    set_bit(s->rounds.soon, peer, !p->is_under_way && soon);
    set_bit(s->rounds.later, peer, !p->is_under_way && (waits || p->owes));
}

static void queue_entry(struct shard *s, struct record *r, unsigned owner, enum rounds_class class)
{
    struct peer_round *p = &s->rounds.peer[owner];
    if (r->queued & class) return;
    r->queued |= class;
    list_push(s, class == ROUNDS_URGENT ? &p->urgent : &p->lazy, r->index);
    note_peer(s, owner);
}

void rounds_queue_refresh(struct shard *s, unsigned node, uint64_t index)
{
    list_push(s, &s->rounds.peer[node].refresh, index);
    note_peer(s, node);
}

void rounds_put_off(struct shard *s, uint64_t index)
{
    marks_set(s->marks, index);
    s->rounds.puts_off = true;
}

void rounds_queue_poke(struct shard *s, struct record *r, unsigned node)
{
    if (r->queued & ROUNDS_POKE) return;
    r->queued |= ROUNDS_POKE;
    list_push(s, &s->rounds.peer[node].poke, r->index);
    note_peer(s, node);
}

void rounds_answered(struct shard *s, unsigned node)
{
    s->rounds.peer[node].owes = true;
    note_peer(s, node);
}

/* ---- replicas come and go ---- */

static void replica_begins(struct shard *s, struct record *r, unsigned owner, uint64_t epoch)
{
    struct peer_round *p = &s->rounds.peer[owner];
    if (p->replicas++ == 0) p->heard_ns = s->now_ns;
    r->source = r->owner = (uint16_t)owner;
    r->epoch = epoch;
    shard_count(&s->counters.replicas_created, 1);
}

static void want_row(struct shard *s, struct record *r, bool wants)
{
    s->rounds.rows_wanted += (uint64_t)wants - r->wants_row;
    r->wants_row = wants;
}

static void not_rounded(struct shard *s, uint64_t index)
{
    if (s->marks && bitset_has(&s->rounds.rounded, index)) bitset_remove(&s->rounds.rounded, index);
}

static void replica_ends(struct shard *s, struct record *r)
{
    s->rounds.peer[r->source].replicas--;
    r->version = 0;
    want_row(s, r, false);
    not_rounded(s, r->index);
    shard_count(&s->counters.replicas_dropped, 1);
}

static void not_awaited(struct shard *s, struct record *r)
{
    s->rounds.awaited -= r->is_awaited;
    r->is_awaited = false;
}

/* ---- what must be said of a key ---- */

static bool is_full(const struct shard *s)
{
    return s->technique == LOCUS_FULL_REPLICATION;
}

/* The flags of the entry that the key's owner should get now. */
static uint8_t entry_flags(const struct shard *s, const struct record *r, struct spot spot, struct location l)
{
    uint8_t flags = 0;
    bool wanted = s->records.standing[r->index].wanted > 0;
    if (l.is_here || l.owner == s->rank || r->is_out) return 0;
    if (wanted && !r->told && !is_full(s)) return WIRE_BEGIN;
    if (r->told && !wanted && !is_full(s) && s->technique != LOCUS_RELOCATE) flags |= WIRE_END;
    if (!l.is_replica) return flags;
    if (r->set != REQUEST_NOWHERE) return flags | WIRE_VALUE;
    if (row_is_dirty(spot)) flags |= WIRE_UPDATE;
    return flags;
}

static void queue_what_must_be_said(struct shard *s, struct record *r, struct spot spot)
{
    struct location l = location_of(s, spot);
    uint8_t flags = entry_flags(s, r, spot, l);
    bool was_later = r->is_later;
    if (r->is_poked && !l.is_replica) r->is_poked = false;
    if (r->is_out) return;
    s->rounds.awaited -= was_later;
    r->is_later = false;
    if (l.owner == s->rank) return; /* the row is here, or on its way */
    if (flags & (WIRE_BEGIN | WIRE_VALUE) || r->is_poked || r->wants_row)
        queue_entry(s, r, l.owner, ROUNDS_URGENT);
    else if (flags & WIRE_END || (was_later && flags))
        queue_entry(s, r, l.owner, ROUNDS_LAZY);
}

void rounds_settle(struct shard *s, struct record *r)
{
    struct spot spot = shard_spot(s, r->index);
    if (r->unseen_first != REQUEST_NOWHERE) {
        if (!location_of(s, spot).is_replica || r->version >= r->unseen_version)
            access_seen(s, r);
        else if (!r->is_out)
            want_row(s, r, true); /* the refresh that brings it waits for the owner's governor */
    }
    queue_what_must_be_said(s, r, spot);
    record_settle(s, r);
}

void rounds_say_set(struct shard *s, struct record *r)
{
    queue_what_must_be_said(s, r, shard_spot(s, r->index));
}

/* The row came here, or others hold replicas of it, or its owner counts us as a holder. The directory's word would tell as
 * well, but a look at it takes its line away from the worker that writes the row. */
static bool is_known_to_be_held(const struct shard *s, const struct standing *standing)
{
    if (!standing->number) return standing->epoch > 0;
    const struct record *r = record_at(&s->records, standing->number);
    return r->holders > 0 || (r->told && s->technique != LOCUS_RELOCATE);
}

void rounds_fetch(void *shard, uint64_t index)
{
    const struct shard *s = shard;
    record_fetch(&s->records, index);
}

void rounds_fetch_found(void *shard, uint64_t index)
{
    const struct shard *s = shard;
    const struct standing *standing = &s->records.standing[index];
    if (standing->wanted > 1) return; /* it will be counted, and no more */
    record_fetch_found(&s->records, index);
    if (standing->epoch == 0) word_fetch(shard_spot(s, index));
}

/* In this turn, that is, or the round was full: what waits for the end of one has less time left than it had. */
static bool is_said_soon(const struct shard *s, struct spot spot)
{
    struct location l = location_of(s, spot);
    return !l.is_here && !s->rounds.peer[l.owner].is_under_way;
}

void rounds_want(void *shard, uint64_t index)
{
    struct shard *s = shard;
    struct standing *standing = &s->records.standing[index];
    if (standing->wanted++ > 0 || is_known_to_be_held(s, standing)) return;
    struct spot spot = shard_spot(s, index);
    struct record *r = record_find(&s->records, index);
    if (!r && location_of(s, spot).is_here) return;
    if (!r) r = record_get(&s->records, index);
    r->eighths = is_said_soon(s, spot) ? s->intents.eighths & (INTENTS_EIGHTHS - 1) : 0;
    queue_what_must_be_said(s, r, spot);
}

/* A replica of which nothing must be said but that its intent has expired. As above, without a look at the word. */
static bool is_idle_replica(const struct shard *s, const struct record *r)
{
    return r->told && r->version > 0 && !r->is_out && !r->is_poked && !r->wants_row && r->set == REQUEST_NOWHERE &&
           r->unseen_first == REQUEST_NOWHERE && r->owner != s->rank && !is_full(s);
}

void rounds_unwant(void *shard, uint64_t index)
{
    struct shard *s = shard;
    if (--s->records.standing[index].wanted > 0) return;
    struct record *r = record_find(&s->records, index);
    if (!r) return;                    /* the row is here, and nobody holds a replica */
    if (r->is_out && !r->is_awaited) { /* it asks for what nobody wants any more, and must give back */
        r->is_awaited = true;
        s->rounds.awaited++;
    }
    if (r->holders > 0) { /* it is here */
        owner_consider(s, r);
        return;
    }
    if (s->technique == LOCUS_RELOCATE) r->told = false; /* nobody counts holders */
    if (is_idle_replica(s, r))
        queue_entry(s, r, r->owner, ROUNDS_LAZY);
    else
        rounds_settle(s, r);
}

/* ---- entries ---- */

/* The replica leaves with its entry; *flags learns of an update that came at the last moment. */
static bool forget_clean(struct shard *s, struct spot spot, directory_word next, uint8_t *flags)
{
    unsigned spins = 0;
    while (!(*flags & (WIRE_UPDATE | WIRE_VALUE))) {
        if (row_forget_clean(&s->mover, spot, next)) return true;
        if (row_is_dirty(spot))
            *flags |= WIRE_UPDATE;
        else
            spin_wait(&spins);
    }
    return false;
}

static void take_values(struct shard *s, struct record *r, struct spot spot, struct location l, uint8_t flags,
                        float *values)
{
    LOCUS_YIELD();                                        /* getting the space in the frame may have taken long */
    float *updates = flags & WIRE_UPDATE ? values : NULL; /* a set comes after them, and they before it for nothing */
    if (flags & WIRE_VALUE && values) access_set_value(s, r, values);
    if (flags & WIRE_END)
        row_forget(&s->mover, spot, updates, directory_elsewhere(l.owner, l.epoch));
    else if (flags & WIRE_UPDATE || (flags & WIRE_VALUE && row_is_dirty(spot)))
        row_collect(spot, updates); /* an update that came since the flags were chosen waits for the next entry */
}

static void note_entry(struct shard *s, struct record *r, uint8_t flags)
{
    r->is_out = true;
    r->is_poked = false;
    r->has_update = flags & (WIRE_UPDATE | WIRE_VALUE); /* a set takes updates along, and hides them */
    r->has_set = flags & WIRE_VALUE;
    /* Where nobody counts holders, nothing but the row says that an intent was heeded, even one that has expired. */
    r->is_awaited = flags & ~WIRE_BEGIN || r->wants_row || s->technique == LOCUS_RELOCATE;
    want_row(s, r, false);
    s->rounds.awaited += r->is_awaited;
    if (s->technique == LOCUS_RELOCATE) r->told = true; /* asked once for each intent */
}

/* What the entry and its answer take, which may bring the row whatever was asked. */
static size_t exchange_bytes(uint32_t length, uint32_t row_length)
{
    return wire_entry_bytes(length) + wire_entry_bytes(row_length);
}

/* Writes the key's entry into the frame to its owner, if there is something to say. Returns what it and its answer take. */
static size_t emit_entry(struct shard *s, struct record *r, unsigned peer, enum rounds_class class)
{
    struct spot spot = shard_spot(s, r->index);
    struct location l = location_of(s, spot);
    uint8_t flags = entry_flags(s, r, spot, l);
    uint64_t patience_us = s->rounds.takes_along ? governor_eighths_us(&s->rounds.governor, r->eighths) : 0;
    r->eighths = 0;
    if (l.is_here || r->is_out || (!flags && !r->is_poked && !r->wants_row)) return 0;
    if (l.owner != peer) {
        if (l.owner != s->rank) queue_entry(s, r, l.owner, class);
        return 0;
    }
    bool had_replica = l.is_replica;
    bool is_gone = flags & WIRE_END && had_replica &&
                   forget_clean(s, spot, directory_elsewhere(l.owner, l.epoch), &flags);
    uint32_t length = flags & (WIRE_UPDATE | WIRE_VALUE) ? spot.part->length : 0;
    struct wire_entry *e = s->port->entry(s->port->context, peer, length, 0);
    if (e) {
        e->operation = WIRE_ENTRY;
        e->owner = (uint16_t)l.owner;
        e->origin = (uint16_t)s->rank;
        e->flags = flags;
        e->length = length;
        e->key = keyspace_key(&s->store->keyspace, s->number, r->index);
        if (flags == WIRE_BEGIN)
            e->tag = (uint32_t)(patience_us < WIRE_PATIENCE_US_MAX ? patience_us : WIRE_PATIENCE_US_MAX);
        e->epoch = l.epoch;
        e->version = had_replica && !r->wants_row ? r->version : 0;
    }
    if (had_replica && !is_gone) take_values(s, r, spot, l, flags, e && length ? wire_values(e) : NULL);
    if (had_replica && flags & WIRE_END) replica_ends(s, r);
    note_entry(s, r, flags);
    s->rounds.intents += flags == WIRE_BEGIN;
    return exchange_bytes(length, spot.part->length);
}

/* ---- rounds ---- */

enum { FETCHED_TOGETHER = 32 };

static void fetch_key(const struct shard *s, uint64_t index)
{
    record_fetch(&s->records, index);
    word_fetch(shard_spot(s, index));
}

/* What the next keys of the list lead to is fetched together: rows, too, for most that are lazy have some to say. */
static void fetch_next(struct shard *s, const struct index_list *l, bool rows)
{
    size_t end = l->first + FETCHED_TOGETHER < l->count ? l->first + FETCHED_TOGETHER : l->count;
    for (size_t i = l->first; i < end; i++) fetch_key(s, l->index[i]);
    for (size_t i = l->first; i < end; i++) {
        record_fetch_found(&s->records, l->index[i]);
        if (rows) row_fetch_found(shard_spot(s, l->index[i]));
    }
    for (size_t i = l->first; i < end; i++) owner_fetch(s, l->index[i]);
}

static size_t emit_entries(struct shard *s, unsigned peer, struct index_list *l, enum rounds_class class, size_t bytes)
{
    size_t all = list_length(l);
    for (size_t i = 0; i < all && bytes < s->rounds.room; i++) {
        if (i % FETCHED_TOGETHER == 0) fetch_next(s, l, class == ROUNDS_LAZY);
        struct record *r = record_find(&s->records, list_pop(s, l));
        if (!r || !(r->queued & class)) continue;
        r->queued &= (uint8_t) ~class;
        size_t more = emit_entry(s, r, peer, class);
        bytes += more;
        if (!more) rounds_settle(s, r);
    }
    return bytes;
}

static size_t emit_refreshes(struct shard *s, unsigned peer, size_t bytes)
{
    struct peer_round *p = &s->rounds.peer[peer];
    size_t before = bytes;
    for (size_t i = 0; list_length(&p->refresh) > 0 && bytes < s->rounds.room; i++) {
        if (i % FETCHED_TOGETHER == 0) fetch_next(s, &p->refresh, true);
        struct record *r = record_find(&s->records, list_pop(s, &p->refresh));
        if (r) bytes += owner_refresh(s, r, peer);
    }
    p->refreshes = bytes > before;
    return bytes;
}

static size_t emit_pokes(struct shard *s, unsigned peer, size_t bytes)
{
    struct index_list *l = &s->rounds.peer[peer].poke;
    for (size_t n = list_length(l); n > 0 && bytes < s->rounds.room; n--) {
        struct record *r = record_find(&s->records, list_pop(s, l));
        r->queued &= (uint8_t)~ROUNDS_POKE;
        if (owner_poke(s, r, peer)) bytes += exchange_bytes(0, shard_spot(s, r->index).part->length);
        rounds_settle(s, r);
    }
    return bytes;
}

static locus_clock clock_of(const struct shard *s, unsigned worker)
{
    return s->intents.clock ? __atomic_load_n(s->intents.clock[worker], __ATOMIC_RELAXED) : 0;
}

static void say_round(struct shard *s, unsigned peer, uint8_t operation, uint32_t number)
{
    struct wire_entry *e = s->port->entry(s->port->context, peer, 0, 0);
    if (!e) return;
    e->operation = operation;
    e->owner = e->origin = (uint16_t)s->rank;
    e->tag = number;
    e->key = s->number; /* some key of the shard */
}

static bool wants_round(const struct shard *s, const struct peer_round *p, bool sync)
{
    if (p->is_under_way) return false;
    if (p->owes && s->rounds.settles > 0) return true; /* one that only follows the rows */
    return is_urgent(s, p) || ((sync || p->goes_on) && waits_for_governor(p));
}

static void begin_round(struct shard *s, unsigned peer, bool sync)
{
    struct peer_round *p = &s->rounds.peer[peer];
    bool all = sync || p->goes_on;
    s->rounds.intents = 0;
    size_t bytes = emit_entries(s, peer, &p->urgent, ROUNDS_URGENT, 0);
    bytes = emit_pokes(s, peer, bytes);
    p->refreshes = false;
    if (all) bytes = emit_entries(s, peer, &p->lazy, ROUNDS_LAZY, bytes);
    if (all) bytes = emit_refreshes(s, peer, bytes);
    s->rounds.going_on -= p->goes_on;
    p->goes_on = all && waits_for_governor(p);
    s->rounds.going_on += p->goes_on;
    if (bytes == 0 && !(p->owes && s->rounds.settles > 0)) return;
    if (all) s->rounds.sync_bytes += bytes;
    if (s->rounds.intents && !s->acts_immediately)
        governor_carries(&s->rounds.governor, s->rounds.intents, s->rounds.instead_of);
    p->is_under_way = true;
    p->refreshes |= p->owes;
    p->owes = false;
    say_round(s, peer, WIRE_ROUND, ++p->number);
    for (unsigned w = 0; w < s->workers; w++) timing_begin(&p->timing[w], clock_of(s, w));
    shard_count(&s->counters.rounds, 1);
}

const char *rounds_end(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    struct peer_round *p = &s->rounds.peer[peer];
    if (e->length) return "the end of a round with values";
    if (e->operation == WIRE_ROUND) {
        s->rounds.ended_one = true;
        say_round(s, peer, WIRE_ROUND_DONE, e->tag);
        return NULL;
    }
    if (!p->is_under_way || e->tag != p->number) return "the acknowledgement of a round that is not under way";
    p->is_under_way = false;
    p->refreshes = false;
    p->ended_ns = s->now_ns;
    note_peer(s, peer);
    for (unsigned w = 0; w < s->workers; w++) timing_end(&p->timing[w], clock_of(s, w));
    s->rounds.windows_changed = true;
    return NULL;
}

/* ---- turns ---- */

/* A marked key: a replica that has updates, or a main copy that its holders have not got. */
static void note_change(struct shard *s, uint64_t index)
{
    struct spot spot = shard_spot(s, index);
    struct location l = location_of(s, spot);
    struct record *r = is_full(s) ? record_get(&s->records, index) : record_find(&s->records, index);
    if (!r) return; /* it is a replica, or has some, no longer */
    if (l.is_here) {
        if (r->holders > 0 || is_full(s)) owner_changed(s, r);
        return;
    }
    if (!l.is_replica) return;
    if (!r->is_out && l.owner != s->rank) {
        queue_entry(s, r, l.owner, ROUNDS_LAZY);
    } else if (!r->is_later) {
        r->is_later = true;
        s->rounds.awaited++;
    }
}

struct changes {
    struct shard *shard;
    unsigned count;
    uint64_t index[FETCHED_TOGETHER];
};

static void note_changes(struct changes *c)
{
    for (unsigned i = 0; i < c->count; i++) record_fetch_found(&c->shard->records, c->index[i]);
    for (unsigned i = 0; i < c->count; i++) owner_fetch(c->shard, c->index[i]);
    for (unsigned i = 0; i < c->count; i++) note_change(c->shard, c->index[i]);
    c->count = 0;
}

static void add_change(void *changes, uint64_t index)
{
    struct changes *c = changes;
    if (c->count == FETCHED_TOGETHER) note_changes(c);
    c->index[c->count++] = index;
    fetch_key(c->shard, index);
}

static void take_marks(struct shard *s)
{
    struct changes c = {.shard = s, .count = 0};
    marks_take(s->marks, add_change, &c);
    note_changes(&c);
}

static void look_at_windows(struct shard *s)
{
    struct rounds *all = &s->rounds;
    if (!all->windows_changed || s->now_ns - all->windows_ns < WINDOWS_PAUSE_NS) return;
    all->windows_changed = false;
    all->windows_ns = s->now_ns;
    for (unsigned w = 0; w < s->workers; w++) {
        locus_clock widest = 0;
        for (unsigned peer = 0; peer < s->nodes; peer++) {
            const struct peer_round *p = &all->peer[peer];
            if (!p->ended_ns || s->now_ns - p->ended_ns > TIMING_MEMORY_NS) continue;
            if (p->timing[w].window > widest) widest = p->timing[w].window;
        }
        if (widest) all->window[w] = widest; /* after a pause the last one stands */
    }
}

static bool marks_wait(const struct shard *s)
{
    return s->marks && !marks_are_empty(s->marks);
}

static bool marks_are_due(const struct shard *s)
{
    return marks_wait(s) && (s->now_ns >= s->rounds.marks_ns || s->rounds.settles > 0);
}

static bool all_peers(const struct shard *s, bool (*holds)(const struct peer_round *))
{
    for (unsigned peer = 0; peer < s->nodes; peer++)
        if (!holds(&s->rounds.peer[peer])) return false;
    return true;
}

static bool has_no_lazy(const struct peer_round *p)
{
    return list_length(&p->lazy) == 0 && list_length(&p->poke) == 0;
}

static bool has_no_refresh(const struct peer_round *p)
{
    return list_length(&p->refresh) == 0 && !p->owes && !(p->is_under_way && p->refreshes);
}

/* README.md, Quiesce: first our updates are in the main copies, then our rows are in all replicas. */
static bool is_settled(const struct shard *s, enum request_kind kind)
{
    if (marks_wait(s)) return false;
    if (kind == REQUEST_SETTLE_UPDATES) return s->rounds.awaited == 0 && all_peers(s, has_no_lazy);
    bool may_differ = s->marks && bitset_lowest(&s->rounds.rounded) != BITSET_NONE;
    return !may_differ && s->rounds.rows_wanted == 0 && s->rounds.awaited == 0 && all_peers(s, has_no_refresh);
}

static bool settles_replicas(const struct shard *s)
{
    for (unsigned w = 0; w < s->workers; w++)
        if (s->rounds.settle[w] && s->rounds.settle[w]->kind == REQUEST_SETTLE_REPLICAS) return true;
    return false;
}

/* The main copies are final: replicas that may differ from them by rounding ask for the row. The answer takes them out of the
 * set; those of which an entry is under way are asked for when it is answered. */
static void ask_for_rounded(struct shard *s)
{
    for (uint64_t index; (index = bitset_lowest(&s->rounds.rounded)) != BITSET_NONE;) {
        struct record *r = record_find(&s->records, index);
        if (r && r->is_out) return;
        bitset_remove(&s->rounds.rounded, index);
        if (!r || !location_of(s, shard_spot(s, index)).is_replica) continue;
        want_row(s, r, true);
        queue_what_must_be_said(s, r, shard_spot(s, index));
    }
}

static void complete_settled(struct shard *s)
{
    for (unsigned w = 0; w < s->workers && s->rounds.settles > 0; w++) {
        struct request *r = s->rounds.settle[w];
        if (!r || !is_settled(s, r->kind)) continue;
        s->rounds.settle[w] = NULL;
        s->rounds.settles--;
        shard_complete(s, r);
    }
}

/* Costs what there is to say, not what peers there are. */
static void begin_rounds(struct shard *s, bool sync)
{
    if (sync && marks_wait(s)) take_marks(s);
    for (unsigned word = 0; word < words_of_peers(s); word++) {
        uint64_t bits = s->rounds.soon[word] | (sync ? s->rounds.later[word] : 0);
        for (; bits; bits &= bits - 1) {
            unsigned peer = word * 64 + (unsigned)__builtin_ctzll(bits);
            if (wants_round(s, &s->rounds.peer[peer], sync)) begin_round(s, peer, sync);
            note_peer(s, peer);
        }
    }
}

/* Is there something that need wait for nothing but a turn? */
static bool peers_wait(const struct shard *s)
{
    for (unsigned word = 0; word < words_of_peers(s); word++)
        if (s->rounds.soon[word]) return true;
    return false;
}

static void say_what_waits(struct shard *s, bool sync)
{
    struct governor *g = &s->rounds.governor;
    bool counts = sync || s->rounds.going_on > 0;
    uint64_t began = counts ? s->port->cpu_ns(s->port->context) : 0, before = s->counters.rounds;
    begin_rounds(s, sync);
    uint64_t rounds = s->counters.rounds - before;
    if (rounds > 0 && counts)
        governor_spent(g, s->port->cpu_ns(s->port->context) - began, rounds, s->rounds.sync_bytes);
    if (rounds > 0) s->rounds.sync_bytes = 0;
    if (!sync) return;
    if (rounds > 0) governor_pause(g, s->port->now_ns(s->port->context), s->intents.clock);
    s->rounds.marks_ns = s->rounds.puts_off ? s->now_ns + governor_recent_ns(g) : 0;
    s->rounds.puts_off = false;
}

/* Will this turn, for something that need not be said at once? */
static bool will_synchronize(const struct shard *s)
{
    if (!governor_allows(&s->rounds.governor, s->now_ns)) return false;
    if (marks_are_due(s)) return true;
    if (s->rounds.waiting == 0) return false; /* peers may be owed rounds all the same */
    for (unsigned word = 0; word < words_of_peers(s); word++) {
        for (uint64_t bits = s->rounds.later[word]; bits; bits &= bits - 1) {
            if (waits_for_governor(&s->rounds.peer[word * 64 + (unsigned)__builtin_ctzll(bits)])) return true;
        }
    }
    return false;
}

uint64_t rounds_turn(struct shard *s)
{
    struct rounds *all = &s->rounds;
    look_at_windows(s);
    if (all->settles > 0 && s->marks && settles_replicas(s)) ask_for_rounded(s);
    bool waits = all->waiting > 0 || all->settles > 0 || marks_are_due(s);
    bool sync = governor_allows(&all->governor, s->now_ns) || all->settles > 0;
    if (waits) say_what_waits(s, sync);
    if (all->settles > 0) complete_settled(s);
    /* What was marked, or queued for another peer, during this turn is looked at in the next: nobody else wakes us for it. */
    s->marks_seen = marks_wait(s);
    if (peers_wait(s)) return s->now_ns;
    if (all->waiting == 0 && !s->marks_seen) return UINT64_MAX;
    if (!governor_allows(&all->governor, s->now_ns)) return all->governor.due_ns;
    if (will_synchronize(s)) return s->now_ns;
    return s->marks_seen ? all->marks_ns : UINT64_MAX;
}

void rounds_served(struct shard *s, uint64_t cpu_ns, uint64_t bytes)
{
    governor_served(&s->rounds.governor, s->now_ns, cpu_ns, s->rounds.ended_one, bytes);
    s->rounds.ended_one = false;
}

void rounds_heard(struct shard *s, unsigned peer)
{
    struct peer_round *p = &s->rounds.peer[peer];
    s->rounds.ended_one = false;
    if (p->replicas > 0) {
        uint64_t us = (s->now_ns - p->heard_ns) / 1000;
        shard_count(&s->counters.stale_us, p->replicas * us);
        double half_square = (double)p->replicas * (double)us * (double)us / 2;
        shard_count(&s->counters.stale_us_squared, (uint64_t)(half_square / (1 << SHARD_STALE_SHIFT)));
    }
    p->heard_ns = s->now_ns;
}

locus_clock rounds_window(void *shard, unsigned worker)
{
    const struct shard *s = shard;
    return s->acts_immediately ? INT64_MAX : s->rounds.window[worker];
}

locus_clock rounds_ahead(void *shard, unsigned worker)
{
    const struct shard *s = shard;
    return s->rounds.takes_along ? governor_ahead(&s->rounds.governor, worker, clock_of(s, worker)) : 0;
}

/* For how many rounds does one stand that takes intents along? Without that, one would have begun with each clock, or when
 * the one before was over; where that takes a clock a window is WINDOW_OF_A_CLOCK wide. */
static unsigned rounds_in_a_pause(const struct shard *s)
{
    locus_clock most = 1;
    for (unsigned w = 0; w < s->workers; w++) {
        locus_clock a_round = s->rounds.window[w] / WINDOW_OF_A_CLOCK;
        locus_clock pause = governor_ahead(&s->rounds.governor, w, clock_of(s, w)) / GOVERNOR_AHEAD_PAUSES;
        locus_clock rounds = pause / (a_round > 1 ? a_round : 1);
        if (rounds > most) most = rounds;
    }
    return most < GOVERNOR_JUDGED_ROUNDS ? (unsigned)most : GOVERNOR_JUDGED_ROUNDS;
}

void rounds_look(struct shard *s)
{
    s->rounds.takes_along = some_ride_along(s) && will_synchronize(s);
    s->rounds.instead_of = s->rounds.takes_along ? rounds_in_a_pause(s) : 1;
}

/* ---- what the owner says ---- */

static void entry_is_answered(struct shard *s, struct record *r)
{
    r->is_out = r->has_update = false;
    not_awaited(s, r);
    if (!r->has_set) return;
    r->has_set = false;
    access_set_done(s, r);
}

void rounds_entry_is_back(struct shard *s, struct record *r)
{
    entry_is_answered(s, r);
    rounds_settle(s, r);
}

/* Where there was none, or none with memory. */
static void install(struct shard *s, struct record *r, struct spot spot, struct location l, const struct wire_entry *e)
{
    const float *values = wire_values_const(e);
    not_rounded(s, spot.index);
    if (s->trace && l.is_replica) trace_wrote(s->trace, spot.index);
    if (l.is_replica && is_full(s)) {
        while (row_ensure_replica(spot)) mover_wait(&s->mover);
        row_refresh(spot, values);
    } else if (l.is_replica) {
        row_refresh(spot, values);
    } else {
        while (row_replicate(spot, values)) mover_wait(&s->mover);
        replica_begins(s, r, e->owner, e->epoch);
    }
}

const char *rounds_answer(struct shard *s, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    struct record *r = record_find(&s->records, spot.index);
    struct location l = location_of(s, spot);
    bool holder = e->flags & WIRE_HOLDER;
    if (!r || !r->is_out || e->origin != s->rank || e->owner >= s->nodes) return "an answer to no entry of ours";
    if (l.is_here) {
        /* The replica had ended, and the row has come back another way, for a localize, before we heard of that. */
        if (holder || e->length) return "an answer about a row that is here";
        rounds_entry_is_back(s, r);
        return NULL;
    }
    if (holder && e->version == 0 && !is_full(s)) return "a replica of no version";
    if (e->length != 0 && (!holder || e->length != spot.part->length)) return "an answer of no possible length";
    if (holder && e->length == 0 && !l.is_replica) return "an answer that makes a replica of nothing";
    if (l.is_replica && e->version < r->version) return "an answer older than the replica";
    location_learn(s, spot, e->owner, e->epoch);
    if (e->length)
        install(s, r, spot, l, e);
    else if (holder && r->has_update)
        bitset_add(&s->rounds.rounded, spot.index);
    if (holder) r->version = e->version;
    r->told = holder;
    entry_is_answered(s, r);
    rounds_settle(s, r);
    return NULL;
}

const char *rounds_refresh(struct shard *s, unsigned peer, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    struct location l = location_of(s, spot);
    if (e->length != spot.part->length || e->owner != peer) return "a refresh of no possible row";
    location_learn(s, spot, e->owner, e->epoch);
    if (!l.is_replica) return NULL;
    struct record *r = is_full(s) ? record_get(&s->records, spot.index) : record_find(&s->records, spot.index);
    /* Over an update that is under way it would hide our own writes; the answer brings what it has. */
    if (r->has_update || e->version <= r->version) return NULL;
    install(s, r, spot, l, e);
    r->version = e->version;
    rounds_settle(s, r);
    return NULL;
}

const char *rounds_poke(struct shard *s, const struct wire_entry *e)
{
    struct spot spot = store_spot(s->store, e->key);
    struct record *r = record_find(&s->records, spot.index);
    if (e->length) return "a poke with values";
    if (!r || r->is_out || !location_of(s, spot).is_replica) return NULL;
    r->is_poked = true;
    rounds_settle(s, r);
    return NULL;
}

const char *rounds_check_row(const struct shard *s, const struct wire_entry *e)
{
    const struct record *r = record_find(&s->records, keyspace_index(&s->store->keyspace, e->key));
    bool holder = e->flags & WIRE_HOLDER;
    if ((e->flags & ~WIRE_HOLDER) != WIRE_ANSWERS || s->technique == LOCUS_REPLICATE || is_full(s) || !r || !r->is_out)
        return "a row that nobody asked for";
    if (holder && (e->length || r->version == 0 || e->version != r->version)) return "a row that is not our replica";
    return NULL;
}

void rounds_row_is_here(struct shard *s, struct record *r, bool answers)
{
    if (r->version) replica_ends(s, r);
    r->told = s->technique == LOCUS_RELOCATE && s->records.standing[r->index].wanted;
    r->is_poked = false;
    if (answers) entry_is_answered(s, r);
    if (r->set != REQUEST_NOWHERE && !r->has_set) access_set_here(s, r);
}

/* ---- life ---- */

/* Each of the other nodes has a round under way to each: they wait for one another, and what all of them carry together
 * is how old replicas get. Between two, large ones are worth their while: they wait for a processor, not for others. */
static size_t room_of_round(unsigned nodes)
{
    size_t others = nodes > 1 ? nodes - 1 : 1, room = ROUNDS_BYTES_MAX / (others * others);
    return room > ROUNDS_BYTES_MIN ? room : ROUNDS_BYTES_MIN;
}

static int init_peer(struct shard *s, struct peer_round *p)
{
    p->timing = calloc(s->workers, sizeof *p->timing);
    if (!p->timing) return -ENOMEM;
    for (unsigned w = 0; w < s->workers; w++) timing_init(&p->timing[w]);
    return 0;
}

int rounds_init(struct shard *s)
{
    struct rounds *all = &s->rounds;
    int rc = governor_init(&all->governor, s->workers);
    all->room = room_of_round(s->nodes);
    all->instead_of = 1;
    all->peer = calloc(s->nodes, sizeof *all->peer);
    all->window = calloc(s->workers, sizeof *all->window);
    all->settle = calloc(s->workers, sizeof(struct request *));
    all->soon = calloc(words_of_peers(s), sizeof *all->soon);
    all->later = calloc(words_of_peers(s), sizeof *all->later);
    if (!all->peer || !all->window || !all->settle || !all->soon || !all->later) return -ENOMEM;
    for (unsigned w = 0; w < s->workers; w++) all->window[w] = timing_quantile(2 * TIMING_FIRST_RATE);
    for (unsigned peer = 0; peer < s->nodes && rc == 0; peer++) rc = init_peer(s, &all->peer[peer]);
    uint64_t keys = keyspace_count_below(&s->store->keyspace, s->store->keyspace.keys, s->number);
    if (rc == 0 && s->marks && !bitset_init(&all->rounded, keys)) rc = -ENOMEM;
    return rc;
}

void rounds_fini(struct shard *s)
{
    struct rounds *all = &s->rounds;
    for (unsigned peer = 0; all->peer && peer < s->nodes; peer++) {
        struct peer_round *p = &all->peer[peer];
        free(p->urgent.index);
        free(p->poke.index);
        free(p->lazy.index);
        free(p->refresh.index);
        free(p->timing);
    }
    governor_fini(&all->governor);
    bitset_fini(&all->rounded);
    free(all->peer);
    free(all->soon);
    free(all->later);
    free(all->window);
    free(all->settle);
}
