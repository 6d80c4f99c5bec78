#include "platform.h"

#include "actors/mailbox.h"
#include "actors/outbox.h"
#include "protocol/intents.h"
#include "protocol/shard.h"
#include "cluster.h"
#include "events.h"
#include "operation.h"
#include "sim/fibers.h"
#include "store/yield.h"

#include "../common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_ROOM = 256 };
#define NEVER UINT64_MAX

struct frame {
    struct frame *next; /* that arrived at the same shard */
    unsigned from, to;
    uint64_t arrived_ns;
    uint32_t room;
    struct wire_frame header;
    unsigned char *body;
};

struct reactor {
    struct shard shard;
    struct platform port;
    unsigned node;
    struct mailbox mailbox;
    struct request *current; /* taken out, and waiting for a window */
    struct frame *first, *last;
    struct frame **open;  /* [nodes] under construction */
    uint64_t *spoke_ns;   /* [nodes] when a frame last left */
    struct outbox outbox; /* of the peers with an open frame */
    double now;           /* within a turn */
    /* of the frame that is served next: passes when the shard has looked at the clock */
    double owed;
    uint64_t busy_until;
    uint64_t turn_ns; /* of the next turn, NEVER: none is due */
    uint64_t due_ns;  /* when the shard wants one */
    size_t signaled;
    bool completed; /* something for the worker in this turn */
    struct platform_figures figures;
};

struct cluster {
    int rank;
    struct reactor *reactor;
    struct worker_place {
        unsigned node;
        uint64_t until_ns; /* it works or sleeps */
    } worker;
    bool arrived, absent;
};

static struct {
    unsigned nodes, fibers;
    struct model model;
    struct events events;
    uint64_t now_ns;
    struct cluster *node[PLATFORM_NODES_MAX];
    unsigned node_of[PLATFORM_NODES_MAX];                                       /* of a fiber */
    double sends_until[PLATFORM_NODES_MAX], receives_until[PLATFORM_NODES_MAX]; /* cards */
} sim;

void platform_begin(unsigned nodes, const struct model *m)
{
    memset(&sim, 0, sizeof sim);
    sim.nodes = nodes;
    sim.model = *m;
    sim.now_ns = 1000;
    fibers_begin(FIBERS_UNIFORM, 1);
}

uint64_t platform_now_ns(void)
{
    return sim.now_ns;
}

struct platform_figures platform_figures(unsigned node)
{
    return sim.node[node]->reactor->figures;
}

unsigned platform_peers(unsigned node, uint64_t since_ns)
{
    unsigned peers = 0;
    for (unsigned n = 0; n < sim.nodes; n++)
        peers += sim.node[node]->reactor->spoke_ns[n] >= since_ns;
    return peers;
}

uint64_t platform_replicas(unsigned node)
{
    const struct shard_counters *c = &sim.node[node]->reactor->shard.counters;
    return c->replicas_created - c->replicas_dropped;
}

/* With one shard a key is its index. Only the owner counts holders. */
unsigned platform_holders(uint64_t key)
{
    unsigned holders = 0;
    for (unsigned n = 0; n < sim.nodes; n++) {
        const struct record *r = record_find(&sim.node[n]->reactor->shard.records, key);
        if (r) holders += r->holders;
    }
    return holders;
}

/* ---- when ---- */

/* Something has come for the shard. One that sleeps takes a moment to wake. */
static void stir(struct reactor *r)
{
    uint64_t at = sim.now_ns, asleep = r->busy_until + REACTOR_SPIN_NS;
    if (at < r->busy_until) at = r->busy_until;
    if (at > asleep) at += (uint64_t)sim.model.wake;
    if (at >= r->turn_ns) return;
    r->turn_ns = at;
    events_put(&sim.events, at, EVENT_TURN, r);
}

static void wait_until(struct reactor *r, uint64_t due_ns)
{
    if (due_ns < r->busy_until) due_ns = r->busy_until;
    if (due_ns >= r->turn_ns) return;
    r->turn_ns = due_ns;
    events_put(&sim.events, due_ns, EVENT_TURN, r);
}

static void tell_worker(const struct cluster *c, double at)
{
    events_put(&sim.events, (uint64_t)at, EVENT_WORKER, sim.node[c->rank]);
}

static void charge(struct reactor *r, double ns)
{
    r->now += ns;
}

/* ---- the network ---- */

static double bytes_on_wire(const struct frame *f)
{
    double bytes = (double)(sizeof f->header + f->header.body_bytes);
    uint64_t packets = (uint64_t)(bytes / sim.model.packet_bytes) + 1;
    return bytes + (double)packets * sim.model.packet_overhead;
}

static void free_frame(struct frame *f)
{
    free(f->body);
    free(f);
}

static void count_entries(struct platform_figures *to, const struct frame *f)
{
    struct wire_cursor c = wire_cursor(&f->header, f->body);
    const struct wire_entry *e;
    const char *why;
    while ((e = wire_next(&c, &why))) {
        to->entries[e->operation]++;
        to->entry_bytes[e->operation] += wire_entry_bytes(e->length);
    }
}

/* The shard hands it to the kernel, which costs; from then on the card has it. */
static void send_frame(struct reactor *r, struct frame *f)
{
    const struct model *m = &sim.model;
    size_t bytes = sizeof f->header + f->header.body_bytes;
    charge(r, m->frame_out + m->byte_out * (double)bytes);
    r->figures.frames_out++;
    r->figures.bytes_out += bytes;
    r->figures.wire_bytes_out += (uint64_t)bytes_on_wire(f);
    r->spoke_ns[f->to] = (uint64_t)r->now;
    count_entries(&r->figures, f);
    double *card = &sim.sends_until[f->from], begins = *card > r->now ? *card : r->now;
    *card = begins + bytes_on_wire(f) / m->bandwidth;
    events_put(&sim.events, (uint64_t)(begins + m->latency), EVENT_AT_CARD, f);
}

static void receive(struct frame *f)
{
    double *card = &sim.receives_until[f->to], now = (double)sim.now_ns;
    *card = (*card > now ? *card : now) + bytes_on_wire(f) / sim.model.bandwidth;
    events_put(&sim.events, (uint64_t)*card, EVENT_ARRIVED, f);
}

static void arrive(struct frame *f)
{
    struct reactor *r = sim.node[f->to]->reactor;
    f->arrived_ns = sim.now_ns;
    f->next = NULL;
    *(r->first ? &r->last->next : &r->first) = f;
    r->last = f;
    stir(r);
}

/* ---- the port ---- */

static struct frame *new_frame(struct reactor *r, unsigned peer)
{
    struct frame *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->room = FRAME_ROOM;
    f->body = malloc(f->room);
    if (!f->body) abort();
    f->from = r->node;
    f->to = peer;
    f->header = (struct wire_frame){
        .magic = WIRE_MAGIC, .version = WIRE_VERSION, .view = r->shard.store->home.view};
    r->open[peer] = f;
    return f;
}

static void make_room(struct frame *f, uint32_t bytes)
{
    if (f->header.body_bytes + bytes <= f->room) return;
    while (f->header.body_bytes + bytes > f->room) f->room = 2 * f->room;
    f->body = realloc(f->body, f->room);
    if (!f->body) abort();
}

static struct wire_entry *port_entry(void *context, unsigned peer, uint32_t length,
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

static void port_complete(void *context, struct request *request, int rc)
{
    struct reactor *r = context;
    r->completed = true;
    operation_request_done(request, rc);
}

/* The first look within shard_frame() comes before its entries are served, the others after. */
static uint64_t port_now_ns(void *context)
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
    r->figures.late_ns += (uint64_t)r->now - f->arrived_ns;
    r->figures.frames_in++;
    r->figures.bytes_in += bytes;
    r->figures.entries_in += f->header.count;
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

static void serve_requests(struct reactor *r)
{
    for (;;) {
        if (!r->current) r->current = mailbox_take(&r->mailbox);
        if (!r->current) return;
        uint32_t sent = r->current->sent, count = r->current->count;
        struct request *request = r->current;
        bool done = shard_serve(&r->shard, request);
        charge(r, sim.model.item * ((done ? count : request->sent) - sent));
        if (!done) return;
        r->current = NULL;
    }
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

static void work(struct reactor *r)
{
    uint64_t began = clock_ns();
    serve_frames(r);
    serve_requests(r);
    charge(r, sim.model.intent * (double)r->signaled);
    r->signaled = 0;
    r->due_ns = shard_turn(&r->shard, (uint64_t)r->now);
    r->figures.engine_ns += (double)(clock_ns() - began);
    flush(r);
}

/* It has looked for news since its last turn, at most for as long as it does before it sleeps. */
static void note_pause(struct reactor *r)
{
    double pause = (double)(sim.now_ns - r->busy_until), spins = (double)REACTOR_SPIN_NS;
    r->figures.polling_ns += pause < spins ? pause : spins;
    if (pause > spins) charge(r, sim.model.wake_cpu);
}

static void turn(struct reactor *r)
{
    r->turn_ns = 0; /* what it brings about itself needs no further one */
    r->now = (double)sim.now_ns;
    r->completed = false;
    r->figures.turns++;
    note_pause(r);
    charge(r, sim.model.turn + sim.model.turn_peer * (sim.nodes - 1));
    work(r);
    r->figures.shard_ns += r->now - (double)sim.now_ns;
    r->busy_until = (uint64_t)r->now;
    r->turn_ns = NEVER;
    if (r->completed) tell_worker(sim.node[r->node], r->now);
    if (shard_has_news(&r->shard)) r->due_ns = r->busy_until;
    if (r->due_ns != NEVER) wait_until(r, r->due_ns);
}

/* ---- workers ---- */

/* The next that can go on, when all that happens before has happened. */
static int next_fiber(void)
{
    struct event e;
    while (events_take(&sim.events, &e)) {
        struct reactor *r = e.what;
        struct cluster *c = e.what;
        sim.now_ns = e.at_ns;
        switch (e.kind) {
        case EVENT_AT_CARD: receive(e.what); break;
        case EVENT_ARRIVED: arrive(e.what); break;
        case EVENT_TURN:
            if (r->turn_ns == e.at_ns) turn(r);
            break;
        case EVENT_WORKER:
            if (fibers_is_ready(c->worker.node)) return (int)c->worker.node;
            break;
        }
    }
    return -1;
}

/* The place of a node's fiber is the node's number. */
void platform_add_worker(unsigned node, void (*run)(void *argument), void *argument)
{
    if (node != sim.fibers) abort();
    sim.fibers++;
    fibers_add(run, argument);
    tell_worker(sim.node[node], (double)sim.now_ns);
}

bool platform_run(void)
{
    fibers_set_director(next_fiber);
    return fibers_run(NEVER) == FIBERS_ENDED;
}

static bool has_slept(const void *worker)
{
    return ((const struct worker_place *)worker)->until_ns <= sim.now_ns;
}

void platform_sleep_until(uint64_t ns)
{
    struct cluster *c = sim.node[fibers_current()];
    c->worker.until_ns = ns;
    events_put(&sim.events, ns < sim.now_ns ? sim.now_ns : ns, EVENT_WORKER, c);
    locus_fiber_wait(has_slept, &c->worker);
}

void platform_work(double ns)
{
    platform_sleep_until(sim.now_ns + (uint64_t)ns);
}

void platform_signaled(unsigned node, size_t keys)
{
    sim.node[node]->reactor->signaled += keys;
}

/* ---- reactor.h, as far as workers use it ---- */

void reactor_post(struct reactor *r, struct request *request)
{
    mailbox_put(&r->mailbox, request);
    stir(r);
}

struct intents *reactor_intents(struct reactor *r)
{
    return r->shard.intents;
}

void reactor_wake(struct reactor *r)
{
    stir(r);
}

static void wake_for_dirty(void *reactor)
{
    stir(reactor);
}

static void free_reactor(struct reactor *r)
{
    if (!r) return;
    shard_fini(&r->shard);
    mailbox_fini(&r->mailbox);
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
    free(r);
}

static int open_reactor(struct reactor *r, const struct cluster_start *start)
{
    r->turn_ns = NEVER;
    r->port = (struct platform){r, port_entry, port_complete, port_now_ns, port_now_ns};
    r->open = calloc(sim.nodes, sizeof(struct frame *));
    r->spoke_ns = calloc(sim.nodes, sizeof *r->spoke_ns);
    if (!r->open || !r->spoke_ns || outbox_init(&r->outbox, sim.nodes) ||
        !mailbox_init(&r->mailbox))
        return -ENOMEM;
    if (start->store->dirty) {
        start->store->dirty[0].context = r;
        start->store->dirty[0].notify = wake_for_dirty;
    }
    const struct shard_config shard = {
        .store = start->store,
        .platform = &r->port,
        .technique = start->technique,
        .workers = start->workers,
        .acts_immediately = start->acts_immediately,
        .max_rounds_per_second = start->max_rounds_per_second,
        .round_ns = (uint64_t)(sim.model.frame_out + sim.model.frame_in),
        .kib_ns = (uint64_t)(512 * (sim.model.byte_out + sim.model.byte_in)),
        .clock = start->clock,
        .node_keys = start->node_keys,
        .credit_bytes = LINK_CREDIT_BYTES};
    return shard_init(&r->shard, &shard);
}

/* ---- cluster.h ---- */

int cluster_join(const struct locus_config *config, void (*lost)(void *context), void *context,
                 struct cluster **out)
{
    (void)lost, (void)context; /* nobody is */
    struct cluster *c = *out = calloc(1, sizeof *c);
    if (!c) return -ENOMEM;
    c->rank = config->rank;
    c->worker.node = (unsigned)config->rank;
    c->reactor = calloc(1, sizeof *c->reactor);
    sim.node[c->rank] = c;
    if (!c->reactor || config->workers != 1 || config->shards != 1) return -EINVAL;
    c->reactor->node = (unsigned)config->rank;
    return 0;
}

unsigned cluster_shards(const struct cluster *c)
{
    (void)c;
    return 1;
}

int cluster_start(struct cluster *c, const struct cluster_start *start)
{
    return open_reactor(c->reactor, start);
}

struct reactor **cluster_reactors(struct cluster *c)
{
    return &c->reactor;
}

bool cluster_shares_cores(const struct cluster *c)
{
    (void)c;
    return false;
}

int cluster_loss(struct cluster *c)
{
    (void)c;
    return 0;
}

/* When all have arrived the meeting is over: everybody has told rank 0, and rank 0 everybody. */
static void look_for_meeting(void)
{
    bool anybody = false;
    for (unsigned n = 0; n < sim.nodes; n++) {
        if (!sim.node[n]->arrived && !sim.node[n]->absent) return;
        anybody |= sim.node[n]->arrived;
    }
    for (unsigned n = 0; anybody && n < sim.nodes; n++) {
        sim.node[n]->arrived = false;
        tell_worker(sim.node[n], (double)sim.now_ns + 2 * sim.model.latency);
    }
}

static bool has_met(const void *cluster)
{
    return !((const struct cluster *)cluster)->arrived;
}

int cluster_agree(void *cluster, const struct meeting *meeting, struct word *w)
{
    struct cluster *c = cluster;
    (void)meeting, (void)w;
    c->arrived = true;
    look_for_meeting();
    locus_fiber_wait(has_met, c);
    return 0;
}

int cluster_absent(struct cluster *c, bool absent)
{
    c->absent = absent;
    look_for_meeting();
    return 0;
}

int cluster_leave(struct cluster *c)
{
    (void)c;
    return 0;
}

void cluster_free(struct cluster *c)
{
    if (!c) return;
    sim.node[c->rank] = NULL;
    free_reactor(c->reactor);
    free(c);
}

void platform_end(void)
{
    struct event e;
    while (events_take(&sim.events, &e))
        if (e.kind == EVENT_AT_CARD || e.kind == EVENT_ARRIVED) free_frame(e.what);
    events_free(&sim.events);
}

struct link_stats cluster_link_stats(const struct cluster *c)
{
    const struct platform_figures *f = &c->reactor->figures;
    return (struct link_stats){.bytes_sent = f->bytes_out,
                               .bytes_received = f->bytes_in,
                               .frames_sent = f->frames_out,
                               .frames_received = f->frames_in};
}

struct shard_counters cluster_counters(const struct cluster *c)
{
    struct shard_counters sum = {0};
    shard_add_counters(&c->reactor->shard, &sum);
    return sum;
}

void cluster_histogram(const struct cluster *c, enum locus_histogram_kind kind,
                       struct locus_histogram *out)
{
    shard_add_histogram(&c->reactor->shard, kind, out);
}
