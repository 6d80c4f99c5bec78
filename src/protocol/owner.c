#include "protocol/owner.h"

#include "base/error.h"
#include "base/sync.h"
#include "intents/pacer.h"
#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "protocol/saves.h"

#include <stdlib.h>

/* ---- holders ---- */

struct holder *holder_find(const struct record *r, unsigned node)
{
    for (unsigned i = 0; i < r->holders; i++)
        if (r->holder[i].node == node) return &r->holder[i];
    return NULL;
}

static void make_room(struct record *r)
{
    if (r->holders < r->holder_capacity) return;
    r->holder_capacity = r->holder_capacity ? (uint16_t)(2 * r->holder_capacity) : 4;
    r->holder = realloc(r->holder, r->holder_capacity * sizeof *r->holder);
    INVARIANT(r->holder != NULL, "no memory for the holders of a replica");
}

struct holder *holders_add(struct record *r, struct row_ref ref, unsigned node)
{
    struct holder *h = holder_find(r, node);
    if (h) return h;
    if (r->holders == 0) {
        row_track(ref);
        r->seen_word = directory_version(row_word(ref));
        r->version++;
    }
    make_room(r);
    r->holder[r->holders] = (struct holder){.node = (uint16_t)node};
    return &r->holder[r->holders++];
}

void holders_remove(struct record *r, struct row_ref ref, unsigned node)
{
    struct holder *h = holder_find(r, node);
    if (!h) return;
    *h = r->holder[--r->holders];
    if (r->holders > 0) return;
    row_untrack(ref);
    r->version = 0; /* nobody has any: there is nothing to remember */
}

/* Full replication: every node is a holder from the start, of zeros with version 0. */
static void add_all_holders(struct shard *s, struct record *r, struct row_ref ref)
{
    if (!shard_is_full(s) || r->holders > 0) return;
    for (unsigned node = 0; node < s->nodes; node++)
        if (node != s->rank) holders_add(r, ref, node);
}

/* The word is the main copy's: has that changed since the last look? */
static void note_word(struct record *r, directory_word w)
{
    if (directory_version(w) == r->seen_word) return;
    r->seen_word = directory_version(w);
    r->version++;
}

uint64_t holders_version(struct record *r, struct row_ref ref)
{
    note_word(r, row_word(ref));
    return r->version;
}

/* ---- what the owner says ---- */

static struct wire_entry *say(const struct shard *s, const struct record *r, unsigned node,
                              uint8_t operation, uint32_t length, uint64_t until_ns)
{
    return shard_entry(
        s, node,
        (struct wire_entry){.operation = operation,
                            .owner = (uint16_t)s->rank,
                            .origin = (uint16_t)node,
                            .length = length,
                            .key = keyspace_key(&s->store->keyspace, s->number, r->index),
                            .term = s->records.state[r->index].term,
                            .version = r->version},
        until_ns);
}

static uint8_t as_holder(const struct holder *h)
{
    return h->is_kept ? WIRE_HOLDER | WIRE_FOREVER : WIRE_HOLDER;
}

/* The answer with a row that was never written, for a holder without a row: it brings no values.
 * False: the row was written. */
static bool say_zeros(struct shard *s, struct record *r, struct row_ref ref, struct holder *h,
                      uint64_t until_ns)
{
    directory_word w = row_word(ref);
    if (row_word_is_written(ref, w)) return false;
    struct wire_entry *e = say(s, r, h->node, WIRE_ANSWER, 0, until_ns);
    if (!e) return true;
    note_word(r, w);
    e->encoding = WIRE_ZEROS;
    e->flags = as_holder(h);
    e->version = h->seen = r->version;
    h->brought_us = (uint32_t)(s->now_ns / 1000);
    backlog_owes(s, h->node);
    return true;
}

static void say_row(struct shard *s, struct record *r, struct row_ref ref, struct holder *h,
                    uint8_t operation, uint8_t flags, uint64_t until_ns)
{
    once_tell(s, h->node);
    struct wire_entry *e = say(s, r, h->node, operation, ref.partition->stored, until_ns);
    directory_word w;
    if (!e) return;
    row_read_version(ref, wire_values(e), &w);
    note_word(r, w);
    e->flags = flags;
    e->version = h->seen = r->version;
    h->brought_us = (uint32_t)(s->now_ns / 1000);
    h->writes = false;
    if (operation == WIRE_ANSWER) backlog_owes(s, h->node);
}

size_t owner_refresh(struct shard *s, struct record *r, unsigned node)
{
    struct row_ref ref = shard_row_ref(s, r->index);
    struct holder *h = holder_find(r, node);
    if (!h) return 0;
    h->is_queued = false;
    if (!location_of(s, ref).is_here || h->seen >= holders_version(r, ref)) return 0;
    say_row(s, r, ref, h, WIRE_REFRESH, 0, 0);
    return wire_entry_bytes(ref.partition->stored);
}

/* Who writes the row gets it with the answer to its next update, so a refresh would bring it twice
 * in a pause. And if intents piggyback, a replica waits a pause or two before it is used, usually
 * once: if it was brought less than three quarters of a pause ago, the next refresh is early
 * enough. */
static bool is_recent(const struct shard *s, const struct holder *h)
{
    const struct pacer *p = s->pacer;
    return (h->writes || pacer_piggybacks(p)) && s->quiescing == 0 && !s->clocks->is_on &&
           pacer_is_recent(p, h->writes, h->brought_us, (uint32_t)(s->now_ns / 1000));
}

void owner_changed(struct shard *s, struct record *r)
{
    struct row_ref ref = shard_row_ref(s, r->index);
    bool once_more = false;
    row_clean(ref);
    add_all_holders(s, r, ref);
    uint64_t version = holders_version(r, ref);
    for (unsigned i = 0; i < r->holders; i++) {
        struct holder *h = &r->holder[i];
        if (h->seen >= version || h->is_queued) continue;
        h->is_queued = !is_recent(s, h);
        once_more |= !h->is_queued;
        if (h->is_queued) backlog_add_refresh(s, h->node, r->index);
    }
    if (once_more) dirty_set_add(s->dirty, r->index);
    s->backlog->puts_off |= once_more;
}

/* ---- rows that leave ---- */

static struct wire_entry *row_entry(const struct shard *s, const struct wire_entry *request,
                                    uint64_t term, uint32_t length)
{
    bool is_localized = request->operation == WIRE_LOCALIZE;
    return shard_entry(s, request->origin,
                       (struct wire_entry){.operation = WIRE_ROW,
                                           .owner = request->origin,
                                           .origin = (uint16_t)s->rank,
                                           .flags = is_localized ? WIRE_LOCALIZED : WIRE_ANSWERS,
                                           .length = length,
                                           .tag = is_localized ? request->tag : 0,
                                           .key = request->key,
                                           .term = term},
                       0);
}

/* The space in the frame comes before the latch: getting it may take long. */
static void take_into_frame(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                            uint64_t term, directory_word next)
{
    unsigned spins = 0;
    while (!row_word_is_written(ref, directory_load(row_ref_word(ref)))) {
        if (!row_take_empty(ref, next)) { /* a first write has come in between */
            spin_wait(&spins);
            continue;
        }
        row_entry(s, request, term, 0);
        return;
    }
    bool written;
    struct wire_entry *e = row_entry(s, request, term, ref.partition->stored);
    /* Without a link the row is lost, and so is the cluster; but no worker may find it here. */
    row_take(&s->mover, ref, e ? wire_values(e) : NULL, &written, next);
}

/* The holder's replica is the row, if nobody here has written to it since. */
static bool leave_to_holder(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                            uint64_t term, directory_word then, directory_word next)
{
    if (!row_take_unchanged(&s->mover, ref, then, next)) return false;
    struct wire_entry *e = row_entry(s, request, term, 0);
    if (!e) return true;
    e->encoding = WIRE_AS_REPLICA;
    e->version = request->version;
    return true;
}

/* News of where a row is waits for a frame to its home: at most this long, or as long as the
 * request has slack. A request that reaches the home meanwhile takes one more hop. */
#define ANNOUNCE_WAIT_NS UINT64_C(500000)

/* Where rows follow each intent, or a worker's call, the next request for it soon comes. */
static uint64_t may_learn_by(const struct shard *s, const struct wire_entry *request)
{
    if (request->operation != WIRE_SYNC || !s->technique->moves_to_only_one) return 0;
    uint64_t soon = s->now_ns + ANNOUNCE_WAIT_NS, slack = shard_can_wait_until(s, request);
    return slack > soon ? slack : soon;
}

/* Its home learns at once that we gave the row away, unless to the only node that wants it. */
static void announce(struct shard *s, struct row_ref ref, const struct wire_entry *request)
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

/* Gives the row, and its ownership, to another node, as the answer to `request`: a WIRE_LOCALIZE or
 * WIRE_SYNC. We forget what we knew of the key as its owner. `then`: the node's replica equals the
 * row as it was when its directory word was this one; if the word is still the same, the values are
 * not sent. NULL: the replica is different, or there is none. */
static void give(struct shard *s, struct row_ref ref, const struct wire_entry *request,
                 const directory_word *then, enum key_event_why why)
{
    struct key_state *state = &s->records.state[ref.index];
    /* It may have had other terms before a loss, of which its heir has not heard. */
    uint64_t first = s->losses ? loss_term(s->losses) : 0;
    uint64_t term = (state->term > 0 ? state->term : first) + 1;
    shard_event(s, ref.index, request->origin, EVENT_GAVE, why, term);
    state->term = 0;
    directory_word next = directory_elsewhere(request->origin, term);
    once_tell(s, request->origin);
    if (!then || !leave_to_holder(s, ref, request, term, *then, next))
        take_into_frame(s, ref, request, term, next);
    if (s->saves) saves_keep(s, ref, request->origin, term);
    /* which may hold an older replica */
    if (request->operation == WIRE_SYNC) backlog_owes(s, request->origin);
    shard_count(&s->counters.relocated_out, 1);
    announce(s, ref, request);
    struct record *r = state->wanted ? record_get(&s->records, ref.index)
                                     : record_find(&s->records, ref.index);
    if (!r) return; /* nor does anybody here want it back */
    r->holders = 0; /* the new owner was the only one, if any */
    r->version = 0;
    shard_wake(s, r, WOKEN_REPLICA);
}

/* All that is here has a term of before. */
void owner_claim(struct shard *s, struct row_ref ref, uint64_t more)
{
    uint64_t term = loss_term(s->losses);
    unsigned home = loss_home(s, ref);
    if (home == s->rank || (loss_is_join(s->losses) && home == row_ref_home(ref))) return;
    for (uint64_t bits = more << 1 | 1; bits; bits &= bits - 1)
        s->records.state[ref.index + (unsigned)__builtin_ctzll(bits)].term = term;
    shard_entry(s, home,
                (struct wire_entry){.operation = WIRE_LOCATION,
                                    .owner = (uint16_t)s->rank,
                                    .origin = (uint16_t)s->rank,
                                    .key = keyspace_key(&s->store->keyspace, s->number, ref.index),
                                    .term = term,
                                    .version = more},
                0);
}

/* ---- decisions ---- */

static bool is_wanted(const struct shard *s, uint64_t index)
{
    return key_is_wanted(&s->records.state[index]);
}

/* AdaPM, Appendix B.2.4: a row moves only if exactly one node wants it, and that is not the owner.
 * It does not move to a node that wants it for ever, because others will want it, too. */
static struct holder *only_one_who_wants(const struct shard *s, const struct record *r)
{
    return s->technique->moves_to_only_one && r->holders == 1 && !r->holder[0].is_kept &&
                   !is_wanted(s, r->index)
               ? &r->holder[0]
               : NULL;
}

void owner_consider(struct shard *s, struct record *r)
{
    const struct holder *h = only_one_who_wants(s, r);
    if (h && !h->is_recalled) backlog_add(s, r, h->node, BACKLOG_RECALL);
}

bool owner_recall(struct shard *s, struct record *r, unsigned node)
{
    struct holder *h = only_one_who_wants(s, r);
    if (!h || h->is_recalled) return false;
    if (h->node != node) { /* it is another one by now */
        backlog_add(s, r, h->node, BACKLOG_RECALL);
        return false;
    }
    h->is_recalled = true;
    shard_event(s, r->index, node, EVENT_RECALLED, WHY_LAST_INTENT, 0);
    say(s, r, node, WIRE_RECALL, 0, 0);
    return true;
}

/* May the row leave, because another node asks for it: nobody else wants it? */
static bool lets_go(const struct shard *s, uint64_t index)
{
    const struct record *r = record_find(&s->records, index);
    if (r && r->holders > 0) return false;
    if (s->technique->rows_follow) return !s->records.state[index].is_kept;
    return s->technique->moves_to_only_one && !is_wanted(s, index);
}

/* Why a row does not move to who asks. */
static enum key_event_why why_it_stays(const struct shard *s, uint64_t index)
{
    if (!s->technique->localizes) return WHY_NEVER_MOVES;
    return is_wanted(s, index) ? WHY_OWNER : WHY_OTHERS;
}

/* ---- what holders and those who intend say ---- */

static void answer(struct shard *s, struct record *r, struct row_ref ref,
                   const struct wire_entry *e, bool fresh)
{
    struct holder *h = holder_find(r, e->origin);
    uint64_t until_ns = shard_can_wait_until(s, e);
    if (!h) {
        say(s, r, e->origin, WIRE_ANSWER, 0, until_ns);
    } else if (fresh) {
        h->seen = r->version;
        struct wire_entry *a = say(s, r, e->origin, WIRE_ANSWER, 0, until_ns);
        if (a) a->flags = as_holder(h);
    } else if (!say_zeros(s, r, ref, h, until_ns)) {
        say_row(s, r, ref, h, WIRE_ANSWER, as_holder(h), until_ns);
    }
    if (!h || !(e->flags & WIRE_UPDATE)) return;
    h->writes = true;
    h->brought_us = (uint32_t)(s->now_ns / 1000);
}

static void merge(struct shard *s, struct record *r, struct row_ref ref, const struct wire_entry *e)
{
    if (e->flags & WIRE_GRADIENT) {
        const float *gradient = wire_values_const(e), *step = gradient + ref.partition->length;
        shard_step(s, ref, gradient, (struct row_step){step[0], step[1]});
    } else if (e->flags & WIRE_UPDATE) {
        shard_write(s, ref, wire_values_const(e), ROW_MERGE);
    }
    if (e->flags & WIRE_VALUE) shard_write(s, ref, wire_values_const(e), ROW_SET_STORED);
    if (e->flags & WIRE_END) {
        holders_remove(r, ref, e->origin);
        shard_event(s, ref.index, e->origin, EVENT_UNSHARED, WHY_NONE, 0);
    }
    bool is_counted = e->flags & WIRE_BEGIN &&
                      (!s->technique->rows_follow || e->flags & WIRE_FOREVER);
    unsigned before = r->holders;
    struct holder *h = is_counted ? holders_add(r, ref, e->origin) : holder_find(r, e->origin);
    if (!h) return;
    if (r->holders > before)
        shard_event(s, ref.index, e->origin, EVENT_SHARED,
                    e->flags & WIRE_FOREVER ? WHY_FOR_EVER : why_it_stays(s, ref.index), 0);
    h->is_recalled = false;
    if (is_counted) h->is_kept = e->flags & WIRE_FOREVER;
}

/* A replica that had our version also has the new one, if only its own update was added; but not if
 * a worker of ours has written in between. Every write raises the word's version by one. The word
 * is read once: later writes make a later version. The two may differ by rounding, because the
 * replica has added the updates one by one, and we add what it has gained. If the replica becomes
 * the row, its values are used. */
static bool is_still_fresh(struct record *r, struct row_ref ref, const struct wire_entry *e,
                           directory_word *w)
{
    /* the last one left with this entry, and its version with it */
    if (r->holders == 0) return false;
    uint64_t writes = e->flags & WIRE_UPDATE ? 1 : 0;
    directory_word expected = (r->seen_word + writes) << DIRECTORY_VERSION_SHIFT;
    *w = row_word(ref);
    note_word(r, *w);
    return directory_version(*w) == directory_version(expected);
}

static void take_sync(struct shard *s, struct row_ref ref, const struct wire_entry *e)
{
    struct record *r = record_get(&s->records, ref.index);
    add_all_holders(s, r, ref);
    bool fresh = r->holders > 0 && e->version == holders_version(r, ref) &&
                 !(e->flags & (WIRE_BEGIN | WIRE_VALUE));
    directory_word then;
    merge(s, r, ref, e);
    fresh = fresh && is_still_fresh(r, ref, e, &then);
    struct holder *only = only_one_who_wants(s, r);
    if (only && only->node == e->origin) {
        give(s, ref, e, fresh ? &then : NULL, WHY_LAST_INTENT);
        return;
    }
    answer(s, r, ref, e, fresh);
    shard_wake(s, r, WOKEN_OWNER | WOKEN_REPLICA);
}

const char *owner_sync(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    const struct record *r = record_find(&s->records, ref.index);
    bool begins = e->flags & WIRE_BEGIN;
    if (e->flags == WIRE_BEGIN && lets_go(s, ref.index)) {
        give(s, ref, e, NULL, s->technique->rows_follow ? WHY_FOLLOWS : WHY_ONLY_INTENT);
        return NULL;
    }
    if (!begins && !shard_is_full(s) && !(r && holder_find(r, e->origin)))
        return "an update of a replica that nobody holds";
    take_sync(s, ref, e);
    return NULL;
}

/* ---- requests ---- */

/* The answer's header; values follow by the caller. NULL: the link has failed. */
static struct wire_entry *reply(const struct shard *s, struct row_ref ref,
                                const struct wire_entry *to, uint8_t operation, uint32_t length)
{
    return shard_entry(s, to->origin,
                       (struct wire_entry){.operation = operation,
                                           .owner = (uint16_t)s->rank,
                                           .origin = to->origin,
                                           .hops = to->hops,
                                           .length = length,
                                           .tag = to->tag,
                                           .key = to->key,
                                           .term = s->records.state[ref.index].term},
                       0);
}

static void serve_pull(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    bool has_state = e->flags & WIRE_STATE;
    struct wire_entry *a =
        reply(s, ref, e, WIRE_PULLED, has_state ? ref.partition->stored : ref.partition->packed);
    shard_count(&s->counters.served_pulls, 1);
    if (!a) return;
    a->flags = e->flags;
    shard_read(ref, wire_values(a),
               has_state             ? ROW_WITH_STATE | ROW_AS_STORED
               : ref.partition->bf16 ? ROW_AS_STORED
                                     : 0);
}

static void serve_write(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    bool add = e->operation == WIRE_PUSH;
    if (add)
        shard_push(s, ref, e);
    else
        shard_write(s, ref, wire_values_const(e), ROW_SET_STORED);
    once_written(s, e);
    shard_count(&s->counters.served_pushes, 1);
    struct wire_entry *a = reply(s, ref, e, add ? WIRE_PUSHED : WIRE_WAS_SET, 0);
    struct record *r = s->dirty ? record_find(&s->records, ref.index) : NULL;
    /* A replica without this update may be on its way to the origin: then the origin waits for one
     * that has it. */
    if (a && r && holder_find(r, e->origin)) a->version = holders_version(r, ref);
}

static void serve_localize(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    if (lets_go(s, ref.index)) {
        give(s, ref, e, NULL, WHY_LOCALIZED);
        return;
    }
    shard_event(s, ref.index, e->origin, EVENT_STAYED, why_it_stays(s, ref.index), 0);
    reply(s, ref, e, WIRE_STAYS, 0);
}

void owner_serve(struct shard *s, const struct wire_entry *e, struct row_ref ref)
{
    if (e->operation == WIRE_PULL)
        serve_pull(s, e, ref);
    else if (e->operation == WIRE_LOCALIZE)
        serve_localize(s, e, ref);
    else
        serve_write(s, e, ref);
}
