#include "invariants_private.h"

#include "protocol/backlog.h"
#include "protocol/replica.h"
#include "protocol/saves.h"

#include <stddef.h>
#include <stdlib.h>

struct invariants_world invariants_world;

struct invariants_losses invariants_losses(void)
{
    return invariants_world.losses;
}

void invariants_begin(const struct script *s)
{
    invariants_world.script = s;
    invariants_world.moment = 1;
    invariants_world.relocations = 0;
    invariants_world.losses = (struct invariants_losses){0};
    memset(invariants_world.answer, 0, sizeof invariants_world.answer);
    for (locus_key key = 0; key < s->keys; key++) {
        struct key_history *k = &invariants_world.key[key];
        unsigned home = row_ref_home(row_ref_at(0, key));
        memset(k, 0, offsetof(struct key_history, owner));
        memset(k->seen, 0, sizeof *k - offsetof(struct key_history, seen));
        k->owner[0][0] = (uint16_t)home;
        k->terms[0] = 1;
        journal_key(key)->was_replicated = s->technique == LOCUS_FULL_REPLICATION;
        for (unsigned n = 0; n < s->nodes; n++) k->word[n] = row_ref_word(row_ref_at(n, key));
    }
}

uint64_t invariants_moment(void)
{
    return ++invariants_world.moment;
}

uint64_t invariants_relocations(void)
{
    return invariants_world.relocations;
}

/* ---- messages ---- */

static void check_hops(const struct wire_entry *e, unsigned node)
{
    const struct key_history *k = &invariants_world.key[e->key];
    uint64_t bound = invariants_world.script->nodes;
    for (unsigned view = 0; view < VIEWS_MAX; view++) bound += k->terms[view];
    if (e->hops > bound)
        report_fail(e->key, "a request was forwarded %u times, lately by node %u", e->hops, node);
}

/* Does it say who has the row? A save of who does not own it is of a time before. */
static bool is_claim(unsigned from, const struct wire_entry *e)
{
    if (e->operation == WIRE_SAVE) return e->owner == from;
    return e->operation != WIRE_HELD && e->operation != WIRE_OFFER && e->operation != WIRE_TOLD;
}

/* ---- writes that may be done twice ---- */

/* One case is allowed. D has done a write of O, and its answer was lost with D; D had told E of it, and
 * nobody else who lives; E is lost, too, before D's loss is repaired, or D before that of E. Then a row
 * with the write may have gone from E to another node, and O asks again, because nobody tells it. What
 * a row holds of which a write was that is not judged any more; of all others an update that is there
 * twice is an error. */

static struct answer *find_answer(unsigned shard, unsigned origin, uint32_t tag)
{
    struct answer *free = NULL;
    for (struct answer *a = invariants_world.answer[shard][origin], *end = a + ANSWERS_MAX; a < end;
         a++) {
        if (a->is_used && a->tag == tag) return a;
        if (!a->is_used) free = a;
    }
    if (!free) abort();
    return free;
}

static bool is_watched(const struct wire_entry *e)
{
    const struct script *s = invariants_world.script;
    return s->survives && s->nodes > 2 &&
           (e->operation == WIRE_PUSHED || e->operation == WIRE_WAS_SET);
}

static void note_answer(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    *find_answer(shard, to, e->tag) = (struct answer){true, e->tag, e->key, from, 0, 0, 0};
}

static void note_told(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    for (uint32_t i = 0; i < e->length && !(e->flags & WIRE_BEGIN); i++) {
        uint32_t tag;
        memcpy(&tag, wire_values_const(e) + i, sizeof tag);
        struct answer *a = find_answer(shard, e->owner, tag);
        if (a->is_used && a->by == from) a->told |= 1u << to;
    }
}

static void lose_answer(struct answer *a, unsigned node)
{
    uint32_t now = platform_since();
    if (a->by == node) a->by_lost = now;
    if (a->told >> node & 1) a->told_lost = now;
    a->told &= ~(1u << node);
    if (a->by_lost != now || a->told_lost != now || a->told) return;
    struct journal_key *k = journal_key(a->key);
    invariants_world.losses.doubtful += !k->is_doubtful;
    k->is_doubtful = true;
}

static void lose_answers(unsigned node)
{
    for (unsigned s = 0; s < invariants_world.script->shards; s++)
        for (unsigned n = 0; n < invariants_world.script->nodes; n++)
            for (struct answer *a = invariants_world.answer[s][n];
                 a < invariants_world.answer[s][n] + ANSWERS_MAX; a++) {
                if (n == node) a->is_used = false;
                if (a->is_used) lose_answer(a, node);
            }
}

/* ---- entries ---- */

static void sent(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    report_sent(shard, from, to, e);
    if (platform_is_broken() || platform_is_lost(from) || !is_about_a_key(e)) return;
    if (e->operation == WIRE_OFFER) {
        uint32_t view = platform_view(from, shard);
        invariants_world.key[e->key].offer[view][from].term = e->term;
        invariants_world.key[e->key].offer[view][from].version = e->version;
    }
    if (is_watched(e)) note_answer(shard, from, to, e);
    if (e->operation == WIRE_ROW)
        terms_row_leaves(from, e);
    else if (is_claim(from, e))
        terms_check_claim(e->key, e->owner, e->term, "a message of node", from);
    for (uint64_t more = e->operation == WIRE_LOCATION ? e->version : 0; more; more &= more - 1)
        terms_check_claim(e->key + (1 + (unsigned)__builtin_ctzll(more)) *
                                       invariants_world.script->shards,
                          e->owner, e->term, "a message of node", from);
    if (e->operation <= WIRE_LOCALIZE || e->operation == WIRE_SYNC) check_hops(e, from);
}

static void arrived(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    struct content c;
    report_arrived(shard, from, to, e);
    if (!is_about_a_key(e) || platform_is_lost(to)) return;
    struct key_history *k = &invariants_world.key[e->key];
    if (is_watched(e)) find_answer(shard, to, e->tag)->is_used = false;
    if (e->operation == WIRE_TOLD) note_told(shard, from, to, e);
    if (e->operation == WIRE_ROW && e->term == k->term) terms_outlives(k, &k->left);
    if (e->operation == WIRE_SAVE && e->term == k->term && e->owner == from &&
        key_read_entry(e, &c))
        terms_outlives(k, &c);
}

/* A node was lost while an earlier change was repaired, and they still are. */
static bool is_nested(void)
{
    return platform_is_repairing() && platform_since() < platform_changes();
}

static void dropped(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    (void)shard;
    if (!is_about_a_key(e)) return;
    const struct key_history *k = &invariants_world.key[e->key];
    bool is_the_last = e->term == k->term && terms_owner(k, e->term) == (int)to;
    if (e->operation == WIRE_ROW && is_the_last &&
        !(platform_is_lost(from) && platform_is_lost(to)))
        terms_lose_row(e->key);
    if (e->operation == WIRE_SAVE && is_nested()) terms_forget_saves(e->key);
}

static void refused(unsigned shard, unsigned from, unsigned to, const char *why)
{
    report_fail(REPORT_NO_KEY, "shard %u of node %u refuses a frame of node %u: %s", shard, to,
                from, why);
}

/* ---- steps ---- */

void invariants_watch(void)
{
    if (platform_is_broken()) return;
    for (locus_key key = 0; key < invariants_world.script->keys; key++) key_owner(key);
}

static void returned(unsigned shard, unsigned node, bool settled)
{
    const struct shard *s = platform_shard(node, shard);
    if (platform_is_broken() || platform_is_gone(node, shard)) return;
    for (locus_key key = shard; key < invariants_world.script->keys;
         key += invariants_world.script->shards) {
        key_check_knowledge(key, node);
        if (settled) key_check(key);
        if (settled) key_check_fresh(key, node);
        invariants_world.key[key].was_kept |= s->records.state[row_ref_at(node, key).index].is_kept;
    }
}

/* A node is lost. Its row is at a node that lives, or on its way from one to another; or else it is
 * lost, too. */
static void lost(unsigned node)
{
    invariants_world.losses.nodes++;
    lose_answers(node);
    journal_lose_workers(node * invariants_world.script->workers, invariants_world.script->workers);
    for (locus_key key = 0; key < invariants_world.script->keys; key++) {
        struct traffic t = {0};
        struct row_ref ref = row_ref_at(node, key);
        bool had_it = row_ref_is_here(ref, directory_load(row_ref_word(ref)));
        int owner = key_owner(key);
        key_look_at_links(key, &t);
        if (invariants_world.key[key].is_left) journal_lose_row(key); /* some know all its rows */
        invariants_world.key[key].is_left = false;
        if (is_nested() && saves_row(platform_shard(node, shard_of(key)), ref))
            terms_forget_saves(key);
        if ((owner >= 0) + t.rows == 0 && (had_it || !key_is_given_up(key))) terms_lose_row(key);
    }
}

static void leaves(unsigned node)
{
    (void)node;
    invariants_world.losses.left++;
}

/* From now on the rows that it had are nobody's, until their homes have decided. */
static void left(unsigned shard, unsigned node)
{
    for (locus_key key = shard; key < invariants_world.script->keys;
         key += invariants_world.script->shards) {
        struct key_history *k = &invariants_world.key[key];
        if (!is_here(node, key)) continue;
        k->is_lost = k->is_left = true;
        k->has_begun = false;
        k->lost_by = platform_changes();
    }
}

static void joined(unsigned node)
{
    const struct script *s = invariants_world.script;
    invariants_world.losses.joined++;
    journal_workers_come_back(node * s->workers, s->workers);
    for (locus_key key = 0; key < s->keys; key++) {
        struct key_history *k = &invariants_world.key[key];
        k->word[node] = row_ref_word(row_ref_at(node, key));
        k->keeps[node] = k->took_back[node] = false;
        k->seen[node] = 0;
    }
}

/* What a shard remembers of a node that was lost. */
static void check_forgotten(unsigned node, unsigned shard, unsigned gone)
{
    const struct shard *s = platform_shard(node, shard);
    const struct peer_backlog *b = &s->backlog->peer[gone];
    const char *what = list_length(&b->urgent) || list_length(&b->recall) ? "syncs that wait for"
                       : list_length(&b->lazy)                            ? "updates for"
                       : list_length(&b->refresh)                         ? "refreshes for"
                       : b->is_under_way || b->owes                       ? "a round to"
                       : s->replicas->source[gone].replicas               ? "replicas of"
                                                                          : NULL;
    if (what)
        report_fail(REPORT_NO_KEY, "shard %u of node %u has %s node %u, which was lost", shard,
                    node, what, gone);
    for (locus_key key = shard; key < invariants_world.script->keys;
         key += invariants_world.script->shards) {
        struct row_ref ref = row_ref_at(node, key);
        const struct record *r = record_find(&s->records, ref.index);
        const struct parked *p = r ? r->parked : NULL;
        while (p && p->entry.origin != gone) p = p->next;
        if (home_at(node, key) == gone || location_of(s, ref).owner == gone || p ||
            (r && holder_find(r, gone)))
            report_fail(key, "node %u has something of node %u, which was lost", node, gone);
    }
}

void invariants_check_forgotten(unsigned node, unsigned shard)
{
    for (unsigned gone = 0; gone < invariants_world.script->nodes; gone++)
        if (platform_is_gone(gone, shard) && platform_gone_by(gone) <= platform_view(node, shard))
            check_forgotten(node, shard, gone);
}

/* All have decided who has what: from now on the key has an owner again, and nobody knows terms that
 * an owner had who was lost. But if a later loss took it, of which not all have heard, it is not yet. */
static void settle(locus_key key, uint32_t change)
{
    struct key_history *k = &invariants_world.key[key];
    struct traffic t = {0};
    int owner = key_owner(key);
    key_look_at_links(key, &t);
    if (!k->is_lost || k->lost_by > change) return;
    if (owner >= 0 && !k->has_begun) {
        struct location l = location_of(platform_shard((unsigned)owner, shard_of(key)),
                                        row_ref_at((unsigned)owner, key));
        terms_begin_anew(key, (unsigned)owner, (unsigned)owner, l.term);
    }
    k->terms[0] = 1;
    k->owner[0][0] = (uint16_t)home_at(0, key);
    k->is_lost = false;
    if (!k->is_left) journal_row_is_whole(key);
    k->is_left = false;
}

static void repaired(unsigned shard, unsigned node, bool is_first)
{
    for (locus_key key = shard; key < invariants_world.script->keys && is_first;
         key += invariants_world.script->shards)
        settle(key, platform_view(node, shard));
    invariants_check_forgotten(node, shard);
}

struct platform_hooks invariants_hooks(void)
{
    return (struct platform_hooks){.sent = sent,
                                   .arrived = arrived,
                                   .returned = returned,
                                   .refused = refused,
                                   .lost = lost,
                                   .leaves = leaves,
                                   .left = left,
                                   .dropped = dropped,
                                   .joined = joined,
                                   .repaired = repaired};
}

bool invariants_is_here(unsigned node, locus_key key)
{
    return is_here(node, key);
}

void invariants_kept(unsigned node, locus_key key, bool keeps)
{
    struct key_history *k = &invariants_world.key[key];
    if (keeps)
        k->keeps[node] = true;
    else
        k->took_back[node] = true;
}

void invariants_localized(unsigned node, locus_key key, uint64_t began)
{
    const struct key_history *k = &invariants_world.key[key];
    if (invariants_world.script->technique != LOCUS_RELOCATE || is_here(node, key) ||
        platform_is_broken() || platform_is_lost(node))
        return;
    if (k->seen[node] >= began || k->was_kept) return;
    report_fail(key, "localize is complete at node %u, where the row has not been since", node);
}
