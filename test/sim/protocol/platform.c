#include "joined.h"
#include "platform.h"

#include "actors/mailbox.h"
#include "base/error.h"
#include "base/sync.h"
#include "protocol/repair.h"
#include "protocol/saves.h"
#include "worker/operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_NS = 10, NAPS_MAX = 128, ENTRIES_ALWAYS_FIT = 1 << 16, WINDOW_SMALL_BYTES = 700 };
enum { REPEATS_NS = 200000 };

struct inbox {
    struct mailbox mailbox;
    struct request *current; /* taken out, and waiting for credit */
};

struct reactor {
    struct shard shard;
    struct node_plan plan;
    struct platform calls;
    unsigned node, number;
    bool is_over;        /* another node has come where it was */
    struct inbox *inbox; /* [workers] */
    bool is_in_call, saw_loss;
    bool looks; /* whether its shard has news: once after each turn, and when it is woken */
    /* the entry that the shard got last: complete when it asks for the next, or returns */
    struct wire_entry *filling;
    unsigned filling_for;
    uint64_t turn_ns; /* when the shard wants its turn without news */
    uint64_t view_ns; /* when it hears that a node was lost, or leaves; UINT64_MAX: never */
    uint32_t view;
    bool has_left; /* it has said so */
};

/* What the network is like in this run. */
struct nature {
    uint64_t latency_ns, jitter_ns;
    unsigned slow_node, slow_factor;
    unsigned stall_rarity; /* a frame of so many is late */
    uint64_t stall_ns;
    uint32_t frame_bytes;
    unsigned cut_rarity, linger_rarity;
    size_t credit_bytes;
    bool rides;        /* until enough rounds have been counted, intents piggyback */
    uint64_t round_ns; /* what a round takes, as the pacer has it */
};

static struct {
    unsigned nodes, shards, workers_left;
    struct platform_hooks hooks;
    struct dice dice;
    struct nature nature;
    struct platform_link link[PLATFORM_SHARDS_MAX][PLATFORM_NODES_MAX][PLATFORM_NODES_MAX];
    unsigned calls[PLATFORM_SHARDS_MAX]; /* shards of this number that are inside a call */
    uint64_t skipped_ns;                 /* that passed while nobody had anything to do */
    bool ended, broken;
    /* Losses that the others survive, and nodes that come back. */
    struct {
        unsigned node; /* that will be lost */
        uint64_t due;  /* entries until then, UINT64_MAX: none is to come */
        uint32_t view; /* changes so far */
        struct change change[PLATFORM_CHANGES];
        uint64_t at_ns;
        unsigned left;                          /* shards that have not repaired the last one */
        uint32_t repaired[PLATFORM_SHARDS_MAX]; /* changes that any shard of this number has */
    } loss;
    uint64_t entries_sent;
    struct platform_counters counters;
} sim;

uint64_t platform_now_ns(void)
{
    return 1000 + sim.skipped_ns + fibers_steps() * STEP_NS;
}

struct platform_counters platform_counters(void)
{
    return sim.counters;
}

/* The network. */

static bool one_in(unsigned rarity)
{
    return rarity > 0 && dice_below(&sim.dice, rarity) == 0;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t some_ns(uint64_t below)
{
    return below ? dice_throw(&sim.dice) % below : 0;
}

static void draw_nature(struct nature *n)
{
    static const uint64_t latency[] = {0, 100, 1000, 5000, 30000};
    static const uint32_t bytes[] = {1, 200, 1000, ENTRIES_ALWAYS_FIT};
    struct dice *d = &sim.dice;
    n->latency_ns = latency[dice_below(d, 5)];
    n->jitter_ns = (n->latency_ns + 50) * (dice_below(d, 3) ? dice_below(d, 10) : 0);
    n->slow_node = dice_below(d, 2 * PLATFORM_NODES_MAX);
    n->slow_factor = 1 + dice_below(d, 40);
    n->stall_rarity = dice_below(d, 2) ? 5 + dice_below(d, 50) : 0;
    n->stall_ns = 1000 + latency[dice_below(d, 5)] * 10;
    n->frame_bytes = bytes[dice_below(d, 4)];
    n->cut_rarity = dice_below(d, 2) ? 1 + dice_below(d, 6) : 0;
    n->linger_rarity = dice_below(d, 2) ? 1 + dice_below(d, 5) : 0;
    n->credit_bytes = one_in(4) ? WINDOW_SMALL_BYTES : 1 << 20;
    n->rides = dice_below(d, 2);
    n->round_ns = latency[dice_below(d, 5)];
}

static void draw_link(struct platform_link *l, unsigned from, unsigned to)
{
    const struct nature *n = &sim.nature;
    unsigned factor = from == n->slow_node || to == n->slow_node || one_in(8) ? n->slow_factor : 1;
    *l = (struct platform_link){.until_ns = UINT64_MAX,
                                .leaves_ns = UINT64_MAX,
                                .latency_ns = n->latency_ns * factor,
                                .jitter_ns = n->jitter_ns * factor};
}

void platform_begin(unsigned nodes, unsigned shards, const struct platform_hooks *hooks,
                    struct dice dice)
{
    memset(&sim, 0, sizeof sim);
    sim.nodes = nodes;
    sim.shards = shards;
    sim.hooks = *hooks;
    sim.dice = dice;
    sim.loss.due = UINT64_MAX;
    draw_nature(&sim.nature);
    for (unsigned s = 0; s < shards; s++)
        for (unsigned from = 0; from < nodes; from++)
            for (unsigned to = 0; to < nodes; to++) draw_link(&sim.link[s][from][to], from, to);
}

static void drop_frames(struct platform_link *l)
{
    while (l->first) {
        struct platform_frame *f = l->first;
        l->first = f->next;
        free(f);
    }
    l->last = NULL;
}

void platform_end(void)
{
    for (unsigned s = 0; s < sim.shards; s++)
        for (unsigned from = 0; from < sim.nodes; from++)
            for (unsigned to = 0; to < sim.nodes; to++) {
                drop_frames(&sim.link[s][from][to]);
                free(sim.link[s][from][to].open);
            }
}

const struct platform_link *platform_link(unsigned shard, unsigned from, unsigned to)
{
    return &sim.link[shard][from][to];
}

struct shard *platform_shard(unsigned node, unsigned shard)
{
    struct cluster *c = joined[node];
    return c && c->reactor && c->reactor[shard] ? &c->reactor[shard]->shard : NULL;
}

static struct wire_cursor cursor_of(const struct platform_frame *f)
{
    return f ? wire_cursor(&f->header, f->body) : (struct wire_cursor){0};
}

struct platform_walk platform_walk(const struct platform_link *l)
{
    bool open = !l->first;
    const struct platform_frame *f = open ? l->open : l->first;
    return (struct platform_walk){f, open, cursor_of(f), l};
}

const struct wire_entry *platform_next(struct platform_walk *w)
{
    const char *why;
    for (;;) {
        const struct wire_entry *e = w->cursor.left ? wire_next(&w->cursor, &why) : NULL;
        if (e) return e;
        if (!w->frame || w->was_open) return NULL;
        w->frame = w->frame->next;
        if (!w->frame) {
            w->frame = w->link->open;
            w->was_open = true;
        }
        w->cursor = cursor_of(w->frame);
    }
}

static void for_entries(const struct platform_frame *f, unsigned shard, unsigned from, unsigned to,
                        void (*hook)(unsigned, unsigned, unsigned, const struct wire_entry *))
{
    struct wire_cursor c = wire_cursor(&f->header, f->body);
    const struct wire_entry *e;
    const char *why;
    while (hook && (e = wire_next(&c, &why))) hook(shard, from, to, e);
}

static void depart(struct platform_link *l, struct platform_frame *f)
{
    f->arrives_ns = platform_now_ns() + l->latency_ns + some_ns(l->jitter_ns);
    if (one_in(sim.nature.stall_rarity)) f->arrives_ns += some_ns(sim.nature.stall_ns);
    if (f->arrives_ns < l->latest_ns) f->arrives_ns = l->latest_ns;
    if (f->arrives_ns < l->held_ns) f->arrives_ns = l->held_ns;
    l->latest_ns = f->arrives_ns;
    f->next = NULL;
    *(l->first ? &l->last->next : &l->first) = f;
    l->last = f;
}

/* What of a link is told to be gone: from this frame on. */
static void tell_dropped(const struct platform_frame *f, unsigned shard, unsigned from, unsigned to)
{
    for (; f; f = f->next) for_entries(f, shard, from, to, sim.hooks.dropped);
}

/* The open frame begins its way. */
static void seal(unsigned shard, unsigned from, unsigned to)
{
    struct platform_link *l = &sim.link[shard][from][to];
    struct platform_frame *f = l->open;
    l->open = NULL;
    l->until_ns = l->leaves_ns = UINT64_MAX;
    if (l->dead || l->swallows) {
        if (!sim.broken) tell_dropped(f, shard, from, to);
        free(f);
        return;
    }
    sim.counters.frames++;
    sim.counters.entries += f->header.count;
    depart(l, f);
}

static struct platform_frame *new_frame(const struct store *s, uint32_t bytes)
{
    uint32_t capacity = sim.nature.frame_bytes < bytes ? bytes : sim.nature.frame_bytes;
    struct platform_frame *f = malloc(sizeof *f + capacity);
    if (!f) abort();
    *f = (struct platform_frame){
        .capacity = capacity,
        .header = {.magic = WIRE_MAGIC, .version = WIRE_VERSION, .membership = s->home.membership}};
    return f;
}

/* The platform of the shards. */

static void entry_is_complete(struct reactor *r)
{
    if (r->filling && sim.hooks.sent)
        sim.hooks.sent(r->number, r->node, r->filling_for, r->filling);
    sim.entries_sent += r->filling != NULL;
    r->filling = NULL;
}

static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    struct reactor *r = context;
    struct platform_link *l = &sim.link[r->number][r->node][peer];
    uint32_t bytes = (uint32_t)wire_entry_bytes(length);
    entry_is_complete(r);
    if (l->dead) return NULL;
    if (peer == r->node) abort(); /* there is no link to oneself */
    if (l->open &&
        (l->open->header.body_bytes + bytes > l->open->capacity || one_in(sim.nature.cut_rarity)))
        seal(r->number, r->node, peer);
    if (!l->open) l->open = new_frame(r->shard.store, bytes);
    l->until_ns = min_ns(l->until_ns, until_ns);
    struct wire_entry *e = (void *)(l->open->body + l->open->header.body_bytes);
    memset(e, 0, bytes);
    e->length = length;
    l->open->header.body_bytes += bytes;
    l->open->header.count++;
    r->filling = e;
    r->filling_for = peer;
    return e;
}

static void complete_request(void *context, struct request *request, int rc)
{
    (void)context;
    operation_request_done(request, rc);
}

static uint64_t read_clock_ns(void *context)
{
    (void)context;
    return platform_now_ns();
}

/* Losses. */

static void note_loss(struct cluster *c, unsigned rank)
{
    c->loss_ns = UINT64_MAX;
    if (c->is_lost) return;
    c->is_lost = true;
    c->lost_rank = rank;
    c->lost(c->context); /* before any operation ends by it */
}

void platform_break(unsigned a, unsigned b)
{
    sim.broken = true;
    for (unsigned s = 0; s < sim.shards; s++) {
        sim.link[s][a][b].dead = sim.link[s][b][a].dead = true;
        /* not those under construction: their shards may be at it */
        drop_frames(&sim.link[s][a][b]);
        drop_frames(&sim.link[s][b][a]);
    }
    for (unsigned n = 0; n < sim.nodes; n++) {
        struct cluster *c = joined[n];
        if (c->is_lost) continue;
        c->loss_ns = platform_now_ns() + some_ns(20000);
        c->lost_rank = n == b ? a : b;
    }
}

bool platform_is_broken(void)
{
    return sim.broken;
}

/* Losses that the others survive. */

/* No shard is inside a call: each row is at a node or in a frame. */
static bool is_quiet(void)
{
    for (unsigned s = 0; s < sim.shards; s++)
        if (sim.calls[s] > 0) return false;
    return true;
}

void platform_lose(unsigned node, unsigned after)
{
    if (node == 0 || node >= sim.nodes || sim.loss.due != UINT64_MAX || joined[node]->is_gone ||
        sim.broken || sim.loss.view == PLATFORM_CHANGES)
        return;
    sim.loss.node = node;
    sim.loss.due = sim.entries_sent + after;
}

uint64_t platform_lost_ns(void)
{
    return sim.loss.at_ns;
}

bool platform_is_lost(unsigned node)
{
    return joined[node]->is_gone && !joined[node]->leaves;
}

bool platform_is_gone(unsigned node, unsigned shard)
{
    return platform_is_lost(node) || joined[node]->reactor[shard]->has_left;
}

uint32_t platform_view(unsigned node, unsigned shard)
{
    return joined[node]->reactor[shard]->view;
}

bool platform_is_repairing(void)
{
    return sim.loss.left > 0;
}

/* The first of the frames under way arrive, if the other node does not hear of the loss before. */
static void cut(unsigned shard, unsigned from, unsigned to)
{
    struct platform_link *l = &sim.link[shard][from][to];
    unsigned frames = 0;
    for (const struct platform_frame *f = l->first; f; f = f->next) frames++;
    unsigned kept = to == sim.loss.node || one_in(4) ? 0 : dice_below(&sim.dice, frames + 1);
    struct platform_frame **end = &l->first;
    for (l->last = NULL; kept > 0; kept--) {
        l->last = *end;
        end = &l->last->next;
    }
    struct platform_link gone = {.first = *end};
    *end = NULL;
    tell_dropped(gone.first, shard, from, to);
    drop_frames(&gone);
    /* not freed: its shard may be at it */
    if (l->open) for_entries(l->open, shard, from, to, sim.hooks.dropped);
    l->swallows = true;
    if (dice_below(&sim.dice, 2)) l->dead = true;
}

/* Node n, one of those that stay, will hear of it, and its shards later. */
static void tell(struct cluster *c, unsigned n, unsigned node, uint64_t within_ns)
{
    bool is_new = c->view < sim.loss.view; /* or who leaves is lost */
    c->view = sim.loss.view;
    if (is_new) c->view_ns = platform_now_ns() + some_ns(within_ns);
    for (unsigned s = 0; s < sim.shards; s++) {
        if (joined[node]->is_gone) {
            cut(s, node, n);
            cut(s, n, node);
        }
        c->reactor[s]->view_ns =
            (is_new ? c->view_ns : platform_now_ns()) + some_ns(within_ns);
        sim.loss.left += is_new;
    }
}

static void change(enum change_kind kind, unsigned node)
{
    uint32_t view = ++sim.loss.view;
    sim.loss.change[view - 1] = (struct change){view, kind, node};
}

static uint64_t some_delay_ns(void)
{
    const uint64_t within_ns[] = {1, 1000, 20000, 200000};
    return within_ns[dice_below(&sim.dice, 4)];
}

static void tell_others(unsigned node, uint64_t within)
{
    for (unsigned n = 0; n < sim.nodes; n++)
        if (n != node && !joined[n]->is_gone) tell(joined[n], n, node, within);
}

/* By the same number. */
static void leaver_is_lost(void)
{
    struct change *c = &sim.loss.change[sim.loss.view - 1];
    struct cluster *lost = joined[c->node];
    c->kind = CHANGE_LOST;
    lost->leaves = false;
    for (unsigned s = 0; s < sim.shards; s++) {
        sim.loss.left -= !lost->reactor[s]->has_left;
        lost->reactor[s]->view_ns = UINT64_MAX;
    }
}

static void lose(unsigned node)
{
    struct cluster *lost = joined[node];
    uint64_t within = some_delay_ns();
    sim.loss.due = UINT64_MAX;
    if (platform_is_repairing())
        leaver_is_lost();
    else
        change(CHANGE_LOST, node);
    sim.loss.at_ns = platform_now_ns();
    lost->is_gone = true;
    lost->leaves = false;
    lost->loss_ns = platform_now_ns() + some_ns(20000);
    lost->lost_rank = node;
    tell_others(node, within);
    if (sim.hooks.lost) sim.hooks.lost(node);
    joined_look_for_meeting(sim.nodes);
}

/* Whether it is time for that: while another change is under way only of who leaves. */
static bool is_lost_next(void)
{
    const struct change *last = sim.loss.view ? &sim.loss.change[sim.loss.view - 1] : NULL;
    if (sim.entries_sent < sim.loss.due || !is_quiet()) return false;
    if (joined[sim.loss.node]->is_gone || sim.loss.view == PLATFORM_CHANGES)
        sim.loss.due = UINT64_MAX;
    if (sim.loss.due == UINT64_MAX) return false;
    return !platform_is_repairing() ||
           (last->kind == CHANGE_LEAVES && last->node == sim.loss.node);
}

static bool may_leave(const void *node)
{
    return !platform_is_repairing() || platform_is_lost(*(const unsigned *)node);
}

void platform_leave(unsigned node)
{
    locus_fiber_wait(may_leave, &node);
    if (platform_is_lost(node) || sim.loss.view == PLATFORM_CHANGES) return;
    joined[node]->leaves = true;
    if (sim.hooks.leaves) sim.hooks.leaves(node);
    change(CHANGE_LEAVES, node);
    uint64_t within = some_delay_ns();
    tell_others(node, within);
    tell(joined[node], node, node, within);
    locus_fiber_wait(may_leave, &node);
}

/* A node comes back. */

bool platform_may_join(unsigned node)
{
    if (platform_is_repairing() || sim.broken) return false;
    for (unsigned s = 0; s < sim.shards; s++)
        if (joined[node]->reactor[s]->is_in_call) return false;
    return platform_is_lost(node) && sim.loss.view < PLATFORM_CHANGES;
}

bool platform_has_joined(unsigned node)
{
    return cluster_repaired(joined[node]) == joined[node]->view;
}

unsigned platform_newcomer(unsigned shard)
{
    const struct change *last = &sim.loss.change[sim.loss.view - 1];
    if (sim.loss.view == 0 || last->kind != CHANGE_JOINS) return PLATFORM_NODES_MAX;
    return repair_is_over(&joined[last->node]->reactor[shard]->shard) ? PLATFORM_NODES_MAX
                                                                      : last->node;
}

void platform_begins_to_join(unsigned node)
{
    change(CHANGE_JOINS, node);
    for (unsigned s = 0; s < sim.shards; s++) {
        joined[node]->reactor[s]->is_over = true;
        for (unsigned n = 0; n < sim.nodes; n++)
            for (unsigned out = 0; out < 2; out++) {
                unsigned from = out ? node : n, to = out ? n : node;
                struct platform_link *l = &sim.link[s][from][to];
                if (joined[n]->is_gone && n != node) continue;
                drop_frames(l);
                free(l->open);
                draw_link(l, from, to);
            }
    }
}

static void begin_call(struct reactor *);
static void end_call(struct reactor *);
static void run_reactor(void *);

void platform_joins(unsigned node)
{
    struct cluster *c = joined[node];
    c->view = sim.loss.view;
    c->is_newcomer = true;
    if (sim.hooks.joined) sim.hooks.joined(node);
    tell_others(node, some_delay_ns());
    sim.loss.left += sim.shards;
    for (unsigned s = 0; s < sim.shards; s++) c->reactor[s]->view = c->view;
    for (unsigned s = 0; s < sim.shards; s++) {
        begin_call(c->reactor[s]);
        repair_begin(&c->reactor[s]->shard, sim.loss.change[c->view - 1]);
        end_call(c->reactor[s]);
        fibers_add(run_reactor, c->reactor[s]);
    }
}

/* Silence. */

void platform_hold(unsigned from, unsigned to, uint64_t ns)
{
    uint64_t until_ns = platform_now_ns() + ns;
    for (unsigned s = 0; s < sim.shards && from != to; s++) {
        struct platform_link *l = &sim.link[s][from][to];
        if (until_ns > l->held_ns) l->held_ns = until_ns;
        for (struct platform_frame *f = l->first; f; f = f->next)
            if (f->arrives_ns < until_ns) f->arrives_ns = until_ns;
        if (l->first && l->latest_ns < until_ns) l->latest_ns = until_ns;
    }
}

void platform_stop(unsigned node, uint64_t ns)
{
    uint64_t until_ns = platform_now_ns() + ns;
    if (until_ns > joined[node]->stopped_ns) joined[node]->stopped_ns = until_ns;
}

static bool is_stopped(const struct reactor *r)
{
    return joined[r->node]->stopped_ns > platform_now_ns();
}

/* A reactor's turns. */

static void begin_call(struct reactor *r)
{
    r->is_in_call = true;
    sim.calls[r->number]++;
}

static void end_call(struct reactor *r)
{
    entry_is_complete(r);
    r->is_in_call = false;
    bool settled = --sim.calls[r->number] == 0;
    if (sim.hooks.returned) sim.hooks.returned(r->number, r->node, settled);
    if (is_lost_next()) lose(sim.loss.node);
}

/* The shard hears of the change; of what a lost node has sent it will hear nothing more. */
static void begin_repair(struct reactor *r)
{
    const struct change *c = &sim.loss.change[sim.loss.view - 1];
    bool is_ours = c->kind == CHANGE_LEAVES && c->node == r->node;
    r->view_ns = UINT64_MAX;
    if (!is_ours) r->view = c->number; /* who leaves does not take part in it */
    if (c->kind == CHANGE_LOST) {
        struct platform_link *from = &sim.link[r->number][c->node][r->node];
        tell_dropped(from->first, r->number, c->node, r->node);
        drop_frames(from);
        sim.link[r->number][r->node][c->node].dead = true;
    }
    begin_call(r);
    repair_begin(&r->shard, *c);
    end_call(r);
}

static void say_goodbye(struct reactor *r, unsigned to)
{
    struct platform_link *l = &sim.link[r->number][r->node][to];
    if (l->open) seal(r->number, r->node, to);
    l->dead = true;
}

static void note_repaired(void *context, uint32_t view)
{
    struct reactor *r = context;
    entry_is_complete(r);
    const struct change *last = &sim.loss.change[sim.loss.view - 1];
    bool is_leave = last->kind == CHANGE_LEAVES, leaves = is_leave && r->node == last->node;
    if (platform_is_lost(r->node)) return; /* nobody hears that it has left */
    if (view != sim.loss.view || sim.loss.left == 0) abort();
    if (!leaves && (view != r->view || !repair_is_over(&r->shard))) abort();
    sim.loss.left--;
    if (is_leave && sim.loss.left == 0) {
        joined[last->node]->is_gone = true;
        joined_look_for_meeting(sim.nodes);
    }
    if (leaves) {
        if (sim.hooks.left) sim.hooks.left(r->number, r->node);
        r->has_left = true;
        return;
    }
    if (is_leave) say_goodbye(r, last->node);
    bool is_first = sim.loss.repaired[r->number] < view;
    sim.loss.repaired[r->number] = view;
    if (sim.hooks.repaired) sim.hooks.repaired(r->number, r->node, is_first);
}

static void deliver(struct reactor *r, unsigned from)
{
    struct platform_link *l = &sim.link[r->number][from][r->node];
    struct platform_frame *f = l->first;
    l->first = f->next;
    if (!r->saw_loss) for_entries(f, r->number, from, r->node, sim.hooks.arrived);
    begin_call(r);
    const char *why = shard_frame(&r->shard, from, &f->header, f->body);
    free(f);
    end_call(r);
    if (why && sim.hooks.refused) sim.hooks.refused(r->number, from, r->node, why);
}

static bool has_arrived(const struct reactor *r, unsigned from)
{
    const struct platform_link *l = &sim.link[r->number][from][r->node];
    return l->first && l->first->arrives_ns <= platform_now_ns();
}

static void deliver_some(struct reactor *r)
{
    unsigned start = dice_below(&sim.dice, sim.nodes);
    for (unsigned i = 0; i < sim.nodes; i++) {
        unsigned from = (start + i) % sim.nodes;
        while (has_arrived(r, from)) {
            deliver(r, from);
            if (one_in(3)) break;
        }
    }
}

static void serve_inbox(struct reactor *r, struct inbox *in)
{
    for (;;) {
        if (!in->current) in->current = mailbox_take(&in->mailbox);
        if (!in->current) return;
        begin_call(r);
        bool done = shard_serve(&r->shard, in->current);
        if (done) in->current = NULL;
        end_call(r);
        if (!done) return;
    }
}

static void handle_loss(struct reactor *r)
{
    if (r->saw_loss || !joined[r->node]->is_lost) return;
    r->saw_loss = true;
    begin_call(r);
    shard_fail(&r->shard, -ECONNRESET);
    end_call(r);
}

static void flush(struct reactor *r)
{
    for (unsigned to = 0; to < sim.nodes; to++) {
        struct platform_link *l = &sim.link[r->number][r->node][to];
        if (!l->open) continue;
        if (l->until_ns > platform_now_ns())
            l->leaves_ns = l->until_ns;
        else if (one_in(sim.nature.linger_rarity))
            /* an earlier one is still being sent */
            l->leaves_ns = platform_now_ns() + some_ns(500);
        else
            seal(r->number, r->node, to);
    }
}

/* A run is shorter than the pause between two sweeps. */
static void hurry_sweeps(struct saves *v)
{
    v->due_ns = min_ns(v->due_ns, v->began_ns + sim.nature.round_ns);
}

static void turn(struct reactor *r)
{
    sim.counters.turns++;
    if (r->shard.saves) hurry_sweeps(r->shard.saves);
    if (joined[r->node]->loss_ns <= platform_now_ns())
        note_loss(joined[r->node], joined[r->node]->lost_rank);
    if (r->view_ns <= platform_now_ns()) begin_repair(r);
    deliver_some(r);
    handle_loss(r);
    for (unsigned w = 0; w < joined[r->node]->workers; w++) serve_inbox(r, &r->inbox[w]);
    begin_call(r);
    r->turn_ns = shard_turn(&r->shard, platform_now_ns());
    end_call(r);
    r->looks = true;
    flush(r);
}

/* Frames that lingered leave with time, whoever looks first; not while their shard is filling
 * them. */
static void let_leave(unsigned shard, unsigned from, unsigned to)
{
    if (sim.link[shard][from][to].leaves_ns > platform_now_ns()) return;
    if (!joined[from]->reactor[shard]->is_in_call) seal(shard, from, to);
}

/* As with the reactor that ships: it looks, and sleeps until somebody wakes it. */
static bool looks_for_news(struct reactor *r)
{
    r->looks = r->looks && shard_has_news(&r->shard);
    return r->looks;
}

static bool has_news(const void *reactor)
{
    if (((const struct reactor *)reactor)->is_over) return true;
    struct reactor *r = joined[((const struct reactor *)reactor)->node]
                            ->reactor[((const struct reactor *)reactor)->number];
    const struct cluster *c = joined[r->node];
    uint64_t now = platform_now_ns();
    if (!sim.ended && is_stopped(r)) return false;
    if (sim.ended || c->loss_ns <= now || (c->is_lost && !r->saw_loss) || r->turn_ns <= now ||
        r->view_ns <= now)
        return true;
    for (unsigned from = 0; from < sim.nodes; from++) {
        let_leave(r->number, from, r->node);
        if (has_arrived(r, from)) return true;
    }
    for (unsigned w = 0; w < c->workers; w++)
        if (!r->inbox[w].current && mailbox_count(&r->inbox[w].mailbox) > 0) return true;
    return looks_for_news(r);
}

static void run_reactor(void *argument)
{
    struct reactor *r = argument;
    for (;;) {
        locus_fiber_wait(has_news, r);
        if (sim.ended || r->is_over) return;
        turn(r);
    }
}

static struct {
    uint64_t wakes_ns[NAPS_MAX]; /* of who sleeps, by the place of its fiber */
} naps;

/* What happens at a node that is stopped happens when it goes on. */
static uint64_t once_it_goes_on(unsigned node, uint64_t ns)
{
    uint64_t stopped_ns = joined[node]->stopped_ns;
    return ns < stopped_ns ? stopped_ns : ns;
}

static uint64_t next_at_node(unsigned n)
{
    const struct cluster *c = joined[n];
    uint64_t next = min_ns(c->loss_ns, c->view_ns > platform_now_ns() ? c->view_ns : UINT64_MAX);
    if (c->met_ns > platform_now_ns()) next = min_ns(next, c->met_ns);
    for (unsigned s = 0; s < sim.shards; s++)
        next = min_ns(next, min_ns(c->reactor[s]->turn_ns, c->reactor[s]->view_ns));
    next = once_it_goes_on(n, next);
    return c->stopped_ns > platform_now_ns() ? min_ns(next, c->stopped_ns) : next;
}

static uint64_t next_of_link(unsigned shard, unsigned from, unsigned to)
{
    const struct platform_link *l = &sim.link[shard][from][to];
    const struct platform_frame *f = l->first;
    uint64_t next = l->leaves_ns;
    if (f) next = min_ns(next, f->arrives_ns);
    return once_it_goes_on(to, next);
}

static uint64_t next_of_links(uint64_t (*of)(unsigned shard, unsigned from, unsigned to))
{
    uint64_t next = UINT64_MAX;
    for (unsigned s = 0; s < sim.shards; s++)
        for (unsigned from = 0; from < sim.nodes; from++)
            for (unsigned to = 0; to < sim.nodes; to++) next = min_ns(next, of(s, from, to));
    return next;
}

static uint64_t next_event_ns(void)
{
    uint64_t next = next_of_links(next_of_link);
    for (unsigned i = 0; i < NAPS_MAX; i++)
        if (naps.wakes_ns[i]) next = min_ns(next, naps.wakes_ns[i]);
    for (unsigned n = 0; n < sim.nodes; n++) next = min_ns(next, next_at_node(n));
    return next;
}

/* Nobody has anything to do now: time passes until somebody has. */
static bool pass_time(void)
{
    uint64_t next = next_event_ns(), now = platform_now_ns();
    if (next == UINT64_MAX) {
        if (sim.workers_left > 0 || sim.ended) return false;
        sim.ended = true;
        return true;
    }
    if (next <= now) return false; /* an event that nobody takes */
    sim.skipped_ns += next - now;
    return true;
}

void platform_add_reactors(unsigned workers)
{
    sim.workers_left = workers;
    memset(&naps, 0, sizeof naps);
    fibers_set_idle(pass_time);
    fibers_set_clock(platform_now_ns);
    for (unsigned n = 0; n < sim.nodes; n++)
        for (unsigned s = 0; s < sim.shards; s++) fibers_add(run_reactor, joined[n]->reactor[s]);
}

void platform_worker_begins(void)
{
    sim.workers_left++;
}

void platform_worker_ended(void)
{
    sim.workers_left--;
}

static bool has_slept(const void *until)
{
    return *(const uint64_t *)until <= platform_now_ns();
}

void platform_sleep(uint64_t ns)
{
    if (fibers_current() >= NAPS_MAX) abort();
    uint64_t *until = &naps.wakes_ns[fibers_current()];
    *until = platform_now_ns() + ns;
    locus_fiber_wait(has_slept, until);
    *until = 0;
}

/* reactor.h, as far as workers use it. */

void reactor_post(struct reactor *r, struct request *request)
{
    mailbox_put(&r->inbox[request->worker].mailbox, request);
}

int reactor_snapshot(struct reactor *r, uint64_t index, struct key_snapshot *out)
{
    shard_snapshot(&r->shard, index, out);
    return 0;
}

const struct shard *reactor_shard(const struct reactor *r)
{
    return &r->shard;
}

void reactor_add_link(const struct reactor *r, unsigned peer, struct link_stats *to)
{
    (void)r, (void)peer, (void)to;
}

void reactor_wake(struct reactor *r)
{
    r->looks = true;
}

static void wake_for_dirty(void *reactor)
{
    reactor_wake(reactor);
}

/* joined.h. */

const bool platform_shares_cores = true;

void platform_end_reactor(struct cluster *c, unsigned number)
{
    struct reactor *r = c->reactor[number];
    if (!r) return;
    shard_fini(&r->shard);
    free(r->inbox);
    free(r);
}

int platform_open_reactor(struct cluster *c, const struct node_plan *plan, unsigned number)
{
    struct reactor *r = calloc(1, sizeof *r);
    if (!r) return -ENOMEM;
    c->reactor[number] = r;
    r->node = (unsigned)c->rank;
    r->number = number;
    r->turn_ns = r->view_ns = UINT64_MAX;
    r->looks = true;
    r->calls = (struct platform){
        r, give_entry, complete_request, read_clock_ns, read_clock_ns, note_repaired, NULL};
    r->inbox = calloc(c->workers, sizeof *r->inbox);
    if (!r->inbox) return -ENOMEM;
    r->plan = *plan;
    if (sim.loss.view > 0) { /* it comes back */
        r->plan.history = sim.loss.change;
        r->plan.changes = sim.loss.view - 1;
    }
    const struct shard_config shard = {.plan = &r->plan,
                                       .platform = &r->calls,
                                       .number = number,
                                       .round_ns = sim.nature.round_ns,
                                       .credit_bytes = sim.nature.credit_bytes};
    int rc = shard_init(&r->shard, &shard);
    if (plan->store->dirty) {
        plan->store->dirty[number].context = r;
        plan->store->dirty[number].notify = wake_for_dirty;
    }
    bool can_ride = plan->technique->heeds_intents && !plan->lab.is_immediate;
    r->shard.pacer->rounds_are_sparse = sim.nature.rides && can_ride;
    return rc;
}

/* Of a meeting that the loss of a node ends, behind that; of one that is to be repeated later: else
 * repeating it until a repair is over would be all that happens. */
uint64_t platform_hears_ns(unsigned node)
{
    const struct cluster *c = joined[node];
    uint64_t soon_ns = c->word.rc ? platform_now_ns() + REPEATS_NS : 0;
    return soon_ns > c->view_ns ? soon_ns : c->view_ns;
}

void platform_leaves(struct cluster *c)
{
    (void)c;
}
