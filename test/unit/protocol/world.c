#include "world.h"

#include "test.h"

#include <stdlib.h>

static struct world_frame *last_frame(struct world_link *l)
{
    return &l->frame[(l->first + l->count - 1) % WORLD_FRAMES_MAX];
}

static struct world_frame *new_frame(struct world_link *l, const struct store *s)
{
    CHECK(l->count < WORLD_FRAMES_MAX);
    l->count++;
    struct world_frame *f = last_frame(l);
    f->header =
        (struct wire_frame){.magic = WIRE_MAGIC, .version = WIRE_VERSION, .view = s->home.view};
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
    struct world_node *n = context;
    CHECK(r->busy);
    r->busy = 0;
    n->completed++;
    n->last_rc = rc;
}

static uint64_t read_clock_ns(void *context)
{
    struct world_node *n = context;
    return n->world->now_ns;
}

static struct world *new_world(enum locus_technique technique, unsigned nodes, uint64_t keys,
                               uint32_t length, unsigned workers, size_t credit, uint64_t seed,
                               bool has_intents)
{
    bool replicates = technique != LOCUS_STATIC;
    const struct locus_table table = {.rows = keys, .length = length};
    struct world *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    CHECK(w != NULL);
    memset(w, 0, sizeof *w);
    w->nodes = nodes;
    w->random = seed * 2 + 1;
    for (unsigned i = 0; i < nodes; i++) {
        struct world_node *n = &w->node[i];
        n->world = w;
        n->rank = i;
        n->calls = (struct platform){n, give_entry, complete_request, read_clock_ns, read_clock_ns};
        const struct store_config store = {.tables = &table,
                                           .table_count = 1,
                                           .shards = 1,
                                           .nodes = nodes,
                                           .rank = i,
                                           .replicates = replicates,
                                           .is_full = technique == LOCUS_FULL_REPLICATION};
        CHECK(workers <= WORLD_WORKERS_MAX);
        for (unsigned k = 0; k < workers; k++) n->clocks[k] = &n->clock[k];
        CHECK_EQ(store_open(&n->store, &store), 0);
        n->plan = (struct node_plan){.store = &n->store,
                                     .technique = technique_of(technique),
                                     .config.workers = workers,
                                     .clock = has_intents ? n->clocks : NULL,
                                     .node_keys = &n->waiting_keys};
        const struct shard_config shard = {
            .plan = &n->plan, .platform = &n->calls, .credit_bytes = credit};
        CHECK_EQ(shard_init(&n->shard, &shard), 0);
    }
    return w;
}

struct world *world_new(unsigned nodes, uint64_t keys, uint32_t length, unsigned workers,
                        size_t credit, uint64_t seed)
{
    return new_world(LOCUS_STATIC, nodes, keys, length, workers, credit, seed, false);
}

struct world *world_new_moving(unsigned nodes, uint64_t keys, uint32_t length, unsigned workers,
                               size_t credit, uint64_t seed)
{
    return new_world(LOCUS_RELOCATE, nodes, keys, length, workers, credit, seed, false);
}

struct world *world_new_managed(enum locus_technique technique, unsigned nodes, uint64_t keys,
                                uint32_t length, unsigned workers, size_t credit, uint64_t seed)
{
    return new_world(technique, nodes, keys, length, workers, credit, seed, true);
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

void world_deliver_all(struct world *w)
{
    const char *why;
    while (world_step(w, &why)) CHECK(why == NULL);
}

const char *world_receive(struct world *w, unsigned to, unsigned from, struct wire_entry e)
{
    struct {
        struct wire_entry entry;
        float values[8];
    } body = {e, {0}};
    struct wire_frame f = {.magic = WIRE_MAGIC, .version = WIRE_VERSION, .count = 1, .view = 1};
    f.body_bytes = (uint32_t)wire_entry_bytes(e.length);
    CHECK(f.body_bytes <= sizeof body);
    return shard_frame(&w->node[to].shard, from, &f, &body);
}

bool world_is_quiet(const struct world *w)
{
    for (unsigned from = 0; from < w->nodes; from++)
        for (unsigned to = 0; to < w->nodes; to++)
            if (w->link[from][to].count > 0) return false;
    return true;
}

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

bool world_step(struct world *w, const char **why)
{
    *why = NULL;
    if (world_is_quiet(w)) return false;
    for (;;) {
        unsigned from = (unsigned)world_random(w, w->nodes),
                 to = (unsigned)world_random(w, w->nodes);
        if (world_deliver(w, from, to, why)) return true;
    }
}

void world_request(struct request *r, unsigned worker, unsigned number, enum request_kind kind,
                   struct request_item *item, uint32_t count)
{
    uint8_t generation = (uint8_t)((r->generation + 1) % REQUEST_GENERATIONS);
    *r = (struct request){.kind = kind,
                          .worker = (uint16_t)worker,
                          .number = (uint16_t)number,
                          .generation = generation,
                          .count = count,
                          .busy = 1,
                          .item = item};
}
