#include "protocol/repair.h"

#include "protocol/clocks.h"
#include "protocol/dispatch.h"
#include "protocol/loss.h"
#include "protocol/once.h"
#include "protocol/origin.h"
#include "protocol/owner.h"
#include "protocol/replica.h"
#include "protocol/round.h"
#include "protocol/saves.h"
#include "protocol/woken.h"

#include <errno.h>
#include <stdlib.h>

/* ---- all keys, all records ---- */

static void each_partition(struct shard *s, void each(struct shard *, struct partition *))
{
    unsigned ranges = s->store->keyspace.ranges;
    for (unsigned i = 0; i < ranges; i++)
        each(s, &s->store->partition[(size_t)s->number * ranges + i]);
}

static void each_record(struct shard *s, void each(struct shard *, struct record *))
{
    for (uint32_t number = 1; number <= s->records.used; number++) {
        struct record *r = record_at(&s->records, number);
        if (s->records.state[r->index].number == number) each(s, r);
    }
}

/* ---- 1: requests wait, and what is here is claimed ---- */

/* No request fits into the credit until it is over. */
static void hold_credit(struct shard *s, bool holds)
{
    size_t held = s->credit_bytes + 1;
    for (unsigned n = 0; n < s->nodes; n++)
        shard_asks(s, n, holds ? s->asked_bytes[n] + held : s->asked_bytes[n] - held);
}

static void note_lost_sender(struct shard *s, struct record *r)
{
    r->is_held = false;
    if (r->parked) parked_drop(s, r);
}

/* Its owner is lost, or the row was on its way to us, and is lost with who gave it if it does not come
 * before the others are through with their first phase. */
static bool may_be_orphan(const struct shard *s, unsigned owner)
{
    return !s->losses->is_member[owner] || owner == s->rank;
}

/* One of zeros that nobody has written has less than any save. */
static void offer(struct shard *s, struct row_ref ref)
{
    const struct record *r = record_find(&s->records, ref.index);
    unsigned home = loss_home(s, ref);
    if (!r || !row_word_is_written(ref, row_word(ref))) return;
    /* an orphan of an earlier loss: the owner may be lost that was to count it */
    if (!may_be_orphan(s, r->owner) && !r->is_orphan) return;
    if (home == s->rank) {
        uint32_t number = s->losses->change.number;
        loss_offer(s, &(struct offer){ref.index, r->term, r->version, number, s->rank});
        return;
    }
    shard_entry(s, home,
                (struct wire_entry){.operation = WIRE_OFFER,
                                    .owner = (uint16_t)s->losses->change.node,
                                    .origin = (uint16_t)s->rank,
                                    .key = keyspace_key(&s->store->keyspace, s->number, ref.index),
                                    .term = r->term,
                                    .version = r->version},
                0);
}

/* A row that nobody has written goes to its new home without a message, which would find nobody who
 * has claimed it: unless a worker is faster. */
static bool give_up(struct shard *s, struct row_ref ref)
{
    const directory_word next = directory_elsewhere(loss_home(s, ref), loss_term(s->losses));
    unsigned spins = 0;
    if (loss_home(s, ref) == s->rank) return false;
    while (!row_take_empty(ref, next)) {
        if (directory_state(directory_load(row_ref_word(ref))) != DIRECTORY_UNTOUCHED) return false;
        spin_wait(&spins);
    }
    if (key_is_wanted(&s->records.state[ref.index])) record_get(&s->records, ref.index);
    shard_count(&s->counters.relocated_out, 1);
    return true;
}

/* Is the row here, to be claimed? */
static bool claim(struct shard *s, struct row_ref ref)
{
    struct location l = location_of(s, ref);
    bool is_untouched = l.is_here && directory_state(row_word(ref)) == DIRECTORY_UNTOUCHED;
    if (is_untouched && give_up(s, ref)) return false;
    if (l.is_here) {
        saves_claimed(s, ref);
        return true;
    }
    if (l.is_replica && !loss_is_join(s->losses)) offer(s, ref);
    return false;
}

/* Of the keys `bits`, from `first` on: those of that home. */
static uint64_t of_home(const struct shard *s, struct row_ref first, uint64_t bits, unsigned home)
{
    uint64_t same = 0;
    for (; bits; bits &= bits - 1) {
        struct row_ref ref = {first.partition, first.index + (unsigned)__builtin_ctzll(bits)};
        if (loss_home(s, ref) == home) same |= bits & -bits;
    }
    return same;
}

/* One message for all of them that have the same home. */
static void say_claims(struct shard *s, struct row_ref first, uint64_t bits)
{
    while (bits) {
        unsigned lowest = (unsigned)__builtin_ctzll(bits);
        struct row_ref ref = {first.partition, first.index + lowest};
        uint64_t same = of_home(s, first, bits, loss_home(s, ref));
        owner_claim(s, ref, same >> lowest >> 1);
        bits &= ~same;
    }
}

static void claim_held(struct shard *s, struct partition *p)
{
    uint64_t first = p->first_bucket, end = first + p->keys;
    for (uint64_t word = first / 64; word * 64 < end; word++) {
        struct row_ref ref = {p, word * 64 + p->first_number};
        uint64_t claimed = 0;
        for (uint64_t bits = partition_held(p, word); bits; bits &= bits - 1) {
            unsigned i = (unsigned)__builtin_ctzll(bits);
            uint64_t number = word * 64 + i;
            if (number >= first && number < end && claim(s, (struct row_ref){p, ref.index + i}))
                claimed |= bits & -bits;
        }
        say_claims(s, ref, claimed);
    }
}

static void tell_members(const struct shard *s, uint32_t number, unsigned phase)
{
    const struct losses *l = s->losses;
    for (unsigned i = 0; i < l->members; i++)
        if (l->member[i] != s->rank) shard_send(s, l->member[i], WIRE_REPAIR, number, phase);
}

static void say_phase(struct shard *s)
{
    struct losses *l = s->losses;
    l->phase++;
    tell_members(s, l->change.number, l->phase);
    if (l->phase == 1 && loss_is_leave(l))
        shard_send(s, l->change.node, WIRE_REPAIR, l->change.number, l->phase);
}

/* ---- 2: what is parked here is not lost ---- */

static void say_held(struct shard *s, struct record *r)
{
    for (const struct parked *p = r->parked; p; p = p->next) {
        const struct wire_entry *e = &p->entry;
        bool is_sync = e->operation == WIRE_SYNC;
        if (e->origin != s->rank)
            shard_entry(s, e->origin,
                        (struct wire_entry){.operation = WIRE_HELD,
                                            .owner = (uint16_t)s->rank,
                                            .origin = e->origin,
                                            .flags = is_sync ? WIRE_BEGIN : 0,
                                            .tag = is_sync ? 0 : e->tag,
                                            .key = e->key},
                        0);
        else if (is_sync)
            r->is_held = true;
        else
            origin_held(s, e);
    }
}

/* ---- 3: what nobody has ---- */

static void find_orphan(struct shard *s, struct record *r)
{
    const struct losses *changed = s->losses;
    struct row_ref ref = shard_row_ref(s, r->index);
    for (unsigned i = 0; i < changed->undecideds; i++)
        if (!changed->is_member[changed->undecided[i]])
            holders_remove(r, ref, changed->undecided[i]);
    if (r->sync && !r->is_held) replica_sync_is_lost(s, r);
    struct location l = location_of(s, ref);
    if (!l.is_replica) return;
    /* we may be the home from now on, and know who has it; of hints of before a join alone keeps any */
    bool is_claimed = l.term >= loss_term(s->losses),
         is_hint_old = !loss_is_join(s->losses) || loss_home(s, ref) != row_ref_home(ref);
    if (may_be_orphan(s, l.owner) || (r->is_orphan && !is_claimed && is_hint_old))
        replica_is_orphaned(s, r, loss_home(s, ref));
    else
        replica_comes_from(s, r, l.owner); /* an orphan of an earlier loss was its home's */
}

static void came_here(struct shard *s, struct row_ref ref)
{
    s->records.state[ref.index].term = loss_term(s->losses);
    record_touched(&s->records, ref.index);
    saves_came(s, ref, s->rank);
    shard_count(&s->counters.relocated_in, 1);
}

static void promote(struct shard *s, const struct offer *o)
{
    struct row_ref ref = shard_row_ref(s, o->index);
    struct location l = location_of(s, ref);
    uint64_t term = loss_term(s->losses);
    bool is_claimed = l.is_here || l.term >= term;
    if (is_claimed || loss_home(s, ref) != s->rank) return;
    /* who has left has saved all of it */
    if (loss_is_leave(s->losses) ? saves_row(s, ref) != NULL
                                 : saves_has_later(s, o->index, o->term))
        return;
    shard_count(loss_is_leave(s->losses) ? &s->counters.rows_handed_over
                                         : &s->counters.rows_from_replicas,
                1);
    if (o->node == s->rank) {
        while (row_promote_as_it_is(&s->mover, ref)) mover_make_room(&s->mover);
        came_here(s, ref);
        replica_row_is_here(s, record_find(&s->records, ref.index), false);
        return;
    }
    location_learn(s, ref, o->node, term);
    shard_entry(s, o->node,
                (struct wire_entry){.operation = WIRE_ROW,
                                    .encoding = WIRE_AS_REPLICA,
                                    .owner = (uint16_t)o->node,
                                    .origin = (uint16_t)s->rank,
                                    .flags = WIRE_BEGIN,
                                    .key = keyspace_key(&s->store->keyspace, s->number, o->index),
                                    .term = term,
                                    .version = o->version},
                0);
}

static void decide_offers(struct shard *s)
{
    struct losses *l = s->losses;
    size_t offers = loss_sort_offers(l);
    for (size_t i = 0; i < offers; i++)
        if (i == 0 || l->offer[i].index != l->offer[i - 1].index) promote(s, &l->offer[i]);
    loss_forget_offers(l, l->change.number);
}

/* Nobody has it: it begins here with its save, where that lies (there may be millions), or with
 * zeros. */
static void begin_row(struct shard *s, struct row_ref ref, bool is_replica)
{
    const float *values = saves_row(s, ref);
    bool leaves = loss_is_leave(s->losses); /* then what has no values nobody has written */
    if (values && !leaves) shard_count(&s->counters.rows_from_saves, 1);
    if (values && leaves) shard_count(&s->counters.rows_handed_over, 1);
    if (!values && !leaves) shard_count(&s->counters.rows_lost, 1);
    if (is_replica)
        while (row_promote(&s->mover, ref, values)) mover_make_room(&s->mover);
    else if (values)
        row_adopt(ref, saves_give_slot(s, ref));
    else
        row_put(ref, NULL);
    came_here(s, ref);
    if (is_replica) replica_row_is_here(s, record_find(&s->records, ref.index), false);
}

/* Nobody has heard of a write: it never was at home here, or was given up for who is lost now. */
static bool is_untouched(const struct shard *s, struct row_ref ref, struct location l)
{
    const struct losses *changed = s->losses;
    uint64_t joined = (uint64_t)changed->joined[l.owner] << LOSS_TERM_SHIFT;
    if (directory_load(row_ref_word(ref)) == 0) return true;
    return !l.is_replica && !changed->is_member[l.owner] && joined > 0 && l.term == joined;
}

/* What is known of owners from before: homes begin anew, and others ask the home. */
static void decide_row(struct shard *s, struct row_ref ref)
{
    struct location l = location_of(s, ref);
    unsigned home = loss_home(s, ref);
    if (l.is_here || l.term >= loss_term(s->losses)) return;
    if (l.is_replica && l.owner != s->rank) return; /* or it is an orphan of ours */
    if (home != s->rank) {
        /* without a word it would be here until the home passes; all that is said later is news */
        directory_word next =
            row_ref_is_home(ref) ? directory_elsewhere(home, loss_term(s->losses) - 1) : 0;
        if (directory_load(row_ref_word(ref)) != next) directory_publish(row_ref_word(ref), next);
    } else if (is_untouched(s, ref, l) && !saves_row(s, ref)) {
        row_ref_moved(ref); /* here, as soon as the home is */
        if (l.term > 0) directory_publish(row_ref_word(ref), 0);
        shard_count(&s->counters.relocated_in, 1);
    } else {
        begin_row(s, ref, l.is_replica);
    }
}

static void decide_rows(struct shard *s, struct partition *p)
{
    uint64_t first = p->first_number + p->first_bucket;
    for (uint64_t i = 0; i < p->keys; i++) decide_row(s, (struct row_ref){p, first + i});
}

static void change_peer(struct shard *s, unsigned node)
{
    bool is_member = s->losses->is_member[node];
    if (!is_member) round_forget(s, node);
    clocks_change(s, node, is_member);
    once_forget(s, node);
}

/* Of this change, and of those that it has overtaken. */
static void decide(struct shard *s)
{
    const struct losses *l = s->losses;
    bool joins = loss_is_join(l);
    origin_ask_again(s);
    each_record(s, find_orphan);
    decide_offers(s);
    if (!joins || l->change.node == s->rank) each_partition(s, decide_rows);
    if (s->saves->strays) saves_pass(s);
    for (unsigned i = 0; i < l->undecideds; i++) change_peer(s, l->undecided[i]);
    loss_pass(s);
}

/* ---- it is over ---- */

/* What has happened to the key since has been looked at by nobody. */
static void goes_on(struct shard *s, struct record *r)
{
    shard_wake(s, r, WOKEN_OWNER | WOKEN_REPLICA);
    if (r->parked) parked_serve_anew(s, r);
}

static void end(struct shard *s)
{
    struct losses *l = s->losses;
    s->failure = 0;
    s->serves = SERVES_OR_PASSES_ON;
    hold_credit(s, false);
    origin_wake_stalled(s); /* no answer that makes room may be under way */
    each_record(s, goes_on);
    woken_consider(s);
    for (unsigned n = 0; n < s->nodes; n++) {
        if (l->round[n]) shard_send(s, n, WIRE_ROUND_DONE, l->round[n], 0);
        l->round[n] = 0;
    }
    if (l->we_join) clocks_joined(s);
    l->we_join = false;
    saves_repaired(s);
    __atomic_store_n(&l->repaired, l->change.number, __ATOMIC_RELEASE);
}

/* ---- we leave ---- */

/* Nobody asks us any more: when what has changed since our last sweep is with its guardians, all
 * is, and the others go on. */
static void leave(struct shard *s)
{
    struct losses *l = s->losses;
    if (l->has_left) return;
    round_take_changes(s);
    if (!saves_all(s)) return;
    l->has_left = true;
    tell_members(s, l->leaves, 1);
    if (s->platform->repaired) s->platform->repaired(s->platform->context, l->leaves);
}

/* Unless we have all that it had, it is a loss like any other. */
static void leaver_is_lost(struct shard *s)
{
    if (loss_has_left(s->losses)) return;
    s->losses->change.kind = CHANGE_LOST;
    saves_repair(s);
    repair_turn(s);
}

void repair_turn(struct shard *s)
{
    struct losses *l = s->losses;
    if (l->leaves) {
        leave(s);
        return;
    }
    while (s->failure == SHARD_REPAIRS && loss_have_all_said(s, l->phase)) {
        if (l->phase == LOSS_PHASES) {
            end(s);
            return;
        }
        if (l->phase == 1) each_record(s, say_held);
        if (l->phase == 1) once_tell_origins(s); /* of who leaves, if it is lost to some */
        if (l->phase == 2) decide(s);
        say_phase(s);
    }
}

/* What is at home at the start. */
static void have_nothing(struct shard *s, struct partition *p)
{
    uint64_t first = p->first_number + p->first_bucket;
    for (uint64_t i = 0; i < p->keys; i++) {
        struct row_ref ref = {p, first + i};
        if (!row_ref_was_held(ref)) continue;
        row_ref_moved(ref);
        shard_count(&s->counters.relocated_out, 1);
    }
}

/* We join: all that was before is as it is at the others. */
static void begin_as_newcomer(struct shard *s)
{
    s->losses->we_join = true;
    each_partition(s, have_nothing);
    for (unsigned n = 0; n < s->nodes; n++)
        if (!s->losses->is_member[n]) clocks_change(s, n, false);
}

void repair_begin(struct shard *s, struct change change)
{
    if (s->failure < 0) return;
    if (change.kind == CHANGE_LEAVES && change.node == s->rank) {
        s->losses->leaves = change.number;
        loss_serves_on(s);
        return;
    }
    if (change.number == s->losses->change.number) {
        leaver_is_lost(s);
        return;
    }
    loss_begin(s, change);
    origin_repairs(s);
    if (s->failure == 0) hold_credit(s, true); /* else it overtakes another one */
    s->failure = SHARD_REPAIRS;
    s->serves = SERVES_NOBODY;
    each_record(s, note_lost_sender);
    saves_repair(s);
    if (change.node == s->rank) begin_as_newcomer(s);
    s->wrong[change.node] = NULL;
    each_partition(s, claim_held);
    say_phase(s);
    repair_turn(s);
}

uint32_t repair_last(const struct shard *s)
{
    return s->losses ? __atomic_load_n(&s->losses->repaired, __ATOMIC_ACQUIRE) : 0;
}

bool repair_has_left(const struct shard *s)
{
    return s->losses && s->losses->has_left;
}

bool repair_is_over(const struct shard *s)
{
    return s->failure != SHARD_REPAIRS;
}
