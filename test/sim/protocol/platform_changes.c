/* Who is lost, leaves or joins in a simulated cluster. */
#include "platform_private.h"

void platform_note_loss(struct cluster *c, unsigned rank)
{
    c->loss_ns = UINT64_MAX;
    if (c->is_lost) return;
    c->is_lost = true;
    c->lost_rank = rank;
    c->lost(c->context); /* before any operation ends by it */
}

void platform_break(unsigned a, unsigned b)
{
    platform_sim.broken = true;
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        platform_sim.link[s][a][b].dead = platform_sim.link[s][b][a].dead = true;
        /* not those under construction: their shards may be at it */
        platform_drop_frames(&platform_sim.link[s][a][b]);
        platform_drop_frames(&platform_sim.link[s][b][a]);
    }
    for (unsigned n = 0; n < platform_sim.nodes; n++) {
        struct cluster *c = joined[n];
        if (c->is_lost) continue;
        c->loss_ns = platform_now_ns() + platform_some_ns(20000);
        c->lost_rank = n == b ? a : b;
    }
}

bool platform_is_broken(void)
{
    return platform_sim.broken;
}

/* The others survive. */

/* No shard is inside a call: each row is at a node or in a frame. */
static bool is_quiet(void)
{
    for (unsigned s = 0; s < platform_sim.shards; s++)
        if (platform_sim.calls[s] > 0) return false;
    return true;
}

void platform_lose(unsigned node, unsigned after)
{
    if (node == 0 || node >= platform_sim.nodes || platform_sim.loss.due != UINT64_MAX ||
        joined[node]->is_gone || platform_sim.broken || platform_sim.loss.view == PLATFORM_CHANGES)
        return;
    platform_sim.loss.node = node;
    platform_sim.loss.due = platform_sim.entries_sent + after;
}

void platform_lose_too(unsigned node, unsigned after)
{
    if (node == 0 || node >= platform_sim.nodes || platform_sim.loss.later_count == LOST_TOO_MAX)
        return;
    platform_sim.loss.later[platform_sim.loss.later_count++] = (struct coming_loss){node, after};
}

uint64_t platform_lost_ns(void)
{
    return platform_sim.loss.at_ns;
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

uint32_t platform_changes(void)
{
    return platform_sim.loss.view;
}

uint32_t platform_gone_by(unsigned node)
{
    return joined[node]->gone_by;
}

uint32_t platform_since(void)
{
    return platform_sim.loss.since;
}

static bool has_repaired(const struct cluster *c)
{
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        const struct reactor *r = c->reactor[s];
        if (c->leaves ? !r->has_left : r->repaired < platform_sim.loss.view) return false;
    }
    return true;
}

bool platform_is_repairing(void)
{
    for (unsigned n = 0; n < platform_sim.nodes && platform_sim.loss.view > 0; n++)
        if (!joined[n]->is_gone && !has_repaired(joined[n])) return true;
    return false;
}

/* The first of the frames under way arrive, if the other node does not hear of the loss before. */
static void cut(unsigned shard, unsigned from, unsigned to, unsigned lost)
{
    struct platform_link *l = &platform_sim.link[shard][from][to];
    unsigned frames = 0;
    for (const struct platform_frame *f = l->first; f; f = f->next) frames++;
    unsigned kept = to == lost || platform_one_in(4) ? 0
                                                     : dice_below(&platform_sim.dice, frames + 1);
    struct platform_frame **end = &l->first;
    for (l->last = NULL; kept > 0; kept--) {
        l->last = *end;
        end = &l->last->next;
    }
    struct platform_link gone = {.first = *end};
    *end = NULL;
    platform_tell_dropped(gone.first, shard, from, to);
    platform_drop_frames(&gone);
    /* not freed: its shard may be at it */
    if (l->open) platform_for_entries(l->open, shard, from, to, platform_sim.hooks.dropped);
    l->swallows = true;
    if (dice_below(&platform_sim.dice, 2)) l->dead = true;
}

/* Node n, one of those that stay, will hear of it, and its shards later. */
static void tell(struct cluster *c, unsigned n, unsigned node, uint64_t within_ns)
{
    uint32_t view = platform_sim.loss.view;
    bool is_new = c->view < view; /* or who leaves is lost */
    c->view = view;
    if (is_new)
        c->view_ns[view] =
            max_ns(c->view_ns[view - 1], platform_now_ns() + platform_some_ns(within_ns));
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        if (joined[node]->is_gone) {
            cut(s, node, n, node);
            cut(s, n, node, node);
        }
        struct reactor *r = c->reactor[s];
        uint64_t ns = (is_new ? c->view_ns[view] : platform_now_ns()) + platform_some_ns(within_ns);
        unsigned last = platform_sim.loss.news_count - 1;
        r->hears_ns[last] = r->heard < last ? max_ns(ns, r->hears_ns[last - 1]) : ns;
    }
}

/* Rank 0 says it; nobody has been told. */
static void add_news(struct change c)
{
    unsigned i = platform_sim.loss.news_count++;
    platform_sim.loss.news[i] = c;
    for (unsigned n = 0; n < platform_sim.nodes; n++)
        for (unsigned s = 0; s < platform_sim.shards; s++)
            joined[n]->reactor[s]->hears_ns[i] = UINT64_MAX;
}

static void change(enum change_kind kind, unsigned node)
{
    bool is_first = !platform_is_repairing();
    uint32_t view = ++platform_sim.loss.view;
    if (is_first) platform_sim.loss.since = view;
    platform_sim.loss.change[view - 1] = (struct change){view, kind, node};
    add_news(platform_sim.loss.change[view - 1]);
    if (platform_sim.loss.too.due < UINT64_MAX || platform_sim.loss.later_count == 0) return;
    platform_sim.loss.too = platform_sim.loss.later[0];
    platform_sim.loss.too.due += platform_sim.entries_sent;
    memmove(platform_sim.loss.later, platform_sim.loss.later + 1,
            --platform_sim.loss.later_count * sizeof platform_sim.loss.later[0]);
}

static uint64_t some_delay_ns(void)
{
    const uint64_t within_ns[] = {1, 1000, 20000, 200000};
    return within_ns[dice_below(&platform_sim.dice, 4)];
}

static void tell_others(unsigned node, uint64_t within)
{
    for (unsigned n = 0; n < platform_sim.nodes; n++)
        if (n != node && !joined[n]->is_gone) tell(joined[n], n, node, within);
}

/* By the same number. */
static void leaver_is_lost(void)
{
    struct change *c = &platform_sim.loss.change[platform_sim.loss.view - 1];
    struct cluster *lost = joined[c->node];
    c->kind = CHANGE_LOST;
    add_news(*c);
    for (unsigned s = 0; s < platform_sim.shards; s++)
        lost->reactor[s]->heard = platform_sim.loss.news_count;
}

static const struct change *last_change(void)
{
    return platform_sim.loss.view ? &platform_sim.loss.change[platform_sim.loss.view - 1] : NULL;
}

/* The node that leaves; PLATFORM_NODES_MAX: none. */
static unsigned leaver(void)
{
    const struct change *last = last_change();
    return last && last->kind == CHANGE_LEAVES && platform_is_repairing() ? last->node
                                                                          : PLATFORM_NODES_MAX;
}

static void lose(unsigned node)
{
    struct cluster *lost = joined[node];
    uint64_t within = some_delay_ns();
    if (leaver() == node)
        leaver_is_lost();
    else
        change(CHANGE_LOST, node);
    platform_sim.loss.at_ns = platform_now_ns();
    lost->is_gone = true;
    lost->gone_by = platform_sim.loss.view;
    lost->leaves = false;
    lost->loss_ns = platform_now_ns() + platform_some_ns(20000);
    lost->lost_rank = node;
    tell_others(node, within);
    if (platform_sim.hooks.lost) platform_sim.hooks.lost(node);
    joined_look_for_meeting(platform_sim.nodes);
}

/* Whether it is time for that: while another change is under way only of who leaves. */
static bool is_lost_next(void)
{
    if (platform_sim.entries_sent < platform_sim.loss.due || !is_quiet()) return false;
    if (joined[platform_sim.loss.node]->is_gone || platform_sim.loss.view == PLATFORM_CHANGES)
        platform_sim.loss.due = UINT64_MAX;
    if (platform_sim.loss.due == UINT64_MAX) return false;
    return !platform_is_repairing() || leaver() == platform_sim.loss.node;
}

/* Whatever is under way; if that one is gone the next one that is not. */
static void lose_another(void)
{
    unsigned node = platform_sim.loss.too.node;
    platform_sim.loss.too.due = UINT64_MAX;
    for (unsigned i = 0; i < platform_sim.nodes && (node == 0 || joined[node]->is_gone); i++)
        node = (node + 1) % platform_sim.nodes;
    if (node == 0 || joined[node]->is_gone || platform_sim.broken) return;
    if (leaver() < PLATFORM_NODES_MAX && leaver() != node) lose(leaver());
    if (platform_sim.loss.view == PLATFORM_CHANGES && leaver() != node) return;
    platform_sim.counters.lost_meanwhile += platform_is_repairing();
    lose(node);
}

void platform_lose_if_due(void)
{
    if (platform_sim.entries_sent >= platform_sim.loss.too.due && is_quiet()) lose_another();
    if (!is_lost_next()) return;
    platform_sim.loss.due = UINT64_MAX;
    lose(platform_sim.loss.node);
}

static bool may_leave(const void *node)
{
    return !platform_is_repairing() || platform_is_lost(*(const unsigned *)node);
}

void platform_leave(unsigned node)
{
    locus_fiber_wait(may_leave, &node);
    if (platform_is_lost(node) || platform_sim.loss.view == PLATFORM_CHANGES) return;
    joined[node]->leaves = true;
    if (platform_sim.hooks.leaves) platform_sim.hooks.leaves(node);
    change(CHANGE_LEAVES, node);
    uint64_t within = some_delay_ns();
    tell_others(node, within);
    tell(joined[node], node, node, within);
    locus_fiber_wait(may_leave, &node);
}

/* A node comes back. */

bool platform_may_join(unsigned node)
{
    if (platform_is_repairing() || platform_sim.broken) return false;
    for (unsigned s = 0; s < platform_sim.shards; s++)
        if (joined[node]->reactor[s]->is_in_call) return false;
    return platform_is_lost(node) && platform_sim.loss.view < PLATFORM_CHANGES;
}

bool platform_has_joined(unsigned node)
{
    return cluster_repaired(joined[node]) >= joined[node]->came_by;
}

unsigned platform_newcomer(unsigned shard)
{
    for (unsigned n = 0; n < platform_sim.nodes; n++)
        if (joined[n]->is_newcomer && platform_is_repairing() &&
            joined[n]->came_by >= platform_sim.loss.since &&
            repair_last(&joined[n]->reactor[shard]->shard) < joined[n]->came_by)
            return n;
    return PLATFORM_NODES_MAX;
}

void platform_begins_to_join(unsigned node)
{
    change(CHANGE_JOINS, node);
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        joined[node]->reactor[s]->is_over = true;
        for (unsigned n = 0; n < platform_sim.nodes; n++)
            for (unsigned out = 0; out < 2; out++) {
                unsigned from = out ? node : n, to = out ? n : node;
                struct platform_link *l = &platform_sim.link[s][from][to];
                if (joined[n]->is_gone && n != node) continue;
                platform_drop_frames(l);
                free(l->open);
                platform_draw_link(l, from, to);
            }
    }
}

void platform_joins(unsigned node)
{
    struct cluster *c = joined[node];
    const struct change ours =
        *last_change(); /* others may follow before all shards have begun it */
    c->view = ours.number;
    c->is_newcomer = true;
    c->came_by = c->view;
    if (platform_sim.hooks.joined) platform_sim.hooks.joined(node);
    tell_others(node, some_delay_ns());
    for (unsigned s = 0; s < platform_sim.shards; s++) c->reactor[s]->view = c->view;
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        platform_begin_call(c->reactor[s]);
        repair_begin(&c->reactor[s]->shard, ours);
        platform_end_call(c->reactor[s]);
        fibers_add(platform_run_reactor, c->reactor[s]);
    }
}

uint64_t platform_next_news_ns(const struct reactor *r)
{
    return r->heard < platform_sim.loss.news_count ? r->hears_ns[r->heard] : UINT64_MAX;
}

/* The shard hears of the change; of what a lost node has sent it will hear nothing more. */
static void begin_repair(struct reactor *r, const struct change *c)
{
    bool is_ours = c->kind == CHANGE_LEAVES && c->node == r->node;
    if (!is_ours) r->view = c->number; /* who leaves does not take part in it */
    if (c->kind == CHANGE_LOST) {
        struct platform_link *from = &platform_sim.link[r->number][c->node][r->node];
        platform_tell_dropped(from->first, r->number, c->node, r->node);
        platform_drop_frames(from);
        platform_sim.link[r->number][r->node][c->node].dead = true;
    }
    platform_begin_call(r);
    repair_begin(&r->shard, *c);
    platform_end_call(r);
}

/* Of some at once. */
void platform_hear_news(struct reactor *r)
{
    while (platform_next_news_ns(r) <= platform_now_ns()) {
        begin_repair(r, &platform_sim.loss.news[r->heard++]);
        if (platform_next_news_ns(r) <= platform_now_ns() && platform_one_in(2)) return;
    }
}

static void say_goodbye(struct reactor *r, unsigned to)
{
    struct platform_link *l = &platform_sim.link[r->number][r->node][to];
    if (l->open) platform_seal(r->number, r->node, to);
    l->dead = true;
}

static void has_left(unsigned node)
{
    joined[node]->is_gone = true;
    joined[node]->gone_by = platform_sim.loss.view;
    joined_look_for_meeting(platform_sim.nodes);
}

void platform_note_repaired(void *context, uint32_t view)
{
    struct reactor *r = context;
    platform_entry_is_complete(r);
    if (platform_is_lost(r->node)) return; /* nobody hears that it has left */
    if (view == 0 || view > platform_sim.loss.view) abort();
    const struct change *of = &platform_sim.loss.change[view - 1];
    bool is_leave = of->kind == CHANGE_LEAVES, leaves = is_leave && r->node == of->node;
    if (leaves) {
        if (r->has_left) abort();
        if (platform_sim.hooks.left) platform_sim.hooks.left(r->number, r->node);
        r->has_left = true;
    } else {
        /* only of the last one that it began */
        if (view != r->view || view <= r->repaired || !repair_is_over(&r->shard)) abort();
        r->repaired = view;
    }
    if (is_leave && !platform_is_repairing()) has_left(of->node);
    if (leaves) return;
    if (is_leave) say_goodbye(r, of->node);
    bool is_first = platform_sim.loss.repaired[r->number] < view;
    platform_sim.loss.repaired[r->number] = view;
    if (platform_sim.hooks.repaired) platform_sim.hooks.repaired(r->number, r->node, is_first);
}
