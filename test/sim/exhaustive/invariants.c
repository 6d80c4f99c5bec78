/* The invariants of the protocol; ../protocol/invariants.h has them in words. */
#include "world_private.h"

#include "common/stores.h"
#include "protocol/owner.h"

#include <stdlib.h>

/* Of a view: they begin at its number times 2^30. */
enum { TERMS_MAX = 64, VIEWS = 4, VIEW_TERM_BITS = 30 };

struct sight {
    unsigned owners, rows;
    float sum[CAPACITY];         /* main copy and updates under way */
    int owner[VIEWS][TERMS_MAX]; /* by whatever knows one, -1: nobody does */
    uint64_t term;               /* the highest */
    unsigned hops;
    const char *wrong;
};

static void add_row(struct sight *s, const float *row)
{
    for (unsigned i = 0; i < LENGTH; i++) s->sum[i] += row[i];
}

static void add_claim(struct sight *s, unsigned owner, uint64_t term)
{
    uint64_t view = term >> VIEW_TERM_BITS, i = term - (view << VIEW_TERM_BITS);
    bool is_hint = (term + 1) >> VIEW_TERM_BITS >
                   view; /* to another home: older than what is said */
    if (world_scenario.loses_too && is_hint) return;
    if (view >= VIEWS || i >= TERMS_MAX) abort();
    int *known = &s->owner[view][i];
    /* homes change, and the first owners with them */
    bool may_differ = term == 0 && world_state.has_lost;
    if (*known >= 0 && *known != (int)owner && !may_differ) s->wrong = "a term has two owners";
    *known = (int)owner;
    if (term > s->term) s->term = term;
}

/* On its way to a replica that is as good: that is the main copy, but for what was added since,
 * which look_at_replica() has. */
static void add_replica(struct sight *s, unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    if (directory_state(w) != DIRECTORY_REPLICA) {
        s->wrong = "a row without values is on its way to no replica";
        return;
    }
    const float *row = partition_row(ref.partition, directory_slot(w));
    add_row(s, w & DIRECTORY_DIRTY ? row + LENGTH : row); /* what it was: row.h */
}

static void add_entry(struct sight *s, const struct wire_entry *e)
{
    if (!is_about_a_key(e) || e->operation == WIRE_TOLD) return;
    bool is_update = e->operation == WIRE_PUSH ||
                     (e->operation == WIRE_SYNC && e->flags & WIRE_UPDATE);
    add_claim(s, e->owner, e->term);
    if (e->operation == WIRE_ROW) s->rows++;
    if (e->length && (e->operation == WIRE_ROW || is_update)) add_row(s, wire_values_const(e));
    if (e->encoding == WIRE_AS_REPLICA) add_replica(s, e->owner);
    if (e->hops > s->hops) s->hops = e->hops;
}

static void look_at_replica(struct sight *s, unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    struct content c;
    if (directory_state(w) != DIRECTORY_REPLICA) return;
    const float *row = partition_row(ref.partition, directory_slot(w));
    for (unsigned i = 0; w & DIRECTORY_DIRTY && i < LENGTH; i++)
        s->sum[i] += row[i] - row[LENGTH + i];
    if (content_read(row, world_layout, &c) && !world_state.is_doubtful)
        s->wrong = "a replica holds an update twice, or is damaged";
}

static void look_at_node(struct sight *s, unsigned node)
{
    float row[CAPACITY];
    struct location l = location_of(&world_state.node[node].shard, row_ref_at(node));
    struct record *r = record_of(node);
    add_claim(s, l.owner, l.term);
    if (is_here(node) && read_row(node, row)) {
        s->owners++;
        add_row(s, row);
    }
    look_at_replica(s, node);
    for (struct parked *p = r ? r->parked : NULL; p; p = p->next) add_entry(s, &p->entry);
}

static void look(struct sight *s)
{
    *s = (struct sight){0};
    for (unsigned t = 0; t < VIEWS * TERMS_MAX; t++) s->owner[t / TERMS_MAX][t % TERMS_MAX] = -1;
    for (unsigned n = 0; n < nodes(); n++)
        if (!is_lost(n)) look_at_node(s, n);
    for (unsigned from = 0; from < nodes(); from++)
        for (unsigned to = 0; to < nodes(); to++)
            for (unsigned i = 0; i < world_lane[from][to].count; i++)
                add_entry(s, &world_lane[from][to].message[i].entry);
}

/* Nobody has written it, and it went without a message to who joined, who need not know the term. */
static bool is_given_up(const struct sight *s)
{
    return joins() && !is_lost(world_scenario.loses - 1) &&
           s->term == UINT64_C(2) << VIEW_TERM_BITS &&
           s->owner[2][0] + 1 == (int)world_scenario.loses;
}

bool world_has_row(void)
{
    bool has_row = false;
    for (unsigned n = 0; n < nodes(); n++) has_row |= !is_lost(n) && is_here(n);
    for (unsigned from = 0; from < nodes(); from++)
        for (unsigned to = 0; to < nodes(); to++)
            for (unsigned i = 0; i < world_lane[from][to].count; i++)
                has_row |= world_lane[from][to].message[i].entry.operation == WIRE_ROW;
    if (has_row || !joins()) return has_row;
    struct sight s;
    look(&s);
    return is_given_up(&s);
}

/* ---- writes that may be done twice ---- */

/* One case is allowed: a node that was lost had done a write, and its answer was lost; it had told the
 * other one that was lost of it, and nobody who lives. That one may have passed a row with the write on,
 * and its origin asks again, because nobody tells it. */
static bool may_be_twice(unsigned call)
{
    unsigned lost = 0;
    for (unsigned n = 0; n < nodes(); n++) lost |= (unsigned)is_lost(n) << n;
    for (unsigned n = 0; n < nodes(); n++) {
        unsigned told = world_state.told[n][call];
        if (world_state.unanswered[n] >> call & 1 && told && !(told & ~lost)) return true;
    }
    return false;
}

void world_note_loss(unsigned node)
{
    for (unsigned to = 0; to < nodes(); to++)
        for (unsigned i = 0; i < world_lane[node][to].count; i++) {
            const struct wire_entry *e = &world_lane[node][to].message[i].entry;
            if (e->operation == WIRE_PUSHED || e->operation == WIRE_WAS_SET)
                world_state.unanswered[node] |= 1u << request_tag_number(e->tag);
        }
    for (unsigned i = 0; i < world_scenario.calls && world_state.has_lost_too; i++)
        world_state.is_doubtful |= world_state.call[i].state != CALL_DONE && may_be_twice(i);
}

bool world_has_sets(void)
{
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].kind == CALL_SET) return true;
    return false;
}

/* Every update once, a completed one not missing. With sets the order tells (below). */
static const char *check_updates(const struct sight *s)
{
    struct content c;
    if (world_has_sets() || (is_repairing() && world_state.row_is_lost) || world_state.is_doubtful)
        return NULL;
    if (s->owners + s->rows == 0)
        return NULL; /* who had it has left, and its home has not decided */
    const char *wrong = content_read(s->sum, world_layout, &c);
    if (wrong)
        return "main copy and updates under way: an update is there twice, or the row is damaged";
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].kind == CALL_PUSH && world_state.call[i].state == CALL_DONE &&
            !content_has(&c, i) && !world_state.row_is_lost && !is_lost_call(i))
            return "a completed update is lost";
    return NULL;
}

/* Must call j come before call i? With replicas: what another node had added when i was called may
 * count as later, a set not. */
static bool must_precede(unsigned j, unsigned i)
{
    const struct scenario_call *a = &world_scenario.call[j], *b = &world_scenario.call[i];
    if (j < i && a->worker == b->worker) return true;
    if (!(world_state.call[i].done_before >> j & 1)) return false;
    return !has_replicas() || a->kind == CALL_SET ||
           world_scenario.node[a->worker] == world_scenario.node[b->worker];
}

/* Does the read see what the order has before it? Replicas may be older: check_own() then. */
static bool sees(unsigned i, const struct content *now)
{
    struct content seen;
    if (has_replicas()) return true;
    return !content_read(world_state.call[i].values, world_layout, &seen) &&
           content_equals(&seen, now);
}

/* It may have happened or not: nobody heard of it from a node that was lost. */
static bool is_optional(unsigned i)
{
    return is_lost_call(i) && (has_replicas() || world_state.call[i].state != CALL_DONE);
}

/* Is there an order of all calls in which each sees what came before it? */
static bool can_be_ordered(unsigned placed, struct content now, const struct content *last)
{
    if (placed == (1u << world_scenario.calls) - 1) return content_equals(&now, last);
    for (unsigned i = 0; i < world_scenario.calls; i++) {
        const struct scenario_call *s = &world_scenario.call[i];
        struct content next = now;
        bool may = !(placed >> i & 1);
        for (unsigned j = 0; j < world_scenario.calls && may; j++)
            may = placed >> j & 1 || j == i || !must_precede(j, i);
        if (!may) continue;
        if (s->kind == CALL_PUSH) content_add(&next, i);
        if (s->kind == CALL_SET) next = (struct content){.set = i + 1};
        bool is_open = is_lost_call(i) && world_state.call[i].state != CALL_DONE;
        if (s->kind == CALL_PULL && !is_open && !sees(i, &now)) continue;
        if (is_optional(i) && can_be_ordered(placed | 1u << i, now, last)) return true;
        if (can_be_ordered(placed | 1u << i, next, last)) return true;
    }
    return false;
}

/* A pull has what its worker pushed before, unless a set may have taken it away. */
static bool misses_own(unsigned pull, unsigned push)
{
    struct content seen;
    if (world_scenario.call[push].worker != world_scenario.call[pull].worker || push > pull)
        return false;
    if (!(world_state.call[pull].done_before >> push & 1)) return false;
    if (content_read(world_state.call[pull].values, world_layout, &seen) ||
        content_has(&seen, push))
        return false;
    if (seen.set) return world_state.call[push].done_before >> (seen.set - 1) & 1;
    return true;
}

static const char *check_own(void)
{
    struct content seen;
    for (unsigned i = 0; i < world_scenario.calls; i++) {
        if (world_scenario.call[i].kind != CALL_PULL || world_state.call[i].state != CALL_DONE ||
            is_lost_call(i) || world_state.row_is_lost || world_state.is_doubtful)
            continue;
        if (content_read(world_state.call[i].values, world_layout, &seen))
            return "a damaged row was read";
        for (unsigned j = 0; j < world_scenario.calls; j++)
            if (world_scenario.call[j].kind == CALL_PUSH && misses_own(i, j))
                return "a worker misses its own update";
    }
    return NULL;
}

static bool is_ordered(unsigned i)
{
    return world_scenario.call[i].kind <= CALL_SET; /* the others neither read nor write */
}

/* Does the row hold all that was done before the clock? */
static bool holds_all_before(const float *row, locus_clock clock)
{
    struct content c;
    if (content_read(row, world_layout, &c)) return false;
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].kind == CALL_PUSH && world_state.call[i].state != CALL_FUTURE &&
            world_scenario.call[i].clock < clock && !content_has(&c, i))
            return false;
    return true;
}

/* The guarantee of clocks.h, of whoever reads: in each state by a look at the copy that is here,
 * and of reads by way of another node when they are done. What a set wrote over is not told. */
static const char *check_clocks(void)
{
    float row[CAPACITY];
    if (!has_clocks() || world_state.has_lost) return NULL;
    for (unsigned w = 0; w < world_scenario.workers; w++) {
        unsigned n = world_scenario.node[w];
        if (world_state.node[n].progress[world_number_of(w)] < clocks_gate(clocks_at(n)))
            return "a node is said to be fresh up to a clock that a worker has not reached";
    }
    for (unsigned n = 0; n < nodes() && !world_has_sets(); n++)
        if (read_row(n, row) && !holds_all_before(row, clocks_gate(clocks_at(n))))
            return "a copy lacks an update that was made before its node's clock";
    for (unsigned i = 0; i < world_scenario.calls && !world_has_sets(); i++)
        if (world_scenario.call[i].kind == CALL_PULL && world_state.call[i].state == CALL_DONE &&
            !holds_all_before(world_state.call[i].values, world_state.call[i].gate))
            return "a pull lacks an update that was made before its node's clock";
    return NULL;
}

static const char *check_order(void)
{
    float row[CAPACITY];
    struct content last;
    for (unsigned n = 0; n < nodes(); n++) {
        if (is_lost(n) || !is_here(n)) continue;
        if (world_state.row_is_lost || world_state.is_doubtful) return NULL;
        unsigned others = 0;
        for (unsigned i = 0; i < world_scenario.calls; i++) others |= (unsigned)!is_ordered(i) << i;
        read_row(n, row);
        if (content_read(row, world_layout, &last)) return "the row is damaged";
        return can_be_ordered(others, (struct content){0}, &last) ? NULL
                                                                  : "what was done has no order";
    }
    return "nobody has the row";
}

static bool rows_are_equal(const float *a, const float *b)
{
    bool equal = true;
    for (unsigned i = 0; i < LENGTH; i++) equal &= a[i] == b[i];
    return equal;
}

/* Shall it hold the row or a replica, at rest? With relocation alone an intent brings the row once,
 * and another's takes it away again. */
static bool must_hold(unsigned node)
{
    return keeps(node) || (wanted(node) && world_scenario.technique != LOCUS_RELOCATE &&
                           world_scenario.technique != LOCUS_STATIC);
}

/* Somebody intends the row for a time, or localizes it. */
static bool may_move(void)
{
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].kind == CALL_LOCALIZE ||
            world_scenario.call[i].kind == CALL_BEGIN)
            return true;
    return false;
}

/* AdaPM, Section 4.1: who wants the row has it, or a copy that is equal; nobody else has a copy;
 * and if one node alone wants it, and rows move, it is there. */
static const char *check_copies(void)
{
    float main[CAPACITY] = {0}, row[CAPACITY];
    bool is_full = world_scenario.technique == LOCUS_FULL_REPLICATION;
    unsigned who_want = 0;
    for (unsigned n = 0; n < nodes(); n++) who_want += !is_lost(n) && (wanted(n) > 0 || keeps(n));
    for (unsigned n = 0; n < nodes(); n++) {
        if (is_lost(n) || !is_here(n)) continue;
        read_row(n, main);
        if (!may_move() && !world_state.has_lost &&
            location_of(&world_state.node[n].shard, row_ref_at(n)).term > 0)
            return "at rest a row has moved for who keeps it";
    }
    for (unsigned n = 0; n < nodes(); n++) {
        if (is_lost(n)) continue;
        struct location l = location_of(&world_state.node[n].shard, row_ref_at(n));
        if (l.is_replica && !is_full && !must_hold(n)) return "at rest a replica without intent";
        if (!l.is_replica && !l.is_here && must_hold(n) && !is_full)
            return "at rest an intent was forgotten";
        if (wanted(n) && !keeps(n) && who_want == 1 && !l.is_here &&
            world_scenario.technique == LOCUS_ADAPTIVE)
            return "at rest the row is not with the only node that wants it";
        if (l.is_replica && read_row(n, row) && !rows_are_equal(row, main))
            return "at rest a replica differs";
    }
    return NULL;
}

static bool remembers(unsigned node)
{
    const struct record *r = record_of(node);
    bool waits = r && (r->asked || r->waiting_first != REQUEST_NOWHERE ||
                       r->unseen_first != REQUEST_NOWHERE || r->set != REQUEST_NOWHERE ||
                       r->parked || r->sync || r->is_later || r->queued);
    return waits || (r && !replicates());
}

static bool knows_of(unsigned node, unsigned lost)
{
    const struct shard *s = &world_state.node[node].shard;
    const struct record *r = record_of(node);
    return location_of(s, row_ref_at(node)).owner == lost ||
           row_ref_home(row_ref_at(node)) == lost || s->backlog->peer[lost].is_under_way ||
           s->replicas->source[lost].replicas || s->asked_bytes[lost] ||
           (r && holder_find(r, lost));
}

static bool knows_lost(unsigned node)
{
    for (unsigned n = 0; n < nodes(); n++)
        if (is_lost(n) && knows_of(node, n)) return true;
    return false;
}

static const char *check_rest(const struct sight *s)
{
    unsigned member = 0;
    while (is_lost(member)) member++;
    unsigned home = row_ref_home(row_ref_at(member));
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_state.call[i].state != CALL_DONE && !is_lost_call(i))
            return "nothing more can happen, and a call is not done";
    if (is_repairing()) return "nothing more can happen, and the repair is not over";
    for (unsigned n = 0; n < nodes(); n++) {
        if (is_lost(n)) continue;
        if (knows_lost(n)) return "at rest a node knows of the lost one";
        if (remembers(n)) return "at rest a node remembers something of the key";
        if (world_state.node[n].shard.replicas->awaited ||
            world_state.node[n].shard.backlog->waiting)
            return "at rest a round waits";
        if (world_state.node[n].shard.asked_bytes[(n + 1) % nodes()])
            return "at rest credit is in use";
        const struct shard *shard = &world_state.node[n].shard;
        const struct mover *m = &shard->mover;
        directory_word w = directory_load(row_ref_word(row_ref_at(n)));
        size_t rows = row_word_is_written(row_ref_at(n), w);
        if (shard->saves && saves_row(shard, row_ref_at(n))) rows++;
        if (store_held_rows(&world_store[n]) - m->open.count - m->waiting.count != rows)
            return "at rest a slot is in use that has no row";
    }
    if (location_of(&world_state.node[home].shard, row_ref_at(home)).term != s->term &&
        !is_given_up(s))
        return "at rest the home does not know the owner";
    const char *wrong = check_copies();
    return wrong ? wrong : check_order();
}

const char *world_check(bool at_rest)
{
    struct sight s;
    if (world_state.wrong) return world_state.wrong;
    look(&s);
    if (s.wrong) return s.wrong;
    if (s.owners > 1) return "two owners";
    bool may_lack = is_repairing() &&
                    (world_state.row_is_lost || world_state.has_left || is_given_up(&s));
    if (s.owners + s.rows > 1 || (s.owners + s.rows == 0 && !may_lack))
        return "not one owner, or one row under way";
    if (s.hops > nodes() + (s.term & ((UINT64_C(1) << VIEW_TERM_BITS) - 1)) +
                     TERMS_MAX * world_state.has_lost)
        return "a request goes round";
    const char *wrong = check_updates(&s);
    if (!wrong) wrong = check_own();
    if (!wrong) wrong = check_clocks();
    return wrong || !at_rest ? wrong : check_rest(&s);
}
