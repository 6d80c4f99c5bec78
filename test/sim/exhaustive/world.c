#include "world_private.h"

#include "arena.h"

#include <stdlib.h>

struct world_state world_state;
struct lane world_lane[NODES_MAX][NODES_MAX];
struct store world_store[NODES_MAX];
struct scenario world_scenario;
static unsigned local_worker[SCENARIO_WORKERS_MAX]; /* a worker's number at its node */
/* What shards see of workers; where it lies does not change. */
static const locus_clock *progress_at[NODES_MAX][SCENARIO_WORKERS_MAX];
static const uint64_t *posted_at[NODES_MAX][SCENARIO_WORKERS_MAX];

/* ---- the platform of the shards ---- */

struct change world_news(unsigned place)
{
    const uint32_t first = 1 + joins();
    const struct change leaver = {first, CHANGE_LOST, world_scenario.loses - 1};
    if (place == 0) return (struct change){first, world_scenario.change, leaver.node};
    if (place == 1 && leaves()) return leaver;
    return (struct change){first + 1, CHANGE_LOST, world_scenario.loses_too - 1};
}

/* There is no link to it. */
static bool knows_lost(unsigned node, unsigned peer)
{
    if (!is_lost(peer)) return false;
    if (!world_state.has_lost) return true; /* it has not joined */
    for (unsigned i = 0; i < world_state.heard[node]; i++)
        if (world_news(i).node == peer && world_news(i).kind != CHANGE_JOINS) return true;
    return false;
}

static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    (void)until_ns;
    const struct node *n = context;
    struct lane *l = &world_lane[n->rank][peer];
    if (knows_lost(n->rank, peer)) return NULL;
    if (l->count == MESSAGES_MAX || peer == n->rank || length > SCENARIO_CALLS_MAX) abort();
    struct message *m = &l->message[l->count++];
    memset(m, 0, sizeof *m);
    m->entry.length = length;
    return &m->entry;
}

static struct call *call_of(struct request *r)
{
    return (struct call *)(void *)((char *)r - offsetof(struct call, request));
}

static void complete_request(void *context, struct request *r, int rc)
{
    const struct node *n = context;
    call_of(r)->state = CALL_DONE;
    r->busy = 0;
    if (rc) world_state.wrong = "a request failed";
    if (r->kind == REQUEST_CLOCK && clocks_gate(n->shard.clocks) < r->clock)
        world_state.wrong = "a bound is over too early";
    if (world_scenario.technique == LOCUS_RELOCATE && !has_replicas() &&
        r->kind == REQUEST_LOCALIZE && !is_here(n->rank))
        world_state.wrong = "localize is complete, and the row is not there";
}

static uint64_t read_clock_ns(void *context)
{
    (void)context;
    return 0;
}

static void note_repaired(void *context, uint32_t view)
{
    const struct node *n = context;
    if (leaves() && is_first(n->rank)) {
        world_state.has_left = true;
        return;
    }
    if (view != world_state.view[n->rank] || !repair_is_over(&n->shard) ||
        world_state.repaired[n->rank] == view)
        world_state.wrong = "a repair is over that was not begun, or was overtaken";
    world_state.repaired[n->rank] = view;
}

/* ---- opening ---- */

static struct change lost_before; /* all that */

/* As if it had gone through the loss with the others. */
static void note_loss(unsigned rank)
{
    struct row_ref ref = row_ref_at(rank);
    clocks_change(&world_state.node[rank].shard, world_scenario.loses - 1, false);
    if (row_ref_was_held(ref) != row_ref_is_home(ref)) row_ref_moved(ref);
}

static void open_node(unsigned rank)
{
    const struct locus_table table = {.rows = 1, .length = LENGTH};
    const struct store_config config = {.tables = &table,
                                        .table_count = 1,
                                        .shards = 1,
                                        .nodes = nodes(),
                                        .rank = rank,
                                        .replicates = replicates(),
                                        .survives = world_scenario.loses > 0,
                                        .is_full = world_scenario.technique ==
                                                   LOCUS_FULL_REPLICATION};
    struct node *n = &world_state.node[rank];
    n->rank = rank;
    for (unsigned w = 0; w < SCENARIO_WORKERS_MAX; w++) {
        progress_at[rank][w] = &n->progress[w];
        posted_at[rank][w] = &n->posted[w];
        n->progress[w] = w < n->workers ? 0 : INT64_MAX;
    }
    n->calls = (struct platform){
        n, give_entry, complete_request, read_clock_ns, read_clock_ns, note_repaired, NULL};
    n->plan = (struct node_plan){.store = &world_store[rank],
                                 .technique = technique_of(world_scenario.technique),
                                 .config.survives = world_scenario.loses > 0,
                                 .config.workers = n->workers ? n->workers : 1,
                                 .history = &lost_before,
                                 .changes = joins(),
                                 .progress = progress_at[rank],
                                 .posted = posted_at[rank]};
    const struct shard_config c = {
        .plan = &n->plan, .platform = &n->calls, .credit_bytes = 1 << 20};
    if (store_open(&world_store[rank], &config) || shard_init(&n->shard, &c)) abort();
    if (joins() && !is_first(rank)) note_loss(rank);
}

static void prepare_call(unsigned i)
{
    static const enum request_kind kind[CALL_KINDS] = {[CALL_PULL] = REQUEST_PULL,
                                                       [CALL_PUSH] = REQUEST_PUSH,
                                                       [CALL_SET] = REQUEST_SET,
                                                       [CALL_LOCALIZE] = REQUEST_LOCALIZE,
                                                       [CALL_BOUND] = REQUEST_CLOCK};
    struct call *c = &world_state.call[i];
    const struct scenario_call *s = &world_scenario.call[i];
    if (s->kind == CALL_PUSH) content_write_update(c->values, world_layout, i);
    if (s->kind == CALL_SET) content_write_set(c->values, world_layout, i + 1);
    c->item = (struct request_item){.values = s->kind == CALL_LOCALIZE ? NULL : c->values};
    c->request = (struct request){.kind = kind[s->kind],
                                  .worker = (uint16_t)local_worker[s->worker],
                                  .number = (uint16_t)i,
                                  .count = s->kind == CALL_BOUND ? 0 : 1,
                                  .clock = s->clock,
                                  .busy = 1,
                                  .item = &c->item};
}

void world_open(const struct scenario *s)
{
    arena_open();
    memset(&world_state, 0, sizeof world_state);
    memset(world_lane, 0, sizeof world_lane);
    world_scenario = *s;
    lost_before = (struct change){1, CHANGE_LOST, s->loses - 1};
    for (unsigned w = 0; w < s->workers; w++)
        local_worker[w] = world_state.node[s->node[w]].workers++;
    for (unsigned n = 0; n < nodes(); n++) open_node(n);
    for (unsigned i = 0; i < s->calls; i++) prepare_call(i);
}

void world_close(void)
{
    for (unsigned n = 0; n < nodes(); n++) {
        shard_fini(&world_state.node[n].shard);
        store_fini(&world_store[n]);
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

float *world_row_of(unsigned node)
{
    struct row_ref ref = row_ref_at(node);
    return partition_row(ref.partition, directory_slot(directory_load(row_ref_word(ref))));
}

/* What the node has of the row for others. */
static float *saved_row_of(unsigned node)
{
    const struct shard *s = &world_state.node[node].shard;
    return s->saves ? (float *)(uintptr_t)saves_row(s, row_ref_at(node)) : NULL;
}

static size_t saved_bytes(unsigned node)
{
    return saved_row_of(node) ? row_ref_at(node).partition->row_bytes : 0;
}

static size_t lane_bytes(const struct lane *l)
{
    return offsetof(struct lane, message) + l->count * sizeof l->message[0];
}

size_t world_save(char *copy)
{
    char *to = copy;
    memcpy(to, &world_state, sizeof world_state);
    to += sizeof world_state;
    for (unsigned i = 0; i < nodes() * nodes(); i++) {
        const struct lane *l = &world_lane[i / nodes()][i % nodes()];
        memcpy(to, l, lane_bytes(l));
        to += lane_bytes(l);
    }
    for (unsigned n = 0; n < nodes(); n++, to += STORE_BYTES)
        memcpy(to, (char *)&world_store[n] + STORE_FROM, STORE_BYTES);
    to += arena_save(to);
    for (unsigned n = 0; n < nodes(); n++) {
        if (row_bytes(n)) memcpy(to, world_row_of(n), row_bytes(n));
        to += row_bytes(n);
        if (saved_bytes(n)) memcpy(to, saved_row_of(n), saved_bytes(n));
        to += saved_bytes(n);
    }
    return (size_t)(to - copy);
}

void world_restore(const char *copy)
{
    memcpy(&world_state, copy, sizeof world_state);
    copy += sizeof world_state;
    for (unsigned i = 0; i < nodes() * nodes(); i++) {
        struct lane *l = &world_lane[i / nodes()][i % nodes()];
        memcpy(&l->count, copy, sizeof l->count);
        memcpy(l, copy, lane_bytes(l));
        copy += lane_bytes(l);
    }
    for (unsigned n = 0; n < nodes(); n++, copy += STORE_BYTES)
        memcpy((char *)&world_store[n] + STORE_FROM, copy, STORE_BYTES);
    copy += arena_restore(copy);
    for (unsigned n = 0; n < nodes(); n++) {
        if (row_bytes(n)) memcpy(world_row_of(n), copy, row_bytes(n));
        copy += row_bytes(n);
        if (saved_bytes(n)) memcpy(saved_row_of(n), copy, saved_bytes(n));
        copy += saved_bytes(n);
    }
}

/* ---- choices ---- */

/* -1: the worker has no further call, or waits. */
int world_next_call(unsigned worker)
{
    for (unsigned i = 0; i < world_scenario.calls; i++) {
        if (world_scenario.call[i].worker != worker) continue;
        if (world_state.call[i].state == CALL_FUTURE) return (int)i;
        if (world_state.call[i].state != CALL_DONE && !world_scenario.call[i].async) return -1;
    }
    return -1;
}

int world_first_posted(unsigned worker)
{
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].worker == worker && world_state.call[i].state == CALL_POSTED)
            return (int)i;
    return -1;
}

/* Time stands still: there is one sweep, and one after a repair. */
static bool wants_sweep(const struct saves *v)
{
    return v && !v->awaited && v->due_ns == 0 &&
           (v->covers || bitset_lowest(&v->unsaved) != BITSET_NONE);
}

static bool wants_turn(unsigned node)
{
    const struct shard *s = &world_state.node[node].shard;
    return wants_sweep(s->saves) || (s->saves && s->saves->is_sweeping && !s->saves->awaited) ||
           s->stalled || s->clocks->is_on || s->backlog->waiting || s->quiescing ||
           (s->dirty && !dirty_set_is_empty(s->dirty)) || !repair_is_over(s);
}

static bool has_urgent(unsigned node)
{
    const struct shard *s = &world_state.node[node].shard;
    if (s->clocks->is_on) return true; /* what has no leave says how far it is, too */
    for (unsigned peer = 0; peer < nodes(); peer++)
        if (s->backlog->peer[peer].urgent.count && !s->backlog->peer[peer].is_under_way)
            return true;
    return false;
}

/* Its workers do not open before that is over. */
static bool is_joining(unsigned node)
{
    return joins() && is_first(node) &&
           repair_last(&world_state.node[node].shard) < world_news(0).number;
}

/* Nothing of it is unsaid, and its workers are done: locus_leave(). */
static bool can_leave(unsigned node)
{
    const struct shard *s = &world_state.node[node].shard;
    const struct peer_backlog *b = s->backlog->peer;
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.node[world_scenario.call[i].worker] == node &&
            world_state.call[i].state != CALL_DONE)
            return false;
    for (unsigned peer = 0; peer < nodes(); peer++)
        if (list_length(&b[peer].lazy) > 0 || list_length(&b[peer].recall) > 0) return false;
    return s->records.state[0].wanted == 0 && s->replicas->awaited == 0 &&
           !(s->dirty && !dirty_set_is_empty(s->dirty));
}

unsigned world_choices(struct world_choice choice[WORLD_CHOICES_MAX])
{
    unsigned n = 0;
    for (unsigned w = 0; w < world_scenario.workers; w++) {
        if (is_lost(world_scenario.node[w]) || is_joining(world_scenario.node[w])) continue;
        if (world_next_call(w) >= 0)
            choice[n++] = (struct world_choice){WORLD_CALLS, (uint8_t)w, 0};
        if (world_first_posted(w) >= 0)
            choice[n++] = (struct world_choice){WORLD_SERVES, (uint8_t)w, 0};
        if (world_can_close(w)) choice[n++] = (struct world_choice){WORLD_CLOSES, (uint8_t)w, 0};
    }
    for (unsigned from = 0; from < nodes(); from++)
        for (unsigned to = 0; to < nodes(); to++)
            if (world_lane[from][to].count)
                choice[n++] = (struct world_choice){WORLD_ARRIVES, (uint8_t)from, (uint8_t)to};
    for (unsigned node = 0; node < nodes(); node++) {
        if (is_lost(node) || !wants_turn(node)) continue;
        choice[n++] = (struct world_choice){WORLD_TURNS, (uint8_t)node, true};
        if (has_urgent(node))
            choice[n++] = (struct world_choice){WORLD_TURNS, (uint8_t)node, false};
    }
    if (world_scenario.loses && !world_state.has_lost &&
        (!leaves() || can_leave(world_scenario.loses - 1)))
        choice[n++] = (struct world_choice){WORLD_LOSES, (uint8_t)(world_scenario.loses - 1), 0};
    if (world_scenario.loses_too && !world_state.has_lost_too && is_repairing())
        choice[n++] =
            (struct world_choice){WORLD_LOSES, (uint8_t)(world_scenario.loses_too - 1), 0};
    for (unsigned node = 0; node < nodes(); node++) {
        if (is_lost(node) || world_state.heard[node] == news()) continue;
        choice[n++] = (struct world_choice){WORLD_HEARS, (uint8_t)node, 0};
    }
    return n;
}

static unsigned calls_done(void)
{
    unsigned done = 0;
    for (unsigned i = 0; i < world_scenario.calls; i++)
        done |= (unsigned)(world_state.call[i].state == CALL_DONE) << i;
    return done;
}

static bool has_open_call(unsigned worker)
{
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].worker == worker &&
            (world_state.call[i].state == CALL_POSTED || world_state.call[i].state == CALL_TAKEN))
            return true;
    return false;
}

unsigned world_number_of(unsigned worker)
{
    return local_worker[worker];
}

bool world_can_close(unsigned worker)
{
    const struct node *n = &world_state.node[world_scenario.node[worker]];
    if (!has_clocks() || n->progress[local_worker[worker]] == INT64_MAX) return false;
    for (unsigned i = 0; i < world_scenario.calls; i++)
        if (world_scenario.call[i].worker == worker && world_state.call[i].state != CALL_DONE)
            return false;
    return true;
}

/* As bound.c does. */
static bool is_within_bound(const struct shard *s, locus_clock clock)
{
    return clock <= 0 || clocks_gate(s->clocks) >= clock;
}

/* As access.c does: in place if nothing of the worker is under way and the row is here. */
static bool do_in_place(unsigned worker, const struct scenario_call *call, float *values)
{
    enum scenario_kind kind = call->kind;
    struct row_ref ref = row_ref_at(world_scenario.node[worker]);
    struct shard *shard = &world_state.node[world_scenario.node[worker]].shard;
    if (kind >= CALL_BEGIN && kind <= CALL_UNKEEP) { /* in the order of intent_kind */
        const struct intent_event e = {.kind = (uint8_t)(INTENT_BEGINS + kind - CALL_BEGIN)};
        return shard_intent(shard, &e), true;
    }
    if (kind == CALL_BOUND) return is_within_bound(shard, call->clock);
    if (kind == CALL_CLOCK)
        return world_state.node[shard->rank].progress[local_worker[worker]]++, true;
    if (kind == CALL_LOCALIZE && !moves()) return true;
    if (kind == CALL_LOCALIZE) return is_here(world_scenario.node[worker]);
    if (has_open_call(worker)) return false;
    if (kind == CALL_PULL) return row_read(ref, values) >= 0;
    return row_write(ref, values, kind == CALL_PUSH ? ROW_ADD : ROW_SET) >= 0;
}

static void worker_calls(unsigned worker)
{
    unsigned i = (unsigned)world_next_call(worker);
    struct call *c = &world_state.call[i];
    c->done_before = calls_done();
    c->gate = clocks_gate(clocks_at(world_scenario.node[worker]));
    c->state = do_in_place(worker, &world_scenario.call[i], c->values) ? CALL_DONE : CALL_POSTED;
    if (c->state == CALL_POSTED)
        world_state.node[world_scenario.node[worker]].posted[local_worker[worker]]++;
}

static void worker_closes(unsigned worker)
{
    world_state.node[world_scenario.node[worker]].progress[local_worker[worker]] = INT64_MAX;
}

static void shard_takes(unsigned worker)
{
    struct call *c = &world_state.call[world_first_posted(worker)];
    struct shard *s = &world_state.node[world_scenario.node[worker]].shard;
    c->state = CALL_TAKEN; /* it may be done at once */
    if (shard_serve(s, &c->request)) return;
    c->state = CALL_POSTED; /* until a loss is repaired */
    if (repair_is_over(s)) world_state.wrong = "a request was not taken on";
}

static void note_told(unsigned from, unsigned to, const struct wire_entry *e)
{
    for (uint32_t i = 0; i < e->length && !(e->flags & WIRE_BEGIN); i++) {
        uint32_t tag;
        memcpy(&tag, wire_values_const(e) + i, sizeof tag);
        world_state.told[from][request_tag_number(tag)] |= 1u << to;
    }
}

static void message_arrives(unsigned from, unsigned to)
{
    struct lane *l = &world_lane[from][to];
    struct message m = l->message[0];
    l->count--;
    memmove(&l->message[0], &l->message[1], l->count * sizeof m);
    memset(&l->message[l->count], 0, sizeof m);
    if (m.entry.operation == WIRE_TOLD) note_told(from, to, &m.entry);
    const struct wire_frame f = {.count = 1,
                                 .body_bytes = (uint32_t)wire_entry_bytes(m.entry.length),
                                 .membership = world_store[to].home.membership};
    const char *wrong = shard_frame(&world_state.node[to].shard, from, &f, &m);
    if (wrong) world_state.wrong = wrong;
}

/* Without the pacer's leave only what is urgent is said. */
static void shard_turns(unsigned node, bool synchronizes)
{
    struct shard *s = &world_state.node[node].shard;
    if (!synchronizes) s->pacer->due_ns = UINT64_MAX;
    shard_turn(s, 0);
    s->pacer->due_ns = 0;
}

/* What was on its way from the lost node and has not come never will: so some of it comes, and the
 * rest not. */
static void shard_hears(unsigned node)
{
    const struct change change = world_news(world_state.heard[node]++);
    if (change.kind == CHANGE_LOST) memset(&world_lane[change.node][node], 0, sizeof(struct lane));
    if (!leaves() || change.node != node) world_state.view[node] = change.number;
    repair_begin(&world_state.node[node].shard, change);
}

/* Nothing comes to it any more. */
static void clear_lanes_to_lost(void)
{
    for (unsigned to = 0; to < nodes(); to++)
        for (unsigned from = 0; from < nodes() && is_lost(to); from++)
            memset(&world_lane[from][to], 0, sizeof(struct lane));
}

static void node_is_lost(unsigned node)
{
    bool *has_lost = world_state.has_lost ? &world_state.has_lost_too : &world_state.has_lost;
    *has_lost = true;
    if (is_lost(node)) world_note_loss(node);
    if (leaves() && has_lost == &world_state.has_lost_too && !is_first(node))
        world_note_loss(world_scenario.loses - 1);
    if (!joins() || is_lost(node)) return;
    shard_hears(node); /* the first */
}

void world_do(struct world_choice c)
{
    switch (c.event) {
    case WORLD_CALLS: worker_calls(c.from); break;
    case WORLD_SERVES: shard_takes(c.from); break;
    case WORLD_ARRIVES: message_arrives(c.from, c.to); break;
    case WORLD_CLOSES: worker_closes(c.from); break;
    case WORLD_TURNS: shard_turns(c.from, c.to); break;
    case WORLD_LOSES: node_is_lost(c.from); break;
    case WORLD_HEARS: shard_hears(c.from); break;
    }
    clear_lanes_to_lost();
    bool loses = world_scenario.change == CHANGE_LOST || world_state.has_lost_too;
    if (is_repairing() && loses && !world_has_row()) world_state.row_is_lost = true;
}
