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

bool platform_is_repairing(void)
{
    return platform_sim.loss.left > 0;
}

/* The first of the frames under way arrive, if the other node does not hear of the loss before. */
static void cut(unsigned shard, unsigned from, unsigned to)
{
    struct platform_link *l = &platform_sim.link[shard][from][to];
    unsigned frames = 0;
    for (const struct platform_frame *f = l->first; f; f = f->next) frames++;
    unsigned kept = to == platform_sim.loss.node || platform_one_in(4)
                        ? 0
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
    bool is_new = c->view < platform_sim.loss.view; /* or who leaves is lost */
    c->view = platform_sim.loss.view;
    if (is_new) c->view_ns = platform_now_ns() + platform_some_ns(within_ns);
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        if (joined[node]->is_gone) {
            cut(s, node, n);
            cut(s, n, node);
        }
        c->reactor[s]->view_ns = (is_new ? c->view_ns : platform_now_ns()) +
                                 platform_some_ns(within_ns);
        platform_sim.loss.left += is_new;
    }
}

static void change(enum change_kind kind, unsigned node)
{
    uint32_t view = ++platform_sim.loss.view;
    platform_sim.loss.change[view - 1] = (struct change){view, kind, node};
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
    lost->leaves = false;
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        platform_sim.loss.left -= !lost->reactor[s]->has_left;
        lost->reactor[s]->view_ns = UINT64_MAX;
    }
}

static void lose(unsigned node)
{
    struct cluster *lost = joined[node];
    uint64_t within = some_delay_ns();
    platform_sim.loss.due = UINT64_MAX;
    if (platform_is_repairing())
        leaver_is_lost();
    else
        change(CHANGE_LOST, node);
    platform_sim.loss.at_ns = platform_now_ns();
    lost->is_gone = true;
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
    const struct change *last =
        platform_sim.loss.view ? &platform_sim.loss.change[platform_sim.loss.view - 1] : NULL;
    if (platform_sim.entries_sent < platform_sim.loss.due || !is_quiet()) return false;
    if (joined[platform_sim.loss.node]->is_gone || platform_sim.loss.view == PLATFORM_CHANGES)
        platform_sim.loss.due = UINT64_MAX;
    if (platform_sim.loss.due == UINT64_MAX) return false;
    return !platform_is_repairing() ||
           (last->kind == CHANGE_LEAVES && last->node == platform_sim.loss.node);
}

void platform_lose_if_due(void)
{
    if (is_lost_next()) lose(platform_sim.loss.node);
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
    return cluster_repaired(joined[node]) == joined[node]->view;
}

unsigned platform_newcomer(unsigned shard)
{
    const struct change *last = &platform_sim.loss.change[platform_sim.loss.view - 1];
    if (platform_sim.loss.view == 0 || last->kind != CHANGE_JOINS) return PLATFORM_NODES_MAX;
    return repair_is_over(&joined[last->node]->reactor[shard]->shard) ? PLATFORM_NODES_MAX
                                                                      : last->node;
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
    c->view = platform_sim.loss.view;
    c->is_newcomer = true;
    if (platform_sim.hooks.joined) platform_sim.hooks.joined(node);
    tell_others(node, some_delay_ns());
    platform_sim.loss.left += platform_sim.shards;
    for (unsigned s = 0; s < platform_sim.shards; s++) c->reactor[s]->view = c->view;
    for (unsigned s = 0; s < platform_sim.shards; s++) {
        platform_begin_call(c->reactor[s]);
        repair_begin(&c->reactor[s]->shard, platform_sim.loss.change[c->view - 1]);
        platform_end_call(c->reactor[s]);
        fibers_add(platform_run_reactor, c->reactor[s]);
    }
}

/* The shard hears of the change; of what a lost node has sent it will hear nothing more. */
void platform_begin_repair(struct reactor *r)
{
    const struct change *c = &platform_sim.loss.change[platform_sim.loss.view - 1];
    bool is_ours = c->kind == CHANGE_LEAVES && c->node == r->node;
    r->view_ns = UINT64_MAX;
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

static void say_goodbye(struct reactor *r, unsigned to)
{
    struct platform_link *l = &platform_sim.link[r->number][r->node][to];
    if (l->open) platform_seal(r->number, r->node, to);
    l->dead = true;
}

void platform_note_repaired(void *context, uint32_t view)
{
    struct reactor *r = context;
    platform_entry_is_complete(r);
    const struct change *last = &platform_sim.loss.change[platform_sim.loss.view - 1];
    bool is_leave = last->kind == CHANGE_LEAVES, leaves = is_leave && r->node == last->node;
    if (platform_is_lost(r->node)) return; /* nobody hears that it has left */
    if (view != platform_sim.loss.view || platform_sim.loss.left == 0) abort();
    if (!leaves && (view != r->view || !repair_is_over(&r->shard))) abort();
    platform_sim.loss.left--;
    if (is_leave && platform_sim.loss.left == 0) {
        joined[last->node]->is_gone = true;
        joined_look_for_meeting(platform_sim.nodes);
    }
    if (leaves) {
        if (platform_sim.hooks.left) platform_sim.hooks.left(r->number, r->node);
        r->has_left = true;
        return;
    }
    if (is_leave) say_goodbye(r, last->node);
    bool is_first = platform_sim.loss.repaired[r->number] < view;
    platform_sim.loss.repaired[r->number] = view;
    if (platform_sim.hooks.repaired) platform_sim.hooks.repaired(r->number, r->node, is_first);
}
