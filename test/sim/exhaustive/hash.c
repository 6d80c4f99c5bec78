/* All that tells two states apart, and nothing else: the search visits each state once. */
#include "protocol/replica.h"
#include "world_private.h"

#include <stdlib.h>

enum { HASHED_MAX = 4096 };

static struct {
    uint32_t word[HASHED_MAX];
    unsigned count;
} hashed;

static void put(uint64_t value)
{
    if (hashed.count == HASHED_MAX) abort();
    hashed.word[hashed.count++] = (uint32_t)value;
}

static void put_row(const float *row)
{
    for (unsigned i = 0; i < LENGTH; i++) put((uint64_t)row[i]);
}

static uint32_t tag_in(const struct wire_entry *e, uint32_t i)
{
    uint32_t tag;
    memcpy(&tag, wire_values_const(e) + i, sizeof tag);
    return tag;
}

static void put_entry(const struct wire_entry *e)
{
    put(e->operation | (uint64_t)e->flags << 8 | (uint64_t)e->origin << 16 |
        (uint64_t)e->hops << 24);
    if (e->operation >= WIRE_CLOCK_UPDATED) put((uint64_t)e->clock);
    if (!is_about_a_key(e)) return; /* of one round at most: it has the right number */
    put(e->owner | (e->term & 0xff) << 8 | (uint64_t)(e->length > 0) << 16 | e->version << 20);
    put(e->term >> 30);
    put(e->tag);
    for (uint32_t i = 0; i < e->length && e->operation == WIRE_TOLD; i++) put(tag_in(e, i));
    if (e->length && e->operation != WIRE_TOLD) put_row(wire_values_const(e));
}

static void put_rounds(const struct shard *s)
{
    put((uint64_t)(s->dirty && !dirty_set_is_empty(s->dirty)) << 8 | s->quiescing);
    for (unsigned peer = 0; peer < nodes(); peer++) {
        const struct peer_backlog *p = &s->backlog->peer[peer];
        put((p->urgent.count - p->urgent.first) | (p->lazy.count - p->lazy.first) << 4 |
            (p->refresh.count - p->refresh.first) << 8 | (uint64_t)p->is_under_way << 12 |
            (uint64_t)p->goes_on << 13 | (uint64_t)s->rounds->peer[peer].refreshes << 14 |
            (uint64_t)p->owes << 15 | s->replicas->source[peer].replicas << 16);
    }
}

static void put_replication(const struct record *r, directory_word w)
{
    bool has_holders = r->holders > 0;
    put((uint64_t)r->registered << 4 | (uint64_t)r->sync << 5 | (uint64_t)r->is_awaited << 8 |
        (uint64_t)r->is_later << 9 | (uint64_t)r->is_recalled << 10 | (uint64_t)r->is_kept << 11 |
        (uint64_t)r->queued << 12 | r->version << 16);
    put(has_holders && r->seen_word != directory_version(w));
    for (unsigned i = 0; i < r->holders; i++) {
        const struct holder *h = &r->holder[i];
        put(h->node | (uint64_t)h->is_recalled << 8 | (uint64_t)h->is_queued << 9 |
            (uint64_t)h->is_kept << 10 | h->seen << 12);
    }
    if (r->set != REQUEST_NOWHERE) put(UINT64_C(1) << 30 | request_tag_number(r->set));
    if (r->unseen_first != REQUEST_NOWHERE) put(r->unseen_version);
}

/* Two intervals take turns: which of them a thing is of counts, not how they are called. */
static void put_clocks(const struct shard *s, const struct record *r)
{
    const struct clocks *c = s->clocks;
    put((uint64_t)c->is_on | (uint64_t)c->has_taken << 1 | (uint64_t)c->has_divided << 2 |
        c->waiting << 3 | (uint64_t)c->awaited << 8 | (uint64_t)c->gate << 16);
    put((uint64_t)c->reading << 1 | c->is_ours);
    put((uint64_t)c->reported);
    put(c->open[c->later_open] | c->open[c->later_open ^ 1] << 8 |
        c->unsent[c->later_unsent] << 16 | c->unsent[c->later_unsent ^ 1] << 24);
    if (r) put(r->is_unsent ? 1 + (r->is_unsent_later ^ c->later_unsent) : 0);
    for (unsigned w = 0; w < s->workers; w++) {
        bool counts = c->reading >= 0 && !c->has_taken && c->target[w] > c->taken[w];
        put(counts ? c->target[w] - c->taken[w] : 0);
        put((uint64_t)*s->plan->progress[w]);
    }
    for (unsigned n = 0; n < s->nodes; n++) {
        const struct clock_peer *p = &c->peer[n];
        uint64_t left = s->backlog->peer[n].refreshes_left;
        put((uint64_t)p->updated);
        put((uint64_t)p->fresh);
        put((uint64_t)p->fresh_next);
        put((uint64_t)p->awaited | (uint64_t)p->said << 8);
        put((uint64_t)p->aim);
        put((uint64_t)p->told);
        put((uint64_t)p->told_before);
        put(p->unheard);
        put(p->aim > p->said && p->aim_at > left ? p->aim_at - left : 0);
    }
}

static void put_waiting(struct record *r)
{
    for (request_place place = r->unseen_first; place != REQUEST_NOWHERE;) {
        put(UINT64_C(1) << 29 | request_tag_number(place));
        place = world_state.call[request_tag_number(place)].item.next;
    }
    for (request_place place = r->waiting_first; place != REQUEST_NOWHERE;) {
        const struct call *c = &world_state.call[request_tag_number(place)];
        put(request_tag_number(place));
        place = c->item.next;
    }
}

static void put_saves(const struct shard *s)
{
    const struct saves *v = s->saves;
    struct row_ref ref = row_ref_at(s->rank);
    const struct saved *c = &v->of[ref.index];
    const float *row = saves_row(s, ref);
    put(v->is_sweeping | (uint64_t)bitset_has(&v->unsaved, ref.index) << 1 |
        (uint64_t)bitset_has(&v->taken, ref.index) << 2 | (uint64_t)v->awaited << 3 |
        (uint64_t)(v->due_ns == 0) << 6 | (uint64_t)v->covers << 8 | (uint64_t)v->sweep << 16);
    for (unsigned n = 0; n < s->nodes; n++) {
        const struct saves_peer *p = &v->peer[n];
        put((p->asked != 0) | (p->count - p->first) << 8 | p->forgotten << 16 | p->received << 24 |
            p->before << 32);
    }
    if (!row) return;
    put(c->term);
    put(c->version);
    put_row(row);
}

static void put_once(const struct shard *s)
{
    const struct once *o = s->once;
    for (unsigned i = 0; i < s->nodes * s->nodes; i++) {
        put(o->of[i].count | o->said[i] << 8);
        for (uint64_t n = 0; o->of[i].tag && n < o->of[i].count; n++)
            put(o->of[i].tag[n % ONCE_WRITES_MAX]);
    }
}

static void put_repair(const struct shard *s)
{
    put(row_ref_home(row_ref_at(s->rank)));
    put(repair_is_over(s));
    if (!leaves() && !world_scenario.loses_too) return;
    const struct losses *l = s->losses;
    const struct record *r = record_of(s->rank);
    put(l->phase | l->leaves << 8 | l->has_left << 9 | (uint64_t)l->offers << 10 |
        (uint64_t)s->serves << 16 | (uint64_t)(r && r->is_held) << 20 |
        (uint64_t)(r && r->is_orphan) << 21);
    for (unsigned n = 0; n < nodes(); n++) put(l->said[n]);
    for (size_t i = 0; i < l->offers; i++) put(l->offer[i].node | l->offer[i].version << 8);
}

static void put_node(unsigned node)
{
    float row[CAPACITY];
    struct location l = location_of(&world_state.node[node].shard, row_ref_at(node));
    struct record *r = record_of(node);
    directory_word w = directory_load(row_ref_word(row_ref_at(node)));
    put(l.owner | (uint64_t)l.is_here << 4 | (uint64_t)l.is_replica << 5 | (l.term & 0xff) << 8 |
        wanted(node) << 16 | (uint64_t)keeps(node) << 24);
    put(l.term >> 30);
    if (read_row(node, row)) {
        put((uint64_t)(directory_has_row(w) && partition_is_zeros(row_ref_at(node).partition, w))
                << 9 |
            (uint64_t)directory_has_row(w) << 8 | directory_state(w) << 4);
        put_row(row);
    }
    if (directory_state(w) == DIRECTORY_REPLICA || directory_state(w) == DIRECTORY_TRACKED)
        put(w >> 37 & 1);
    if (directory_state(w) == DIRECTORY_REPLICA && w & DIRECTORY_DIRTY)
        put_row(world_row_of(node) + LENGTH);
    put_rounds(&world_state.node[node].shard);
    if (has_clocks()) put_clocks(&world_state.node[node].shard, r);
    if (world_state.node[node].shard.saves) put_saves(&world_state.node[node].shard);
    if (world_state.node[node].shard.once) put_once(&world_state.node[node].shard);
    if (world_state.has_lost) put_repair(&world_state.node[node].shard);
    if (!r) return;
    put_replication(r, w);
    put(1u << 31 | r->asked | r->localizing << 8);
    if (r->asked) {
        put(r->route | r->askers << 8);
        put(request_tag_number(r->asked_last));
    }
    put_waiting(r);
    for (struct parked *p = r->parked; p; p = p->next) put_entry(&p->entry);
}

/* The interval at the call's node that writes are of which are taken on now. */
static unsigned later_at(unsigned call)
{
    return clocks_at(world_scenario.node[world_scenario.call[call].worker])->later_open;
}

static void put_call(unsigned i)
{
    const struct call *c = &world_state.call[i];
    put(c->state | c->done_before << 8);
    if (has_clocks() && c->state != CALL_FUTURE) put((uint64_t)c->gate);
    if (has_clocks() && c->state == CALL_TAKEN)
        put(c->request.is_taken | (uint64_t)(c->request.is_later ^ later_at(i)) << 1);
    if (c->state == CALL_TAKEN)
        put(c->item.state | (uint64_t)(c->item.state == ITEM_ASKED ? c->item.peer : 0) << 8);
    if (c->state == CALL_DONE && world_scenario.call[i].kind == CALL_PULL) put_row(c->values);
}

uint64_t world_hash(void)
{
    hashed.count = 0;
    put(world_state.has_lost | (uint64_t)world_state.row_is_lost << 1 |
        (uint64_t)world_state.has_left << 2 | (uint64_t)world_state.has_lost_too << 3 |
        (uint64_t)world_state.is_doubtful << 4);
    for (unsigned n = 0; n < nodes(); n++) {
        put(world_state.heard[n] | world_state.repaired[n] << 8);
        if (world_scenario.loses_too) put(world_state.unanswered[n]);
        for (unsigned i = 0; i < world_scenario.calls && world_scenario.loses_too; i++)
            put(world_state.told[n][i]);
        put(UINT32_C(0xffffff00) | n);
        if (!is_lost(n)) put_node(n);
    }
    for (unsigned from = 0; from < nodes(); from++)
        for (unsigned to = 0; to < nodes(); to++) {
            const struct lane *l = &world_lane[from][to];
            put(UINT32_C(0xfffffe00) | l->count);
            for (unsigned i = 0; i < l->count; i++) put_entry(&l->message[i].entry);
        }
    for (unsigned i = 0; i < world_scenario.calls; i++) put_call(i);
    uint64_t h = hashed.count;
    for (unsigned i = 0; i < hashed.count; i++) {
        h = (h ^ hashed.word[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 32;
}
