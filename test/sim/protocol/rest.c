#include "invariants_private.h"

#include "protocol/backlog.h"
#include "protocol/loss.h"
#include "protocol/repair.h"
#include "protocol/replica.h"
#include "protocol/saves.h"
#include "store/copies.h"

#include <stdio.h>

/* ---- at rest ---- */

static bool is_kept(unsigned node, locus_key key)
{
    struct shard *s = platform_shard(node, shard_of(key));
    return s->records.state[row_ref_at(node, key).index].is_kept;
}

static bool is_kept_anywhere(locus_key key)
{
    for (unsigned n = 0; n < invariants_world.script->nodes; n++)
        if (!is_gone(n, key) && is_kept(n, key)) return true;
    return false;
}

/* The keys' replicas that the shard has of a node. */
static uint64_t kept_replicas(unsigned node, unsigned shard, unsigned source)
{
    uint64_t replicas = 0;
    for (locus_key key = shard; key < invariants_world.script->keys;
         key += invariants_world.script->shards)
        replicas += is_kept(node, key) && !is_here(node, key) && !is_gone(source, key) &&
                    is_here(source, key);
    return replicas;
}

/* Under full replication owners remember their holders, and these the version that they have; else
 * nothing is left. */
static void check_record(unsigned node, unsigned shard, const struct record *r)
{
    locus_key key = r->index * invariants_world.script->shards + shard;
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
        locus_key key = index * invariants_world.script->shards + shard;
        if (record_find(&s->records, index))
            check_record(node, shard, record_find(&s->records, index));
        if (s->records.state[index].wanted) report_fail(key, "at rest: node %u wants it", node);
    }
    at_rest(node, shard, !s->parked_bytes, "bytes parked");
    at_rest(node, shard, repair_is_over(s), "a repair under way");
    invariants_check_forgotten(node, shard);
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
    int owner = key_owner(key);
    if (owner < 0 || !key_read_main((unsigned)owner, key, main)) return;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
        if (is_gone(n, key)) continue;
        struct row_ref ref = row_ref_at(n, key);
        directory_word w = directory_load(row_ref_word(ref));
        bool untouched = directory_state(w) == DIRECTORY_UNTOUCHED && n != (unsigned)owner;
        const struct key_history *k = &invariants_world.key[key];
        bool heeds = invariants_world.script->technique != LOCUS_STATIC && !is_full();
        if (heeds && k->keeps[n] && !k->took_back[n] && !is_kept(n, key))
            report_fail(key, "at rest: node %u was to keep it for ever", n);
        if (is_kept(n, key) && n != (unsigned)owner && directory_state(w) != DIRECTORY_REPLICA)
            report_fail(key, "at rest: node %u keeps it, and has no replica", n);
        if (directory_state(w) != DIRECTORY_REPLICA && !(untouched && is_full())) continue;
        if (!is_full() && !is_kept(n, key))
            report_fail(key, "at rest: node %u has a replica without intent", n);
        key_read_main(n, key, row);
        if (!key_are_copies(key, main, row))
            report_fail(key, "at rest: the replica at node %u is not the row", n);
    }
}

static void check_memory(unsigned node)
{
    struct shard *s = platform_shard(node, 0);
    uint64_t rows = 0;
    for (locus_key key = 0; key < invariants_world.script->keys; key++) {
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
    for (unsigned n = 0; n < invariants_world.script->nodes; n++) {
        if (is_gone(n, key) || !is_here(n, key) || !key_read_main(n, key, row)) continue;
        struct content c;
        const char *wrong = journal_saw(key, 0, journal_tick(), row);
        if (!wrong) wrong = key_check_content(row, journal_key(key)->layout, &c);
        if (wrong && !journal_key(key)->is_doubtful) report_fail(key, "at rest: the row %s", wrong);
        return;
    }
    report_fail(key, "at rest: nobody has the row");
}

/* A save of what the row is, at its guardian if it was ever written, and none at others. */
static void check_saves_at(locus_key key, unsigned owner, const float *main, unsigned node)
{
    const struct shard *s = platform_shard(node, shard_of(key));
    struct row_ref at_owner = row_ref_at(owner, key), ref = row_ref_at(node, key);
    unsigned home = home_at(owner, key),
             guardian = home == owner ? loss_heir(s->losses, ref) : home;
    bool is_needed = node == guardian && row_word_is_written(at_owner, row_word(at_owner));
    const float *save = saves_row(s, ref);
    float row[CONTENT_CAPACITY];
    if (is_needed != (save != NULL))
        report_fail(key, "at rest: node %u has %s save, its guardian is node %u", node,
                    save ? "a" : "no", guardian);
    if (!save) return;
    key_show(ref.partition, row, save);
    if (!key_are_copies(key, main, row))
        report_fail(key, "at rest: the save at node %u is not the row", node);
}

static void check_saves(locus_key key)
{
    const struct journal_key *j = journal_key(key);
    float main[CONTENT_CAPACITY];
    struct content c;
    int owner = key_owner(key);
    if (owner < 0 || !key_read_main((unsigned)owner, key, main)) return;
    const struct shard *s = platform_shard((unsigned)owner, shard_of(key));
    if (!s->saves || s->losses->members == 1) return;
    for (unsigned n = 0; n < invariants_world.script->nodes; n++)
        if (!is_gone(n, key)) check_saves_at(key, (unsigned)owner, main, n);
    /* a replica that became the row may lack something */
    if (j->was_replicated || j->has_sets || content_read(main, j->layout, &c)) return;
    const struct content *saved = &invariants_world.key[key].saved;
    if (saved->updates[0] & ~c.updates[0] || saved->updates[1] & ~c.updates[1])
        report_fail(key, "at rest: the row lacks what was saved");
}

/* The home must know the owner when all news has arrived. */
static void check_home(locus_key key)
{
    unsigned home = home_at(0, key);
    struct location l = location_of(platform_shard(home, shard_of(key)), row_ref_at(home, key));
    if (l.term != invariants_world.key[key].term)
        report_fail(key, "at rest: the home, node %u, knows term %" PRIu64 ", not %" PRIu64, home,
                    l.term, invariants_world.key[key].term);
}

/* A row has copies until somebody needs the row itself: as we do now. */
static void end_copies(unsigned node)
{
    for (locus_key key = 0; key < invariants_world.script->keys; key++) {
        struct row_ref ref = row_ref_at(node, key);
        if (directory_has_copies(directory_load(row_ref_word(ref)))) copies_end(ref);
    }
}

void invariants_at_rest(void)
{
    for (unsigned n = 0; n < invariants_world.script->nodes && !report_has_failed(); n++) {
        if (platform_is_gone(n, 0)) continue;
        end_copies(n);
        for (unsigned s = 0; s < invariants_world.script->shards; s++) check_shard(n, s);
        check_memory(n);
    }
    for (locus_key key = 0; key < invariants_world.script->keys && !report_has_failed(); key++) {
        key_check(key);
        check_home(key);
        check_copies(key);
        check_saves(key);
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
    if ((l.is_here || l.is_replica) && key_read_main(node, key, row)) {
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
    const struct key_history *k = &invariants_world.key[key];
    unsigned nodes = invariants_world.script->nodes;
    printf("  key %u: home %u, last term %" PRIu64 ", owner by the last row: %d%s\n", (unsigned)key,
           home_at(0, key), k->term, terms_owner(k, k->term), k->is_lost ? ", lost" : "");
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
