#include "protocol/saves.h"

#include "protocol/loss.h"
#include "protocol/once.h"

#include <errno.h>
#include <stdlib.h>

enum { STRAYS_SWEEPS = 2 }; /* until they are dropped */

/* ---- saves of others ---- */

static void drop(struct shard *s, struct row_ref ref)
{
    struct saved *c = &s->saves->of[ref.index];
    if (c->place) mover_free(&s->mover, ref.partition, c->place - 1);
    if (c->place) *c = (struct saved){0};
}

static void put(struct shard *s, struct row_ref ref, uint64_t term, uint64_t version, uint64_t slot)
{
    struct saved *c = &s->saves->of[ref.index];
    memory_touched(s->saves->of, s->saves->of_bytes, c, sizeof *c);
    *c = (struct saved){.term = term, .version = (uint32_t)version, .place = (uint32_t)slot + 1};
}

/* Space for the values of a save; with `length` 0 it says: forget yours. NULL: no link. */
static float *say_save(struct shard *s, struct row_ref ref, unsigned owner, unsigned to,
                       uint64_t term, uint64_t version, uint32_t length)
{
    struct wire_entry *e = shard_entry(
        s, to,
        (struct wire_entry){.operation = WIRE_SAVE,
                            .owner = (uint16_t)owner,
                            .origin = (uint16_t)s->rank,
                            .length = length,
                            .key = keyspace_key(&s->store->keyspace, s->number, ref.index),
                            .term = term,
                            .version = version},
        0);
    return e ? wire_values(e) : NULL;
}

const char *saves_take(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (!s->saves) return "a save where the loss of a node ends the job";
    if (e->version > UINT32_MAX) return "a save of no possible version";
    const struct saved *c = &s->saves->of[a->ref.index];
    bool is_later = e->term > c->term || (e->term == c->term && e->version > c->version);
    if ((c->place && !is_later) || location_of(s, a->ref).is_here) return NULL;
    /* readers may still see the slot of a row that was given away */
    if (e->length == 0 || c->version == 0) drop(s, a->ref);
    if (e->length == 0) return NULL;
    uint64_t slot = c->place ? c->place - 1 : SLAB_NONE;
    while ((slot = row_save(a->ref, slot, wire_values_const(e))) == SLAB_NONE)
        mover_make_room(&s->mover);
    put(s, a->ref, e->term, e->version, slot);
    return NULL;
}

/* ---- rows that move ---- */

void saves_came(struct shard *s, struct row_ref ref, unsigned from)
{
    drop(s, ref);
    bitset_add(&s->saves->unsaved, ref.index);
    if (from == s->rank) return;
    s->saves->peer[from].received++;
    s->saves->came++;
}

static void push(struct saves_peer *p, struct given given)
{
    if (p->count == p->capacity && p->first > p->capacity / 2) {
        p->count -= p->first;
        memmove(p->given, p->given + p->first, p->count * sizeof *p->given);
        p->first = 0;
    }
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 64;
        p->given = realloc(p->given, p->capacity * sizeof *p->given);
        INVARIANT(p->given != NULL, "no memory for a list of rows that were given away");
    }
    p->given[p->count++] = given;
}

void saves_keep(struct shard *s, struct row_ref ref, unsigned to, uint64_t term)
{
    if (s->mover.kept != SLAB_NONE) put(s, ref, term, 0, s->mover.kept);
    s->mover.kept = SLAB_NONE;
    push(&s->saves->peer[to], (struct given){ref.index, term});
    shard_count(&s->counters.rows_kept, 1);
}

static bool is_kept(const struct shard *s, const struct given *g)
{
    const struct saved *c = &s->saves->of[g->index];
    return c->place && c->term == g->term && c->version == 0;
}

/* The receiver has saved it. At its home it stays, as the save that it is, and what the home saved
 * itself before is of no use any more. */
static void forget(struct shard *s, unsigned peer, const struct given *g)
{
    struct row_ref ref = shard_row_ref(s, g->index);
    unsigned heir = loss_heir(s->losses, ref);
    if (row_ref_home(ref) != s->rank) {
        if (is_kept(s, g)) drop(s, ref);
    } else if (heir != peer) {
        say_save(s, ref, peer, heir, g->term, 0, 0);
    }
}

/* ---- sweeps ---- */

static void say(struct shard *s, unsigned peer, uint8_t flags, uint32_t batch, uint64_t count)
{
    const uint16_t rank = (uint16_t)s->rank;
    shard_entry(s, peer,
                (struct wire_entry){.operation = WIRE_SAVED,
                                    .owner = rank,
                                    .origin = rank,
                                    .flags = flags,
                                    .round = batch,
                                    .clock = (int64_t)count},
                0);
}

static bool is_empty(const struct bitset *b)
{
    return bitset_lowest(b) == BITSET_NONE;
}

static unsigned guardian(const struct shard *s, struct row_ref ref)
{
    unsigned home = row_ref_home(ref);
    return home == s->rank ? loss_heir(s->losses, ref) : home;
}

/* Cleaned first: who changes the row after that makes it dirty anew. */
static size_t save(struct shard *s, uint64_t index)
{
    struct saves *v = s->saves;
    struct row_ref ref = shard_row_ref(s, index);
    if (!location_of(s, ref).is_here) return 0; /* its new owner saves it */
    row_clean(ref);
    directory_word w = row_word(ref);
    if (!row_word_is_written(ref, w)) return 0;
    unsigned to = guardian(s, ref);
    once_tell(s, to);
    float *values = say_save(s, ref, s->rank, to, s->records.state[index].term, v->sweep,
                             ref.partition->stored);
    if (!values) return 0;
    row_read_version(ref, values, &w);
    v->peer[to].has_some = true;
    size_t bytes = wire_entry_bytes(ref.partition->stored);
    shard_count(&s->counters.saves, 1);
    shard_count(&s->counters.saved_bytes, bytes);
    v->bytes += bytes;
    return bytes;
}

#ifdef LOCUS_FIBERS
enum { FETCHED_TOGETHER = 2, BATCH_BYTES = 1 }; /* simulations have few rows */
#else
enum { FETCHED_TOGETHER = 32, BATCH_BYTES = 1 << 18 };
#endif

static size_t save_some(struct shard *s)
{
    uint64_t index[FETCHED_TOGETHER], next;
    unsigned n = 0;
    size_t bytes = 0;
    while (n < FETCHED_TOGETHER && (next = bitset_lowest(&s->saves->taken)) != BITSET_NONE) {
        bitset_remove(&s->saves->taken, next);
        word_fetch(shard_row_ref(s, next));
        index[n++] = next;
    }
    for (unsigned i = 0; i < n; i++) row_fetch_found(shard_row_ref(s, index[i]));
    for (unsigned i = 0; i < n; i++) bytes += save(s, index[i]);
    return bytes;
}

/* Behind the last batch all are asked that rows were given to: what they have acknowledged they
 * have received. */
static void say_batch(struct shard *s)
{
    struct saves *v = s->saves;
    uint64_t began_ns = s->platform->cpu_ns(s->platform->context);
    for (size_t bytes = 0; bytes < BATCH_BYTES && !is_empty(&v->taken);) bytes += save_some(s);
    v->batch++;
    for (unsigned n = 0; n < s->nodes; n++) {
        struct saves_peer *p = &v->peer[n];
        if (!p->has_some && !(is_empty(&v->taken) && p->first < p->count)) continue;
        p->has_some = false;
        p->asked = v->batch;
        v->awaited++;
        say(s, n, WIRE_BEGIN, v->batch, v->age.here_ns);
    }
    v->cpu_ns += s->platform->cpu_ns(s->platform->context) - began_ns;
}

static void begin(struct shard *s)
{
    struct saves *v = s->saves;
    const struct bitset empty = v->taken;
    v->taken = v->unsaved;
    v->unsaved = empty;
    v->is_sweeping = true;
    v->sweep++;
    v->began_ns = s->now_ns;
    v->cpu_ns = v->bytes = v->came = 0;
    for (unsigned n = 0; n < s->nodes; n++) v->peer[n].before = v->peer[n].received;
    say_batch(s);
}

static void tell_platform(struct shard *s)
{
    uint32_t view = s->saves->covers;
    s->saves->covers = 0;
    if (view && s->platform->repaired) s->platform->repaired(s->platform->context, view);
}

static uint64_t sent_bytes(const struct shard *s)
{
    return s->platform->sent ? s->platform->sent(s->platform->context) : 0;
}

static void set_due(struct saves *v, uint64_t due_ns)
{
    v->due_ns = due_ns;
    __atomic_store_n(&v->age.here_ns, due_ns - v->began_ns + v->took_ns, __ATOMIC_RELAXED);
}

static void drop_strays(struct shard *s)
{
    for (uint64_t index = 0; index < s->records.keys; index++)
        if (s->saves->of[index].is_stray) drop(s, shard_row_ref(s, index));
}

static void end(struct shard *s)
{
    struct saves *v = s->saves;
    uint64_t least_ns = v->began_ns + SAVES_PAUSE_NS,
             share_ns = s->now_ns + SAVES_PAUSES * v->cpu_ns;
    v->is_sweeping = false;
    v->took_ns = s->now_ns - v->began_ns;
    v->sent_before = sent_bytes(s);
    set_due(v, share_ns > least_ns ? share_ns : least_ns);
    for (unsigned n = 0; n < s->nodes; n++)
        if (v->peer[n].before > 0) say(s, n, 0, 0, v->peer[n].before);
    shard_count(&s->counters.sweeps, 1);
    if (v->strays > 0 && --v->strays == 0) drop_strays(s);
    tell_platform(s);
}

static bool too_many_came(const struct shard *s)
{
    uint64_t keys = s->records.keys;
    return s->saves->came >= (keys > SAVES_CAME_MIN ? keys : SAVES_CAME_MIN);
}

/* For what else is sent. */
static bool can_wait(const struct shard *s)
{
    const struct saves *v = s->saves;
    if (v->bytes <= SAVES_FEW_BYTES || s->now_ns >= v->began_ns + SAVES_AGE_NS) return false;
    return s->platform->sent && v->due_ns > 0 && !too_many_came(s) &&
           (sent_bytes(s) - v->sent_before) * SAVES_PERCENT < v->bytes * 100;
}

uint64_t saves_turn(struct shard *s)
{
    struct saves *v = s->saves;
    if (!v || v->awaited > 0 || s->losses->members == 1) return UINT64_MAX;
    if (!v->is_sweeping) {
        if (!v->covers && !v->strays && is_empty(&v->unsaved)) return UINT64_MAX;
        if (s->now_ns < v->due_ns && !too_many_came(s)) return v->due_ns;
        if (can_wait(s)) {
            set_due(v, s->now_ns + SAVES_PAUSE_NS);
            return v->due_ns;
        }
        begin(s);
    }
    while (v->awaited == 0 && !is_empty(&v->taken)) say_batch(s);
    if (v->awaited > 0) return UINT64_MAX;
    end(s);
    return is_empty(&v->unsaved) && !v->strays ? UINT64_MAX : v->due_ns;
}

const char *saves_heard(struct shard *s, const struct arrival *a)
{
    const struct wire_entry *e = a->entry;
    if (!s->saves) return "a sweep where the loss of a node ends the job";
    struct saves_peer *p = &s->saves->peer[a->peer];
    if (e->flags & WIRE_BEGIN) {
        p->age_ns = (uint64_t)e->clock;
        say(s, a->peer, WIRE_END, e->round, 0);
        return NULL;
    }
    if (e->flags & WIRE_END) {
        if (p->asked == 0 || p->asked != e->round)
            return "the acknowledgement of no batch of saves";
        p->asked = 0;
        s->saves->awaited--;
        return NULL;
    }
    uint64_t count = (uint64_t)e->clock;
    if (count < p->forgotten || count - p->forgotten > p->count - p->first)
        return "more rows are saved than were given";
    for (; p->forgotten < count; p->forgotten++) forget(s, a->peer, &p->given[p->first++]);
    return NULL;
}

/* ---- a node was lost ---- */

/* The lost node may have given it on, and will not say that it is saved. The home may be lost, too. */
static void hand_over(struct shard *s, const struct given *g)
{
    struct row_ref ref = shard_row_ref(s, g->index);
    unsigned home = loss_home(s, ref);
    if (row_ref_home(ref) == s->rank) forget(s, s->losses->change.node, g);
    if (!is_kept(s, g) || home == s->rank) return;
    once_tell(s, home);
    float *values =
        say_save(s, ref, s->losses->change.node, home, g->term, 0, ref.partition->stored);
    if (values) floats_copy(values, saves_row(s, ref), ref.partition->stored);
    s->saves->of[ref.index].is_stray = true;
    s->saves->strays = STRAYS_SWEEPS;
}

/* A home is lost, and the next one may have no save yet: that one was to get it from us, or a node has
 * joined. */
static void give_strays(struct shard *s)
{
    for (uint64_t index = 0; index < s->records.keys; index++) {
        const struct saved *c = &s->saves->of[index];
        struct row_ref ref = shard_row_ref(s, index);
        unsigned home = loss_home(s, ref), lost = s->losses->change.node;
        if (!c->place || home == s->rank || home == row_ref_home(ref)) continue;
        float *values = say_save(s, ref, lost, home, c->term, c->version, ref.partition->stored);
        if (values) floats_copy(values, saves_row(s, ref), ref.partition->stored);
    }
}

/* Nobody there will say that it has saved, or waits for it. */
static void forget_peer(struct saves_peer *p)
{
    *p = (struct saves_peer){.given = p->given, .capacity = p->capacity};
}

void saves_repair(struct shard *s)
{
    struct saves *v = s->saves;
    struct saves_peer *p = &v->peer[s->losses->change.node]; /* who joins has none of it */
    bool is_lost = !loss_is_leave(s->losses), /* else it answers, and saves what it has */
        has_strays = v->strays > 0;
    while (is_lost && p->first < p->count) hand_over(s, &p->given[p->first++]);
    if (!loss_is_join(s->losses))
        __atomic_store_n(&v->age.lost_ns, is_lost ? p->age_ns : 0, __ATOMIC_RELAXED);
    v->awaited -= is_lost && p->asked != 0;
    if (is_lost) forget_peer(p);
    if (loss_is_join(s->losses))
        v->strays = STRAYS_SWEEPS;
    else if (has_strays)
        give_strays(s);
    v->is_sweeping = false; /* others gave up what they keep only behind a sweep that ended */
    for (uint64_t i; (i = bitset_lowest(&v->taken)) != BITSET_NONE;) {
        bitset_remove(&v->taken, i);
        bitset_add(&v->unsaved, i);
    }
}

uint64_t saves_give_slot(struct shard *s, struct row_ref ref)
{
    struct saved *c = &s->saves->of[ref.index];
    uint64_t slot = c->place - 1;
    *c = (struct saved){0};
    return slot;
}

void saves_claimed(struct shard *s, struct row_ref ref)
{
    unsigned home = loss_home(s, ref),
             next = home == s->rank ? loss_next_heir(s->losses, ref) : home;
    if (guardian(s, ref) != next) bitset_add(&s->saves->unsaved, ref.index);
}

bool saves_all(struct shard *s)
{
    struct saves *v = s->saves;
    do {
        v->due_ns = 0;
        saves_turn(s);
    } while (v->awaited == 0 && (v->is_sweeping || !is_empty(&v->unsaved)));
    return v->awaited == 0;
}

void saves_pass(struct shard *s)
{
    struct saves *v = s->saves;
    for (uint64_t index = 0; index < s->records.keys; index++) {
        if (!v->of[index].place) continue;
        struct row_ref ref = shard_row_ref(s, index);
        unsigned home = loss_home(s, ref), before = row_ref_home(ref);
        bool was_heir = loss_heir(s->losses, ref) == s->rank,
             is_heir = loss_next_heir(s->losses, ref) == s->rank && home == before;
        if (home != s->rank && (before == s->rank || (was_heir && !is_heir)))
            v->of[index].is_stray = true;
    }
}

void saves_repaired(struct shard *s)
{
    const struct losses *l = s->losses;
    if (loss_is_leave(l)) forget_peer(&s->saves->peer[l->change.node]);
    s->saves->covers = l->change.number;
    s->saves->due_ns = 0;
    if (l->members == 1) tell_platform(s);
}

/* ---- life ---- */

int saves_init(struct shard *s)
{
    if (!s->losses) return 0;
    struct saves *v = s->saves = calloc(1, sizeof *v);
    if (!v) return -ENOMEM;
    uint64_t keys = s->records.keys;
    v->of_bytes = keys * sizeof *v->of;
    v->of = memory_reserve(v->of_bytes);
    v->peer = calloc(s->nodes, sizeof *v->peer);
    s->mover.keeps = true;
    v->age.here_ns = SAVES_PAUSE_NS;
    bool has_sets = bitset_init(&v->unsaved, keys) && bitset_init(&v->taken, keys);
    return v->of && v->peer && has_sets ? 0 : -ENOMEM;
}

void saves_fini(struct shard *s)
{
    struct saves *v = s->saves;
    if (!v) return;
    for (unsigned n = 0; v->peer && n < s->nodes; n++) free(v->peer[n].given);
    free(v->peer);
    memory_release(v->of, v->of_bytes);
    bitset_fini(&v->unsaved);
    bitset_fini(&v->taken);
    free(v);
    s->saves = NULL;
}
