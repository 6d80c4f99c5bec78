#include "protocol/round.h"

#include "base/error.h"
#include "intents/intents.h"
#include "intents/pacer.h"
#include "protocol/clocks.h"
#include "protocol/owner.h"
#include "protocol/replica.h"
#include "protocol/saves.h"
#include "protocol/woken.h"
#include "store/row.h"

#include <errno.h>
#include <stdlib.h>

/* The lookaheads of all workers are computed again this often at most. */
#define LOOKAHEADS_PAUSE_NS UINT64_C(100000)

/* lookahead_quantile(2 * 1) */
enum { LOOKAHEAD_OF_A_CLOCK = 9 };

/* ---- rounds ---- */

enum { FETCHED_TOGETHER = 32 };

static void fetch_key(const struct shard *s, uint64_t index)
{
    record_fetch(&s->records, index);
    word_fetch(shard_row_ref(s, index));
}

/* The state of the next keys of the list is prefetched together; also their rows, because most lazy
 * keys have updates. */
static void fetch_next(struct shard *s, const struct index_list *l, bool rows)
{
    size_t end = l->first + FETCHED_TOGETHER < l->count ? l->first + FETCHED_TOGETHER : l->count;
    for (size_t i = l->first; i < end; i++) fetch_key(s, l->index[i]);
    for (size_t i = l->first; i < end; i++) {
        record_fetch_found(&s->records, l->index[i]);
        if (rows) row_fetch_found(shard_row_ref(s, l->index[i]));
    }
    for (size_t i = l->first; i < end; i++) record_fetch_holders(&s->records, l->index[i]);
}

static size_t emit_syncs(struct shard *s, unsigned peer, struct index_list *l,
                         enum backlog_class class, size_t bytes)
{
    size_t all = list_length(l);
    for (size_t i = 0; i < all && bytes < s->rounds->capacity; i++) {
        if (i % FETCHED_TOGETHER == 0) fetch_next(s, l, class == BACKLOG_LAZY);
        struct record *r = record_find(&s->records, list_pop(s->backlog, l));
        if (!r || !(r->queued & class)) continue;
        r->queued &= (uint8_t) ~class;
        size_t more = replica_emit(s, r, peer, class);
        bytes += more;
        if (!more) shard_wake(s, r, WOKEN_REPLICA);
        woken_consider(s);
    }
    return bytes;
}

static size_t emit_refreshes(struct shard *s, unsigned peer, size_t bytes)
{
    struct index_list *l = &s->backlog->peer[peer].refresh;
    size_t before = bytes;
    for (size_t i = 0; list_length(l) > 0 && bytes < s->rounds->capacity; i++) {
        if (i % FETCHED_TOGETHER == 0) fetch_next(s, l, true);
        struct record *r = record_find(&s->records, list_pop(s->backlog, l));
        s->backlog->peer[peer].refreshes_left++;
        if (r) bytes += owner_refresh(s, r, peer);
    }
    s->rounds->peer[peer].refreshes = bytes > before;
    return bytes;
}

static size_t emit_recalls(struct shard *s, unsigned peer, size_t bytes)
{
    struct index_list *l = &s->backlog->peer[peer].recall;
    for (size_t n = list_length(l); n > 0 && bytes < s->rounds->capacity; n--) {
        struct record *r = record_find(&s->records, list_pop(s->backlog, l));
        r->queued &= (uint8_t)~BACKLOG_RECALL;
        if (owner_recall(s, r, peer))
            bytes += replica_exchange_bytes(0, shard_row_ref(s, r->index).partition->stored);
        shard_wake(s, r, WOKEN_REPLICA);
        woken_consider(s);
    }
    return bytes;
}

static bool wants_round(const struct shard *s, const struct peer_backlog *p, bool sync)
{
    if (p->is_under_way) return false;
    if (p->owes && s->quiescing > 0) return true; /* one that only follows the rows */
    return backlog_is_urgent(s, p) || ((sync || p->goes_on) && backlog_waits(p));
}

/* Writes what the peer shall hear. Returns its bytes, those of the answers included. */
static size_t emit(struct shard *s, unsigned peer, bool all)
{
    struct peer_backlog *b = &s->backlog->peer[peer];
    size_t bytes = emit_syncs(s, peer, &b->urgent, BACKLOG_URGENT, 0);
    bytes = emit_recalls(s, peer, bytes);
    s->rounds->peer[peer].refreshes = false;
    if (!all) return bytes;
    bytes = emit_syncs(s, peer, &b->lazy, BACKLOG_LAZY, bytes);
    return emit_refreshes(s, peer, bytes);
}

static void begin_round(struct shard *s, unsigned peer, bool sync)
{
    struct peer_round *p = &s->rounds->peer[peer];
    struct peer_backlog *b = &s->backlog->peer[peer];
    bool all = sync || b->goes_on;
    s->backlog->intents = 0;
    size_t bytes = emit(s, peer, all);
    s->rounds->going_on -= b->goes_on;
    b->goes_on = all && backlog_waits(b);
    s->rounds->going_on += b->goes_on;
    if (bytes == 0 && !(b->owes && s->quiescing > 0)) return;
    if (all) s->rounds->sync_bytes += bytes;
    if (s->backlog->intents && !s->plan->lab.is_immediate)
        pacer_carries(s->pacer, s->backlog->intents, s->rounds->instead_of);
    b->is_under_way = true;
    p->refreshes |= b->owes;
    b->owes = false;
    p->began_ns = s->now_ns;
    p->begun = ++s->rounds->begun;
    shard_send(s, peer, WIRE_ROUND, ++p->number, 0);
    for (unsigned w = 0; w < s->workers; w++) p->lookahead[w].at_start = shard_clock(s, w);
    shard_count(&s->counters.rounds, 1);
}

const char *round_end(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    unsigned peer = a->peer;
    struct peer_round *p = &s->rounds->peer[peer];
    if (e->operation == WIRE_ROUND) {
        shard_send(s, peer, WIRE_ROUND_DONE, e->round, 0);
        return NULL;
    }
    if (!s->backlog->peer[peer].is_under_way || e->round != p->number)
        return "the acknowledgement of a round that is not under way";
    s->backlog->peer[peer].is_under_way = false;
    p->refreshes = false;
    clocks_round_over(s, peer);
    p->ended_ns = s->now_ns;
    histogram_add(&s->histograms.round, s->now_ns - p->began_ns);
    backlog_note(s, peer);
    for (unsigned w = 0; w < s->workers; w++) lookahead_end(&p->lookahead[w], shard_clock(s, w));
    s->rounds->lookaheads_changed = true;
    return NULL;
}

static void forget_list(struct shard *s, struct index_list *l, enum backlog_class class)
{
    while (list_length(l) > 0)
        record_find(&s->records, list_pop(s->backlog, l))->queued &= (uint8_t) ~class;
}

void round_forget(struct shard *s, unsigned peer)
{
    struct peer_backlog *b = &s->backlog->peer[peer];
    forget_list(s, &b->urgent, BACKLOG_URGENT);
    forget_list(s, &b->lazy, BACKLOG_LAZY);
    forget_list(s, &b->recall, BACKLOG_RECALL);
    while (list_length(&b->refresh) > 0) list_pop(s->backlog, &b->refresh);
    s->rounds->going_on -= b->goes_on;
    b->is_under_way = b->goes_on = b->owes = false;
    b->refreshes_left = b->refreshes_queued;
    backlog_note(s, peer);
}

/* ---- turns ---- */

/* A dirty key: a replica that has updates, or a main copy that its holders have not got, or that is
 * to be saved. One without holders stays dirty until it is. */
static void note_change(struct shard *s, uint64_t index)
{
    struct row_ref ref = shard_row_ref(s, index);
    struct location l = location_of(s, ref);
    if (l.is_here) saves_changed(s, index);
    struct record *r = shard_is_full(s) ? record_get(&s->records, index)
                                        : record_find(&s->records, index);
    if (!r) return; /* it is a replica, or has some, no longer */
    if (l.is_here) {
        if (r->holders > 0 || shard_is_full(s)) owner_changed(s, r);
        return;
    }
    if (l.is_replica) replica_changed(s, r, l.owner);
}

struct changes {
    struct shard *shard;
    unsigned count;
    uint64_t index[FETCHED_TOGETHER];
};

static void note_changes(struct changes *c)
{
    for (unsigned i = 0; i < c->count; i++) record_fetch_found(&c->shard->records, c->index[i]);
    for (unsigned i = 0; i < c->count; i++) record_fetch_holders(&c->shard->records, c->index[i]);
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

void round_take_changes(struct shard *s)
{
    struct changes c = {.shard = s, .count = 0};
    dirty_set_take(s->dirty, add_change, &c);
    note_changes(&c);
}

static void update_lookaheads(struct shard *s)
{
    struct rounds *all = s->rounds;
    if (!all->lookaheads_changed || s->now_ns - all->lookaheads_ns < LOOKAHEADS_PAUSE_NS) return;
    all->lookaheads_changed = false;
    all->lookaheads_ns = s->now_ns;
    for (unsigned w = 0; w < s->workers; w++) {
        locus_clock widest = 0;
        for (unsigned peer = 0; peer < s->nodes; peer++) {
            const struct peer_round *p = &all->peer[peer];
            if (!p->ended_ns || s->now_ns - p->ended_ns > LOOKAHEAD_MEMORY_NS) continue;
            if (p->lookahead[w].lookahead > widest) widest = p->lookahead[w].lookahead;
        }
        if (widest) all->lookahead[w] = widest; /* after a pause the last one stands */
    }
    margin_adjust(&s->margin);
}

static bool dirty_rows_wait(const struct shard *s)
{
    return s->dirty && !dirty_set_is_empty(s->dirty);
}

static bool dirty_is_due(const struct shard *s)
{
    return dirty_rows_wait(s) && (s->now_ns >= s->rounds->dirty_ns || s->quiescing > 0);
}

/* README.md, Quiesce: first our updates are in the main copies, then our rows are in all
 * replicas. */
static bool is_flushed(const struct shard *s, enum request_kind kind)
{
    bool updates_alone = kind == REQUEST_FLUSH_UPDATES;
    if (dirty_rows_wait(s)) return false;
    if (s->replicas->awaited > 0) return false;
    if (s->replicas->orphans > 0) return false;
    if (!updates_alone && !replica_are_exact(s)) return false;
    for (unsigned peer = 0; peer < s->nodes; peer++) {
        const struct peer_backlog *b = &s->backlog->peer[peer];
        bool has_updates = list_length(&b->lazy) > 0 || list_length(&b->recall) > 0;
        bool has_refreshes = list_length(&b->refresh) > 0 || b->owes ||
                             (b->is_under_way && s->rounds->peer[peer].refreshes);
        if (updates_alone ? has_updates : has_refreshes) return false;
    }
    return true;
}

static bool flushes_replicas(const struct shard *s)
{
    for (unsigned w = 0; w < s->workers; w++) {
        const struct request *r = s->rounds->flush[w].request;
        if (r && r->kind == REQUEST_FLUSH_REPLICAS) return true;
    }
    return false;
}

static bool awaits_interval(const struct shard *s, unsigned worker)
{
    const struct flush *f = &s->rounds->flush[worker];
    return f->request && f->request->kind == REQUEST_FLUSH_EARLIER && f->interval == 0;
}

/* Can the changes be told that are to be flushed from whatever comes after them? */
static bool can_divide_for_flushes(const struct shard *s)
{
    if (s->quiescing == 0 || !clocks_may_divide(s)) return false;
    for (unsigned w = 0; w < s->workers; w++)
        if (awaits_interval(s, w)) return true;
    return false;
}

static void divide_for_flushes(struct shard *s)
{
    if (dirty_rows_wait(s)) round_take_changes(s);
    uint64_t interval = clocks_divide(s);
    for (unsigned w = 0; w < s->workers; w++)
        if (awaits_interval(s, w)) s->rounds->flush[w].interval = interval;
}

/* An update goes to the main copy, not by way of another node: when the round is over that took it
 * along, it is there. */
static bool is_earlier_flushed(struct shard *s, struct flush *f)
{
    if (f->interval == 0 || !clocks_is_sent(s, f->interval)) return false;
    if (!f->is_sent) f->round = s->rounds->begun;
    f->is_sent = true;
    for (unsigned peer = 0; peer < s->nodes; peer++)
        if (s->backlog->peer[peer].is_under_way && s->rounds->peer[peer].begun <= f->round)
            return false;
    return true;
}

static void complete_flushed(struct shard *s)
{
    for (unsigned w = 0; w < s->workers && s->quiescing > 0; w++) {
        struct flush *f = &s->rounds->flush[w];
        struct request *r = f->request;
        if (!r) continue;
        bool is_earlier = r->kind == REQUEST_FLUSH_EARLIER;
        if (!(is_earlier ? is_earlier_flushed(s, f) : is_flushed(s, r->kind))) continue;
        f->request = NULL;
        s->quiescing--;
        shard_complete(s, r);
    }
}

/* Costs what there is to say, not what peers there are. */
static void begin_rounds(struct shard *s, bool sync)
{
    if (sync && dirty_rows_wait(s)) round_take_changes(s);
    for (unsigned word = 0; word < backlog_words(s); word++) {
        uint64_t bits = s->backlog->soon[word] | (sync ? s->backlog->later[word] : 0);
        for (; bits; bits &= bits - 1) {
            unsigned peer = word * 64 + (unsigned)__builtin_ctzll(bits);
            if (wants_round(s, &s->backlog->peer[peer], sync)) begin_round(s, peer, sync);
            backlog_note(s, peer);
        }
    }
}

/* Is there something that need wait for nothing but a turn? */
static bool peers_wait(const struct shard *s)
{
    for (unsigned word = 0; word < backlog_words(s); word++)
        if (s->backlog->soon[word]) return true;
    return false;
}

static void say_what_waits(struct shard *s, bool sync)
{
    struct pacer *p = s->pacer;
    bool counts = sync || s->rounds->going_on > 0;
    uint64_t began = counts ? s->platform->cpu_ns(s->platform->context) : 0,
             before = s->counters.rounds;
    begin_rounds(s, sync);
    uint64_t rounds = s->counters.rounds - before;
    if (rounds > 0 && counts)
        pacer_spent(p, s->platform->cpu_ns(s->platform->context) - began, rounds,
                    s->rounds->sync_bytes);
    if (rounds > 0) s->rounds->sync_bytes = 0;
    if (!sync) return;
    if (rounds > 0) pacer_pause(p, s->platform->now_ns(s->platform->context), s->clock);
    s->rounds->dirty_ns = s->backlog->puts_off ? s->now_ns + pacer_recent_ns(p) : 0;
    s->backlog->puts_off = false;
}

/* Will this turn, for something that need not be said at once? */
static bool will_synchronize(const struct shard *s)
{
    if (!pacer_allows(s->pacer, s->now_ns)) return false;
    if (dirty_is_due(s)) return true;
    if (s->backlog->waiting == 0) return false; /* peers may be owed rounds all the same */
    for (unsigned word = 0; word < backlog_words(s); word++) {
        for (uint64_t bits = s->backlog->later[word]; bits; bits &= bits - 1) {
            if (backlog_waits(&s->backlog->peer[word * 64 + (unsigned)__builtin_ctzll(bits)]))
                return true;
        }
    }
    return false;
}

void round_quiesce(struct shard *s, struct request *r)
{
    INVARIANT(!s->rounds->flush[r->worker].request, "a worker quiesces twice at once");
    s->rounds->flush[r->worker] = (struct flush){.request = r};
    s->quiescing++;
}

uint64_t round_turn(struct shard *s)
{
    struct rounds *all = s->rounds;
    update_lookaheads(s);
    if (s->quiescing > 0 && flushes_replicas(s)) replica_ask_for_inexact(s);
    if (clocks_want_changes(s)) {
        copies_fold_all(s->store); /* a worker may have said its clock since, and go on */
        if (dirty_rows_wait(s)) round_take_changes(s);
        clocks_have_changes(s);
    }
    if (can_divide_for_flushes(s)) divide_for_flushes(s);
    bool waits = s->backlog->waiting > 0 || s->quiescing > 0 || dirty_is_due(s);
    bool sync = pacer_allows(s->pacer, s->now_ns) || s->quiescing > 0 || clocks_hurry(s);
    if (waits) say_what_waits(s, sync);
    if (s->quiescing > 0) complete_flushed(s);
    clocks_say(s, s->replicas->orphans == 0);
    /* What was added to the dirty set, or queued for another peer, during this turn is handled in
     * the next: nothing else wakes us for it. */
    s->dirty_seen = dirty_rows_wait(s);
    if (peers_wait(s) || clocks_have_news(s) || can_divide_for_flushes(s)) return s->now_ns;
    if (s->backlog->waiting == 0 && !s->dirty_seen) return UINT64_MAX;
    if (!pacer_allows(s->pacer, s->now_ns)) return s->pacer->due_ns;
    if (will_synchronize(s)) return s->now_ns;
    return s->dirty_seen ? all->dirty_ns : UINT64_MAX;
}

/* How many rounds does a round with piggybacking intents replace? Without them a round would have
 * begun with each clock, or at the end of the one before. If that takes a clock, the lookahead is
 * LOOKAHEAD_OF_A_CLOCK. */
static unsigned round_in_a_pause(const struct shard *s)
{
    locus_clock most = 1;
    for (unsigned w = 0; w < s->workers; w++) {
        locus_clock a_round = s->rounds->lookahead[w] / LOOKAHEAD_OF_A_CLOCK;
        locus_clock pause = pacer_ahead(s->pacer, w, shard_clock(s, w)) / PACER_AHEAD_PAUSES;
        locus_clock rounds = pause / (a_round > 1 ? a_round : 1);
        if (rounds > most) most = rounds;
    }
    return most < PACER_JUDGED_ROUNDS ? (unsigned)most : PACER_JUDGED_ROUNDS;
}

void round_decide_lookaheads(struct shard *s)
{
    s->pacer->piggybacks = pacer_piggybacks(s->pacer) && will_synchronize(s);
    s->rounds->instead_of = s->pacer->piggybacks ? round_in_a_pause(s) : 1;
    bool at_once = s->plan->lab.is_immediate;
    for (unsigned w = 0; w < s->intents->workers; w++) {
        s->intents->worker[w].lookahead = at_once ? INT64_MAX
                                                  : margin_of(&s->margin, s->rounds->lookahead[w]);
        s->intents->worker[w].ahead =
            at_once || !s->pacer->piggybacks ? 0 : pacer_ahead(s->pacer, w, shard_clock(s, w));
    }
}

/* ---- life ---- */

/* With many nodes each node has a round under way to each other one. Rounds wait for one another,
 * and the size of all of them together determines the age of replicas. Between two nodes large
 * rounds are better, because they wait for a processor and not for other rounds. */
static size_t capacity_of_round(unsigned nodes)
{
    size_t others = nodes > 1 ? nodes - 1 : 1, capacity = ROUND_BYTES_MAX / (others * others);
    return capacity > ROUND_BYTES_MIN ? capacity : ROUND_BYTES_MIN;
}

int round_init(struct shard *s)
{
    struct rounds *all = s->rounds = calloc(1, sizeof *all);
    margin_init(&s->margin, s->pacer->has_own_core && !s->technique->rows_follow);
    if (!all) return -ENOMEM;
    all->capacity = capacity_of_round(s->nodes);
    all->instead_of = 1;
    all->peer = calloc(s->nodes, sizeof *all->peer);
    all->lookahead = calloc(s->workers, sizeof *all->lookahead);
    all->flush = calloc(s->workers, sizeof *all->flush);
    if (!all->peer || !all->lookahead || !all->flush) return -ENOMEM;
    for (unsigned w = 0; w < s->workers; w++)
        all->lookahead[w] = lookahead_quantile(2 * LOOKAHEAD_FIRST_RATE);
    for (unsigned peer = 0; peer < s->nodes; peer++) {
        struct lookahead *l = all->peer[peer].lookahead = calloc(s->workers, sizeof *l);
        if (!l) return -ENOMEM;
        for (unsigned w = 0; w < s->workers; w++) lookahead_init(&l[w]);
    }
    return 0;
}

void round_fini(struct shard *s)
{
    struct rounds *all = s->rounds;
    if (!all) return;
    for (unsigned peer = 0; all->peer && peer < s->nodes; peer++) free(all->peer[peer].lookahead);
    free(all->peer);
    free(all->lookahead);
    free(all->flush);
    free(all);
    s->rounds = NULL;
}
