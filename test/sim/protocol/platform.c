#include "platform_private.h"

enum { STEP_NS = 10, NAPS_MAX = 128 };
enum { REPEATS_NS = 200000 };

struct platform_sim platform_sim;

uint64_t platform_now_ns(void)
{
    return 1000 + platform_sim.skipped_ns + fibers_steps() * STEP_NS;
}

struct platform_counters platform_counters(void)
{
    return platform_sim.counters;
}

/* The platform of the shards. */

void platform_entry_is_complete(struct reactor *r)
{
    if (r->filling && platform_sim.hooks.sent)
        platform_sim.hooks.sent(r->number, r->node, r->filling_for, r->filling);
    platform_sim.entries_sent += r->filling != NULL;
    r->filling = NULL;
}

static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    struct reactor *r = context;
    struct platform_link *l = &platform_sim.link[r->number][r->node][peer];
    uint32_t bytes = (uint32_t)wire_entry_bytes(length);
    platform_entry_is_complete(r);
    if (l->dead) return NULL;
    if (peer == r->node) abort(); /* there is no link to oneself */
    if (l->open && (l->open->header.body_bytes + bytes > l->open->capacity ||
                    platform_one_in(platform_sim.nature.cut_rarity)))
        platform_seal(r->number, r->node, peer);
    if (!l->open) l->open = platform_new_frame(r->shard.store, bytes);
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

/* A reactor's turns. */

void platform_stop(unsigned node, uint64_t ns)
{
    uint64_t until_ns = platform_now_ns() + ns;
    if (until_ns > joined[node]->stopped_ns) joined[node]->stopped_ns = until_ns;
}

static bool is_stopped(const struct reactor *r)
{
    return joined[r->node]->stopped_ns > platform_now_ns();
}

void platform_begin_call(struct reactor *r)
{
    r->is_in_call = true;
    platform_sim.calls[r->number]++;
}

void platform_end_call(struct reactor *r)
{
    platform_entry_is_complete(r);
    r->is_in_call = false;
    bool settled = --platform_sim.calls[r->number] == 0;
    if (platform_sim.hooks.returned) platform_sim.hooks.returned(r->number, r->node, settled);
    platform_lose_if_due();
}

static void deliver(struct reactor *r, unsigned from)
{
    struct platform_link *l = &platform_sim.link[r->number][from][r->node];
    struct platform_frame *f = l->first;
    l->first = f->next;
    if (!r->saw_loss) platform_for_entries(f, r->number, from, r->node, platform_sim.hooks.arrived);
    platform_begin_call(r);
    const char *why = shard_frame(&r->shard, from, &f->header, f->body);
    free(f);
    platform_end_call(r);
    if (why && platform_sim.hooks.refused)
        platform_sim.hooks.refused(r->number, from, r->node, why);
}

static bool has_arrived(const struct reactor *r, unsigned from)
{
    const struct platform_link *l = &platform_sim.link[r->number][from][r->node];
    return l->first && l->first->arrives_ns <= platform_now_ns();
}

static void deliver_some(struct reactor *r)
{
    unsigned start = dice_below(&platform_sim.dice, platform_sim.nodes);
    for (unsigned i = 0; i < platform_sim.nodes; i++) {
        unsigned from = (start + i) % platform_sim.nodes;
        while (has_arrived(r, from)) {
            deliver(r, from);
            if (platform_one_in(3)) break;
        }
    }
}

static void serve_inbox(struct reactor *r, struct inbox *in)
{
    for (;;) {
        if (!in->current) in->current = mailbox_take(&in->mailbox);
        if (!in->current) return;
        platform_begin_call(r);
        bool done = shard_serve(&r->shard, in->current);
        if (done) in->current = NULL;
        platform_end_call(r);
        if (!done) return;
    }
}

static void handle_loss(struct reactor *r)
{
    if (r->saw_loss || !joined[r->node]->is_lost) return;
    r->saw_loss = true;
    platform_begin_call(r);
    shard_fail(&r->shard, -ECONNRESET);
    platform_end_call(r);
}

static void flush(struct reactor *r)
{
    for (unsigned to = 0; to < platform_sim.nodes; to++) {
        struct platform_link *l = &platform_sim.link[r->number][r->node][to];
        if (!l->open) continue;
        if (l->until_ns > platform_now_ns())
            l->leaves_ns = l->until_ns;
        else if (platform_one_in(platform_sim.nature.linger_rarity))
            /* an earlier one is still being sent */
            l->leaves_ns = platform_now_ns() + platform_some_ns(500);
        else
            platform_seal(r->number, r->node, to);
    }
}

/* A run is shorter than the pause between two sweeps. */
static void hurry_sweeps(struct saves *v)
{
    v->due_ns = min_ns(v->due_ns, v->began_ns + platform_sim.nature.round_ns);
}

static void turn(struct reactor *r)
{
    platform_sim.counters.turns++;
    if (r->shard.saves) hurry_sweeps(r->shard.saves);
    if (joined[r->node]->loss_ns <= platform_now_ns())
        platform_note_loss(joined[r->node], joined[r->node]->lost_rank);
    platform_hear_news(r);
    deliver_some(r);
    handle_loss(r);
    for (unsigned w = 0; w < joined[r->node]->workers; w++) serve_inbox(r, &r->inbox[w]);
    platform_begin_call(r);
    r->turn_ns = shard_turn(&r->shard, platform_now_ns());
    platform_end_call(r);
    r->looks = true;
    flush(r);
}

/* Frames that lingered leave with time, whoever looks first; not while their shard is filling
 * them. */
static void let_leave(unsigned shard, unsigned from, unsigned to)
{
    if (platform_sim.link[shard][from][to].leaves_ns > platform_now_ns()) return;
    if (!joined[from]->reactor[shard]->is_in_call) platform_seal(shard, from, to);
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
    if (!platform_sim.ended && is_stopped(r)) return false;
    if (platform_sim.ended || c->loss_ns <= now || (c->is_lost && !r->saw_loss) ||
        r->turn_ns <= now || platform_next_news_ns(r) <= now)
        return true;
    for (unsigned from = 0; from < platform_sim.nodes; from++) {
        let_leave(r->number, from, r->node);
        if (has_arrived(r, from)) return true;
    }
    for (unsigned w = 0; w < c->workers; w++)
        if (!r->inbox[w].current && mailbox_count(&r->inbox[w].mailbox) > 0) return true;
    return looks_for_news(r);
}

void platform_run_reactor(void *argument)
{
    struct reactor *r = argument;
    for (;;) {
        locus_fiber_wait(has_news, r);
        if (platform_sim.ended || r->is_over) return;
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
    uint64_t next = c->loss_ns;
    for (uint32_t v = c->view; v > 0 && c->view_ns[v] > platform_now_ns(); v--)
        next = min_ns(next, c->view_ns[v]);
    if (c->met_ns > platform_now_ns()) next = min_ns(next, c->met_ns);
    for (unsigned s = 0; s < platform_sim.shards; s++)
        next = min_ns(next, min_ns(c->reactor[s]->turn_ns, platform_next_news_ns(c->reactor[s])));
    next = once_it_goes_on(n, next);
    return c->stopped_ns > platform_now_ns() ? min_ns(next, c->stopped_ns) : next;
}

static uint64_t next_of_link(unsigned shard, unsigned from, unsigned to)
{
    const struct platform_link *l = &platform_sim.link[shard][from][to];
    const struct platform_frame *f = l->first;
    uint64_t next = l->leaves_ns;
    if (f) next = min_ns(next, f->arrives_ns);
    return once_it_goes_on(to, next);
}

static uint64_t next_of_links(uint64_t (*of)(unsigned shard, unsigned from, unsigned to))
{
    uint64_t next = UINT64_MAX;
    for (unsigned s = 0; s < platform_sim.shards; s++)
        for (unsigned from = 0; from < platform_sim.nodes; from++)
            for (unsigned to = 0; to < platform_sim.nodes; to++)
                next = min_ns(next, of(s, from, to));
    return next;
}

static uint64_t next_event_ns(void)
{
    uint64_t next = next_of_links(next_of_link);
    for (unsigned i = 0; i < NAPS_MAX; i++)
        if (naps.wakes_ns[i]) next = min_ns(next, naps.wakes_ns[i]);
    for (unsigned n = 0; n < platform_sim.nodes; n++) next = min_ns(next, next_at_node(n));
    return next;
}

/* Nobody has anything to do now: time passes until somebody has. */
static bool pass_time(void)
{
    uint64_t next = next_event_ns(), now = platform_now_ns();
    if (next == UINT64_MAX) {
        if (platform_sim.workers_left > 0 || platform_sim.ended) return false;
        platform_sim.ended = true;
        return true;
    }
    if (next <= now) return false; /* an event that nobody takes */
    platform_sim.skipped_ns += next - now;
    return true;
}

void platform_add_reactors(unsigned workers)
{
    platform_sim.workers_left = workers;
    memset(&naps, 0, sizeof naps);
    fibers_set_idle(pass_time);
    fibers_set_clock(platform_now_ns);
    for (unsigned n = 0; n < platform_sim.nodes; n++)
        for (unsigned s = 0; s < platform_sim.shards; s++)
            fibers_add(platform_run_reactor, joined[n]->reactor[s]);
}

void platform_worker_begins(void)
{
    platform_sim.workers_left++;
}

void platform_worker_ended(void)
{
    platform_sim.workers_left--;
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
    r->turn_ns = UINT64_MAX;
    r->heard = platform_sim.loss.news_count;
    r->looks = true;
    r->calls = (struct platform){
        r,   give_entry, complete_request, read_clock_ns, read_clock_ns, platform_note_repaired,
        NULL};
    r->inbox = calloc(c->workers, sizeof *r->inbox);
    if (!r->inbox) return -ENOMEM;
    r->plan = *plan;
    if (platform_sim.loss.view > 0) { /* it comes back */
        r->plan.history = platform_sim.loss.change;
        r->plan.changes = platform_sim.loss.view - 1;
    }
    const struct shard_config shard = {.plan = &r->plan,
                                       .platform = &r->calls,
                                       .number = number,
                                       .round_ns = platform_sim.nature.round_ns,
                                       .credit_bytes = platform_sim.nature.credit_bytes};
    int rc = shard_init(&r->shard, &shard);
    if (plan->store->dirty) {
        plan->store->dirty[number].context = r;
        plan->store->dirty[number].notify = wake_for_dirty;
    }
    bool can_ride = plan->technique->heeds_intents && !plan->lab.is_immediate;
    r->shard.pacer->rounds_are_sparse = platform_sim.nature.rides && can_ride;
    return rc;
}

/* Of a meeting that the loss of a node ends, behind that; of one that is to be repeated later: else
 * repeating it until a repair is over would be all that happens. */
uint64_t platform_hears_ns(unsigned node)
{
    const struct cluster *c = joined[node];
    uint64_t soon_ns = c->word.rc ? platform_now_ns() + REPEATS_NS : 0;
    return soon_ns > c->view_ns[c->view] ? soon_ns : c->view_ns[c->view];
}

void platform_leaves(struct cluster *c)
{
    (void)c;
}
