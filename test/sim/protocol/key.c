#include "invariants_private.h"

#include "protocol/clocks.h"
#include "protocol/replica.h"

/* Entries that carry updates on their way to the main copy, or the main copy itself. */
static bool counts(const struct wire_entry *e)
{
    return e->operation == WIRE_ROW || e->operation == WIRE_PUSH ||
           (e->operation == WIRE_SYNC && e->flags & WIRE_UPDATE);
}

void key_show(const struct partition *p, float *to, const float *row)
{
    for (uint32_t i = 0; i < p->length; i++) {
        uint32_t word;
        memcpy(&word, row + (p->bf16 ? i / 2 : i), sizeof word);
        if (p->bf16) word = i % 2 ? word & 0xFFFF0000 : word << 16;
        memcpy(to + i, &word, sizeof word);
    }
    memcpy(to + p->length, row + p->packed, (p->stored - p->packed) * sizeof *to);
}

bool key_read_entry(const struct wire_entry *e, struct content *c)
{
    float row[CONTENT_CAPACITY];
    if (e->length == 0) return false;
    key_show(row_ref_at(0, e->key).partition, row, wire_values_const(e));
    return !content_read(row, journal_key(e->key)->layout, c);
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
        if (e->length) key_show(p, t->main, values);
        return;
    }
    if (e->operation == WIRE_PUSH || e->flags & WIRE_GRADIENT)
        content_write_record(record, journal_key(e->key)->layout, values);
    else
        memcpy(record, values, p->delta * sizeof *record);
    add_record(t, e->key, record);
}

const char *key_check_content(const float *row, struct content_layout l, struct content *c)
{
    const char *wrong = content_read(row, l, c);
    if (journal_key(l.key)->is_doubtful) return NULL;
    return wrong ? wrong : content_check_state(row, l, c);
}

/* What the owner of a dirty replica has not got: row.h. */
static void add_unsent(struct traffic *t, locus_key key, struct row_ref ref, directory_word w)
{
    const struct partition *p = ref.partition;
    float row[CONTENT_CAPACITY], unsent[CONTENT_CAPACITY] = {0};
    if (!(w & DIRECTORY_DIRTY)) return;
    const float *kept = partition_row(p, directory_slot(w) + 1);
    key_show(p, row, partition_row(p, directory_slot(w)));
    if (p->bf16 || !p->optimizer) { /* the values, as they were */
        key_show(p, unsent, kept);
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
    key_show(ref.partition, t->main, partition_row(ref.partition, directory_slot(w)));
    t->is_the_main = row_ref_word(ref);
}

void key_look_at_links(locus_key key, struct traffic *t)
{
    unsigned shard = shard_of(key), nodes = invariants_world.script->nodes;
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
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        struct shard *s = platform_shard(n, shard_of(key));
        struct record *r = record_find(&s->records, row_ref_at(n, key).index);
        for (struct parked *p = r ? r->parked : NULL; p; p = p->next)
            if (counts(&p->entry)) add_entry(t, &p->entry);
    }
}

/* The main copy, unless somebody writes it just now. */
bool key_read_main(unsigned node, locus_key key, float *row)
{
    struct row_ref ref = row_ref_at(node, key);
    directory_word w = directory_load(row_ref_word(ref));
    if (directory_is_latched(w)) return false;
    if (directory_has_row(w))
        key_show(ref.partition, row, partition_row(ref.partition, directory_slot(w)));
    else
        memset(row, 0, partition_full(ref.partition) * sizeof *row);
    return true;
}

static void look_at_replicas(locus_key key, struct traffic *t)
{
    struct journal_key *j = journal_key(key);
    struct content c;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
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
        key_show(ref.partition, row, partition_row(ref.partition, directory_slot(w)));
        const char *wrong = key_check_content(row, j->layout, &c);
        if (wrong) report_fail(key, "the replica at node %u %s", n, wrong);
        if (row_ref_word(ref) != t->is_the_main) add_unsent(t, key, ref, w);
    }
}

static void check_updates(locus_key key, int owner, struct traffic *t)
{
    const struct journal_key *j = journal_key(key);
    struct content c;
    if (invariants_world.key[key].is_lost || j->is_doubtful) return;
    if (t->is_disturbed || (owner >= 0 && !key_read_main((unsigned)owner, key, t->main))) return;
    if (j->has_sets) { /* a set may take updates away; what it leaves must be a row */
        const char *wrong = owner >= 0 ? key_check_content(t->main, j->layout, &c) : NULL;
        if (wrong) report_fail(key, "the row at node %d %s", owner, wrong);
        return;
    }
    content_merge(t->main, j->layout, t->record, true);
    const char *wrong = key_check_content(t->main, j->layout, &c);
    if (wrong) report_fail(key, "main copy and updates under way: the sum %s", wrong);
    for (unsigned u = 0; u < j->updates; u++)
        if (content_has(&j->done, u) && !content_has(&c, u))
            report_fail(key, "update %u, which is complete, is lost", u);
}

/* -1: nobody. */
int key_owner(locus_key key)
{
    int owner = -1;
    struct key_history *k = &invariants_world.key[key];
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        directory_word w = directory_load(k->word[n]);
        if (directory_state(w) == DIRECTORY_REPLICA || directory_has_copies(w))
            journal_key(key)->was_replicated = true;
        if (is_elsewhere(directory_state(w), n == home_at(n, key))) continue;
        if (owner >= 0) report_fail(key, "nodes %d and %u both own it", owner, n);
        owner = (int)n;
        k->seen[n] = ++invariants_world.moment;
    }
    return owner;
}

static struct record *record_of(unsigned node, locus_key key)
{
    return record_find(&platform_shard(node, shard_of(key))->records, row_ref_at(node, key).index);
}

/* Steps that were merged may be rounded otherwise than those that were made. */
bool key_are_copies(locus_key key, const float *a, const float *b)
{
    struct content_layout l = journal_key(key)->layout;
    struct content of_a, of_b;
    if (journal_key(key)->is_doubtful) return true;
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
    if (!key_read_main(owner, key, main)) return;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
        if (is_gone(n, key) || !(is_full() || holder_find(o, n))) continue;
        const struct record *r = record_of(n, key);
        w = directory_load(row_ref_word(row_ref_at(n, key)));
        if (directory_state(w) != DIRECTORY_REPLICA || w & DIRECTORY_DIRTY || !r || r->sync)
            continue;
        if (r->version != o->version || !key_read_main(n, key, row)) continue;
        if (!key_are_copies(key, main, row))
            report_fail(key, "the replica at node %u has version %" PRIu64 ", and is not the row",
                        n, r->version);
    }
}

bool key_is_given_up(locus_key key)
{
    return invariants_world.key[key].term == 0 &&
           platform_newcomer(shard_of(key)) == first_home(key);
}

void key_check(locus_key key)
{
    struct traffic t = {0};
    int owner = key_owner(key);
    key_look_at_links(key, &t);
    look_at_parked(key, &t);
    look_at_replicas(key, &t);
    if ((owner >= 0) + t.rows > 1 ||
        ((owner >= 0) + t.rows == 0 && !invariants_world.key[key].is_lost && !key_is_given_up(key)))
        report_fail(key, "%d owners and %u rows under way", owner >= 0, t.rows);
    check_updates(key, owner, &t);
    if (owner >= 0) check_replicas(key, (unsigned)owner);
}

/* Every copy at a node holds what was done before the clock of its gate (clocks.h). */
void key_check_fresh(locus_key key, unsigned node)
{
    const struct journal_key *j = journal_key(key);
    locus_clock gate = clocks_gate(platform_shard(node, shard_of(key))->clocks);
    directory_word w = directory_load(row_ref_word(row_ref_at(node, key)));
    float row[CONTENT_CAPACITY];
    struct content c;
    if (gate == 0 || j->has_sets || !row_ref_is_held(row_ref_at(node, key), w)) return;
    if (!key_read_main(node, key, row) || content_read(row, j->layout, &c)) return;
    const char *wrong = journal_check_fresh(key, gate, &c);
    if (wrong)
        report_fail(key, "a copy at node %u, to be fresh to clock %lld, %s", node, (long long)gate,
                    wrong);
}

/* What a node knows whose shard has just returned. */
void key_check_knowledge(locus_key key, unsigned node)
{
    struct shard *s = platform_shard(node, shard_of(key));
    struct row_ref ref = row_ref_at(node, key);
    struct location l = location_of(s, ref);
    const struct key_history *k = &invariants_world.key[key];
    if (row_ref_was_held(ref) != row_ref_is_held(ref, directory_load(row_ref_word(ref))))
        report_fail(key, "node %u does not note whether a row is here", node);
    if (l.is_here && l.term != k->term) terms_go_on(key, node, l.term);
    if (l.is_here && k->is_lost && (l.term != k->term || terms_owner(k, l.term) != (int)node))
        terms_begin_anew(key, node, node, l.term);
    terms_check_claim(key, l.owner, l.term, "node", node);
    if (l.is_here && l.term != k->term)
        report_fail(key, "node %u owns it in term %" PRIu64 ", the last one is %" PRIu64, node,
                    l.term, k->term);
}
