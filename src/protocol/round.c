#include "protocol/round.h"

#include "protocol/replica.h"
#include "protocol/location.h"
#include "protocol/owner.h"
#include "base/error.h"

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

void rounds_queue_entry(struct shard *s, struct record *r, unsigned node, enum rounds_class class)
{
    struct peer_round *p = &s->rounds.peer[node];
    if (r->queued & class) return;
    r->queued |= class;
    list_push(s, class == ROUNDS_URGENT ? &p->urgent : &p->lazy, r->index);
    note_peer(s, node);
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
        size_t more = entries_emit(s, r, peer, class);
        bytes += more;
        if (!more) entries_settle(s, r);
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
        if (owner_poke(s, r, peer)) bytes += entries_exchange_bytes(0, shard_spot(s, r->index).part->length);
        entries_settle(s, r);
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
    struct record *r = shard_is_full(s) ? record_get(&s->records, index) : record_find(&s->records, index);
    if (!r) return; /* it is a replica, or has some, no longer */
    if (l.is_here) {
        if (r->holders > 0 || shard_is_full(s)) owner_changed(s, r);
        return;
    }
    if (l.is_replica) entries_changed(s, r, l.owner);
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
    if (!entries_are_answered(s)) return false;
    if (kind == REQUEST_SETTLE_UPDATES) return all_peers(s, has_no_lazy);
    return entries_replicas_are_exact(s) && all_peers(s, has_no_refresh);
}

static bool settles_replicas(const struct shard *s)
{
    for (unsigned w = 0; w < s->workers; w++)
        if (s->rounds.settle[w] && s->rounds.settle[w]->kind == REQUEST_SETTLE_REPLICAS) return true;
    return false;
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
    if (all->settles > 0 && settles_replicas(s)) entries_ask_for_rounded(s);
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

void rounds_frame_begins(struct shard *s)
{
    s->rounds.ended_one = false;
}

void rounds_served(struct shard *s, uint64_t cpu_ns, uint64_t bytes)
{
    governor_served(&s->rounds.governor, s->now_ns, cpu_ns, s->rounds.ended_one, bytes);
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

uint32_t rounds_patience_us(const struct shard *s, unsigned eighths)
{
    uint64_t us = s->rounds.takes_along ? governor_eighths_us(&s->rounds.governor, eighths) : 0;
    return (uint32_t)(us < WIRE_PATIENCE_US_MAX ? us : WIRE_PATIENCE_US_MAX);
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
    free(all->peer);
    free(all->soon);
    free(all->later);
    free(all->window);
    free(all->settle);
}
