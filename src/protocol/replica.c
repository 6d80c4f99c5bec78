#include "protocol/replica.h"

#include "base/sync.h"
#include "intents/intents.h"
#include "intents/pacer.h"
#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/origin.h"
#include "store/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- replicas come and go ---- */

static void replica_begins(struct shard *s, struct record *r, unsigned owner, uint64_t term)
{
    struct source *source = &s->replicas->source[owner];
    if (source->replicas++ == 0) source->heard_ns = s->now_ns;
    r->source = r->owner = (uint16_t)owner;
    r->term = term;
    shard_count(&s->counters.replicas_created, 1);
    shard_event(s, r->index, owner, EVENT_REPLICATED, WHY_NONE, 0);
}

void replica_comes_from(struct shard *s, struct record *r, unsigned owner)
{
    struct source *source = &s->replicas->source[owner];
    if (r->source == owner || r->version == 0 || shard_is_full(s)) return; /* which counts none */
    s->replicas->source[r->source].replicas--;
    if (source->replicas++ == 0) source->heard_ns = s->now_ns;
    r->source = (uint16_t)owner;
}

static void want_row(struct shard *s, struct record *r, bool wants)
{
    s->replicas->rows_wanted += (uint64_t)wants - r->wants_row;
    r->wants_row = wants;
}

static void not_inexact(struct shard *s, uint64_t index)
{
    if (s->dirty && bitset_has(&s->replicas->inexact, index))
        bitset_remove(&s->replicas->inexact, index);
}

static void no_orphan(struct shard *s, struct record *r)
{
    if (!r->is_orphan) return;
    s->replicas->orphans--;
    r->is_orphan = false;
}

static void replica_ends(struct shard *s, struct record *r)
{
    no_orphan(s, r);
    s->replicas->source[r->source].replicas--;
    r->version = 0;
    want_row(s, r, false);
    not_inexact(s, r->index);
    shard_count(&s->counters.replicas_dropped, 1);
}

void replica_heard(struct shard *s, unsigned node)
{
    struct source *source = &s->replicas->source[node];
    if (source->replicas > 0) {
        uint64_t us = (s->now_ns - source->heard_ns) / 1000;
        unsigned gap = histogram_bucket(s->now_ns - source->heard_ns);
        shard_count(&s->histograms.gap[gap].replicas, source->replicas);
        shard_count(&s->histograms.gap[gap].replica_us, source->replicas * us);
        shard_count(&s->counters.stale_us, source->replicas * us);
        double half_square = (double)source->replicas * (double)us * (double)us / 2;
        shard_count(&s->counters.stale_us_squared,
                    (uint64_t)(half_square / (1 << SHARD_STALE_SHIFT)));
    }
    source->heard_ns = s->now_ns;
}

/* ---- what must be said of a key ---- */

/* Must the owner stop counting us as a holder? With relocation alone it counts only nodes that keep
 * the row. */
static bool must_end(const struct shard *s, const struct record *r)
{
    const struct key_state *state = &s->records.state[r->index];
    if (s->technique->rows_follow) return r->is_kept && !state->is_kept;
    return r->registered && !key_is_wanted(state) && !shard_is_full(s);
}

/* The flags of the entry that the key's owner should get now. */
static uint8_t sync_flags(const struct shard *s, const struct record *r, struct row_ref ref,
                          struct location l)
{
    uint8_t flags = 0;
    const struct key_state *state = &s->records.state[r->index];
    if (l.is_here || l.owner == s->rank || r->sync) return 0;
    /* with relocation alone no other holders are counted */
    if ((state->is_kept || (r->is_orphan && s->technique->rows_follow)) && !r->is_kept)
        return WIRE_BEGIN | WIRE_FOREVER;
    bool begins = key_is_wanted(state) || r->is_orphan;
    if (begins && !r->registered && !shard_is_full(s)) return WIRE_BEGIN;
    if (must_end(s, r))
        flags |= WIRE_END;
    else if (r->is_kept && !state->is_kept)
        return WIRE_BEGIN; /* from now on it will end */
    if (!l.is_replica) return flags;
    /* as long as we hold it, no third node gets the row, and with it what would be set twice */
    if (r->set != REQUEST_NOWHERE) return s->losses ? WIRE_VALUE : flags | WIRE_VALUE;
    if (row_is_dirty(ref)) flags |= WIRE_UPDATE;
    return flags;
}

static void queue_what_must_be_said(struct shard *s, struct record *r, struct row_ref ref)
{
    struct location l = location_of(s, ref);
    uint8_t flags = sync_flags(s, r, ref, l);
    bool was_later = r->is_later;
    if (r->is_recalled && !l.is_replica) r->is_recalled = false;
    if (r->sync) return;
    s->replicas->awaited -= was_later;
    r->is_later = false;
    if (!(flags & (WIRE_BEGIN | WIRE_UPDATE | WIRE_VALUE))) clocks_sent(s, r); /* it has none */
    if (l.owner == s->rank) return; /* the row is here, or on its way */
    bool may_wait = pacer_is_limited(s->pacer);
    if (flags & WIRE_VALUE || r->wants_row || ((flags & WIRE_BEGIN || r->is_recalled) && !may_wait))
        backlog_add(s, r, l.owner, BACKLOG_URGENT);
    else if (flags & (WIRE_BEGIN | WIRE_END) || r->is_recalled || (was_later && flags))
        backlog_add(s, r, l.owner, BACKLOG_LAZY);
}

void replica_consider(struct shard *s, struct record *r)
{
    struct row_ref ref = shard_row_ref(s, r->index);
    if (r->unseen_first != REQUEST_NOWHERE) {
        bool has_it = !r->is_orphan && r->version >= r->unseen_version;
        if (!location_of(s, ref).is_replica || has_it)
            origin_seen(s, r);
        else if (!r->sync && !r->asked_unseen) {
            /* The refresh that brings it waits for the owner's pacer. Once: the answer of an owner
             * that has this version brings it, and one that has not would be asked for ever. */
            want_row(s, r, true);
            r->asked_unseen = true;
        }
    }
    queue_what_must_be_said(s, r, ref);
}

void replica_changed(struct shard *s, struct record *r, unsigned owner)
{
    clocks_unsent(s, r);
    if (!r->sync && owner != s->rank) {
        backlog_add(s, r, owner, BACKLOG_LAZY);
    } else if (!r->is_later) {
        r->is_later = true;
        s->replicas->awaited++;
    }
}

/* ---- what the node wants ---- */

/* The row came here, or others hold replicas of it, or its owner counts us as a holder. The
 * directory word would say that, too, but reading it takes its cache line away from the worker that
 * writes the row. */
static bool is_known_to_be_held(const struct shard *s, const struct key_state *state)
{
    if (!state->number) return state->term > 0;
    const struct record *r = record_at(&s->records, state->number);
    return r->holders > 0 || (r->registered && !s->technique->rows_follow);
}

void replica_fetch_found(const struct shard *s, uint64_t index)
{
    const struct key_state *state = &s->records.state[index];
    if (state->wanted > 1) return; /* it will be counted, and no more */
    record_fetch_found(&s->records, index);
    if (state->term == 0) word_fetch(shard_row_ref(s, index));
}

/* An intent that waited for the end of a round has less slack left. */
static bool is_said_soon(const struct shard *s, struct location l)
{
    return !l.is_here && !s->backlog->peer[l.owner].is_under_way;
}

/* The node wants the key from now on. */
static void say_wanted(struct shard *s, const struct intent_event *e, struct row_ref ref)
{
    struct location l = location_of(s, ref);
    struct record *r = record_find(&s->records, e->index);
    if (!r && l.is_here) return;
    if (!r) r = record_get(&s->records, e->index);
    r->piggybacks = e->piggybacks && is_said_soon(s, l);
    if (s->events && !l.is_here) shard_note_intent(s, e, EVENT_ASKED, l.owner);
    queue_what_must_be_said(s, r, ref);
}

void replica_want(struct shard *s, const struct intent_event *e)
{
    struct key_state *state = &s->records.state[e->index];
    if (state->wanted++ > 0) return;
    record_touched(&s->records, e->index);
    if (!state->is_kept && !is_known_to_be_held(s, state))
        say_wanted(s, e, shard_row_ref(s, e->index));
}

/* A replica of which the owner must only learn that its intent has expired. As above, without
 * reading the word. */
static bool is_idle_replica(const struct shard *s, const struct record *r)
{
    return r->registered && r->version > 0 && !r->sync && !r->is_recalled && !r->wants_row &&
           r->set == REQUEST_NOWHERE && r->unseen_first == REQUEST_NOWHERE && r->owner != s->rank &&
           !shard_is_full(s);
}

static void nobody_wants(struct shard *s, uint64_t index)
{
    struct record *r = record_find(&s->records, index);
    if (!r) return; /* the row is here, and nobody holds a replica */
    /* it asks for what nobody wants any more, and must give back */
    if (r->sync && !r->is_awaited) {
        r->is_awaited = true;
        s->replicas->awaited++;
    }
    /* nobody counts holders but those that keep it */
    if (s->technique->rows_follow) r->registered = r->is_kept;
    if (r->holders > 0) { /* it is here */
        shard_wake(s, r, WOKEN_OWNER);
        return;
    }
    if (is_idle_replica(s, r))
        backlog_add(s, r, r->owner, BACKLOG_LAZY);
    else
        shard_wake(s, r, WOKEN_REPLICA);
}

void replica_unwant(struct shard *s, uint64_t index)
{
    struct key_state *state = &s->records.state[index];
    state->wanted--;
    if (!key_is_wanted(state)) nobody_wants(s, index);
}

void replica_keep(struct shard *s, const struct intent_event *e)
{
    struct key_state *state = &s->records.state[e->index];
    if (state->is_kept) return;
    state->is_kept = true;
    shard_count(&s->counters.keeps_begun, 1);
    shard_event(s, e->index, s->rank, EVENT_KEPT, WHY_NONE, 0);
    say_wanted(s, e, shard_row_ref(s, e->index));
}

void replica_unkeep(struct shard *s, uint64_t index)
{
    struct key_state *state = &s->records.state[index];
    if (!state->is_kept) return;
    state->is_kept = false;
    shard_count(&s->counters.keeps_ended, 1);
    shard_event(s, index, s->rank, EVENT_UNKEPT, WHY_NONE, 0);
    if (state->wanted == 0) {
        nobody_wants(s, index);
        return;
    }
    struct record *r = record_find(&s->records, index);
    if (r) shard_wake(s, r, WOKEN_REPLICA);
}

/* ---- the entry ---- */

/* The replica leaves with its entry; *flags learns of an update that came at the last moment. */
static bool forget_clean(struct shard *s, struct row_ref ref, directory_word next, uint8_t *flags)
{
    unsigned spins = 0;
    while (!(*flags & (WIRE_UPDATE | WIRE_VALUE))) {
        if (row_forget_clean(&s->mover, ref, next)) return true;
        if (row_is_dirty(ref))
            *flags |= WIRE_UPDATE;
        else
            spin_wait(&spins);
    }
    return false;
}

/* How long they are shows only now. Returns the floats of the entry. */
static uint32_t take_updates(struct shard *s, struct row_ref ref, struct location l, uint8_t *flags)
{
    LOCUS_YIELD();
    /* a set comes after them, and they before it for nothing */
    float *updates = *flags & WIRE_UPDATE ? s->replicas->taken : NULL;
    uint32_t floats = 0;
    if (*flags & WIRE_END)
        floats = row_forget(&s->mover, ref, updates, directory_elsewhere(l.owner, l.term));
    else if (*flags & WIRE_UPDATE || (*flags & WIRE_VALUE && row_is_dirty(ref)))
        /* an update that came since the flags were chosen waits for the next entry */
        floats = row_collect(ref, updates);
    if (updates && floats != ref.partition->delta) *flags |= WIRE_GRADIENT;
    return *flags & WIRE_VALUE ? ref.partition->stored : floats;
}

static void note_sync(struct shard *s, struct record *r, uint8_t flags)
{
    r->sync = flags & WIRE_VALUE ? SYNC_SETS : flags & WIRE_UPDATE ? SYNC_UPDATES : SYNC_ASKS;
    r->is_recalled = false;
    /* If holders are not counted, only the row itself shows that an intent was heeded, even one
     * that has expired. */
    r->is_awaited = flags & ~WIRE_BEGIN || r->wants_row || s->technique->rows_follow;
    want_row(s, r, false);
    s->replicas->awaited += r->is_awaited;
    if (s->technique->rows_follow) r->registered = true; /* asked once for each intent */
}

/* How long the owner's answer can wait. */
static uint32_t slack_us(const struct shard *s, const struct record *r)
{
    uint64_t us = r->piggybacks ? pacer_slack_us(s->pacer) : 0;
    return (uint32_t)(us < WIRE_SLACK_US_MAX ? us : WIRE_SLACK_US_MAX);
}

size_t replica_emit(struct shard *s, struct record *r, unsigned peer, enum backlog_class class)
{
    struct row_ref ref = shard_row_ref(s, r->index);
    struct location l = location_of(s, ref);
    uint8_t flags = sync_flags(s, r, ref, l);
    uint32_t slack = slack_us(s, r);
    r->piggybacks = false;
    if (l.is_here || r->sync || (!flags && !r->is_recalled && !r->wants_row)) return 0;
    if (l.owner != peer) {
        if (l.owner != s->rank) backlog_add(s, r, l.owner, class);
        return 0;
    }
    bool had_replica = l.is_replica;
    bool is_gone = flags & WIRE_END && had_replica &&
                   forget_clean(s, ref, directory_elsewhere(l.owner, l.term), &flags);
    uint32_t length = had_replica && !is_gone ? take_updates(s, ref, l, &flags) : 0;
    struct wire_entry *e =
        shard_entry(s, peer,
                    (struct wire_entry){
                        .operation = WIRE_SYNC,
                        .owner = (uint16_t)l.owner,
                        .origin = (uint16_t)s->rank,
                        .flags = flags,
                        .length = length,
                        .slack_us = flags == WIRE_BEGIN ? slack : 0,
                        .key = keyspace_key(&s->store->keyspace, s->number, r->index),
                        .term = l.term,
                        .version = had_replica && !r->wants_row ? r->version : 0,
                    },
                    0);
    if (e && flags & WIRE_VALUE) origin_set_value(s, r, wire_values(e));
    if (e && flags & WIRE_UPDATE)
        memcpy(wire_values(e), s->replicas->taken, length * sizeof(float));
    if (had_replica && flags & WIRE_END) {
        replica_ends(s, r);
        shard_event(s, r->index, l.owner, EVENT_DROPPED, WHY_NONE, 0);
    }
    note_sync(s, r, flags);
    if (flags & (WIRE_END | WIRE_UPDATE | WIRE_VALUE)) clocks_sent(s, r);
    /* An intent brings no update along: it waits for the next entry. */
    if (had_replica && flags & WIRE_BEGIN && row_is_dirty(ref)) replica_changed(s, r, l.owner);
    s->backlog->intents += flags == WIRE_BEGIN;
    return replica_exchange_bytes(length, ref.partition->stored);
}

/* ---- what the owner says ---- */

/* A set hides the updates that it takes along. */
static bool has_update(const struct record *r)
{
    return r->sync == SYNC_UPDATES || r->sync == SYNC_SETS;
}

static void sync_is_answered(struct shard *s, struct record *r)
{
    enum record_sync answered = r->sync;
    r->sync = SYNC_NONE;
    s->replicas->awaited -= r->is_awaited;
    r->is_awaited = false;
    if (answered == SYNC_SETS) origin_set_done(s, r, false);
}

void replica_came_back(struct shard *s, struct record *r)
{
    sync_is_answered(s, r);
    shard_wake(s, r, WOKEN_REPLICA);
}

/* Where there was none, or none with memory. */
static void install(struct shard *s, struct record *r, struct row_ref ref, struct location l,
                    const struct wire_entry *e)
{
    const float *values = e->length ? wire_values_const(e) : NULL; /* NULL: nobody has written it */
    not_inexact(s, ref.index);
    if (r->is_orphan && !values) values = s->store->zeros; /* what was lost has been in it */
    if (l.is_replica && !values) return;                   /* it has our own updates, if anything */
    if (l.is_replica) {
        while (row_ensure_replica(ref)) mover_make_room(&s->mover);
        row_refresh(ref, values);
    } else {
        while (row_replicate(ref, values)) mover_make_room(&s->mover);
        replica_begins(s, r, e->owner, e->term);
    }
}

const char *replica_answer(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct row_ref ref = a->ref;
    struct record *r = record_find(&s->records, ref.index);
    struct location l = location_of(s, ref);
    bool holder = e->flags & WIRE_HOLDER;
    if (!r || !r->sync) return "an answer to no entry of ours";
    if (l.is_here) {
        /* The replica had ended, and before we heard of that the row came back for a localize. */
        if (holder || e->length) return "an answer about a row that is here";
        replica_came_back(s, r);
        return NULL;
    }
    if (holder && e->version == 0 && !shard_is_full(s)) return "a replica of no version";
    bool is_zeros = e->encoding == WIRE_ZEROS;
    if (!holder && (e->length || is_zeros)) return "a row for a node that holds no replica";
    if (holder && e->length == 0 && !is_zeros && !l.is_replica)
        return "an answer that makes a replica of nothing";
    if (l.is_replica && e->version < r->version) return "an answer older than the replica";
    location_learn(s, ref, e->owner, e->term);
    if (e->length || is_zeros)
        install(s, r, ref, l, e);
    else if (holder && has_update(r))
        bitset_add(&s->replicas->inexact, ref.index);
    if (holder) no_orphan(s, r);
    if (l.is_replica && holder) replica_comes_from(s, r, e->owner);
    if (holder) r->version = e->version;
    /* with relocation alone, who was asked to end is told so; an intent is said once */
    if (!s->technique->rows_follow || holder || r->is_kept) r->registered = holder;
    r->is_kept = holder && e->flags & WIRE_FOREVER;
    sync_is_answered(s, r);
    shard_wake(s, r, WOKEN_REPLICA);
    return NULL;
}

const char *replica_refresh(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    struct row_ref ref = a->ref;
    struct location l = location_of(s, ref);
    location_learn(s, ref, e->owner, e->term);
    if (!l.is_replica) return NULL;
    struct record *r = shard_is_full(s) ? record_get(&s->records, ref.index)
                                        : record_find(&s->records, ref.index);
    /* While an update is under way it would hide our own writes; the answer to the update brings
     * what it has. */
    if (has_update(r) || e->version <= r->version) return NULL;
    install(s, r, ref, l, e);
    r->version = e->version;
    shard_wake(s, r, WOKEN_REPLICA);
    return NULL;
}

const char *replica_recall(struct shard *s, const struct arrival *a)
{
    struct record *r = record_find(&s->records, a->ref.index);
    if (!r || r->sync || !location_of(s, a->ref).is_replica) return NULL;
    r->is_recalled = true;
    shard_wake(s, r, WOKEN_REPLICA);
    return NULL;
}

const char *replica_check_row(const struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    const struct record *r = record_find(&s->records, a->ref.index);
    if (e->flags & WIRE_BEGIN)
        return s->failure == SHARD_REPAIRS && e->encoding == WIRE_AS_REPLICA &&
                       location_of(s, a->ref).is_replica
                   ? NULL
                   : "a row that no home has given to a replica";
    if (!s->technique->localizes || !r || !r->sync) return "a row that nobody asked for";
    if (e->encoding == WIRE_AS_REPLICA && (r->version == 0 || e->version != r->version))
        return "a row that is not our replica";
    return NULL;
}

void replica_row_is_here(struct shard *s, struct record *r, bool answers)
{
    if (r->version) replica_ends(s, r);
    clocks_sent(s, r); /* to ourselves */
    r->registered = s->technique->rows_follow && s->records.state[r->index].wanted;
    r->is_recalled = r->is_kept = false;
    if (answers) sync_is_answered(s, r);
    if (r->set != REQUEST_NOWHERE && r->sync != SYNC_SETS) origin_set_done(s, r, true);
}

/* ---- a node was lost ---- */

const char *replica_held(struct shard *s, uint64_t index)
{
    struct record *r = record_find(&s->records, index);
    if (!r || !r->sync) return "a sync is held that was never sent";
    r->is_held = true;
    return NULL;
}

void replica_sync_is_lost(struct shard *s, struct record *r)
{
    s->replicas->awaited -= r->is_awaited;
    r->is_awaited = false;
    r->sync = SYNC_NONE;
    r->registered = r->is_kept = false;
    if (r->set != REQUEST_NOWHERE && location_of(s, shard_row_ref(s, r->index)).is_here)
        origin_set_done(s, r, true);
    shard_wake(s, r, WOKEN_REPLICA); /* else nothing remembers that it is to be said again */
}

void replica_is_orphaned(struct shard *s, struct record *r, unsigned home)
{
    s->replicas->source[r->source].replicas--;
    if (s->replicas->source[home].replicas++ == 0) s->replicas->source[home].heard_ns = s->now_ns;
    s->replicas->orphans += !r->is_orphan;
    r->is_orphan = true;
    r->source = r->owner = (uint16_t)home;
    r->term = 0;
    r->version = 1; /* the least: the next owner counts anew */
    if (r->unseen_first != REQUEST_NOWHERE) r->unseen_version = 1; /* of the next owner's */
    r->registered = r->is_kept = r->is_recalled = false;
}

/* ---- quiesce ---- */

bool replica_are_exact(const struct shard *s)
{
    return s->replicas->rows_wanted == 0 &&
           !(s->dirty && bitset_lowest(&s->replicas->inexact) != BITSET_NONE);
}

void replica_ask_for_inexact(struct shard *s)
{
    for (uint64_t index;
         s->dirty && (index = bitset_lowest(&s->replicas->inexact)) != BITSET_NONE;) {
        struct record *r = record_find(&s->records, index);
        if (r && r->sync) return;
        bitset_remove(&s->replicas->inexact, index);
        if (!r || !location_of(s, shard_row_ref(s, index)).is_replica) continue;
        want_row(s, r, true);
        queue_what_must_be_said(s, r, shard_row_ref(s, index));
    }
}

/* ---- life ---- */

int replica_init(struct shard *s)
{
    struct replicas *all = s->replicas = calloc(1, sizeof *all);
    if (!all) return -ENOMEM;
    all->taken = malloc(keyspace_longest(&s->store->keyspace) * sizeof *all->taken);
    all->source = calloc(s->nodes, sizeof *all->source);
    if (!all->taken || !all->source) return -ENOMEM;
    uint64_t keys = keyspace_count_below(&s->store->keyspace, s->store->keyspace.keys, s->number);
    return s->dirty && !bitset_init(&all->inexact, keys) ? -ENOMEM : 0;
}

void replica_fini(struct shard *s)
{
    if (!s->replicas) return;
    bitset_fini(&s->replicas->inexact);
    free(s->replicas->taken);
    free(s->replicas->source);
    free(s->replicas);
    s->replicas = NULL;
}
