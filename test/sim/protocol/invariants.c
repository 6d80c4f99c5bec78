#include "invariants.h"

#include "common/stores.h"
#include "journal.h"
#include "protocol/backlog.h"
#include "protocol/clocks.h"
#include "protocol/owner.h"
#include "protocol/repair.h"
#include "protocol/replica.h"
#include "protocol/saves.h"
#include "report.h"
#include "store/copies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terms of a view: they begin at its number times 2^30. */
enum { VIEWS_MAX = 1 + PLATFORM_CHANGES_MAX, TERMS_MAX = 4096, VIEW_TERM_BITS = 30 };

struct key_history {
    uint64_t term; /* of the ownership that was given away last */
    /* The row was lost with a node, and nobody has repaired that; somebody has another one */
    bool is_lost, has_begun;
    bool is_left; /* and nothing is lost: the node has left */
    unsigned terms[VIEWS_MAX]; /* known of each view */
    /* Replicas that were offered for a lost row, 0: not that of this node. */
    struct {
        uint64_t term, version;
    } offer[PLATFORM_NODES_MAX];
    /* by nodes as their workers said; what was ever taken back */
    bool keeps[PLATFORM_NODES_MAX], took_back[PLATFORM_NODES_MAX];
    bool was_kept; /* by a node: then it stays, and a localize moves nothing */
    uint16_t owner[VIEWS_MAX][TERMS_MAX]; /* of every term */
    directory_word *word[PLATFORM_NODES_MAX];
    uint64_t seen[PLATFORM_NODES_MAX]; /* moment when the row was last known to be at a node */
};

static struct {
    const struct script *script;
    uint64_t moment, relocations;
    struct invariants_losses losses;
    struct key_history key[JOURNAL_KEYS_MAX];
    /* Of the requests of each node for each key that are under way: by item and by sync. */
    bool sets_by_sync[PLATFORM_NODES_MAX][JOURNAL_KEYS_MAX];
} world;

static struct row_ref row_ref_at(unsigned node, locus_key key)
{
    struct shard *s = platform_shard(node, 0);
    return store_row_ref(s->store, key);
}

static bool is_full(void)
{
    return world.script->technique == LOCUS_FULL_REPLICATION;
}

static unsigned shard_of(locus_key key)
{
    return (unsigned)(key % world.script->shards);
}

struct invariants_losses invariants_losses(void)
{
    struct invariants_losses l = world.losses;
    for (locus_key key = 0; key < world.script->keys; key++) l.vague += journal_key(key)->is_vague;
    return l;
}

static bool is_gone(unsigned node, locus_key key)
{
    return platform_is_gone(node, shard_of(key));
}

/* Where the key is at home, as the node has it. */
static unsigned home_at(unsigned node, locus_key key)
{
    return row_ref_home(row_ref_at(node, key));
}

static bool is_elsewhere(enum directory_state state, bool is_home)
{
    return state == DIRECTORY_UNTOUCHED
               ? !is_home
               : state == DIRECTORY_ELSEWHERE || state == DIRECTORY_REPLICA;
}

static bool is_here(unsigned node, locus_key key)
{
    directory_word w = directory_load(row_ref_word(row_ref_at(node, key)));
    return !is_elsewhere(directory_state(w), home_at(node, key) == node);
}

void invariants_begin(const struct script *s)
{
    world.script = s;
    world.moment = 1;
    world.relocations = 0;
    world.losses = (struct invariants_losses){0};
    for (locus_key key = 0; key < s->keys; key++) {
        struct key_history *k = &world.key[key];
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
    return ++world.moment;
}

uint64_t invariants_relocations(void)
{
    return world.relocations;
}

/* ---- losses ---- */

/* Updates of the lost node, and all that were made before the others have another row, may be in
 * it or not. */
static void lose_row(locus_key key)
{
    if (world.key[key].is_lost) return;
    world.key[key].is_lost = true;
    world.key[key].has_begun = false;
    memset(world.key[key].offer, 0, sizeof world.key[key].offer);
    world.losses.rows++;
    journal_lose_row(key);
}

/* ---- terms ---- */

/* -1: nobody had it in this term. */
static int owner_of_term(const struct key_history *k, uint64_t term)
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
static void begin_anew(locus_key key, unsigned home, unsigned owner, uint64_t term)
{
    struct key_history *k = &world.key[key];
    uint64_t first = (uint64_t)platform_view(home, shard_of(key)) << VIEW_TERM_BITS;
    bool is_home = home == home_at(home, key) || is_gone(home_at(home, key), key);
    if (!k->is_lost || !is_home || (term && term != first))
        report_fail(key,
                    "node %u has it, or says that node %u has, in term %" PRIu64
                    ": it was node %d's in term %" PRIu64,
                    home, owner, term, owner_of_term(k, k->term), k->term);
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
    if (owner == world.key[key].owner[0][0]) return true;
    for (unsigned n = 0; n < world.script->nodes; n++)
        if (!is_gone(n, key) && home_at(n, key) == owner) return true;
    return false;
}

/* Who has the row when a node is lost has it in the first term of the new view from then on. */
static bool goes_on_in_view(locus_key key, unsigned node, uint64_t term)
{
    struct key_history *k = &world.key[key];
    bool had_it = owner_of_term(k, k->term) == (int)node || (k->term == 0 && is_home(node, key));
    uint64_t first = (uint64_t)platform_view(node, shard_of(key)) << VIEW_TERM_BITS;
    if (!had_it || term != first || term <= k->term) return false;
    note_owner(k, term, node);
    k->has_begun = true;
    return true;
}

/* Who the owner of a term is, is said by the row that brings the term. */
static void check_claim(locus_key key, unsigned owner, uint64_t term, const char *who,
                        unsigned node)
{
    struct key_history *k = &world.key[key];
    int known = owner_of_term(k, term);
    if (term == 0 && is_home(owner, key)) return;
    if (known < 0 && owner == node && goes_on_in_view(key, node, term)) return;
    if (known < 0 && owner == node && k->is_lost && !k->has_begun && term > 0) {
        begin_anew(key, node, node, term); /* and answers what was parked there */
        return;
    }
    /* it was given to a node to which there was no link any more */
    if (known < 0 && platform_is_lost(owner) && k->term == 0) goes_on_in_view(key, node, term - 1);
    if (known < 0 && platform_is_lost(owner) && owner_of_term(k, k->term) == (int)node &&
        term == k->term + 1) {
        note_owner(k, term, owner);
        lose_row(key);
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
static void check_best(const struct wire_entry *e)
{
    const struct key_history *k = &world.key[e->key];
    for (unsigned n = 0; n < world.script->nodes; n++)
        if (k->offer[n].term > k->offer[e->owner].term ||
            (k->offer[n].term == k->offer[e->owner].term &&
             k->offer[n].version > k->offer[e->owner].version))
            report_fail(e->key, "the replica of node %u becomes the row, that of node %u is newer",
                        e->owner, n);
}

static void row_leaves(unsigned from, const struct wire_entry *e)
{
    struct key_history *k = &world.key[e->key];
    int owner = owner_of_term(k, k->term);
    if (k->term == 0 && is_home(from, e->key)) owner = (int)from;
    if (e->flags & WIRE_BEGIN) {
        check_best(e);
        begin_anew(e->key, from, e->owner, e->term);
        return;
    }
    if (k->is_lost && !k->has_begun) { /* its home had it anew, for no time */
        begin_anew(e->key, from, from, e->term - 1);
        owner = (int)from;
    }
    if (k->term == 0) goes_on_in_view(e->key, from, e->term - 1);
    if (e->term != k->term + 1)
        report_fail(e->key, "node %u gives it away with term %" PRIu64 ", the last was %" PRIu64,
                    from, e->term, k->term);
    else if (owner != (int)from)
        report_fail(e->key, "node %u gives it away, which is node %d's", from, owner);
    else
        note_owner(k, e->term, e->owner);
    world.relocations++;
    if (platform_is_lost(e->owner)) lose_row(e->key);
}

static void check_hops(const struct wire_entry *e, unsigned node)
{
    const struct key_history *k = &world.key[e->key];
    uint64_t bound = world.script->nodes;
    for (unsigned view = 0; view < VIEWS_MAX; view++) bound += k->terms[view];
    if (e->hops > bound)
        report_fail(e->key, "a request was forwarded %u times, lately by node %u", e->hops, node);
}

static bool is_about_a_key(const struct wire_entry *e)
{
    return wire_rules[e->operation].route != WIRE_OF_SHARD;
}

/* Does it say who has the row? A save of who does not own it is of a time before. */
static bool is_claim(unsigned from, const struct wire_entry *e)
{
    if (e->operation == WIRE_SAVE) return e->owner == from;
    return e->operation != WIRE_HELD && e->operation != WIRE_OFFER;
}

static void sent(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    report_sent(shard, from, to, e);
    if (platform_is_broken() || platform_is_lost(from) || !is_about_a_key(e)) return;
    if (e->operation == WIRE_SYNC && e->origin == from)
        world.sets_by_sync[from][e->key] = e->flags & WIRE_VALUE;
    if (e->operation == WIRE_OFFER) {
        world.key[e->key].offer[from].term = e->term;
        world.key[e->key].offer[from].version = e->version;
    }
    if (e->operation == WIRE_ROW)
        row_leaves(from, e);
    else if (is_claim(from, e))
        check_claim(e->key, e->owner, e->term, "a message of node", from);
    if (e->operation <= WIRE_LOCALIZE || e->operation == WIRE_SYNC) check_hops(e, from);
}

/* An answer of the lost node will not come: what it did will be asked for again. */
static bool is_answer_to_write(unsigned to, const struct wire_entry *e)
{
    return e->operation == WIRE_PUSHED || e->operation == WIRE_WAS_SET ||
           ((e->operation == WIRE_ANSWER || e->operation == WIRE_ROW) &&
            world.sets_by_sync[to][e->key]);
}

static void dropped(unsigned shard, unsigned from, unsigned to, const struct wire_entry *e)
{
    (void)shard;
    if (!is_about_a_key(e)) return;
    if (e->operation == WIRE_ROW &&
        (!platform_is_lost(from) || owner_of_term(&world.key[e->key], e->term) == (int)to))
        lose_row(e->key);
    if (platform_is_lost(from) && is_answer_to_write(to, e)) journal_key(e->key)->is_vague = true;
}

static void refused(unsigned shard, unsigned from, unsigned to, const char *why)
{
    report_fail(REPORT_NO_KEY, "shard %u of node %u refuses a frame of node %u: %s", shard, to,
                from, why);
}

/* ---- one key ---- */

/* The main copy, and the record of what is under way to it: content.h. */
struct traffic {
    unsigned rows;
    float main[CONTENT_CAPACITY], record[CONTENT_CAPACITY];
    bool is_disturbed;       /* somebody is writing a copy just now */
    const void *is_the_main; /* the word of a replica that is the main copy, with what is unsent */
};

/* Entries that carry updates on their way to the main copy, or the main copy itself. */
static bool counts(const struct wire_entry *e)
{
    return e->operation == WIRE_ROW || e->operation == WIRE_PUSH ||
           (e->operation == WIRE_SYNC && e->flags & WIRE_UPDATE);
}

/* As partition_show() does it, with which other fibers would run. */
static void show(const struct partition *p, float *to, const float *row)
{
    for (uint32_t i = 0; i < p->length; i++) {
        uint32_t word;
        memcpy(&word, row + (p->bf16 ? i / 2 : i), sizeof word);
        if (p->bf16) word = i % 2 ? word & 0xFFFF0000 : word << 16;
        memcpy(to + i, &word, sizeof word);
    }
    memcpy(to + p->length, row + p->packed, (p->stored - p->packed) * sizeof *to);
}

static void add_record(struct traffic *t, locus_key key, const float *record)
{
    content_merge(t->record, journal_key(key)->layout, record, false);
}

static void add_entry(struct traffic *t, const struct wire_entry *e)
{
    const float *values = wire_values_const(e);
    const struct partition *p = row_ref_at(0, e->key).partition;
    float record[CONTENT_CAPACITY] = {0};
    if (e->operation == WIRE_ROW) {
        if (e->length) show(p, t->main, values);
        return;
    }
    if (e->operation == WIRE_PUSH || e->flags & WIRE_GRADIENT)
        content_write_record(record, journal_key(e->key)->layout, values);
    else
        memcpy(record, values, p->delta * sizeof *record);
    add_record(t, e->key, record);
}

static const char *check_content(const float *row, struct content_layout l, struct content *c)
{
    const char *wrong = content_read(row, l, c);
    return wrong ? wrong : content_check_state(row, l, c);
}

/* What the owner of a dirty replica has not got: row.h. */
static void add_unsent(struct traffic *t, locus_key key, struct row_ref ref, directory_word w)
{
    const struct partition *p = ref.partition;
    float row[CONTENT_CAPACITY], unsent[CONTENT_CAPACITY] = {0};
    if (!(w & DIRECTORY_DIRTY)) return;
    const float *kept = partition_row(p, directory_slot(w) + 1);
    show(p, row, partition_row(p, directory_slot(w)));
    if (p->bf16 || !p->optimizer) { /* the values, as they were */
        show(p, unsent, kept);
        for (uint32_t i = 0; i < p->length; i++) unsent[i] = row[i] - unsent[i];
    } else if (p->optimizer->keeps_gradients && kept[p->delta - 1] < 0) {
        content_write_record(unsent, journal_key(key)->layout,
                             kept); /* of one step, its gradient */
    } else {
        memcpy(unsent, kept, p->delta * sizeof *unsent);
    }
    add_record(t, key, unsent);
}

/* The row is on its way to a replica that is as good: that is the main copy. */
static void add_replica(locus_key key, unsigned node, struct traffic *t)
{
    struct row_ref ref = row_ref_at(node, key);
    directory_word w = directory_load(row_ref_word(ref));
    if (directory_state(w) != DIRECTORY_REPLICA)
        report_fail(key, "on its way without values to node %u, which has no replica", node);
    if (directory_state(w) != DIRECTORY_REPLICA || directory_is_latched(w)) return;
    show(ref.partition, t->main, partition_row(ref.partition, directory_slot(w)));
    t->is_the_main = row_ref_word(ref);
}

static void look_at_links(locus_key key, struct traffic *t)
{
    unsigned shard = shard_of(key), nodes = world.script->nodes;
    for (unsigned from = 0; from < nodes; from++)
        for (unsigned to = 0; to < nodes; to++) {
            if (is_gone(to, key)) continue;
            struct platform_walk w = platform_walk(platform_link(shard, from, to));
            for (const struct wire_entry *e; (e = platform_next(&w));) {
                if (platform_is_lost(from) && w.was_open) break; /* it never leaves */
                if (e->key != key || !is_about_a_key(e)) continue;
                t->rows += e->operation == WIRE_ROW;
                if (counts(e)) add_entry(t, e);
                if (e->encoding == WIRE_AS_REPLICA) add_replica(key, to, t);
            }
        }
}

static void look_at_parked(locus_key key, struct traffic *t)
{
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        struct shard *s = platform_shard(n, shard_of(key));
        struct record *r = record_find(&s->records, row_ref_at(n, key).index);
        for (struct parked *p = r ? r->parked : NULL; p; p = p->next)
            if (counts(&p->entry)) add_entry(t, &p->entry);
    }
}

/* The main copy, unless somebody writes it just now. */
static bool read_main(unsigned node, locus_key key, float *row)
{
    struct row_ref ref = row_ref_at(node, key);
    directory_word w = directory_load(row_ref_word(ref));
    if (directory_is_latched(w)) return false;
    if (directory_has_row(w))
        show(ref.partition, row, partition_row(ref.partition, directory_slot(w)));
    else
        memset(row, 0, partition_full(ref.partition) * sizeof *row);
    return true;
}

static void look_at_replicas(locus_key key, struct traffic *t)
{
    struct journal_key *j = journal_key(key);
    struct content c;
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        struct row_ref ref = row_ref_at(n, key);
        directory_word w = directory_load(row_ref_word(ref));
        if (directory_state(w) != DIRECTORY_REPLICA) continue;
        j->was_replicated = true;
        if (directory_is_latched(w)) {
            t->is_disturbed = true;
            continue;
        }
        float row[CONTENT_CAPACITY];
        show(ref.partition, row, partition_row(ref.partition, directory_slot(w)));
        const char *wrong = j->is_vague ? NULL : check_content(row, j->layout, &c);
        if (wrong) report_fail(key, "the replica at node %u %s", n, wrong);
        if (row_ref_word(ref) != t->is_the_main) add_unsent(t, key, ref, w);
    }
}

static void check_updates(locus_key key, int owner, struct traffic *t)
{
    const struct journal_key *j = journal_key(key);
    struct content c;
    if (j->is_vague || world.key[key].is_lost) return;
    if (t->is_disturbed || (owner >= 0 && !read_main((unsigned)owner, key, t->main))) return;
    if (j->has_sets) { /* a set may take updates away; what it leaves must be a row */
        const char *wrong = owner >= 0 ? check_content(t->main, j->layout, &c) : NULL;
        if (wrong) report_fail(key, "the row at node %d %s", owner, wrong);
        return;
    }
    content_merge(t->main, j->layout, t->record, true);
    const char *wrong = check_content(t->main, j->layout, &c);
    if (wrong) report_fail(key, "main copy and updates under way: the sum %s", wrong);
    for (unsigned u = 0; u < j->updates; u++)
        if (content_has(&j->done, u) && !content_has(&c, u))
            report_fail(key, "update %u, which is complete, is lost", u);
}

/* -1: nobody. */
static int find_owner(locus_key key)
{
    int owner = -1;
    struct key_history *k = &world.key[key];
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        directory_word w = directory_load(k->word[n]);
        if (directory_state(w) == DIRECTORY_REPLICA || directory_has_copies(w))
            journal_key(key)->was_replicated = true;
        if (is_elsewhere(directory_state(w), n == home_at(n, key))) continue;
        if (owner >= 0) report_fail(key, "nodes %d and %u both own it", owner, n);
        owner = (int)n;
        k->seen[n] = ++world.moment;
    }
    return owner;
}

void invariants_watch(void)
{
    if (platform_is_broken()) return;
    for (locus_key key = 0; key < world.script->keys; key++) find_owner(key);
}

static struct record *record_of(unsigned node, locus_key key)
{
    return record_find(&platform_shard(node, shard_of(key))->records, row_ref_at(node, key).index);
}

/* Steps that were merged may be rounded otherwise than those that were made. */
static bool are_copies(locus_key key, const float *a, const float *b)
{
    struct content_layout l = journal_key(key)->layout;
    struct content of_a, of_b;
    if (journal_key(key)->is_vague) return true;
    return !content_read(a, l, &of_a) && !content_read(b, l, &of_b) && content_equals(&of_a, &of_b);
}

/* A replica that has the owner's present version, and nothing of its own, is equal to the main
 * copy. */
static void check_replicas(locus_key key, unsigned owner)
{
    float main[CONTENT_CAPACITY], row[CONTENT_CAPACITY];
    const struct record *o = record_of(owner, key);
    directory_word w = directory_load(row_ref_word(row_ref_at(owner, key)));
    if (directory_state(w) != DIRECTORY_TRACKED || !o || directory_version(w) != o->seen_word)
        return;
    if (!read_main(owner, key, main)) return;
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key) || !(is_full() || holder_find(o, n))) continue;
        const struct record *r = record_of(n, key);
        w = directory_load(row_ref_word(row_ref_at(n, key)));
        if (directory_state(w) != DIRECTORY_REPLICA || w & DIRECTORY_DIRTY || !r || r->sync)
            continue;
        if (r->version != o->version || !read_main(n, key, row)) continue;
        if (!are_copies(key, main, row))
            report_fail(key, "the replica at node %u has version %" PRIu64 ", and is not the row",
                        n, r->version);
    }
}

static void check_owner(locus_key key)
{
    struct traffic t = {0};
    int owner = find_owner(key);
    look_at_links(key, &t);
    look_at_parked(key, &t);
    look_at_replicas(key, &t);
    if ((owner >= 0) + t.rows > 1 || ((owner >= 0) + t.rows == 0 && !world.key[key].is_lost))
        report_fail(key, "%d owners and %u rows under way", owner >= 0, t.rows);
    check_updates(key, owner, &t);
    if (owner >= 0) check_replicas(key, (unsigned)owner);
}

/* Every copy at a node holds what was done before the clock of its gate (clocks.h). */
static void check_fresh(locus_key key, unsigned node)
{
    const struct journal_key *j = journal_key(key);
    locus_clock gate = clocks_gate(platform_shard(node, shard_of(key))->clocks);
    directory_word w = directory_load(row_ref_word(row_ref_at(node, key)));
    float row[CONTENT_CAPACITY];
    struct content c;
    if (gate == 0 || j->has_sets || j->is_vague || !row_ref_is_held(row_ref_at(node, key), w))
        return;
    if (!read_main(node, key, row) || content_read(row, j->layout, &c)) return;
    const char *wrong = journal_check_fresh(key, gate, &c);
    if (wrong)
        report_fail(key, "a copy at node %u, to be fresh to clock %lld, %s", node, (long long)gate,
                    wrong);
}

/* What a node knows whose shard has just returned. */
static void check_knowledge(locus_key key, unsigned node)
{
    struct shard *s = platform_shard(node, shard_of(key));
    struct row_ref ref = row_ref_at(node, key);
    struct location l = location_of(s, ref);
    const struct key_history *k = &world.key[key];
    if (row_ref_was_held(ref) != row_ref_is_held(ref, directory_load(row_ref_word(ref))))
        report_fail(key, "node %u does not note whether a row is here", node);
    if (l.is_here && l.term != k->term) goes_on_in_view(key, node, l.term);
    if (l.is_here && k->is_lost && (l.term != k->term || owner_of_term(k, l.term) != (int)node))
        begin_anew(key, node, node, l.term);
    check_claim(key, l.owner, l.term, "node", node);
    if (l.is_here && l.term != k->term)
        report_fail(key, "node %u owns it in term %" PRIu64 ", the last one is %" PRIu64, node,
                    l.term, k->term);
}

static void returned(unsigned shard, unsigned node, bool settled)
{
    const struct shard *s = platform_shard(node, shard);
    if (platform_is_broken() || platform_is_gone(node, shard)) return;
    for (locus_key key = shard; key < world.script->keys; key += world.script->shards) {
        check_knowledge(key, node);
        if (settled) check_owner(key);
        if (settled) check_fresh(key, node);
        world.key[key].was_kept |= s->records.state[row_ref_at(node, key).index].is_kept;
    }
}

/* A node is lost. Its row is at a node that lives, or on its way from one to another; or else it is
 * lost, too. */
static void lost(unsigned node)
{
    world.losses.nodes++;
    journal_lose_workers(node * world.script->workers, world.script->workers);
    for (locus_key key = 0; key < world.script->keys; key++) {
        struct traffic t = {0};
        int owner = find_owner(key);
        look_at_links(key, &t);
        if (world.key[key].is_left) journal_lose_row(key); /* some have heard of all its rows */
        world.key[key].is_left = false;
        if ((owner >= 0) + t.rows == 0) lose_row(key);
    }
}

static void leaves(unsigned node)
{
    (void)node;
    world.losses.left++;
    for (locus_key key = 0; key < world.script->keys; key++)
        memset(world.key[key].offer, 0, sizeof world.key[key].offer);
}

/* From now on the rows that it had are nobody's, until their homes have decided. */
static void left(unsigned shard, unsigned node)
{
    for (locus_key key = shard; key < world.script->keys; key += world.script->shards) {
        struct key_history *k = &world.key[key];
        if (!is_here(node, key)) continue;
        k->is_lost = k->is_left = true;
        k->has_begun = false;
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
    for (locus_key key = shard; key < world.script->keys; key += world.script->shards) {
        struct row_ref ref = row_ref_at(node, key);
        const struct record *r = record_find(&s->records, ref.index);
        const struct parked *p = r ? r->parked : NULL;
        while (p && p->entry.origin != gone) p = p->next;
        if (home_at(node, key) == gone || location_of(s, ref).owner == gone || p ||
            (r && holder_find(r, gone)))
            report_fail(key, "node %u has something of node %u, which was lost", node, gone);
    }
}

static void check_all_forgotten(unsigned node, unsigned shard)
{
    for (unsigned gone = 0; gone < world.script->nodes; gone++)
        if (platform_is_gone(gone, shard)) check_forgotten(node, shard, gone);
}

/* All have decided who has what: from now on the key has an owner again, and nobody knows terms that
 * an owner had who was lost. */
static void settle(locus_key key)
{
    struct key_history *k = &world.key[key];
    struct traffic t = {0};
    int owner = find_owner(key);
    look_at_links(key, &t);
    if (!k->is_lost) return;
    if (owner >= 0 && !k->has_begun) {
        struct location l = location_of(platform_shard((unsigned)owner, shard_of(key)),
                                        row_ref_at((unsigned)owner, key));
        begin_anew(key, (unsigned)owner, (unsigned)owner, l.term);
    }
    k->terms[0] = 1;
    k->owner[0][0] = (uint16_t)home_at(0, key);
    k->is_lost = false;
    if (!k->is_left) journal_row_is_whole(key);
    k->is_left = false;
}

static void repaired(unsigned shard, unsigned node, bool is_first)
{
    for (locus_key key = shard; key < world.script->keys && is_first; key += world.script->shards)
        settle(key);
    check_all_forgotten(node, shard);
}

struct platform_hooks invariants_hooks(void)
{
    return (struct platform_hooks){.sent = sent,
                                   .arrived = report_arrived,
                                   .returned = returned,
                                   .refused = refused,
                                   .lost = lost,
                                   .leaves = leaves,
                                   .left = left,
                                   .dropped = dropped,
                                   .repaired = repaired};
}

bool invariants_is_here(unsigned node, locus_key key)
{
    return is_here(node, key);
}

void invariants_kept(unsigned node, locus_key key, bool keeps)
{
    struct key_history *k = &world.key[key];
    if (keeps)
        k->keeps[node] = true;
    else
        k->took_back[node] = true;
}

void invariants_localized(unsigned node, locus_key key, uint64_t began)
{
    const struct key_history *k = &world.key[key];
    if (world.script->technique != LOCUS_RELOCATE || is_here(node, key) || platform_is_broken() ||
        platform_is_lost(node))
        return;
    if (k->seen[node] >= began || k->was_kept) return;
    report_fail(key, "localize is complete at node %u, where the row has not been since", node);
}

/* ---- at rest ---- */

static bool is_kept(unsigned node, locus_key key)
{
    struct shard *s = platform_shard(node, shard_of(key));
    return s->records.state[row_ref_at(node, key).index].is_kept;
}

static bool is_kept_anywhere(locus_key key)
{
    for (unsigned n = 0; n < world.script->nodes; n++)
        if (!is_gone(n, key) && is_kept(n, key)) return true;
    return false;
}

/* The keys' replicas that the shard has of a node. */
static uint64_t kept_replicas(unsigned node, unsigned shard, unsigned source)
{
    uint64_t replicas = 0;
    for (locus_key key = shard; key < world.script->keys; key += world.script->shards)
        replicas += is_kept(node, key) && !is_here(node, key) && !is_gone(source, key) &&
                    is_here(source, key);
    return replicas;
}

/* Under full replication owners remember their holders, and these the version that they have; else
 * nothing is left. */
static void check_record(unsigned node, unsigned shard, const struct record *r)
{
    locus_key key = r->index * world.script->shards + shard;
    bool waits = r->asked || r->waiting_first != REQUEST_NOWHERE ||
                 r->unseen_first != REQUEST_NOWHERE || r->set != REQUEST_NOWHERE || r->parked ||
                 r->sync || r->is_later || r->queued;
    if (waits || !(is_full() || is_kept_anywhere(key)))
        report_fail(key, "at rest: node %u remembers something", node);
}

static void at_rest(unsigned node, unsigned shard, bool holds, const char *what)
{
    if (!holds)
        report_fail(REPORT_NO_KEY, "at rest: shard %u of node %u has %s", shard, node, what);
}

static void check_shard(unsigned node, unsigned shard)
{
    struct shard *s = platform_shard(node, shard);
    for (size_t i = 0; i < (size_t)s->workers * REQUEST_NUMBERS_MAX; i++)
        at_rest(node, shard, !s->active[i], "an open request");
    for (uint64_t index = 0; index < s->records.keys; index++) {
        locus_key key = index * world.script->shards + shard;
        if (record_find(&s->records, index))
            check_record(node, shard, record_find(&s->records, index));
        if (s->records.state[index].wanted) report_fail(key, "at rest: node %u wants it", node);
    }
    at_rest(node, shard, !s->parked_bytes, "bytes parked");
    at_rest(node, shard, repair_is_over(s), "a repair under way");
    check_all_forgotten(node, shard);
    at_rest(node, shard, !s->backlog->waiting, "keys that wait for a round");
    at_rest(node, shard, !s->replicas->awaited && !s->quiescing && !s->stalled, "what is awaited");
    for (unsigned peer = 0; peer < s->nodes; peer++) {
        at_rest(node, shard, !s->asked_bytes[peer], "bytes asked of another");
        at_rest(node, shard, !s->backlog->peer[peer].is_under_way, "a round under way");
        at_rest(node, shard,
                is_full() || s->replicas->source[peer].replicas == kept_replicas(node, shard, peer),
                "another count of replicas than it has");
    }
}

/* Every copy is the same; who keeps the key has one; without intent there is none but under full
 * replication. */
static void check_copies(locus_key key)
{
    float main[CONTENT_CAPACITY], row[CONTENT_CAPACITY];
    int owner = find_owner(key);
    if (owner < 0 || !read_main((unsigned)owner, key, main)) return;
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        struct row_ref ref = row_ref_at(n, key);
        directory_word w = directory_load(row_ref_word(ref));
        bool untouched = directory_state(w) == DIRECTORY_UNTOUCHED && n != (unsigned)owner;
        const struct key_history *k = &world.key[key];
        bool heeds = world.script->technique != LOCUS_STATIC && !is_full();
        if (heeds && k->keeps[n] && !k->took_back[n] && !is_kept(n, key))
            report_fail(key, "at rest: node %u was to keep it for ever", n);
        if (is_kept(n, key) && n != (unsigned)owner && directory_state(w) != DIRECTORY_REPLICA)
            report_fail(key, "at rest: node %u keeps it, and has no replica", n);
        if (directory_state(w) != DIRECTORY_REPLICA && !(untouched && is_full())) continue;
        if (!is_full() && !is_kept(n, key))
            report_fail(key, "at rest: node %u has a replica without intent", n);
        read_main(n, key, row);
        if (!are_copies(key, main, row))
            report_fail(key, "at rest: the replica at node %u is not the row", n);
    }
}

static void check_memory(unsigned node)
{
    struct shard *s = platform_shard(node, 0);
    uint64_t rows = 0;
    for (locus_key key = 0; key < world.script->keys; key++) {
        directory_word w = directory_load(row_ref_word(row_ref_at(node, key)));
        rows += row_word_is_written(row_ref_at(node, key), w);
        const struct shard *of = platform_shard(node, shard_of(key));
        rows += of->saves && saves_row(of, row_ref_at(node, key));
        if (directory_is_latched(w)) report_fail(key, "at rest: latched at node %u", node);
        if (w & DIRECTORY_WAITERS && directory_has_row(w))
            report_fail(key, "at rest: the latch has waiters at node %u", node);
    }
    if (store_held_rows(s->store) != rows)
        report_fail(REPORT_NO_KEY, "at rest: node %u uses %" PRIu64 " slots for %" PRIu64 " rows",
                    node, store_held_rows(s->store), rows);
}

static void read_last(locus_key key)
{
    float row[CONTENT_CAPACITY];
    for (unsigned n = 0; n < world.script->nodes; n++) {
        if (is_gone(n, key) || !is_here(n, key) || !read_main(n, key, row)) continue;
        struct content c;
        const char *wrong = journal_saw(key, 0, journal_tick(), row);
        if (!wrong && !journal_key(key)->is_vague)
            wrong = check_content(row, journal_key(key)->layout, &c);
        if (wrong) report_fail(key, "at rest: the row %s", wrong);
        return;
    }
    report_fail(key, "at rest: nobody has the row");
}

/* The home must know the owner when all news has arrived. */
static void check_home(locus_key key)
{
    unsigned home = home_at(0, key);
    struct location l = location_of(platform_shard(home, shard_of(key)), row_ref_at(home, key));
    if (l.term != world.key[key].term)
        report_fail(key, "at rest: the home, node %u, knows term %" PRIu64 ", not %" PRIu64, home,
                    l.term, world.key[key].term);
}

/* A row has copies until somebody needs the row itself: as we do now. */
static void end_copies(unsigned node)
{
    for (locus_key key = 0; key < world.script->keys; key++) {
        struct row_ref ref = row_ref_at(node, key);
        if (directory_has_copies(directory_load(row_ref_word(ref)))) copies_end(ref);
    }
}

void invariants_at_rest(void)
{
    for (unsigned n = 0; n < world.script->nodes && !report_has_failed(); n++) {
        if (platform_is_gone(n, 0)) continue;
        end_copies(n);
        for (unsigned s = 0; s < world.script->shards; s++) check_shard(n, s);
        check_memory(n);
    }
    for (locus_key key = 0; key < world.script->keys && !report_has_failed(); key++) {
        check_owner(key);
        check_home(key);
        check_copies(key);
        read_last(key);
    }
}

/* ---- in words ---- */

static const char *kind_of_word(directory_word w)
{
    static const char *const name[] = {"untouched", "elsewhere", "main",    "replica",
                                       "empty",     "?",         "tracked", "?"};
    return name[directory_state(w)];
}

static void print_at(unsigned node, locus_key key)
{
    if (is_gone(node, key)) {
        printf("  node %u: lost, or has left\n", node);
        return;
    }
    struct shard *s = platform_shard(node, shard_of(key));
    struct row_ref ref = row_ref_at(node, key);
    directory_word w = directory_load(row_ref_word(ref));
    struct location l = location_of(s, ref);
    struct record *r = record_find(&s->records, ref.index);
    float row[CONTENT_CAPACITY] = {0};
    struct content c;
    char text[400];
    printf("  node %u: %s%s, owner %u, term %" PRIu64, node, kind_of_word(w),
           directory_is_latched(w) && directory_state(w) != DIRECTORY_ELSEWHERE ? " (latched)" : "",
           l.owner, l.term);
    if ((l.is_here || l.is_replica) && read_main(node, key, row)) {
        const char *wrong = content_read(row, journal_key(key)->layout, &c);
        printf(", row: %s%s%s", content_text(&c, text, sizeof text), wrong ? ", " : "",
               wrong ? wrong : "");
    }
    if (s->records.state[ref.index].wanted)
        printf("; wanted %u", s->records.state[ref.index].wanted);
    if (r && (r->registered || r->sync || r->version || r->holders))
        printf("%s%s, version %" PRIu64 ", %u holders", r->registered ? ", registered" : "",
               r->sync ? ", a sync is in flight" : "", r->version, r->holders);
    if (r && (r->is_later || r->is_unsent || r->queued || r->set != REQUEST_NOWHERE))
        printf("; later %u, unsent %u, queued %u%s", r->is_later, r->is_unsent, r->queued,
               r->set == REQUEST_NOWHERE ? "" : ", a set waits");
    if (r && (r->asked || r->waiting_first != REQUEST_NOWHERE))
        printf("; %u asked of node %u, %u localize%s", r->asked, r->route, r->localizing,
               r->waiting_first == REQUEST_NOWHERE ? "" : ", requests wait");
    for (struct parked *p = r ? r->parked : NULL; p; p = p->next)
        printf("; parked: operation %u of node %u", p->entry.operation, p->entry.origin);
    printf("\n");
}

void invariants_print(locus_key key)
{
    const struct key_history *k = &world.key[key];
    unsigned nodes = world.script->nodes;
    printf("  key %u: home %u, last term %" PRIu64 ", owner by the last row: %d%s\n", (unsigned)key,
           home_at(0, key), k->term, owner_of_term(k, k->term), k->is_lost ? ", lost" : "");
    for (unsigned n = 0; n < nodes; n++) print_at(n, key);
    for (unsigned from = 0; from < nodes; from++)
        for (unsigned to = 0; to < nodes; to++) {
            struct platform_walk walk = platform_walk(platform_link(shard_of(key), from, to));
            for (const struct wire_entry *e; (e = platform_next(&walk));)
                if (e->key == key)
                    printf("  under way %u -> %u: operation %u, origin %u, owner %u, term %" PRIu64
                           ", hops %u\n",
                           from, to, e->operation, e->origin, e->owner, e->term, e->hops);
        }
    printf("  what was done to it:\n");
    journal_print(key);
}
