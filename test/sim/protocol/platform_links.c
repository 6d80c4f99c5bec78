/* The network of a simulated cluster. */
#include "platform_private.h"

enum { ENTRIES_ALWAYS_FIT = 1 << 16, WINDOW_SMALL_BYTES = 700 };

bool platform_one_in(unsigned rarity)
{
    return rarity > 0 && dice_below(&platform_sim.dice, rarity) == 0;
}

uint64_t platform_some_ns(uint64_t below)
{
    return below ? dice_throw(&platform_sim.dice) % below : 0;
}

static void draw_nature(struct nature *n)
{
    static const uint64_t latency[] = {0, 100, 1000, 5000, 30000};
    static const uint32_t bytes[] = {1, 200, 1000, ENTRIES_ALWAYS_FIT};
    struct dice *d = &platform_sim.dice;
    n->latency_ns = latency[dice_below(d, 5)];
    n->jitter_ns = (n->latency_ns + 50) * (dice_below(d, 3) ? dice_below(d, 10) : 0);
    n->slow_node = dice_below(d, 2 * PLATFORM_NODES_MAX);
    n->slow_factor = 1 + dice_below(d, 40);
    n->stall_rarity = dice_below(d, 2) ? 5 + dice_below(d, 50) : 0;
    n->stall_ns = 1000 + latency[dice_below(d, 5)] * 10;
    n->frame_bytes = bytes[dice_below(d, 4)];
    n->cut_rarity = dice_below(d, 2) ? 1 + dice_below(d, 6) : 0;
    n->linger_rarity = dice_below(d, 2) ? 1 + dice_below(d, 5) : 0;
    n->credit_bytes = platform_one_in(4) ? WINDOW_SMALL_BYTES : 1 << 20;
    n->rides = dice_below(d, 2);
    n->round_ns = latency[dice_below(d, 5)];
}

void platform_draw_link(struct platform_link *l, unsigned from, unsigned to)
{
    const struct nature *n = &platform_sim.nature;
    unsigned factor =
        from == n->slow_node || to == n->slow_node || platform_one_in(8) ? n->slow_factor : 1;
    *l = (struct platform_link){.until_ns = UINT64_MAX,
                                .leaves_ns = UINT64_MAX,
                                .latency_ns = n->latency_ns * factor,
                                .jitter_ns = n->jitter_ns * factor};
}

void platform_begin(unsigned nodes, unsigned shards, const struct platform_hooks *hooks,
                    struct dice dice)
{
    memset(&platform_sim, 0, sizeof platform_sim);
    platform_sim.nodes = nodes;
    platform_sim.shards = shards;
    platform_sim.hooks = *hooks;
    platform_sim.dice = dice;
    platform_sim.loss.due = platform_sim.loss.too.due = UINT64_MAX;
    draw_nature(&platform_sim.nature);
    for (unsigned s = 0; s < shards; s++)
        for (unsigned from = 0; from < nodes; from++)
            for (unsigned to = 0; to < nodes; to++)
                platform_draw_link(&platform_sim.link[s][from][to], from, to);
}

void platform_drop_frames(struct platform_link *l)
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
    for (unsigned s = 0; s < platform_sim.shards; s++)
        for (unsigned from = 0; from < platform_sim.nodes; from++)
            for (unsigned to = 0; to < platform_sim.nodes; to++) {
                platform_drop_frames(&platform_sim.link[s][from][to]);
                free(platform_sim.link[s][from][to].open);
            }
}

const struct platform_link *platform_link(unsigned shard, unsigned from, unsigned to)
{
    return &platform_sim.link[shard][from][to];
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

void platform_for_entries(const struct platform_frame *f, unsigned shard, unsigned from,
                          unsigned to,
                          void (*hook)(unsigned, unsigned, unsigned, const struct wire_entry *))
{
    struct wire_cursor c = wire_cursor(&f->header, f->body);
    const struct wire_entry *e;
    const char *why;
    while (hook && (e = wire_next(&c, &why))) hook(shard, from, to, e);
}

static void depart(struct platform_link *l, struct platform_frame *f)
{
    f->arrives_ns = platform_now_ns() + l->latency_ns + platform_some_ns(l->jitter_ns);
    if (platform_one_in(platform_sim.nature.stall_rarity))
        f->arrives_ns += platform_some_ns(platform_sim.nature.stall_ns);
    if (f->arrives_ns < l->latest_ns) f->arrives_ns = l->latest_ns;
    if (f->arrives_ns < l->held_ns) f->arrives_ns = l->held_ns;
    l->latest_ns = f->arrives_ns;
    f->next = NULL;
    *(l->first ? &l->last->next : &l->first) = f;
    l->last = f;
}

/* What of a link is told to be gone: from this frame on. */
void platform_tell_dropped(const struct platform_frame *f, unsigned shard, unsigned from,
                           unsigned to)
{
    for (; f; f = f->next) platform_for_entries(f, shard, from, to, platform_sim.hooks.dropped);
}

/* The open frame begins its way. */
void platform_seal(unsigned shard, unsigned from, unsigned to)
{
    struct platform_link *l = &platform_sim.link[shard][from][to];
    struct platform_frame *f = l->open;
    l->open = NULL;
    l->until_ns = l->leaves_ns = UINT64_MAX;
    if (l->dead || l->swallows) {
        if (!platform_sim.broken) platform_tell_dropped(f, shard, from, to);
        free(f);
        return;
    }
    platform_sim.counters.frames++;
    platform_sim.counters.entries += f->header.count;
    depart(l, f);
}

struct platform_frame *platform_new_frame(const struct store *s, uint32_t bytes)
{
    uint32_t capacity = platform_sim.nature.frame_bytes < bytes ? bytes
                                                                : platform_sim.nature.frame_bytes;
    struct platform_frame *f = malloc(sizeof *f + capacity);
    if (!f) abort();
    *f = (struct platform_frame){
        .capacity = capacity,
        .header = {.magic = WIRE_MAGIC, .version = WIRE_VERSION, .membership = s->home.membership}};
    return f;
}
/* Silence. */

void platform_hold(unsigned from, unsigned to, uint64_t ns)
{
    uint64_t until_ns = platform_now_ns() + ns;
    for (unsigned s = 0; s < platform_sim.shards && from != to; s++) {
        struct platform_link *l = &platform_sim.link[s][from][to];
        if (until_ns > l->held_ns) l->held_ns = until_ns;
        for (struct platform_frame *f = l->first; f; f = f->next)
            if (f->arrives_ns < until_ns) f->arrives_ns = until_ns;
        if (l->first && l->latest_ns < until_ns) l->latest_ns = until_ns;
    }
}
