#include "invariants_private.h"

#include <stdlib.h>

/* ---- losses ---- */

void terms_outlives(struct key_history *k, const struct content *c)
{
    for (unsigned i = 0; i < 2; i++) k->saved.updates[i] |= c->updates[i];
}

/* What is known to outlive the owner of a row does so if one node is lost and nobody before it is still
 * being repaired. If another one is lost meanwhile, then not: of a row that it had, or that was on its
 * way to it or from it, as its save may have been with those that were lost before, or is not yet made
 * anew; and of any row of which it had a save, or of which one was on its way to it from who does not
 * keep the row. Such a row may begin with zeros, or with what it was at any time before. */
void terms_forget_saves(locus_key key)
{
    invariants_world.key[key].saved = invariants_world.key[key].left = (struct content){0};
}

/* Updates of the lost node, and all that were made before the others have another row, may be in
 * it or not. */
void terms_lose_row(locus_key key)
{
    struct key_history *k = &invariants_world.key[key];
    bool is_known = k->is_lost && !k->has_begun;
    invariants_world.losses.rows += !k->is_lost;
    k->is_lost = true;
    k->has_begun = false;
    k->lost_by = platform_changes();
    if (is_known) return;
    if (platform_since() < k->lost_by) terms_forget_saves(key);
    if (!platform_is_lost(k->giver))
        terms_outlives(k, &k->left); /* who gives a row away keeps it */
    journal_lose_row(key);
}

/* ---- terms ---- */

/* -1: nobody had it in this term. */
int terms_owner(const struct key_history *k, uint64_t term)
{
    uint64_t view = term >> VIEW_TERM_BITS, i = term & ((UINT64_C(1) << VIEW_TERM_BITS) - 1);
    return view < VIEWS_MAX && i < k->terms[view] ? k->owner[view][i] : -1;
}

static void note_owner(struct key_history *k, uint64_t term, unsigned owner)
{
    uint64_t view = term >> VIEW_TERM_BITS, i = term & ((UINT64_C(1) << VIEW_TERM_BITS) - 1);
    if (view >= VIEWS_MAX || i >= TERMS_MAX || i != k->terms[view]) abort();
    k->owner[view][i] = (uint16_t)owner;
    k->terms[view]++;
    k->term = term;
}

/* Nobody had the row any more: its home has it now, or says who does. */
void terms_begin_anew(locus_key key, unsigned home, unsigned owner, uint64_t term)
{
    struct key_history *k = &invariants_world.key[key];
    uint64_t first = (uint64_t)platform_view(home, shard_of(key)) << VIEW_TERM_BITS;
    bool is_home = home == home_at(home, key) || is_gone(home_at(home, key), key);
    if (!k->is_lost || !is_home || (term && term != first))
        report_fail(key,
                    "node %u has it, or says that node %u has, in term %" PRIu64
                    ": it was node %d's in term %" PRIu64,
                    home, owner, term, terms_owner(k, k->term), k->term);
    else if (term && k->terms[term >> VIEW_TERM_BITS])
        report_fail(key, "node %u decides in view %u about what has an owner", home,
                    platform_view(home, shard_of(key)));
    else if (term)
        note_owner(k, term, owner);
    else
        k->term = 0;
    k->has_begun = true;
}

/* Before there is another term, it is its home's. */
static bool is_home(unsigned owner, locus_key key)
{
    if (owner == invariants_world.key[key].owner[0][0]) return true;
    if (owner == first_home(key) && !is_gone(owner, key)) return true;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++)
        if (!is_gone(n, key) && home_at(n, key) == owner) return true;
    return false;
}

/* Who has the row when a node is lost has it in the first term of the new view from then on. */
bool terms_go_on(locus_key key, unsigned node, uint64_t term)
{
    struct key_history *k = &invariants_world.key[key];
    bool had_it = terms_owner(k, k->term) == (int)node || (k->term == 0 && is_home(node, key));
    uint64_t first = (uint64_t)platform_view(node, shard_of(key)) << VIEW_TERM_BITS;
    if (!had_it || term != first || term <= k->term) return false;
    note_owner(k, term, node);
    k->has_begun = true;
    return true;
}

/* Who was the home has decided that another one is, which need not have the row: it knows who does. That
 * is older than all that is said of owners since the change. It stays when that one is the home no more,
 * because a node has joined. */
static bool is_hint_to_the_home(locus_key key, unsigned owner, uint64_t term, unsigned node)
{
    struct key_history *k = &invariants_world.key[key];
    uint64_t view = (term + 1) >> VIEW_TERM_BITS;
    uint32_t now = platform_view(node, shard_of(key));
    if (owner == node || view == 0 || view << VIEW_TERM_BITS != term + 1 || view > now)
        return false;
    if (view == now && owner == home_at(node, key)) k->was_home[view] |= 1u << owner;
    return k->was_home[view] >> owner & 1;
}

/* Who the owner of a term is, is said by the row that brings the term. */
void terms_check_claim(locus_key key, unsigned owner, uint64_t term, const char *who, unsigned node)
{
    struct key_history *k = &invariants_world.key[key];
    int known = terms_owner(k, term);
    if (term == 0 && is_home(owner, key)) return;
    if (known < 0 && owner == node && terms_go_on(key, node, term)) return;
    if (is_hint_to_the_home(key, owner, term, node)) return;
    /* nobody had written it, and it was given up to who has joined, who need not know */
    if (known < 0 && owner != node && owner == first_home(key) &&
        (k->term == 0 || term < k->term) && term >> VIEW_TERM_BITS << VIEW_TERM_BITS == term)
        return;
    if (known < 0 && owner == node && k->is_lost && !k->has_begun && term > 0) {
        terms_begin_anew(key, node, node, term); /* and answers what was parked there */
        return;
    }
    /* it was given to a node to which there was no link any more */
    if (known < 0 && platform_is_lost(owner) && k->term == 0) terms_go_on(key, node, term - 1);
    if (known < 0 && platform_is_lost(owner) && terms_owner(k, k->term) == (int)node &&
        term == k->term + 1) {
        note_owner(k, term, owner);
        terms_lose_row(key);
        return;
    }
    /* its replica was to become the row, but there was no link to it any more */
    if (known < 0 && platform_is_lost(owner) && k->is_lost && !k->has_begun &&
        term == (uint64_t)platform_view(node, shard_of(key)) << VIEW_TERM_BITS) {
        terms_begin_anew(key, node, owner, term);
        terms_lose_row(key);
        return;
    }
    if (known < 0)
        report_fail(key, "%s %u knows term %" PRIu64 ", the last is %" PRIu64, who, node, term,
                    k->term);
    else if (owner != (unsigned)known)
        report_fail(key, "%s %u takes node %u for the owner in term %" PRIu64 ", which is node %d",
                    who, node, owner, term, known);
}

/* ---- entries ---- */

/* A replica becomes the row: the best of those that were offered. */
static void check_best(unsigned from, const struct wire_entry *e)
{
    const struct key_history *k = &invariants_world.key[e->key];
    uint32_t view = platform_view(from, shard_of(e->key));
    uint64_t term = k->offer[view][e->owner].term, version = k->offer[view][e->owner].version;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++)
        if (k->offer[view][n].term > term ||
            (k->offer[view][n].term == term && k->offer[view][n].version > version))
            report_fail(e->key, "the replica of node %u becomes the row, that of node %u is newer",
                        e->owner, n);
}

void terms_row_leaves(unsigned from, const struct wire_entry *e)
{
    struct key_history *k = &invariants_world.key[e->key];
    int owner = terms_owner(k, k->term);
    if (k->term == 0 && is_home(from, e->key)) owner = (int)from;
    if (e->flags & WIRE_BEGIN) {
        check_best(from, e);
        terms_begin_anew(e->key, from, e->owner, e->term);
        return;
    }
    if (k->is_lost && !k->has_begun) { /* its home had it anew, for no time */
        terms_begin_anew(e->key, from, from, e->term - 1);
        owner = (int)from;
    }
    if (k->term == 0) terms_go_on(e->key, from, e->term - 1);
    if (e->term != k->term + 1)
        report_fail(e->key, "node %u gives it away with term %" PRIu64 ", the last was %" PRIu64,
                    from, e->term, k->term);
    else if (owner != (int)from)
        report_fail(e->key, "node %u gives it away, which is node %d's", from, owner);
    else
        note_owner(k, e->term, e->owner);
    k->giver = from;
    k->left = (struct content){0};
    key_read_entry(e, &k->left);
    invariants_world.relocations++;
    if (platform_is_lost(e->owner)) terms_lose_row(e->key);
}
