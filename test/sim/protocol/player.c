#include "player.h"

#include "base/sync.h"
#include "worker/call.h"
#include "worker/node.h"
#include "invariants.h"
#include "journal.h"
#include "platform.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_MAX = 6 };

/* A call and its buffers, until it is done. */
struct call {
    const struct script_step *step;
    locus_ticket ticket;
    unsigned n;
    locus_key key[SCRIPT_KEYS_MAX];
    unsigned event[SCRIPT_KEYS_MAX];
    uint32_t offset[SCRIPT_KEYS_MAX];
    uint64_t began; /* a moment of invariants.h */
    bool is_under_way, was_here[SCRIPT_KEYS_MAX];
    float values[SCRIPT_KEYS_MAX * CONTENT_CAPACITY];
};

struct worker {
    locus *node;
    locus_worker *handle;
    locus_loader *loader;
    unsigned number;
    uint64_t calls;
    locus_clock until[SCRIPT_KEYS_MAX]; /* of each key, the last end that it has said */
    const struct script_step *step;     /* that it plays now; NULL: it has closed */
    bool is_lost;                       /* a call told of a loss: nothing may work any more */
    bool is_closed;
    unsigned first; /* of the steps that it plays: not 0 where a node has come back */
    struct call call[OPEN_MAX];
};

static struct {
    const struct script *script;
    const bool *is_dropped;
    struct dice dice;
    locus *(*comes_back)(unsigned node);
    struct worker worker[SCRIPT_WORKERS_MAX];
    bool leaves[PLATFORM_NODES_MAX];
    struct player_counters counters;
} player;

struct player_counters player_counters(void)
{
    return player.counters;
}

void player_begin(const struct script *s, const bool *is_dropped, struct dice d,
                  locus *(*comes_back)(unsigned node))
{
    player.comes_back = comes_back;
    player.script = s;
    player.is_dropped = is_dropped;
    player.dice = d;
    memset(player.leaves, 0, sizeof player.leaves);
}

static unsigned node_of(const struct worker *w)
{
    return w->number / player.script->workers;
}

static enum journal_kind kind_of(const struct script_step *s)
{
    return s->kind == STEP_PUSH ? JOURNAL_ADD : s->kind == STEP_SET ? JOURNAL_SET : JOURNAL_READ;
}

/* Its node was lost, and it may not have heard of that. */
static bool is_gone(const struct worker *w)
{
    return platform_is_lost(node_of(w));
}

static void check(const struct worker *w, locus_key key, const char *wrong)
{
    if (wrong && !is_gone(w) && !journal_key(key)->is_doubtful)
        report_fail(key, "worker %u saw a row that %s", w->number, wrong);
}

/* The only failure that may be is that a node was lost; and then nothing succeeds any more. */
static void check_result(struct worker *w, const struct script_step *s, int rc)
{
    report_done(w->number, s, rc);
    if (rc == -ECONNRESET && (platform_is_broken() || is_gone(w)))
        w->is_lost = true;
    else if (rc)
        report_fail(REPORT_NO_KEY, "worker %u: %s returned %d: %s", w->number,
                    script_kind_name(s->kind), rc, locus_error());
}

/* Calls. */

static struct call *free_call(struct worker *w)
{
    for (unsigned i = 0; i < OPEN_MAX; i++)
        if (!w->call[i].is_under_way) return &w->call[i];
    return NULL;
}

/* Does it push gradients (content.h)? */
static bool steps(const struct script_step *s)
{
    return s->kind == STEP_PUSH && player.script->optimizer;
}

/* The keys of the step that the journal has room for. */
static void begin_call(struct worker *w, struct call *c, const struct script_step *s)
{
    uint32_t offset = 0;
    uint64_t number = ++w->calls;
    c->step = s;
    c->n = 0;
    memset(c->values, 0xff, sizeof c->values);
    for (unsigned i = 0; i < s->n; i++) {
        locus_key key = s->key[i];
        if (s->kind != STEP_LOCALIZE && !journal_has_room(key, kind_of(s))) continue;
        c->key[c->n] = key;
        c->offset[c->n] = offset;
        c->was_here[c->n] = invariants_is_here(node_of(w), key);
        if (s->kind != STEP_LOCALIZE)
            c->event[c->n] = journal_issue(key, kind_of(s), w->number, number, c->values + offset);
        for (uint32_t f = 0; f < journal_key(key)->layout.length && steps(s); f++)
            c->values[offset + f] = -c->values[offset + f];
        offset += journal_key(key)->layout.length;
        c->n++;
    }
    c->began = invariants_moment();
    player.counters.operations++;
    player.counters.keys += c->n;
}

/* A locus_change. */
static void add_to_row(void *update, float *row, uint32_t length)
{
    const float *from = update;
    for (uint32_t i = 0; i < length; i++) row[i] += from[i];
}

/* A locus_gradient. */
static void give_gradient(void *gradient, const float *values, float *to, uint32_t length)
{
    (void)values;
    memcpy(to, gradient, length * sizeof *to);
}

/* Rows that are here are changed in place. */
static int change(struct worker *w, struct call *c)
{
    int rc = 0;
    for (unsigned i = 0; i < c->n && rc == 0; i++) {
        float *update = c->values + c->offset[i];
        rc = steps(c->step) ? locus_step_local(w->handle, c->key[i], give_gradient, update)
                            : locus_change_local(w->handle, c->key[i], add_to_row, update);
        if (rc == -EAGAIN) rc = locus_push(w->handle, &c->key[i], 1, update);
    }
    return rc;
}

/* With the state, which must be that of the values. */
static int pull_state(struct worker *w, struct call *c)
{
    float rows[SCRIPT_KEYS_MAX * CONTENT_CAPACITY], *row = rows;
    int rc = locus_pull_state(w->handle, c->key, c->n, rows);
    for (unsigned i = 0; i < c->n && rc == 0; i++) {
        struct content_layout l = journal_key(c->key[i])->layout;
        struct content seen;
        memcpy(c->values + c->offset[i], row, l.length * sizeof *row);
        if (!content_read(row, l, &seen)) check(w, c->key[i], content_check_state(row, l, &seen));
        row += content_floats(l);
    }
    return rc;
}

static int make_call(struct worker *w, struct call *c)
{
    locus_worker *h = w->handle;
    bool async = c->step->async;
    locus_ticket *t = &c->ticket;
    c->ticket = 0;
    switch (c->step->kind) {
    case STEP_PULL:
        if (!async && player.script->optimizer && c->n % 2) return pull_state(w, c);
        return async ? locus_pull_async(h, c->key, c->n, c->values, t)
                     : locus_pull(h, c->key, c->n, c->values);
    case STEP_PUSH:
        if (!async && c->step->amount % 2) return change(w, c);
        return async ? locus_push_async(h, c->key, c->n, c->values, t)
                     : locus_push(h, c->key, c->n, c->values);
    case STEP_SET:
        return async ? locus_set_async(h, c->key, c->n, c->values, t)
                     : locus_set(h, c->key, c->n, c->values);
    default:
        return async ? locus_localize_async(h, c->key, c->n, t) : locus_localize(h, c->key, c->n);
    }
}

static void call_is_done(struct worker *w, struct call *c, int rc)
{
    c->is_under_way = false;
    check_result(w, c->step, rc);
    if (w->is_lost) return; /* whoever waited for all was told the failure, not whose it was */
    for (unsigned i = 0; i < c->n; i++) {
        if (c->step->kind == STEP_LOCALIZE && !c->was_here[i])
            invariants_localized(node_of(w), c->key[i], c->began);
        if (c->step->kind != STEP_LOCALIZE)
            check(w, c->key[i], journal_done(c->key[i], c->event[i], c->values + c->offset[i]));
    }
}

static void wait_for(struct worker *w, struct call *c)
{
    call_is_done(w, c, locus_wait(w->handle, c->ticket));
}

/* Any of those under way: results come in another order than calls went out. */
static void wait_for_one(struct worker *w)
{
    unsigned first = dice_below(&player.dice, OPEN_MAX);
    for (unsigned i = 0; i < OPEN_MAX; i++) {
        struct call *c = &w->call[(first + i) % OPEN_MAX];
        if (!c->is_under_way) continue;
        wait_for(w, c);
        return;
    }
}

static void wait_for_all(struct worker *w)
{
    static const struct script_step all = {.kind = STEP_ALL};
    if (dice_below(&player.dice, 2)) check_result(w, &all, locus_wait_all(w->handle));
    for (unsigned i = 0; i < OPEN_MAX; i++)
        if (w->call[i].is_under_way) wait_for(w, &w->call[i]);
}

static void call(struct worker *w, const struct script_step *s)
{
    if (!free_call(w)) wait_for_one(w);
    struct call *c = free_call(w);
    begin_call(w, c, s);
    if (c->n == 0) return;
    report_called(w->number, s);
    int rc = make_call(w, c);
    if (rc == 0 && s->async)
        c->is_under_way = true;
    else
        call_is_done(w, c, rc);
}

static void pull_local(struct worker *w, const struct script_step *s)
{
    float row[CONTENT_CAPACITY];
    locus_key key = s->key[0];
    if (!journal_has_room(key, JOURNAL_READ)) return;
    uint64_t called = journal_tick();
    int rc = locus_pull_local(w->handle, key, row);
    if (rc && rc != -EAGAIN) check_result(w, s, rc);
    if (rc) return;
    check(w, key, journal_saw(key, w->number, called, row));
}

/* A row in place; one that left stands still until the section ends, whoever gets its slot
 * afterwards. */
struct look {
    locus_key key;
    const float *row;
    struct content seen;
};

static void look_again(struct worker *w, struct look *l)
{
    float copy[CONTENT_CAPACITY];
    struct content now;
    const struct journal_key *k = journal_key(l->key);
    memcpy(copy, l->row, k->layout.length * sizeof *copy);
    const char *wrong = content_read(copy, k->layout, &now);
    if (wrong && content_is_torn(wrong)) return; /* may be: it is being written */
    check(w, l->key, wrong);
    bool back = (l->seen.updates[0] & ~now.updates[0]) | (l->seen.updates[1] & ~now.updates[1]);
    /* A replica is refreshed in place. */
    if (back && !k->has_sets && !k->was_replicated && !platform_is_broken())
        check(w, l->key, "went back while it was viewed");
    l->seen = now;
}

/* Rows may leave in the middle of the call: then it is refused, and asks nobody. */
static void pull_inside(struct worker *w, const struct script_step *s)
{
    float values[SCRIPT_KEYS_MAX * CONTENT_CAPACITY], *row = values;
    locus_key key[SCRIPT_KEYS_MAX];
    uint64_t remote = w->handle->counters.pulled[COUNT_REMOTE], called = journal_tick();
    for (unsigned i = 0; i < s->n; i++) {
        if (!journal_has_room(s->key[i], JOURNAL_READ)) return;
        key[i] = s->key[i];
    }
    int rc = locus_pull(w->handle, key, s->n, values);
    if (rc && rc != -EDEADLK) check_result(w, s, rc);
    if (w->handle->counters.pulled[COUNT_REMOTE] != remote)
        report_fail(key[0], "worker %u asked another node for a row inside a read section",
                    w->number);
    for (unsigned i = 0; i < s->n && rc == 0; row += journal_key(key[i])->layout.length, i++) {
        /* the same key again may be one too many */
        if (journal_has_room(key[i], JOURNAL_READ))
            check(w, key[i], journal_saw(key[i], w->number, called, row));
    }
}

static void view(struct worker *w, const struct script_step *s)
{
    struct look look[SCRIPT_KEYS_MAX];
    unsigned looks = 0;
    locus_read_begin(w->handle);
    for (unsigned i = 0; i < s->n; i++) {
        const float *row = locus_view(w->handle, s->key[i]);
        if (!row) continue;
        look[looks++] = (struct look){.key = s->key[i], .row = row};
    }
    pull_inside(w, s);
    for (unsigned i = 0; i < 1 + s->amount % 256 && looks > 0; i++) {
        look_again(w, &look[i % looks]);
        locus_fiber_yield();
    }
    locus_read_end(w->handle);
}

/* All workers have this meeting, or none: one that was taken out of the script for some is so for
 * all. */
static bool takes_place(const struct script_step *meeting)
{
    const struct script *s = player.script;
    for (unsigned i = 0; i < s->count; i++) {
        const struct script_step *other = &s->step[i];
        if (other->kind == meeting->kind && other->amount == meeting->amount && player.is_dropped &&
            player.is_dropped[i])
            return false;
    }
    return true;
}

static void meet(struct worker *w, const struct script_step *s)
{
    if (!takes_place(s) || w->first > 0) return;
    wait_for_all(w);
    if (w->is_lost) return;
    report_called(w->number, s);
    bool quiesces = s->kind == STEP_QUIESCE;
    if (quiesces) journal_quiesce(w->number, false);
    check_result(w, s, quiesces ? locus_quiesce(w->handle) : locus_barrier(w->handle));
    if (quiesces && !w->is_lost) journal_quiesce(w->number, true);
}

static void signal_intent(struct worker *w, const struct script_step *s)
{
    locus_key key[SCRIPT_KEYS_MAX];
    locus_clock start = locus_current_clock(w->handle) + s->amount;
    locus_clock end = s->kind == STEP_KEEP ? LOCUS_FOREVER : start + s->clocks;
    for (unsigned i = 0; i < s->n; i++) key[i] = s->key[i];
    report_called(w->number, s);
    int rc;
    if (s->kind == STEP_UNKEEP)
        rc = locus_unintend(w->handle, key, s->n);
    else if (s->async)
        rc = locus_loader_intent(w->loader, key, s->n, start, end);
    else
        rc = locus_intent(w->handle, key, s->n, start, end);
    check_result(w, s, rc);
    for (unsigned i = 0; i < s->n && rc == 0 && s->kind == STEP_INTENT; i++)
        if (end > w->until[key[i]]) w->until[key[i]] = end;
    for (unsigned i = 0; i < s->n && rc == 0 && s->kind != STEP_INTENT; i++)
        invariants_kept(node_of(w), key[i], s->kind == STEP_KEEP);
}

static void bound(struct worker *w, const struct script_step *s)
{
    report_called(w->number, s);
    int rc = locus_bound(w->handle, s->amount);
    check_result(w, s, rc);
    if (rc == 0) journal_bound(w->number, locus_current_clock(w->handle) - s->amount);
}

static void must_be_local(struct worker *w, const struct script_step *s)
{
    float row[CONTENT_CAPACITY];
    int rc = locus_pull_local(w->handle, s->key[0], row);
    if (rc && !platform_is_broken() && !is_gone(w))
        report_fail(s->key[0], "worker %u signaled its intent long before, and it is not here",
                    w->number);
}

/* Keys of one length that are drawn, intended, pulled and done with. */
static void sample(struct worker *w, const struct script_step *s)
{
    enum { DRAWN = 3 };
    float values[DRAWN * CONTENT_CAPACITY];
    const float *row = values;
    locus_key key[DRAWN];
    locus_distribution *d;
    locus_sample drawn;
    uint64_t count = 1, called = journal_tick();
    uint32_t length = journal_key(0)->layout.length;
    while (count < player.script->keys && journal_key(count)->layout.length == length) count++;
    report_called(w->number, s);
    int rc = locus_distribution_uniform(w->node, 0, count, s->amount % 4, 0, &d);
    if (rc == 0) {
        locus_clock start = locus_current_clock(w->handle) + s->amount / 4;
        rc = locus_prepare_sample(w->handle, d, DRAWN, start, start + 1, &drawn);
        if (rc == 0) rc = locus_pull_sample(w->handle, drawn, DRAWN, key, values);
        if (rc == 0) rc = locus_finish_sample(w->handle, drawn);
        locus_distribution_free(d);
    }
    check_result(w, s, rc);
    for (unsigned i = 0; i < DRAWN && rc == 0; i++, row += length)
        if (journal_has_room(key[i], JOURNAL_READ))
            check(w, key[i], journal_saw(key[i], w->number, called, row));
}

/* The last end that a worker of the node has said; 0: all that they have said is over. */
static locus_clock said_until(unsigned node, locus_key key)
{
    locus_clock until = 0;
    for (unsigned n = node * player.script->workers; n < (node + 1) * player.script->workers; n++) {
        const struct worker *w = &player.worker[n];
        if (w->step && w->until[key] > locus_current_clock(w->handle)) until = w->until[key];
    }
    return until;
}

/* A shard that stands still for a while hears of it later. */
static void must_be_over(const struct worker *w, const struct script_step *s)
{
    locus_key key = s->key[0];
    unsigned node = node_of(w), shard = (unsigned)(key % player.script->shards);
    for (unsigned i = 0; i < s->amount; i++) {
        const struct shard *at = platform_shard(node, shard);
        if (!at || at->records.state[key / player.script->shards].wanted == 0) return;
        if (said_until(node, key) > 0) return;
        platform_sleep(1000000);
    }
    report_fail(key, "node %u wants it for longer than its workers have said", node);
}

static void reload(struct worker *w, const struct script_step *s)
{
    int rc = locus_loader_close(w->loader);
    if (rc == 0) rc = locus_loader_open(w->handle, &w->loader);
    check_result(w, s, rc);
}

static void join(const struct worker *, const struct script_step *);

static void play(struct worker *w, const struct script_step *s)
{
    switch ((enum script_kind)s->kind) {
    case STEP_PULL:
    case STEP_PUSH:
    case STEP_SET:
    case STEP_LOCALIZE: call(w, s); break;
    case STEP_PULL_LOCAL: pull_local(w, s); break;
    case STEP_VIEW: view(w, s); break;
    case STEP_WAIT: wait_for_one(w); break;
    case STEP_ALL: wait_for_all(w); break;
    case STEP_SLEEP: platform_sleep(s->amount); break;
    case STEP_BARRIER:
    case STEP_QUIESCE: meet(w, s); break;
    case STEP_BREAK: platform_break(node_of(w), s->amount); break;
    case STEP_LEAVE: player.leaves[node_of(w)] = node_of(w) > 0; break;
    case STEP_LOSE: platform_lose(s->peer, s->amount); break;
    case STEP_LOSE_TOO: platform_lose_too(s->peer, s->amount); break;
    case STEP_JOIN: join(w, s); break;
    case STEP_HOLD: platform_hold(s->peer, node_of(w), s->amount); break;
    case STEP_STOP: platform_stop(node_of(w), s->amount); break;
    case STEP_CLOCK:
        journal_clock(w->number, locus_current_clock(w->handle) + 1);
        locus_advance_clock(w->handle);
        break;
    case STEP_BOUND: bound(w, s); break;
    case STEP_INTENT:
    case STEP_KEEP:
    case STEP_UNKEEP: signal_intent(w, s); break;
    case STEP_LOCAL: must_be_local(w, s); break;
    case STEP_OVER: must_be_over(w, s); break;
    case STEP_RELOAD: reload(w, s); break;
    case STEP_SAMPLE: sample(w, s); break;
    case STEP_KINDS: break;
    }
}

/* As locus_leave(), but that the node itself stays until the end. */
static void leave(struct worker *w)
{
    static const struct script_step leaving = {.kind = STEP_LEAVE};
    if (w->is_lost || platform_is_broken()) return;
    report_called(w->number, &leaving);
    int rc = call_flush_updates(w->handle);
    if (rc) check_result(w, &leaving, rc);
    if (rc == 0) platform_leave(node_of(w));
    report_done(w->number, &leaving, rc);
}

static void close_worker(struct worker *w)
{
    static const struct script_step closing = {.kind = STEP_ALL};
    w->step = &closing;
    wait_for_all(w);
    int rc = locus_loader_close(w->loader);
    if (rc == 0) rc = locus_worker_close(w->handle);
    if (rc) check_result(w, &closing, rc);
    w->step = NULL;
    report_done(w->number, &closing, rc);
    if (player.leaves[node_of(w)] && collective_all_closed(&w->node->collective)) leave(w);
    w->is_closed = true; /* not before: its node may come back from then on */
    platform_worker_ended();
}

static void run(void *argument)
{
    struct worker *w = argument;
    const struct script *s = player.script;
    for (unsigned i = w->first; i < s->count; i++) {
        if (s->step[i].worker != w->number || (player.is_dropped && player.is_dropped[i])) continue;
        if (player.leaves[w->number / s->workers]) break;
        w->step = &s->step[i];
        locus_fiber_yield();
        if (!w->is_lost) play(w, w->step);
    }
    close_worker(w);
}

static void open_worker(struct worker *w)
{
    if (locus_worker_open(w->node, &w->handle) || locus_loader_open(w->handle, &w->loader))
        report_fail(REPORT_NO_KEY, "worker %u cannot open: %s", w->number, locus_error());
}

void player_add_worker(locus *node, unsigned number)
{
    struct worker *w = &player.worker[number];
    *w = (struct worker){.node = node, .number = number};
    open_worker(w);
    fibers_add(run, w);
}

/* ---- a node comes back ---- */

static bool may_come_back(const void *node)
{
    const unsigned n = *(const uint8_t *)node, each = player.script->workers;
    for (unsigned w = n * each; w < (n + 1) * each; w++)
        if (!player.worker[w].is_closed) return !platform_is_lost(n);
    return !platform_is_lost(n) || platform_is_broken() || platform_may_join(n);
}

static bool has_come_back(const void *worker)
{
    unsigned node = node_of(worker);
    return platform_has_joined(node) || platform_is_lost(node);
}

static void run_again(void *argument)
{
    struct worker *w = argument;
    locus_fiber_wait(has_come_back, w);
    if (is_gone(w)) { /* lost while it joined */
        w->is_closed = true;
        platform_worker_ended();
        return;
    }
    fibers_alone(true);
    open_worker(w);
    fibers_alone(false);
    run(w);
}

/* Its workers go on behind this step. */
static void join(const struct worker *w, const struct script_step *s)
{
    unsigned node = s->peer, each = player.script->workers;
    if (is_gone(w) || !platform_is_lost(node)) return;
    locus_fiber_wait(may_come_back, &s->peer);
    if (is_gone(w) || !platform_is_lost(node) || platform_is_broken()) return;
    report_called(w->number, s);
    locus *opened = player.comes_back(node);
    for (unsigned n = node * each; n < (node + 1) * each; n++) {
        struct worker *again = &player.worker[n];
        uint64_t calls = again->calls;
        *again = (struct worker){.node = opened,
                                 .number = n,
                                 .calls = calls,
                                 .first = 1 + (unsigned)(s - player.script->step)};
        platform_worker_begins();
        fibers_add(run_again, again);
    }
}

static void print_step(FILE *to, const struct script_step *s)
{
    fprintf(to, " %s%s", script_kind_name(s->kind), s->async ? "_async" : "");
    for (unsigned i = 0; i < s->n; i++) fprintf(to, "%s%u", i ? " " : " of ", s->key[i]);
}

locus_key player_waiting(char *text, size_t bytes)
{
    locus_key key = REPORT_NO_KEY;
    FILE *to = fmemopen(text, bytes, "w");
    if (!to) abort();
    for (unsigned n = 0; n < player.script->nodes * player.script->workers; n++) {
        const struct worker *w = &player.worker[n];
        if (!w->step) continue;
        fprintf(to, "\n  node %u worker %u waits in", node_of(w), n);
        print_step(to, w->step);
        if (w->step->n && key == REPORT_NO_KEY) key = w->step->key[0];
        for (unsigned i = 0; i < OPEN_MAX; i++) {
            if (!w->call[i].is_under_way) continue;
            fprintf(to, "; under way:");
            print_step(to, w->call[i].step);
            if (key == REPORT_NO_KEY) key = w->call[i].key[0];
        }
    }
    fclose(to);
    return key;
}
