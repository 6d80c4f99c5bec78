#include "world.h"

#include "protocol/loss.h"
#include "protocol/repair.h"
#include "test.h"

const float world_ones[WORLD_LENGTH] = {1, 1, 1, 1, 1};

/* ---- the platform of the shards ---- */

static struct world_frame *last_frame(struct world_link *l)
{
    return &l->frame[(l->first + l->count - 1) % WORLD_FRAMES_MAX];
}

static struct world_frame *new_frame(struct world_link *l, const struct store *s)
{
    CHECK(l->count < WORLD_FRAMES_MAX);
    l->count++;
    struct world_frame *f = last_frame(l);
    f->header = (struct wire_frame){WIRE_MAGIC, WIRE_VERSION, .membership = s->home.membership};
    return f;
}

/* Frames are small here, so that operations spread over many and interleave in many ways. */
static struct wire_entry *give_entry(void *context, unsigned peer, uint32_t length,
                                     uint64_t until_ns)
{
    struct world_node *n = context;
    struct world_link *l = &n->world->link[n->rank][peer];
    size_t bytes = wire_entry_bytes(length);
    if (l->cut) return NULL;
    bool begins = l->count == 0 || last_frame(l)->header.body_bytes + bytes > WORLD_FRAME_BYTES ||
                  world_random(n->world, 4) == 0;
    struct world_frame *f = begins ? new_frame(l, &n->store) : last_frame(l);
    struct wire_entry *e = (void *)(f->body + f->header.body_bytes);
    memset(e, 0, bytes);
    f->header.body_bytes += (uint32_t)bytes;
    f->header.count++;
    l->until_ns = until_ns;
    return e;
}

static void complete_request(void *context, struct request *r, int rc)
{
    (void)context;
    CHECK(r->busy);
    CHECK_EQ(rc, 0);
    r->busy = 0;
}

static uint64_t read_clock_ns(void *context)
{
    struct world_node *n = context;
    return n->world->now_ns;
}

static void note_repaired(void *context, uint32_t view)
{
    struct world_node *n = context;
    n->repaired = view;
}

/* ---- life ---- */

static void open_node(struct world *w, unsigned rank)
{
    struct world_node *n = &w->node[rank];
    const struct world_config *c = &w->config;
    const struct locus_table table = {.rows = c->keys ? c->keys : WORLD_KEYS,
                                      .length = c->length ? c->length : WORLD_LENGTH};
    const struct store_config store = {.tables = &table,
                                       .table_count = 1,
                                       .shards = 1,
                                       .nodes = c->nodes,
                                       .rank = rank,
                                       .replicates = c->technique != LOCUS_STATIC,
                                       .is_full = c->technique == LOCUS_FULL_REPLICATION,
                                       .survives = c->survives};
    n->world = w;
    n->rank = rank;
    n->calls = (struct platform){
        n, give_entry, complete_request, read_clock_ns, read_clock_ns, note_repaired, NULL};
    for (unsigned k = 0; k < WORLD_WORKERS_MAX; k++) n->clocks[k] = &n->clock[k];
    CHECK_EQ(store_open(&n->store, &store), 0);
    n->plan = (struct node_plan){.store = &n->store,
                                 .technique = technique_of(c->technique),
                                 .config.workers = c->workers ? c->workers : 1,
                                 .config.survives = c->survives,
                                 .clock = n->clocks,
                                 .node_keys = &n->waiting_keys,
                                 .history = w->change,
                                 .changes = w->changes};
    const struct shard_config shard = {.plan = &n->plan,
                                       .platform = &n->calls,
                                       .credit_bytes = c->credit ? c->credit : WORLD_CREDIT};
    CHECK_EQ(shard_init(&n->shard, &shard), 0);
}

struct world *world_open(struct world_config c)
{
    struct world *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    CHECK(w != NULL);
    memset(w, 0, sizeof *w);
    w->config = c;
    w->nodes = c.nodes;
    w->random = 3;
    for (unsigned i = 0; i < c.nodes; i++) open_node(w, i);
    return w;
}

struct world *world_new(enum locus_technique technique, unsigned nodes)
{
    return world_open((struct world_config){.technique = technique, .nodes = nodes});
}

void world_free(struct world **at)
{
    struct world *w = *at;
    for (unsigned i = 0; i < w->nodes; i++) {
        shard_fini(&w->node[i].shard);
        store_fini(&w->node[i].store);
    }
    free(w);
}

uint64_t world_random(struct world *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random % below;
}

/* ---- keys ---- */

locus_key world_key(const struct world *w, unsigned home)
{
    for (locus_key key = 0;; key++)
        if (row_ref_home(world_ref(w, 0, key)) == home) return key;
}

struct row_ref world_ref(const struct world *w, unsigned node, locus_key key)
{
    return store_row_ref(&w->node[node].store, key);
}

struct location world_known(struct world *w, unsigned node, locus_key key)
{
    return location_of(&w->node[node].shard, world_ref(w, node, key));
}

float world_value(const struct world *w, unsigned node, locus_key key)
{
    float row[64]; /* the compiler looks at longer copies, too */
    shard_read(world_ref(w, node, key), row, 0);
    for (int i = 1; i < WORLD_LENGTH; i++) CHECK(row[i] == row[0]);
    return row[0];
}

bool world_is_replica(struct world *w, unsigned node, locus_key key)
{
    return world_known(w, node, key).is_replica;
}

unsigned world_records(const struct world *w, unsigned node)
{
    const struct records *all = &w->node[node].shard.records;
    return (unsigned)(all->used - all->free_count);
}

/* ---- what nodes do ---- */

void world_event(struct world *w, unsigned node, enum intent_kind kind, locus_key key)
{
    shard_intent(&w->node[node].shard,
                 &(struct intent_event){.kind = kind, .index = world_ref(w, node, key).index});
}

void world_intend(struct world *w, unsigned node, unsigned worker, locus_key key, locus_clock start,
                  locus_clock end)
{
    struct world_node *n = &w->node[node];
    struct intent_stream *s = intents_open_stream(n->shard.intents, worker);
    CHECK(s != NULL);
    bool waits = start > n->clock[worker];
    n->waiting_keys += waits;
    stream_begin(s, start, end, n->clock[worker], 0);
    CHECK_EQ(stream_add(s, world_ref(w, node, key).index), 0);
    stream_publish(s);
    world_turn(w, node);
}

void world_turn(struct world *w, unsigned node)
{
    if (!w->is_lost[node]) shard_turn(&w->node[node].shard, w->now_ns);
}

void world_lose(struct world *w, unsigned node)
{
    w->is_lost[node] = true;
    for (unsigned n = 0; n < w->nodes; n++) {
        w->link[n][node].cut = w->link[node][n].cut = true;
        w->link[n][node].count = w->link[node][n].count = 0;
    }
}

static void come_back(struct world *w, unsigned node)
{
    struct world_node *n = &w->node[node];
    shard_fini(&n->shard);
    store_fini(&n->store);
    *n = (struct world_node){0};
    open_node(w, node);
    w->is_lost[node] = false;
    for (unsigned i = 0; i < w->nodes; i++)
        if (!w->is_lost[i]) w->link[i][node].cut = w->link[node][i].cut = false;
}

void world_change(struct world *w, enum change_kind kind, unsigned node)
{
    CHECK(w->changes < WORLD_CHANGES_MAX);
    if (kind == CHANGE_JOINS)
        come_back(w, node);
    else
        world_lose(w, node);
    w->change[w->changes] = (struct change){w->changes + 1, kind, node};
    w->changes++;
    if (kind == CHANGE_JOINS) world_hear(w, node);
}

void world_hear(struct world *w, unsigned node)
{
    struct shard *s = &w->node[node].shard;
    repair_begin(s, w->change[s->losses->change.number]);
}

void world_pass(struct world *w, int times, uint64_t ns)
{
    while (times-- > 0) {
        w->now_ns += ns;
        for (unsigned n = 0; n < w->nodes; n++) world_turn(w, n);
        world_deliver_all(w);
    }
}

void world_request(struct request *r, unsigned number, enum request_kind kind,
                   struct request_item *item, uint32_t count)
{
    uint8_t generation = (uint8_t)((r->generation + 1) % REQUEST_GENERATIONS);
    *r = (struct request){.kind = kind,
                          .number = (uint16_t)number,
                          .generation = generation,
                          .count = count,
                          .busy = 1,
                          .item = item};
}

void world_ask(struct world *w, struct call *c, unsigned node, unsigned number,
               enum request_kind kind, locus_key key, float value)
{
    for (int i = 0; i < WORLD_LENGTH; i++) c->values[i] = value;
    c->item = (struct request_item){.key = key, .values = c->values};
    world_request(&c->request, number, kind, &c->item, 1);
    CHECK(shard_serve(&w->node[node].shard, &c->request));
}

int world_run(struct world *w, unsigned node, enum request_kind kind, locus_key key, float value)
{
    static struct call c;
    world_ask(w, &c, node, 0, kind, key, value);
    world_deliver_all(w);
    return kind == REQUEST_PULL ? world_pulled(&c) : 0;
}

int world_pulled(const struct call *c)
{
    CHECK(!c->request.busy);
    for (int i = 1; i < WORLD_LENGTH; i++) CHECK(c->values[i] == c->values[0]);
    return (int)c->values[0];
}

/* ---- what arrives ---- */

bool world_deliver(struct world *w, unsigned from, unsigned to, const char **why)
{
    static struct world_frame f; /* out of the queue, which the receiver may write to */
    struct world_link *l = &w->link[from][to];
    *why = NULL;
    if (l->count == 0) return false;
    f = l->frame[l->first];
    l->first = (l->first + 1) % WORLD_FRAMES_MAX;
    l->count--;
    *why = shard_frame(&w->node[to].shard, from, &f.header, f.body);
    return true;
}

void world_travel(struct world *w, const char *nodes)
{
    for (const char *why; nodes[1] != '\0'; nodes++) {
        unsigned from = (unsigned)(nodes[0] - '0'), to = (unsigned)(nodes[1] - '0');
        CHECK(w->link[from][to].count > 0);
        while (world_deliver(w, from, to, &why)) CHECK(!why);
    }
}

void world_deliver_all(struct world *w)
{
    while (!world_is_quiet(w)) {
        const char *why;
        unsigned from = (unsigned)world_random(w, w->nodes),
                 to = (unsigned)world_random(w, w->nodes);
        world_deliver(w, from, to, &why);
        if (why) test_fail(__FILE__, __LINE__, "node %u refuses a frame of %u: %s", to, from, why);
    }
}

bool world_is_quiet(const struct world *w)
{
    for (unsigned from = 0; from < w->nodes; from++)
        for (unsigned to = 0; to < w->nodes; to++)
            if (w->link[from][to].count > 0) return false;
    return true;
}

unsigned world_entries(const struct world *w, unsigned from, unsigned to)
{
    const struct world_link *l = &w->link[from][to];
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++)
        n += l->frame[(l->first + i) % WORLD_FRAMES_MAX].header.count;
    return n;
}

const char *world_receive(struct world *w, unsigned to, unsigned from, struct wire_entry e)
{
    struct {
        struct wire_entry entry;
        float values[8];
    } body = {e, {0}};
    struct wire_frame f = {WIRE_MAGIC, WIRE_VERSION, .count = 1, .membership = 1};
    f.body_bytes = (uint32_t)wire_entry_bytes(e.length);
    CHECK(f.body_bytes <= sizeof body);
    return shard_frame(&w->node[to].shard, from, &f, &body);
}

unsigned world_owner(struct world *w, locus_key key)
{
    unsigned owner = WORLD_NODES_MAX;
    for (unsigned n = 0; n < w->nodes; n++) {
        if (w->is_lost[n] || !world_known(w, n, key).is_here) continue;
        CHECK_EQ(owner, WORLD_NODES_MAX);
        owner = n;
    }
    CHECK(owner < WORLD_NODES_MAX);
    return owner;
}
