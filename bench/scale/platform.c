#include "platform.h"

#include "actors/actor.h"
#include "actors/mailbox.h"
#include "base/pinning.h"
#include "base/sync.h"
#include "intents/intents.h"
#include "sim/protocol/joined.h"
#include "store/store.h"
#include "worker/node.h"
#include "worker/operation.h"
#include "virtual.h"

#include "../common/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_CAPACITY = 256 };
#define NEVER UINT64_MAX

struct frame {
    struct frame *next; /* that arrived at the same shard */
    unsigned from, to, shard;
    uint64_t arrived_ns;
    uint32_t capacity;
    struct wire_frame header;
    unsigned char *body;
};

struct reactor {
    struct shard shard;
    struct platform calls;
    unsigned node, number, workers;
    struct inbox {
        struct mailbox mailbox;
        struct request *current; /* taken out, and waiting for credit */
    } * inbox;                   /* [workers] */
    struct frame *first, *last;
    struct frame **open;  /* [nodes] under construction */
    uint64_t *spoke_ns;   /* [nodes] when a frame last left */
    struct outbox outbox; /* of the peers with an open frame */
    double now;           /* within a turn */
    /* of the frame that is served next: passes when the shard has looked at the clock */
    double owed;
    uint64_t busy_until;
    uint64_t turn_ns;     /* of the next turn, NEVER: none is due */
    uint64_t due_ns;      /* when the shard wants one */
    uint64_t taken;       /* wants, so far */
    bool completed;       /* something for a worker in this turn */
    bool is_over;         /* what is planned for it does not happen any more */
    struct reactor *next; /* of those that are over */
};

static struct {
    unsigned nodes;
    struct model model;
    bool never_synchronizes;
    struct reactor *over;
    struct platform_figures figures[PLATFORM_NODES_MAX];
    double sends_until[PLATFORM_NODES_MAX], receives_until[PLATFORM_NODES_MAX]; /* cards */
} sim;

static void happen(const struct event *);

void platform_begin(unsigned nodes, const struct model *m)
{
    memset(&sim, 0, sizeof sim);
    sim.nodes = nodes;
    sim.model = *m;
    virtual_begin(happen);
}

void platform_never_synchronize(void)
{
    sim.never_synchronizes = true;
}

uint64_t platform_now_ns(void)
{
    return virtual_now_ns();
}

struct platform_figures platform_figures(unsigned node)
{
    return sim.figures[node];
}

unsigned platform_peers(unsigned node, uint64_t since_ns)
{
    unsigned peers = 0;
    for (unsigned n = 0; n < sim.nodes; n++)
        peers += joined[node]->reactor[0]->spoke_ns[n] >= since_ns;
    return peers;
}

uint64_t platform_replicas(unsigned node)
{
    struct shard_counters c = figures_shards(joined[node]);
    return c.replicas_created - c.replicas_dropped;
}

/* With one shard a key is its index. Only the owner counts holders. */
unsigned platform_holders(uint64_t key)
{
    unsigned holders = 0;
    for (unsigned n = 0; n < sim.nodes; n++) {
        const struct record *r = record_find(&joined[n]->reactor[0]->shard.records, key);
        if (r) holders += r->holders;
    }
    return holders;
}

/* ---- when ---- */

/* Something has come for the shard. One that sleeps takes a moment to wake. */
static void stir(struct reactor *r)
{
    uint64_t at = virtual_now_ns(), asleep = r->busy_until + REACTOR_SPIN_NS;
    if (at < r->busy_until) at = r->busy_until;
    if (at > asleep) at += (uint64_t)sim.model.wake;
    if (at >= r->turn_ns) return;
    r->turn_ns = at;
    virtual_plan(at, EVENT_TURN, r);
}

static void wait_until(struct reactor *r, uint64_t due_ns)
{
    if (due_ns < r->busy_until) due_ns = r->busy_until;
    if (due_ns >= r->turn_ns) return;
    r->turn_ns = due_ns;
    virtual_plan(due_ns, EVENT_TURN, r);
}

static struct platform_figures *figures(const struct reactor *r)
{
    return &sim.figures[r->node];
}

static void charge(struct reactor *r, double ns)
{
    r->now += ns;
}

/* ---- the network ---- */

/* What a frame takes on the wire, packets' headers included. */
static double wire_bytes(const struct frame *f)
{
    double bytes = (double)(sizeof f->header + f->header.body_bytes);
    double packets = floor(bytes / sim.model.packet_bytes) + 1;
    return bytes + packets * sim.model.packet_overhead;
}

/* A frame's entries, by operation. */
static void count_entries(struct platform_figures *to, const struct frame *f)
{
    struct wire_cursor c = wire_cursor(&f->header, f->body);
    const struct wire_entry *e;
    const char *why;
    while ((e = wire_next(&c, &why))) to->entries[e->operation]++;
}

static void free_frame(struct frame *f)
{
    free(f->body);
    free(f);
}

/* The shard hands it to the kernel, which costs; from then on the card has it. */
static void send_frame(struct reactor *r, struct frame *f)
{
    const struct model *m = &sim.model;
    size_t bytes = sizeof f->header + f->header.body_bytes;
    charge(r, m->frame_out + m->byte_out * (double)bytes);
    figures(r)->frames_out++;
    figures(r)->bytes_out += bytes;
    figures(r)->wire_bytes_out += (uint64_t)wire_bytes(f);
    r->spoke_ns[f->to] = (uint64_t)r->now;
    count_entries(figures(r), f);
    double *card = &sim.sends_until[f->from], begins = *card > r->now ? *card : r->now;
    *card = begins + wire_bytes(f) / m->bandwidth;
    virtual_plan((uint64_t)(begins + m->latency), EVENT_AT_CARD, f);
}

static void receive(struct frame *f)
{
    double *card = &sim.receives_until[f->to], now = (double)virtual_now_ns();
    *card = (*card > now ? *card : now) + wire_bytes(f) / sim.model.bandwidth;
    virtual_plan((uint64_t)*card, EVENT_ARRIVED, f);
}

static void arrive(struct frame *f)
{
    if (!joined[f->to]) {
        free_frame(f); /* it has left */
        return;
    }
    struct reactor *r = joined[f->to]->reactor[f->shard];
    f->arrived_ns = virtual_now_ns();
    f->next = NULL;
    *(r->first ? &r->last->next : &r->first) = f;
    r->last = f;
    stir(r);
}

/* ---- the platform of the shards ---- */

static struct frame *new_frame(struct reactor *r, unsigned peer)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->capacity = FRAME_CAPACITY;
    f->body = malloc(f->capacity);
    if (!f->body) abort();
    f->from = r->node;
    f->to = peer;
    f->shard = r->number;
    f->header = (struct wire_frame){WIRE_MAGIC, WIRE_VERSION,
                                    .membership = r->shard.store->home.membership};
    r->open[peer] = f;
    return f;
}

static void make_room(struct frame *f, uint32_t bytes)
{
    if (f->header.body_bytes + bytes <= f->capacity) return;
    while (f->header.body_bytes + bytes > f->capacity) f->capacity = 2 * f->capacity;
    f->body = realloc(f->body, f->capacity);
    if (!f->body) abort();
}

static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    struct reactor *r = context;
    struct frame *f = r->open[peer] ? r->open[peer] : new_frame(r, peer);
    uint32_t bytes = (uint32_t)wire_entry_bytes(length);
    if (f->header.count > 0 && f->header.body_bytes + bytes > LINK_FRAME_BYTES) {
        send_frame(r, f);
        f = new_frame(r, peer);
    }
    outbox_say(&r->outbox, peer, until_ns);
    make_room(f, bytes);
    charge(r, sim.model.entry_out + sim.model.row_byte * sizeof(float) * length);
    struct wire_entry *e = (void *)(f->body + f->header.body_bytes);
    memset(e, 0, bytes);
    e->length = length;
    f->header.body_bytes += bytes;
    f->header.count++;
    return e;
}

static void complete_request(void *context, struct request *request, int rc)
{
    struct reactor *r = context;
    r->completed = true;
    operation_request_done(request, rc);
}

/* The first look within shard_frame() comes before its entries are served, the others after. */
static uint64_t read_clock_ns(void *context)
{
    struct reactor *r = context;
    uint64_t now = (uint64_t)r->now;
    charge(r, r->owed);
    r->owed = 0;
    return now;
}

/* ---- a shard's turns ---- */

static void serve_frame(struct reactor *r, struct frame *f)
{
    const struct model *m = &sim.model;
    size_t bytes = sizeof f->header + f->header.body_bytes;
    double rows = (double)f->header.body_bytes -
                  (double)f->header.count * sizeof(struct wire_entry);
    charge(r, m->frame_in + m->byte_in * (double)bytes);
    r->owed = m->entry_in * f->header.count + m->row_byte * rows;
    figures(r)->late_ns += (uint64_t)r->now - f->arrived_ns;
    figures(r)->frames_in++;
    figures(r)->bytes_in += bytes;
    figures(r)->entries_in += f->header.count;
    /* it believes no peer, but all are itself */
    if (shard_frame(&r->shard, f->from, &f->header, f->body)) abort();
    free_frame(f);
}

static void serve_frames(struct reactor *r)
{
    while (r->first) {
        struct frame *f = r->first;
        r->first = f->next;
        serve_frame(r, f);
    }
}

static void serve_inbox(struct reactor *r, struct inbox *in)
{
    for (;;) {
        if (!in->current) in->current = mailbox_take(&in->mailbox);
        if (!in->current) return;
        uint32_t sent = in->current->sent, count = in->current->count;
        struct request *request = in->current;
        bool done = shard_serve(&r->shard, request);
        charge(r, sim.model.item * ((done ? count : request->sent) - sent));
        if (!done) return;
        in->current = NULL;
    }
}

static void serve_requests(struct reactor *r)
{
    for (unsigned w = 0; w < r->workers; w++) serve_inbox(r, &r->inbox[w]);
}

static void leave(void *reactor, unsigned peer)
{
    struct reactor *r = reactor;
    struct frame *f = r->open[peer];
    r->open[peer] = NULL;
    send_frame(r, f);
}

static void flush(struct reactor *r)
{
    outbox_flush(&r->outbox, (uint64_t)r->now, leave, r);
    if (outbox_due_ns(&r->outbox) < r->due_ns) r->due_ns = outbox_due_ns(&r->outbox);
}

static void leave_out(void *none, uint64_t index)
{
    (void)none, (void)index;
}

static void work(struct reactor *r)
{
    uint64_t began = clock_ns();
    serve_frames(r);
    serve_requests(r);
    if (sim.never_synchronizes && r->shard.dirty) dirty_set_take(r->shard.dirty, leave_out, NULL);
    r->due_ns = shard_turn(&r->shard, (uint64_t)r->now);
    charge(r, sim.model.intent * (double)(r->shard.intents->taken - r->taken));
    r->taken = r->shard.intents->taken;
    figures(r)->engine_ns += (double)(clock_ns() - began);
    flush(r);
}

/* It has looked for news since its last turn, at most for as long as it does before it sleeps. */
static void note_pause(struct reactor *r)
{
    double pause = (double)(virtual_now_ns() - r->busy_until), spins = (double)REACTOR_SPIN_NS;
    figures(r)->polling_ns += pause < spins ? pause : spins;
    if (pause > spins) charge(r, sim.model.wake_cpu);
}

static void turn(struct reactor *r)
{
    r->turn_ns = 0; /* what it brings about itself needs no further one */
    r->now = (double)virtual_now_ns();
    r->completed = false;
    note_pause(r);
    charge(r, sim.model.turn + sim.model.turn_peer * (sim.nodes - 1));
    work(r);
    figures(r)->shard_ns += r->now - (double)virtual_now_ns();
    r->busy_until = (uint64_t)r->now;
    joined_trace(r->node, r->busy_until);
    r->turn_ns = NEVER;
    if (r->completed) virtual_news(r->node, (uint64_t)r->now);
    if (shard_has_news(&r->shard)) r->due_ns = r->busy_until;
    if (r->due_ns != NEVER) wait_until(r, r->due_ns);
}

static void take_turn(struct reactor *r, uint64_t at_ns)
{
    if (r->is_over || r->turn_ns != at_ns) return;
    turn(r);
}

static void happen(const struct event *e)
{
    struct reactor *r = e->what;
    switch (e->kind) {
    case EVENT_AT_CARD: receive(e->what); break;
    case EVENT_ARRIVED: arrive(e->what); break;
    case EVENT_TURN: take_turn(r, e->at_ns); break;
    case EVENT_FIBER:
    case EVENT_NODE: break;
    }
}

/* ---- workers ---- */

void platform_work(double ns)
{
    virtual_sleep_until(virtual_now_ns() + (uint64_t)ns);
}

/* ---- reactor.h, as far as workers use it ---- */

void reactor_post(struct reactor *r, struct request *request)
{
    mailbox_put(&r->inbox[request->worker].mailbox, request);
    stir(r);
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

/* The node's frames, as if it had one link. */
void reactor_add_link(const struct reactor *r, unsigned peer, struct link_stats *to)
{
    if (peer > 0 || r->number > 0) return;
    to->bytes_sent += figures(r)->bytes_out;
    to->bytes_received += figures(r)->bytes_in;
    to->messages_sent += figures(r)->frames_out;
    to->messages_received += figures(r)->frames_in;
}

void reactor_wake(struct reactor *r)
{
    stir(r);
}

static void wake_for_dirty(void *reactor)
{
    stir(reactor);
}

/* ---- joined.h ---- */

const bool platform_shares_cores = false;

/* Events may still name it: its memory stays to the end of the simulation. */
void platform_end_reactor(struct cluster *c, unsigned number)
{
    struct reactor *r = c->reactor[number];
    if (!r) return;
    shard_fini(&r->shard);
    free(r->inbox);
    for (unsigned peer = 0; r->open && peer < sim.nodes; peer++)
        if (r->open[peer]) free_frame(r->open[peer]);
    while (r->first) {
        struct frame *f = r->first;
        r->first = f->next;
        free_frame(f);
    }
    free(r->open);
    free(r->spoke_ns);
    outbox_fini(&r->outbox);
    r->is_over = true;
    r->next = sim.over;
    sim.over = r;
}

int platform_open_reactor(struct cluster *c, const struct node_plan *plan, unsigned number)
{
    const struct model *m = &sim.model;
    struct reactor *r = c->reactor[number] = aligned_alloc(_Alignof(struct reactor), sizeof *r);
    if (!r) return -ENOMEM;
    *r = (struct reactor){.node = (unsigned)c->rank, .number = number};
    r->turn_ns = NEVER;
    r->calls = (struct platform){r,    give_entry, complete_request, read_clock_ns, read_clock_ns,
                                 NULL, NULL};
    r->open = calloc(sim.nodes, sizeof(struct frame *));
    r->spoke_ns = calloc(sim.nodes, sizeof *r->spoke_ns);
    r->inbox = calloc(plan->config.workers, sizeof *r->inbox);
    if (!r->open || !r->spoke_ns || !r->inbox || outbox_init(&r->outbox, sim.nodes)) return -ENOMEM;
    r->workers = plan->config.workers;
    if (plan->store->dirty) {
        plan->store->dirty[r->number].context = r;
        plan->store->dirty[r->number].notify = wake_for_dirty;
    }
    const struct shard_config shard = {
        .plan = plan,
        .platform = &r->calls,
        .number = r->number,
        .has_own_core = m->own_core > 0,
        /* What shards believe is the model's, as if the library had been made for such machines. */
        .round_ns = (uint64_t)(m->frame_out + m->frame_in),
        .kib_ns = (uint64_t)(512 * (m->byte_out + m->byte_in)),
        .credit_bytes = LINK_CREDIT_BYTES};
    return shard_init(&r->shard, &shard);
}

/* Everybody has told rank 0, and rank 0 everybody. */
uint64_t platform_hears_ns(unsigned node)
{
    uint64_t ns = virtual_now_ns() + (uint64_t)(2 * sim.model.latency);
    virtual_news(node, ns);
    return ns;
}

static bool all_leave(const void *none)
{
    (void)none;
    for (unsigned n = 0; n < sim.nodes; n++)
        if (joined[n] && !joined[n]->leaves) return false;
    return true;
}

void platform_leaves(struct cluster *c)
{
    c->leaves = true;
    for (unsigned n = 0; n < sim.nodes; n++) virtual_news(n, virtual_now_ns());
    if (virtual_fiber() >= 0) locus_fiber_wait(all_leave, NULL);
}

/* ---- the end ---- */

static void forget(const struct event *e)
{
    if (e->kind == EVENT_AT_CARD || e->kind == EVENT_ARRIVED) free_frame(e->what);
}

void platform_end(void)
{
    virtual_end(forget);
    while (sim.over) {
        struct reactor *r = sim.over;
        sim.over = r->next;
        free(r);
    }
}
