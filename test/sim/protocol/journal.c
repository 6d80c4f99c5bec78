#include "journal.h"

#include "order.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    unsigned keys;
    struct journal_key key[JOURNAL_KEYS_MAX];
    uint64_t now;
    struct {
        unsigned begun, returned;
    } quiesces[JOURNAL_WORKERS_MAX];
    locus_clock clock[JOURNAL_WORKERS_MAX], bound[JOURNAL_WORKERS_MAX];
    bool is_lost[JOURNAL_WORKERS_MAX], is_newcomer[JOURNAL_WORKERS_MAX];
} journal;

void journal_begin(unsigned keys)
{
    if (keys > JOURNAL_KEYS_MAX) abort();
    journal.keys = keys;
    journal.now = 0;
    memset(journal.quiesces, 0, sizeof journal.quiesces);
    memset(journal.clock, 0, sizeof journal.clock);
    memset(journal.bound, 0, sizeof journal.bound);
    memset(journal.is_lost, 0, sizeof journal.is_lost);
    memset(journal.is_newcomer, 0, sizeof journal.is_newcomer);
}

void journal_key_init(struct content_layout layout, bool has_sets)
{
    struct journal_key *k = &journal.key[layout.key];
    k->layout = layout;
    k->has_sets = has_sets;
    k->capacity = content_capacity(layout);
    if (has_sets && k->capacity > JOURNAL_SET_UPDATES_MAX) k->capacity = JOURNAL_SET_UPDATES_MAX;
    k->updates = k->sets = k->count = 0;
    k->was_replicated = k->is_doubtful = false;
    k->whole = 0;
    k->issued = k->done = (struct content){0};
}

struct journal_key *journal_key(locus_key key)
{
    return &journal.key[key];
}

uint64_t journal_tick(void)
{
    return ++journal.now;
}

bool journal_has_room(locus_key key, enum journal_kind kind)
{
    const struct journal_key *k = &journal.key[key];
    unsigned events = k->has_sets ? JOURNAL_SET_EVENTS_MAX : JOURNAL_EVENTS_MAX;
    if (k->count + 1 >= events) return false; /* the last one is the final read */
    if (kind == JOURNAL_SET) return k->has_sets;
    return kind == JOURNAL_READ || k->updates < k->capacity;
}

/* ---- a node is lost ---- */

bool journal_is_lost(unsigned worker)
{
    return journal.is_lost[worker];
}

static void make_optional(struct journal_key *k, struct journal_event *e)
{
    e->is_optional = true;
    if (e->kind == JOURNAL_ADD) k->done.updates[e->number / 64] &= ~(UINT64_C(1) << e->number % 64);
}

void journal_lose_workers(unsigned first, unsigned count)
{
    for (unsigned w = first; w < first + count; w++) journal.is_lost[w] = true;
    for (struct journal_key *k = journal.key; k < journal.key + journal.keys; k++)
        for (unsigned i = 0; i < k->count; i++)
            if (journal.is_lost[k->event[i].worker]) make_optional(k, &k->event[i]);
}

void journal_workers_come_back(unsigned first, unsigned count)
{
    for (unsigned w = first; w < first + count; w++) {
        journal.is_lost[w] = false;
        journal.is_newcomer[w] = true;
        journal.clock[w] = INT64_MAX;
        journal.bound[w] = 0;
        journal.quiesces[w].begun = UINT_MAX;
        journal.quiesces[w].returned = 0;
    }
}

void journal_lose_row(locus_key key)
{
    struct journal_key *k = &journal.key[key];
    k->whole = JOURNAL_NEVER;
    for (unsigned i = 0; i < k->count; i++) make_optional(k, &k->event[i]);
}

void journal_row_is_whole(locus_key key)
{
    struct journal_key *k = &journal.key[key];
    k->whole = journal_tick();
    for (unsigned i = 0; i < k->count; i++) make_optional(k, &k->event[i]);
}

/* A read of a row that was lost then, or of a node that was; or that never ended. */
static bool is_void(const struct journal_key *k, const struct journal_event *e)
{
    return e->kind == JOURNAL_READ && (e->called < k->whole || e->done == JOURNAL_NEVER);
}

static unsigned add_event(struct journal_key *k, struct journal_event e)
{
    if (k->count == JOURNAL_EVENTS_MAX) abort();
    k->event[k->count] = e;
    return k->count++;
}

unsigned journal_issue(locus_key key, enum journal_kind kind, unsigned worker, uint64_t call,
                       float *row)
{
    struct journal_key *k = &journal.key[key];
    struct journal_event e = {.kind = kind,
                              .worker = worker,
                              .call = call,
                              .called = journal_tick(),
                              .done = JOURNAL_NEVER,
                              .clock = kind == JOURNAL_READ ? journal.bound[worker]
                                                            : journal.clock[worker],
                              .quiesced = journal.quiesces[worker].returned,
                              .is_optional = journal.is_lost[worker] || k->whole == JOURNAL_NEVER};
    if (kind == JOURNAL_ADD) {
        e.number = k->updates++;
        content_add(&k->issued, e.number);
        content_write_update(row, k->layout, e.number);
    } else if (kind == JOURNAL_SET) {
        e.number = ++k->sets;
        content_write_set(row, k->layout, e.number);
    }
    return add_event(k, e);
}

/* A set may take updates away. */
static const char *check_fresh(const struct journal_key *k, locus_clock clock,
                               const struct content *c)
{
    static char text[100];
    for (unsigned i = 0; i < k->count && !k->has_sets; i++) {
        const struct journal_event *e = &k->event[i];
        if (e->kind != JOURNAL_ADD || e->clock >= clock || content_has(c, e->number)) continue;
        if (e->is_optional || k->whole == JOURNAL_NEVER) continue;
        snprintf(text, sizeof text, "lacks update %u, which worker %u began at clock %lld",
                 e->number, e->worker, (long long)e->clock);
        return text;
    }
    return NULL;
}

const char *journal_check_fresh(locus_key key, locus_clock clock, const struct content *c)
{
    return check_fresh(&journal.key[key], clock, c);
}

void journal_clock(unsigned worker, locus_clock clock)
{
    if (!journal.is_newcomer[worker]) journal.clock[worker] = clock;
}

void journal_bound(unsigned worker, locus_clock clock)
{
    if (clock > journal.bound[worker]) journal.bound[worker] = clock;
}

static const char *look(const struct journal_key *k, struct journal_event *e, const float *row)
{
    const char *wrong = content_read(row, k->layout, &e->seen);
    if (wrong) return wrong;
    if (e->seen.set > k->sets) return "names a set that nobody made";
    for (unsigned i = 0; i < 2; i++)
        if (e->seen.updates[i] & ~k->issued.updates[i]) return "holds an update that nobody made";
    return check_fresh(k, e->clock, &e->seen);
}

const char *journal_done(locus_key key, unsigned event, const float *row)
{
    struct journal_key *k = &journal.key[key];
    struct journal_event *e = &k->event[event];
    if (journal.is_lost[e->worker]) return NULL;
    e->done = journal_tick();
    if (e->kind != JOURNAL_READ) e->quiesced = journal.quiesces[e->worker].begun;
    if (e->kind == JOURNAL_ADD && !e->is_optional && k->whole != JOURNAL_NEVER)
        content_add(&k->done, e->number);
    return e->kind == JOURNAL_READ ? look(k, e, row) : NULL;
}

const char *journal_saw(locus_key key, unsigned worker, uint64_t called, const float *row)
{
    struct journal_key *k = &journal.key[key];
    if (journal.is_lost[worker]) return NULL;
    struct journal_event e = {.kind = JOURNAL_READ,
                              .worker = worker,
                              .called = called,
                              .done = journal_tick(),
                              .clock = journal.bound[worker],
                              .quiesced = journal.quiesces[worker].returned};
    return look(k, &k->event[add_event(k, e)], row);
}

/* Keys that are only added to: which of two operations came first is told by the reads, by time and
 * by the order of a worker's calls; the history is good if these have no cycle, for any order along
 * them explains every read. */

static bool comes_before(const struct journal_event *a, const struct journal_event *b)
{
    if (a->done < b->called) return true;
    if (a->worker == b->worker && a->call && b->call && a->call < b->call) return true;
    if (a->kind == JOURNAL_ADD && b->kind == JOURNAL_READ) return content_has(&b->seen, a->number);
    return a->kind == JOURNAL_READ && b->kind == JOURNAL_ADD && !content_has(&a->seen, b->number);
}

static enum journal_verdict judge_adds(const struct journal_key *k)
{
    /* events that must come before, and are not yet in order */
    static uint16_t before[JOURNAL_EVENTS_MAX];
    static uint16_t queue[JOURNAL_EVENTS_MAX];
    unsigned first = 0, last = 0;
    for (unsigned i = 0; i < k->count; i++) {
        before[i] = 0;
        for (unsigned j = 0; j < k->count; j++)
            before[i] += j != i && comes_before(&k->event[j], &k->event[i]);
        if (before[i] == 0) queue[last++] = (uint16_t)i;
    }
    while (first < last) {
        const struct journal_event *done = &k->event[queue[first++]];
        for (unsigned i = 0; i < k->count; i++)
            if (&k->event[i] != done && comes_before(done, &k->event[i]) && --before[i] == 0)
                queue[last++] = (uint16_t)i;
    }
    return last == k->count ? JOURNAL_GOOD : JOURNAL_BAD;
}

void journal_quiesce(unsigned worker, bool returned)
{
    ++*(returned ? &journal.quiesces[worker].returned : &journal.quiesces[worker].begun);
}

/* Keys that were replicated: what a read must have. */

static bool must_see(const struct journal_event *read, const struct journal_event *write)
{
    if (write->is_optional) return false;
    return (write->worker == read->worker && write->done < read->called) ||
           write->quiesced < read->quiesced;
}

/* Sets are in an order of which a read knows the last only: it must not be one that was over before
 * the other began. */
static bool misses_set(const struct journal_key *k, const struct journal_event *read,
                       const struct journal_event *set)
{
    if (!must_see(read, set)) return false;
    if (read->seen.set == 0) return true;
    for (unsigned i = 0; i < k->count; i++) {
        const struct journal_event *seen = &k->event[i];
        if (seen->kind == JOURNAL_SET && seen->number == read->seen.set)
            return seen->done < set->called;
    }
    return false;
}

/* An update is missing, and no set that could have taken it away was called after it. */
static bool misses_update(const struct journal_key *k, const struct journal_event *read,
                          const struct journal_event *add)
{
    if (!must_see(read, add) || content_has(&read->seen, add->number)) return false;
    for (unsigned i = 0; i < k->count; i++) {
        const struct journal_event *set = &k->event[i];
        if (set->kind == JOURNAL_SET && set->number == read->seen.set)
            return set->done < add->called;
    }
    return true;
}

static enum journal_verdict judge_replicated(const struct journal_key *k)
{
    for (unsigned i = 0; i < k->count; i++) {
        const struct journal_event *read = &k->event[i];
        if (is_void(k, read)) continue;
        for (unsigned j = 0; j < k->count && read->kind == JOURNAL_READ; j++) {
            const struct journal_event *e = &k->event[j];
            if (e->kind == JOURNAL_ADD && misses_update(k, read, e)) return JOURNAL_BAD;
            if (e->kind == JOURNAL_SET && misses_set(k, read, e)) return JOURNAL_BAD;
        }
    }
    return JOURNAL_GOOD;
}

static bool is_seen(const struct journal_key *k, const struct journal_event *write)
{
    for (unsigned i = 0; i < k->count; i++) {
        const struct journal_event *e = &k->event[i];
        if (e->kind != JOURNAL_READ || is_void(k, e)) continue;
        if (write->kind == JOURNAL_ADD ? content_has(&e->seen, write->number)
                                       : e->seen.set == write->number)
            return true;
    }
    return false;
}

/* What has to have an order: of what is optional that which was seen, at any time. */
static const struct journal_key *without_losses(const struct journal_key *k)
{
    static struct journal_key all;
    all = *k;
    all.count = 0;
    for (unsigned i = 0; i < k->count; i++) {
        struct journal_event e = k->event[i];
        if (is_void(k, &e) || (e.is_optional && e.kind != JOURNAL_READ && !is_seen(k, &e)))
            continue;
        if (e.is_optional && e.kind != JOURNAL_READ) {
            e.done = JOURNAL_NEVER;
            e.call = 0;
        }
        all.event[all.count++] = e;
    }
    return &all;
}

enum journal_verdict journal_judge(locus_key key)
{
    const struct journal_key *k = &journal.key[key];
    if (k->is_doubtful) return JOURNAL_GOOD;
    if (k->was_replicated) return judge_replicated(k);
    const struct journal_key *all = without_losses(k);
    return k->has_sets ? order_of_sets(all) : judge_adds(all);
}

void journal_print(locus_key key)
{
    static const char *const name[] = {"read", "add ", "set "};
    const struct journal_key *k = &journal.key[key];
    char text[400];
    for (unsigned i = 0; i < k->count; i++) {
        const struct journal_event *e = &k->event[i];
        printf("    worker %u call %" PRIu64 "  %" PRIu64 " .. ", e->worker, e->call, e->called);
        if (e->done == JOURNAL_NEVER)
            printf("never");
        else
            printf("%" PRIu64, e->done);
        printf("  %s ", name[e->kind]);
        if (e->kind == JOURNAL_READ)
            printf("%s\n", content_text(&e->seen, text, sizeof text));
        else
            printf("%u\n", e->number);
    }
}
