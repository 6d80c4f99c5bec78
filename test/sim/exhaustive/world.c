#include "world.h"

#include "sim/parts.h"
#include "arena.h"
#include "sim/content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = SCENARIO_NODES,
    LENGTH = 3, /* floats of the row: content.h */
    ROOM = 4,
    MESSAGES_MAX = 24, /* on a link */
    EPOCHS_MAX = 64,
    HASHED_MAX = 4096,
};

struct message {
    struct wire_entry entry;
    float values[ROOM];
};

/* From one node to another; entries one by one: that they came in one frame is the same as one
 * after the other. */
struct lane {
    unsigned count;
    struct message message[MESSAGES_MAX];
};

enum call_state { CALL_FUTURE, CALL_POSTED, CALL_TAKEN, CALL_DONE };

struct call {
    enum call_state state;
    unsigned done_before; /* calls that were done when it was called, as bits */
    struct request request;
    struct request_item item;
    float values[ROOM];
};

struct node {
    unsigned rank, workers;
    struct platform port;
    struct shard shard;
};

/* Beside the arena all that changes. */
static struct {
    struct node node[NODES];
    struct call call[SCENARIO_CALLS_MAX];
    /* what a shard said of a message, or what else went wrong in the last step */
    const char *wrong;
} world;

static struct lane lane[NODES][NODES];

static const struct content_layout layout = {.length = LENGTH};
static struct store store[NODES];
static struct scenario scenario;
static unsigned local_worker[SCENARIO_WORKERS_MAX]; /* a worker's number at its node */

static struct row_ref row_ref_at(unsigned node)
{
    return store_row_ref(&store[node], 0);
}

static bool is_here(unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    return row_ref_is_here(ref, directory_load(row_ref_word(ref)));
}

static bool replicates(void)
{
    return scenario.technique != LOCUS_STATIC;
}

static bool moves(void)
{
    return scenario.technique == LOCUS_ADAPTIVE || scenario.technique == LOCUS_RELOCATE;
}

/* Do replicas come into being in this scenario? Else every read must see what came before it. */
static bool has_replicas(void)
{
    bool keeps = false;
    for (unsigned i = 0; i < scenario.calls; i++) keeps |= scenario.call[i].kind == CALL_KEEP;
    return scenario.technique == LOCUS_RELOCATE ? keeps : replicates();
}

/* ---- the port ---- */

static struct wire_entry *port_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    (void)until_ns;
    const struct node *n = context;
    struct lane *l = &lane[n->rank][peer];
    if (l->count == MESSAGES_MAX || peer == n->rank || length > ROOM) abort();
    struct message *m = &l->message[l->count++];
    memset(m, 0, sizeof *m);
    m->entry.length = length;
    return &m->entry;
}

static struct call *call_of(struct request *r)
{
    return (struct call *)(void *)((char *)r - offsetof(struct call, request));
}

static void port_complete(void *context, struct request *r, int rc)
{
    const struct node *n = context;
    call_of(r)->state = CALL_DONE;
    r->busy = 0;
    if (rc) world.wrong = "a request failed";
    if (scenario.technique == LOCUS_RELOCATE && !has_replicas() && r->kind == REQUEST_LOCALIZE &&
        !is_here(n->rank))
        world.wrong = "localize is complete, and the row is not there";
}

static uint64_t port_now_ns(void *context)
{
    (void)context;
    return 0;
}

/* ---- opening ---- */

static void open_node(unsigned rank)
{
    const struct locus_table table = {.rows = 1, .length = LENGTH};
    const struct store_config config = {.tables = &table,
                                        .table_count = 1,
                                        .shards = 1,
                                        .nodes = NODES,
                                        .rank = rank,
                                        .replicates = replicates(),
                                        .is_full = scenario.technique == LOCUS_FULL_REPLICATION};
    struct node *n = &world.node[rank];
    n->rank = rank;
    n->port = (struct platform){n, port_entry, port_complete, port_now_ns, port_now_ns};
    const struct shard_config c = {.store = &store[rank],
                                   .platform = &n->port,
                                   .technique = scenario.technique,
                                   .workers = n->workers ? n->workers : 1,
                                   .credit_bytes = 1 << 20};
    if (store_open(&store[rank], &config) || shard_init(&n->shard, &c)) abort();
    n->shard.pacer->rounds_are_sparse = scenario.sparse;
}

static void prepare_call(unsigned i)
{
    static const enum request_kind kind[] = {
        [CALL_PULL] = REQUEST_PULL,         [CALL_PUSH] = REQUEST_PUSH,  [CALL_SET] = REQUEST_SET,
        [CALL_LOCALIZE] = REQUEST_LOCALIZE, [CALL_BEGIN] = REQUEST_PULL, [CALL_END] = REQUEST_PULL,
        [CALL_KEEP] = REQUEST_PULL,         [CALL_UNKEEP] = REQUEST_PULL};
    struct call *c = &world.call[i];
    const struct scenario_call *s = &scenario.call[i];
    if (s->kind == CALL_PUSH) content_write_update(c->values, layout, i);
    if (s->kind == CALL_SET) content_write_set(c->values, layout, i + 1);
    c->item = (struct request_item){.values = s->kind == CALL_LOCALIZE ? NULL : c->values};
    c->request = (struct request){.kind = kind[s->kind],
                                  .worker = (uint16_t)local_worker[s->worker],
                                  .number = (uint16_t)i,
                                  .count = 1,
                                  .busy = 1,
                                  .item = &c->item};
}

void world_open(const struct scenario *s)
{
    arena_open();
    memset(&world, 0, sizeof world);
    memset(lane, 0, sizeof lane);
    scenario = *s;
    for (unsigned w = 0; w < s->workers; w++) local_worker[w] = world.node[s->node[w]].workers++;
    for (unsigned n = 0; n < NODES; n++) open_node(n);
    for (unsigned i = 0; i < s->calls; i++) prepare_call(i);
}

void world_close(void)
{
    for (unsigned n = 0; n < NODES; n++) {
        shard_fini(&world.node[n].shard);
        store_fini(&store[n]);
    }
    arena_close();
}

/* ---- saving: the arena, the world, and what changes in a store beside its parts ---- */

enum {
    STORE_FROM = offsetof(struct store, density),
    STORE_BYTES = sizeof(struct store) - STORE_FROM
};

/* The row that the node's word names, and with a replica the slot behind it: other slots have no
 * content. */
static size_t row_bytes(unsigned node)
{
    directory_word w = directory_load(row_ref_word(row_ref_at(node)));
    if (!directory_has_row(w)) return 0;
    return (directory_is_replica(w) ? 2 : 1) * (size_t)row_ref_at(node).partition->row_bytes;
}

static float *row_of(unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    return partition_row(ref.partition, directory_slot(directory_load(row_ref_word(ref))));
}

static size_t lane_bytes(const struct lane *l)
{
    return offsetof(struct lane, message) + l->count * sizeof l->message[0];
}

size_t world_save(char *copy)
{
    char *to = copy;
    memcpy(to, &world, sizeof world);
    to += sizeof world;
    for (unsigned i = 0; i < NODES * NODES; i++) {
        const struct lane *l = &lane[i / NODES][i % NODES];
        memcpy(to, l, lane_bytes(l));
        to += lane_bytes(l);
    }
    for (unsigned n = 0; n < NODES; n++, to += STORE_BYTES)
        memcpy(to, (char *)&store[n] + STORE_FROM, STORE_BYTES);
    to += arena_save(to);
    for (unsigned n = 0; n < NODES; n++) {
        if (row_bytes(n)) memcpy(to, row_of(n), row_bytes(n));
        to += row_bytes(n);
    }
    return (size_t)(to - copy);
}

void world_restore(const char *copy)
{
    memcpy(&world, copy, sizeof world);
    copy += sizeof world;
    for (unsigned i = 0; i < NODES * NODES; i++) {
        struct lane *l = &lane[i / NODES][i % NODES];
        memcpy(&l->count, copy, sizeof l->count);
        memcpy(l, copy, lane_bytes(l));
        copy += lane_bytes(l);
    }
    for (unsigned n = 0; n < NODES; n++, copy += STORE_BYTES)
        memcpy((char *)&store[n] + STORE_FROM, copy, STORE_BYTES);
    copy += arena_restore(copy);
    for (unsigned n = 0; n < NODES; n++) {
        if (row_bytes(n)) memcpy(row_of(n), copy, row_bytes(n));
        copy += row_bytes(n);
    }
}

/* ---- choices ---- */

/* -1: the worker has no further call, or waits. */
static int next_call(unsigned worker)
{
    for (unsigned i = 0; i < scenario.calls; i++) {
        if (scenario.call[i].worker != worker) continue;
        if (world.call[i].state == CALL_FUTURE) return (int)i;
        if (world.call[i].state != CALL_DONE && !scenario.call[i].async) return -1;
    }
    return -1;
}

static int first_posted(unsigned worker)
{
    for (unsigned i = 0; i < scenario.calls; i++)
        if (scenario.call[i].worker == worker && world.call[i].state == CALL_POSTED) return (int)i;
    return -1;
}

static bool wants_turn(unsigned node)
{
    const struct shard *s = &world.node[node].shard;
    return s->stalled || s->backlog->waiting || s->quiescing ||
           (s->dirty && !dirty_set_is_empty(s->dirty));
}

static bool has_urgent(unsigned node)
{
    const struct shard *s = &world.node[node].shard;
    for (unsigned peer = 0; peer < NODES; peer++)
        if (s->backlog->peer[peer].urgent.count && !s->backlog->peer[peer].is_under_way)
            return true;
    return false;
}

unsigned world_choices(struct world_choice choice[WORLD_CHOICES_MAX])
{
    unsigned n = 0;
    for (unsigned w = 0; w < scenario.workers; w++) {
        if (next_call(w) >= 0) choice[n++] = (struct world_choice){WORLD_CALLS, (uint8_t)w, 0};
        if (first_posted(w) >= 0) choice[n++] = (struct world_choice){WORLD_SERVES, (uint8_t)w, 0};
    }
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++)
            if (lane[from][to].count)
                choice[n++] = (struct world_choice){WORLD_ARRIVES, (uint8_t)from, (uint8_t)to};
    for (unsigned node = 0; node < NODES; node++) {
        if (!wants_turn(node)) continue;
        choice[n++] = (struct world_choice){WORLD_TURNS, (uint8_t)node, true};
        if (has_urgent(node))
            choice[n++] = (struct world_choice){WORLD_TURNS, (uint8_t)node, false};
    }
    return n;
}

static unsigned calls_done(void)
{
    unsigned done = 0;
    for (unsigned i = 0; i < scenario.calls; i++)
        done |= (unsigned)(world.call[i].state == CALL_DONE) << i;
    return done;
}

static bool has_open_call(unsigned worker)
{
    for (unsigned i = 0; i < scenario.calls; i++)
        if (scenario.call[i].worker == worker &&
            (world.call[i].state == CALL_POSTED || world.call[i].state == CALL_TAKEN))
            return true;
    return false;
}

/* As access.c does: in place if nothing of the worker is under way and the row is here. */
static bool do_in_place(unsigned worker, enum scenario_kind kind, float *values)
{
    struct row_ref ref = row_ref_at(scenario.node[worker]);
    struct shard *shard = &world.node[scenario.node[worker]].shard;
    if (kind == CALL_BEGIN) return shard_begin_intent(shard, 0), true;
    if (kind == CALL_END) return shard_end_intent(shard, 0), true;
    if (kind == CALL_KEEP) return shard_keep(shard, 0), true;
    if (kind == CALL_UNKEEP) return shard_unkeep(shard, 0), true;
    if (kind == CALL_LOCALIZE && !moves()) return true;
    if (kind == CALL_LOCALIZE) return is_here(scenario.node[worker]);
    if (has_open_call(worker)) return false;
    if (kind == CALL_PULL) return row_read(ref, values) >= 0;
    return row_write(ref, values, kind == CALL_PUSH ? ROW_ADD : ROW_SET) >= 0;
}

static void worker_calls(unsigned worker)
{
    unsigned i = (unsigned)next_call(worker);
    struct call *c = &world.call[i];
    c->done_before = calls_done();
    c->state = do_in_place(worker, scenario.call[i].kind, c->values) ? CALL_DONE : CALL_POSTED;
}

static void shard_takes(unsigned worker)
{
    struct call *c = &world.call[first_posted(worker)];
    c->state = CALL_TAKEN; /* it may be done at once */
    if (!shard_serve(&world.node[scenario.node[worker]].shard, &c->request))
        world.wrong = "a request was not taken on";
}

static void message_arrives(unsigned from, unsigned to)
{
    struct lane *l = &lane[from][to];
    struct message m = l->message[0];
    l->count--;
    memmove(&l->message[0], &l->message[1], l->count * sizeof m);
    memset(&l->message[l->count], 0, sizeof m);
    const struct wire_frame f = {.count = 1,
                                 .body_bytes = (uint32_t)wire_entry_bytes(m.entry.length),
                                 .view = store[to].home.view};
    const char *wrong = shard_frame(&world.node[to].shard, from, &f, &m);
    if (wrong) world.wrong = wrong;
}

/* Without the pacer's leave only what is urgent is said. */
static void shard_turns(unsigned node, bool synchronizes)
{
    struct shard *s = &world.node[node].shard;
    if (!synchronizes) s->pacer->due_ns = UINT64_MAX;
    shard_turn(s, 0);
    s->pacer->due_ns = 0;
}

void world_do(struct world_choice c)
{
    switch (c.event) {
    case WORLD_CALLS: worker_calls(c.from); break;
    case WORLD_SERVES: shard_takes(c.from); break;
    case WORLD_ARRIVES: message_arrives(c.from, c.to); break;
    case WORLD_TURNS: shard_turns(c.from, c.to); break;
    }
}

/* ---- looking ---- */

static struct record *record_of(unsigned node)
{
    return record_find(&world.node[node].shard.records, 0);
}

static bool read_row(unsigned node, float row[ROOM])
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    memset(row, 0, ROOM * sizeof *row);
    if (!row_ref_is_held(ref, w)) return false;
    if (directory_has_row(w))
        memcpy(row, partition_row(ref.partition, directory_slot(w)), LENGTH * sizeof *row);
    return true;
}

/* ---- the invariants (../protocol/invariants.h has them in words) ---- */

struct sight {
    unsigned owners, rows;
    float sum[ROOM];       /* main copy and updates under way */
    int owner[EPOCHS_MAX]; /* by whatever knows one, -1: nobody does */
    uint64_t term;         /* the highest */
    unsigned hops;
    const char *wrong;
};

static void add_row(struct sight *s, const float *row)
{
    for (unsigned i = 0; i < LENGTH; i++) s->sum[i] += row[i];
}

static void add_claim(struct sight *s, unsigned owner, uint64_t term)
{
    if (term >= EPOCHS_MAX) abort();
    if (s->owner[term] >= 0 && s->owner[term] != (int)owner) s->wrong = "an epoch has two owners";
    s->owner[term] = (int)owner;
    if (term > s->term) s->term = term;
}

static bool is_about_a_key(const struct wire_entry *e)
{
    return e->operation < WIRE_ROUND;
}

/* On its way to a replica that is as good: that is the main copy, but for what was added since,
 * which look_at_replica() has. */
static void add_replica(struct sight *s, unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    if (directory_state(w) != DIRECTORY_REPLICA) {
        s->wrong = "a row without values is on its way to no replica";
        return;
    }
    const float *row = partition_row(ref.partition, directory_slot(w));
    add_row(s, row);
    for (unsigned i = 0; w & DIRECTORY_DIRTY && i < LENGTH; i++) s->sum[i] -= row[LENGTH + i];
}

static void add_entry(struct sight *s, const struct wire_entry *e)
{
    if (!is_about_a_key(e)) return;
    bool is_update = e->operation == WIRE_PUSH ||
                     (e->operation == WIRE_SYNC && e->flags & WIRE_UPDATE);
    add_claim(s, e->owner, e->term);
    if (e->operation == WIRE_ROW) s->rows++;
    if (e->length && (e->operation == WIRE_ROW || is_update)) add_row(s, wire_values_const(e));
    if (e->encoding == WIRE_AS_REPLICA) add_replica(s, e->owner);
    if (e->hops > s->hops) s->hops = e->hops;
}

static void look_at_replica(struct sight *s, unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    directory_word w = directory_load(row_ref_word(ref));
    struct content c;
    if (directory_state(w) != DIRECTORY_REPLICA) return;
    const float *row = partition_row(ref.partition, directory_slot(w));
    if (w & DIRECTORY_DIRTY) add_row(s, row + LENGTH);
    if (content_read(row, layout, &c)) s->wrong = "a replica holds an update twice, or is damaged";
}

static void look_at_node(struct sight *s, unsigned node)
{
    float row[ROOM];
    struct location l = location_of(&world.node[node].shard, row_ref_at(node));
    struct record *r = record_of(node);
    add_claim(s, l.owner, l.term);
    if (is_here(node) && read_row(node, row)) {
        s->owners++;
        add_row(s, row);
    }
    look_at_replica(s, node);
    for (struct parked *p = r ? r->parked : NULL; p; p = p->next) add_entry(s, &p->entry);
}

static void look(struct sight *s)
{
    *s = (struct sight){0};
    for (unsigned e = 0; e < EPOCHS_MAX; e++) s->owner[e] = -1;
    for (unsigned n = 0; n < NODES; n++) look_at_node(s, n);
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++)
            for (unsigned i = 0; i < lane[from][to].count; i++)
                add_entry(s, &lane[from][to].message[i].entry);
}

static bool has_sets(void)
{
    for (unsigned i = 0; i < scenario.calls; i++)
        if (scenario.call[i].kind == CALL_SET) return true;
    return false;
}

/* Every update once, a completed one not missing. With sets the order tells (below). */
static const char *check_updates(const struct sight *s)
{
    struct content c;
    if (has_sets()) return NULL;
    const char *wrong = content_read(s->sum, layout, &c);
    if (wrong)
        return "main copy and updates under way: an update is there twice, or the row is damaged";
    for (unsigned i = 0; i < scenario.calls; i++)
        if (scenario.call[i].kind == CALL_PUSH && world.call[i].state == CALL_DONE &&
            !content_has(&c, i))
            return "a completed update is lost";
    return NULL;
}

/* Must call j come before call i? With replicas: what another node had added when i was called may
 * count as later, a set not. */
static bool must_precede(unsigned j, unsigned i)
{
    const struct scenario_call *a = &scenario.call[j], *b = &scenario.call[i];
    if (j < i && a->worker == b->worker) return true;
    if (!(world.call[i].done_before >> j & 1)) return false;
    return !has_replicas() || a->kind == CALL_SET ||
           scenario.node[a->worker] == scenario.node[b->worker];
}

/* Does the read see what the order has before it? Replicas may be older: check_own() then. */
static bool sees(unsigned i, const struct content *now)
{
    struct content seen;
    if (has_replicas()) return true;
    return !content_read(world.call[i].values, layout, &seen) && content_equals(&seen, now);
}

/* Is there an order of all calls in which each sees what came before it? */
static bool can_be_ordered(unsigned placed, struct content now, const struct content *last)
{
    if (placed == (1u << scenario.calls) - 1) return content_equals(&now, last);
    for (unsigned i = 0; i < scenario.calls; i++) {
        const struct scenario_call *s = &scenario.call[i];
        struct content next = now;
        bool may = !(placed >> i & 1);
        for (unsigned j = 0; j < scenario.calls && may; j++)
            may = placed >> j & 1 || j == i || !must_precede(j, i);
        if (!may) continue;
        if (s->kind == CALL_PUSH) content_add(&next, i);
        if (s->kind == CALL_SET) next = (struct content){.set = i + 1};
        if (s->kind == CALL_PULL && !sees(i, &now)) continue;
        if (can_be_ordered(placed | 1u << i, next, last)) return true;
    }
    return false;
}

/* A pull has what its worker pushed before, unless a set may have taken it away. */
static bool misses_own(unsigned pull, unsigned push)
{
    struct content seen;
    if (scenario.call[push].worker != scenario.call[pull].worker || push > pull) return false;
    if (!(world.call[pull].done_before >> push & 1)) return false;
    if (content_read(world.call[pull].values, layout, &seen) || content_has(&seen, push))
        return false;
    if (seen.set) return world.call[push].done_before >> (seen.set - 1) & 1;
    return true;
}

static const char *check_own(void)
{
    struct content seen;
    for (unsigned i = 0; i < scenario.calls; i++) {
        if (scenario.call[i].kind != CALL_PULL || world.call[i].state != CALL_DONE) continue;
        if (content_read(world.call[i].values, layout, &seen)) return "a damaged row was read";
        for (unsigned j = 0; j < scenario.calls; j++)
            if (scenario.call[j].kind == CALL_PUSH && misses_own(i, j))
                return "a worker misses its own update";
    }
    return NULL;
}

static bool is_ordered(unsigned i)
{
    return scenario.call[i].kind <= CALL_SET; /* the others neither read nor write */
}

static const char *check_order(void)
{
    float row[ROOM];
    struct content last;
    for (unsigned n = 0; n < NODES; n++) {
        if (!is_here(n)) continue;
        unsigned others = 0;
        for (unsigned i = 0; i < scenario.calls; i++) others |= (unsigned)!is_ordered(i) << i;
        read_row(n, row);
        if (content_read(row, layout, &last)) return "the row is damaged";
        return can_be_ordered(others, (struct content){0}, &last) ? NULL
                                                                  : "what was done has no order";
    }
    return "nobody has the row";
}

static bool rows_are_equal(const float *a, const float *b)
{
    bool equal = true;
    for (unsigned i = 0; i < LENGTH; i++) equal &= a[i] == b[i];
    return equal;
}

static unsigned wanted(unsigned node)
{
    return world.node[node].shard.records.state[0].wanted;
}

static bool keeps(unsigned node)
{
    return world.node[node].shard.records.state[0].is_kept;
}

/* Shall it hold the row or a replica, at rest? With relocation alone an intent brings the row once,
 * and another's takes it away again. */
static bool must_hold(unsigned node)
{
    return keeps(node) || (wanted(node) && scenario.technique != LOCUS_RELOCATE &&
                           scenario.technique != LOCUS_STATIC);
}

/* Somebody intends the row for a time, or localizes it. */
static bool may_move(void)
{
    for (unsigned i = 0; i < scenario.calls; i++)
        if (scenario.call[i].kind == CALL_LOCALIZE || scenario.call[i].kind == CALL_BEGIN)
            return true;
    return false;
}

/* AdaPM, Section 4.1: who wants the row has it, or a copy that is equal; nobody else has a copy;
 * and if one node alone wants it, and rows move, it is there. */
static const char *check_copies(void)
{
    float main[ROOM] = {0}, row[ROOM];
    bool is_full = scenario.technique == LOCUS_FULL_REPLICATION;
    unsigned who_want = 0;
    for (unsigned n = 0; n < NODES; n++) who_want += wanted(n) > 0 || keeps(n);
    for (unsigned n = 0; n < NODES; n++) {
        if (!is_here(n)) continue;
        read_row(n, main);
        if (!may_move() && location_of(&world.node[n].shard, row_ref_at(n)).term > 0)
            return "at rest a row has moved for who keeps it";
    }
    for (unsigned n = 0; n < NODES; n++) {
        struct location l = location_of(&world.node[n].shard, row_ref_at(n));
        if (l.is_replica && !is_full && !must_hold(n)) return "at rest a replica without intent";
        if (!l.is_replica && !l.is_here && must_hold(n) && !is_full)
            return "at rest an intent was forgotten";
        if (wanted(n) && !keeps(n) && who_want == 1 && !l.is_here &&
            scenario.technique == LOCUS_ADAPTIVE)
            return "at rest the row is not with the only node that wants it";
        if (l.is_replica && read_row(n, row) && !rows_are_equal(row, main))
            return "at rest a replica differs";
    }
    return NULL;
}

static bool remembers(unsigned node)
{
    const struct record *r = record_of(node);
    bool waits = r && (r->asked || r->waiting_first != REQUEST_NOWHERE ||
                       r->unseen_first != REQUEST_NOWHERE || r->set != REQUEST_NOWHERE ||
                       r->parked || r->in_flight || r->is_later || r->queued);
    return waits || (r && !replicates());
}

static const char *check_rest(const struct sight *s)
{
    unsigned home = row_ref_home(row_ref_at(0));
    for (unsigned i = 0; i < scenario.calls; i++)
        if (world.call[i].state != CALL_DONE)
            return "nothing more can happen, and a call is not done";
    for (unsigned n = 0; n < NODES; n++) {
        if (remembers(n)) return "at rest a node remembers something of the key";
        if (world.node[n].shard.replicas->awaited || world.node[n].shard.backlog->waiting)
            return "at rest a round waits";
        if (world.node[n].shard.asked_bytes[(n + 1) % NODES]) return "at rest a window is in use";
        const struct mover *m = &world.node[n].shard.mover;
        if (store_held_rows(&store[n]) - m->open.count - m->waiting.count !=
            row_word_is_written(row_ref_at(n), directory_load(row_ref_word(row_ref_at(n)))))
            return "at rest a slot is in use that has no row";
    }
    if (location_of(&world.node[home].shard, row_ref_at(home)).term != s->term)
        return "at rest the home does not know the owner";
    const char *wrong = check_copies();
    return wrong ? wrong : check_order();
}

const char *world_check(bool at_rest)
{
    struct sight s;
    if (world.wrong) return world.wrong;
    look(&s);
    if (s.wrong) return s.wrong;
    if (s.owners > 1) return "two owners";
    if (s.owners + s.rows != 1) return "not one owner, or one row under way";
    if (s.hops > NODES + s.term) return "a request goes round";
    const char *wrong = check_updates(&s);
    if (!wrong) wrong = check_own();
    return wrong || !at_rest ? wrong : check_rest(&s);
}

/* ---- the hash ---- */

static struct {
    uint32_t word[HASHED_MAX];
    unsigned count;
} hashed;

static void put(uint64_t value)
{
    if (hashed.count == HASHED_MAX) abort();
    hashed.word[hashed.count++] = (uint32_t)value;
}

static void put_row(const float *row)
{
    for (unsigned i = 0; i < LENGTH; i++) put((uint64_t)row[i]);
}

static void put_entry(const struct wire_entry *e)
{
    put(e->operation | (uint64_t)e->flags << 8 | (uint64_t)e->origin << 16 |
        (uint64_t)e->hops << 24);
    if (!is_about_a_key(e)) return; /* of one round at most: it has the right number */
    put(e->owner | e->term << 8 | (uint64_t)(e->length > 0) << 16 | e->version << 20);
    put(e->tag);
    if (e->length) put_row(wire_values_const(e));
}

static void put_rounds(const struct shard *s)
{
    put((uint64_t)(s->dirty && !dirty_set_is_empty(s->dirty)) << 8 | s->quiescing);
    for (unsigned peer = 0; peer < NODES; peer++) {
        const struct peer_backlog *p = &s->backlog->peer[peer];
        put((p->urgent.count - p->urgent.first) | (p->lazy.count - p->lazy.first) << 4 |
            (p->refresh.count - p->refresh.first) << 8 | (uint64_t)p->is_under_way << 12 |
            (uint64_t)p->goes_on << 13 | (uint64_t)s->rounds->peer[peer].refreshes << 14 |
            (uint64_t)p->owes << 15 | s->replicas->source[peer].replicas << 16);
    }
}

static void put_replication(const struct record *r, directory_word w)
{
    bool has_holders = r->holders > 0;
    put((uint64_t)r->registered << 4 | (uint64_t)r->in_flight << 5 | (uint64_t)r->has_update << 6 |
        (uint64_t)r->has_set << 7 | (uint64_t)r->is_awaited << 8 | (uint64_t)r->is_later << 9 |
        (uint64_t)r->is_recalled << 10 | (uint64_t)r->is_kept << 11 | (uint64_t)r->queued << 12 |
        r->version << 16);
    put(has_holders && r->seen_word != directory_version(w));
    for (unsigned i = 0; i < r->holders; i++) {
        const struct holder *h = &r->holder[i];
        put(h->node | (uint64_t)h->is_recalled << 8 | (uint64_t)h->is_queued << 9 |
            (uint64_t)h->is_kept << 10 | h->seen << 12);
    }
    if (r->set != REQUEST_NOWHERE) put(UINT64_C(1) << 30 | request_tag_number(r->set));
    if (r->unseen_first != REQUEST_NOWHERE) put(r->unseen_version);
}

static void put_waiting(struct record *r)
{
    for (request_place place = r->unseen_first; place != REQUEST_NOWHERE;) {
        put(UINT64_C(1) << 29 | request_tag_number(place));
        place = world.call[request_tag_number(place)].item.next;
    }
    for (request_place place = r->waiting_first; place != REQUEST_NOWHERE;) {
        const struct call *c = &world.call[request_tag_number(place)];
        put(request_tag_number(place));
        place = c->item.next;
    }
}

static void put_node(unsigned node)
{
    float row[ROOM];
    struct location l = location_of(&world.node[node].shard, row_ref_at(node));
    struct record *r = record_of(node);
    directory_word w = directory_load(row_ref_word(row_ref_at(node)));
    put(l.owner | (uint64_t)l.is_here << 4 | (uint64_t)l.is_replica << 5 | l.term << 8 |
        (uint64_t)wanted(node) << 56 | (uint64_t)keeps(node) << 60);
    if (read_row(node, row)) {
        put((uint64_t)(directory_has_row(w) && partition_is_zeros(row_ref_at(node).partition, w))
                << 9 |
            (uint64_t)directory_has_row(w) << 8 | directory_state(w) << 4);
        put_row(row);
    }
    if (directory_state(w) == DIRECTORY_REPLICA || directory_state(w) == DIRECTORY_SHARED)
        put(w >> 37 & 1);
    if (directory_state(w) == DIRECTORY_REPLICA && w & DIRECTORY_DIRTY)
        put_row(row_of(node) + LENGTH);
    put_rounds(&world.node[node].shard);
    if (!r) return;
    put_replication(r, w);
    put(1u << 31 | r->asked | r->localizing << 8);
    if (r->asked) {
        put(r->route | r->askers << 8);
        put(request_tag_number(r->asked_last));
    }
    put_waiting(r);
    for (struct parked *p = r->parked; p; p = p->next) put_entry(&p->entry);
}

static void put_call(unsigned i)
{
    const struct call *c = &world.call[i];
    put(c->state | c->done_before << 8);
    if (c->state == CALL_TAKEN)
        put(c->item.state | (uint64_t)(c->item.state == ITEM_ASKED ? c->item.peer : 0) << 8);
    if (c->state == CALL_DONE && scenario.call[i].kind == CALL_PULL) put_row(c->values);
}

uint64_t world_hash(void)
{
    hashed.count = 0;
    for (unsigned n = 0; n < NODES; n++) {
        put(UINT32_C(0xffffff00) | n);
        put_node(n);
    }
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++) {
            const struct lane *l = &lane[from][to];
            put(UINT32_C(0xfffffe00) | l->count);
            for (unsigned i = 0; i < l->count; i++) put_entry(&l->message[i].entry);
        }
    for (unsigned i = 0; i < scenario.calls; i++) put_call(i);
    uint64_t h = hashed.count;
    for (unsigned i = 0; i < hashed.count; i++) {
        h = (h ^ hashed.word[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 32;
}

/* ---- in words ---- */

static void print_entry(const struct wire_entry *e)
{
    static const char *const name[] = {"?",      "PULL",    "PUSH",  "SET",   "LOCALIZE",  "PULLED",
                                       "PUSHED", "WAS_SET", "STAYS", "ROW",   "LOCATION",  "ENTRY",
                                       "ANSWER", "REFRESH", "POKE",  "ROUND", "ROUND_DONE"};
    printf("%s of node %u, owner %u epoch %" PRIu64 " hops %u",
           e->operation < sizeof name / sizeof *name ? name[e->operation] : "?", e->origin,
           e->owner, e->term, e->hops);
    if (e->operation <= WIRE_ROW) printf(" call %u", request_tag_number(e->tag));
    if (e->operation == WIRE_SYNC || e->operation == WIRE_ANSWER || e->operation == WIRE_REFRESH)
        printf(" flags %x version %" PRIu64 "%s", e->flags, e->version, e->length ? ", a row" : "");
}

static void print_call(int i)
{
    static const char *const name[] = {"pull",  "push", "set",  "localize",
                                       "begin", "end",  "keep", "unkeep"};
    printf("%s (call %d)", name[scenario.call[i].kind], i);
}

void world_print_choice(struct world_choice c)
{
    printf("  ");
    switch (c.event) {
    case WORLD_CALLS:
        printf("node %u: a worker calls ", scenario.node[c.from]);
        print_call(next_call(c.from));
        break;
    case WORLD_SERVES:
        printf("node %u: the shard takes ", scenario.node[c.from]);
        print_call(first_posted(c.from));
        break;
    case WORLD_ARRIVES:
        printf("node %u: arrives from %u: ", c.to, c.from);
        print_entry(&lane[c.from][c.to].message[0].entry);
        break;
    case WORLD_TURNS:
        printf("node %u: the shard's turn%s", c.from, c.to ? "" : ", without leave to synchronize");
        break;
    }
    printf("\n");
}

static void print_node(unsigned n)
{
    float row[ROOM];
    char text[200];
    struct content c;
    struct location l = location_of(&world.node[n].shard, row_ref_at(n));
    struct record *r = record_of(n);
    printf("    node %u: %s, owner %u, epoch %" PRIu64, n,
           l.is_here      ? "here"
           : l.is_replica ? "replica"
                          : "elsewhere",
           l.owner, l.term);
    if (read_row(n, row)) {
        const char *wrong = content_read(row, layout, &c);
        printf(", row: %s%s%s", content_text(&c, text, sizeof text), wrong ? ", " : "",
               wrong ? wrong : "");
    }
    if (wanted(n)) printf("; wanted %u", wanted(n));
    if (keeps(n)) printf("; kept");
    if (r && (r->registered || r->in_flight || r->version || r->holders))
        printf("%s%s, version %" PRIu64 ", %u holders", r->registered ? ", told" : "",
               r->in_flight ? ", an entry is out" : "", r->version, r->holders);
    if (r && r->asked)
        printf("; %u asked of node %u, %u localize", r->asked, r->route, r->localizing);
    for (struct parked *p = r ? r->parked : NULL; p; p = p->next) {
        printf("; parked: ");
        print_entry(&p->entry);
    }
    printf("\n");
}

void world_print(void)
{
    static const char *const state[] = {"not called", "posted", "under way", "done"};
    char text[200];
    struct content c;
    for (unsigned n = 0; n < NODES; n++) print_node(n);
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++)
            for (unsigned i = 0; i < lane[from][to].count; i++) {
                printf("    under way %u -> %u: ", from, to);
                print_entry(&lane[from][to].message[i].entry);
                printf("\n");
            }
    for (unsigned i = 0; i < scenario.calls; i++) {
        printf("    ");
        print_call((int)i);
        printf(": %s", state[world.call[i].state]);
        if (world.call[i].state == CALL_DONE && scenario.call[i].kind == CALL_PULL) {
            content_read(world.call[i].values, layout, &c);
            printf(", saw %s", content_text(&c, text, sizeof text));
        }
        printf("\n");
    }
}
