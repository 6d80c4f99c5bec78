#include "moving.h"

#include "test.h"

struct world *moving_world(unsigned nodes, uint64_t seed)
{
    return world_new_moving(nodes, KEYS, LENGTH, WORKERS, WIDE, seed);
}

locus_key moving_key_at_home(struct world *w, unsigned home)
{
    for (locus_key key = 0;; key++)
        if (row_ref_home(store_row_ref(&w->node[0].store, key)) == home) return key;
}

struct location moving_known(struct world *w, unsigned rank, locus_key key)
{
    return location_of(&w->node[rank].shard, store_row_ref(&w->node[rank].store, key));
}

void moving_ask(struct world *w, struct call *c, unsigned rank, unsigned worker, unsigned number,
                enum request_kind kind, locus_key key, float value)
{
    for (int i = 0; i < LENGTH; i++) c->values[i] = value;
    c->item = (struct request_item){.key = key, .values = c->values};
    world_request(&c->request, worker, number, kind, &c->item, 1);
    CHECK(shard_serve(&w->node[rank].shard, &c->request));
}

void moving_ask_localize(struct world *w, struct call *c, unsigned rank, unsigned worker,
                         unsigned number, locus_key key)
{
    moving_ask(w, c, rank, worker, number, REQUEST_LOCALIZE, key, 0);
}

void moving_ask_pull(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key)
{
    moving_ask(w, c, rank, worker, number, REQUEST_PULL, key, 0);
}

void moving_ask_push(struct world *w, struct call *c, unsigned rank, unsigned worker,
                     unsigned number, locus_key key, float value)
{
    moving_ask(w, c, rank, worker, number, REQUEST_PUSH, key, value);
}

void moving_prepare(struct call *c, unsigned worker, enum request_kind kind, locus_key key)
{
    c->item = (struct request_item){.key = key, .values = c->values};
    world_request(&c->request, worker, 0, kind, &c->item, 1);
}

bool moving_is_done(const struct call *c)
{
    return !c->request.busy;
}

int moving_pulled(const struct call *c)
{
    CHECK(moving_is_done(c));
    for (int i = 1; i < LENGTH; i++) CHECK(c->values[i] == c->values[0]);
    return (int)c->values[0];
}

void moving_deliver(struct world *w, unsigned from, unsigned to)
{
    const char *why;
    CHECK(world_deliver(w, from, to, &why));
    do CHECK(why == NULL);
    while (world_deliver(w, from, to, &why));
}

void moving_travel(struct world *w, const char *nodes)
{
    for (; nodes[1] != '\0'; nodes++)
        moving_deliver(w, (unsigned)(nodes[0] - '0'), (unsigned)(nodes[1] - '0'));
}

unsigned moving_entries(const struct world *w, unsigned from, unsigned to)
{
    const struct world_link *l = &w->link[from][to];
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++)
        n += l->frame[(l->first + i) % WORLD_FRAMES_MAX].header.count;
    return n;
}

int moving_run(struct world *w, unsigned rank, enum request_kind kind, locus_key key, float value)
{
    static struct call c;
    moving_ask(w, &c, rank, 0, 0, kind, key, value);
    world_deliver_all(w);
    CHECK(moving_is_done(&c));
    return kind == REQUEST_LOCALIZE ? 0 : moving_pulled(&c);
}

int moving_value_at(struct world *w, unsigned rank, locus_key key)
{
    return moving_run(w, rank, REQUEST_PULL, key, 0);
}

void moving_bring(struct world *w, unsigned rank, locus_key key)
{
    moving_run(w, rank, REQUEST_LOCALIZE, key, 0);
}

void moving_check_rest(struct world *w, locus_key key, unsigned owner, uint64_t term)
{
    for (unsigned rank = 0; rank < w->nodes; rank++) {
        struct shard *s = &w->node[rank].shard;
        CHECK_EQ(moving_known(w, rank, key).is_here, rank == owner);
        CHECK(moving_known(w, rank, key).term <= term);
        CHECK_EQ(s->records.used - s->records.free_count, 0);
        CHECK_EQ(s->parked_bytes, 0);
        for (unsigned peer = 0; peer < w->nodes; peer++) CHECK_EQ(s->asked_bytes[peer], 0);
    }
    CHECK_EQ(moving_known(w, owner, key).term, term);
    unsigned home = row_ref_home(store_row_ref(&w->node[0].store, key));
    CHECK_EQ(moving_known(w, home, key).owner, owner);
    CHECK_EQ(moving_known(w, home, key).term, term);
}

void moving_begin_slowly(struct world *w, locus_key key, struct call *taker)
{
    moving_bring(w, 2, key);
    moving_run(w, 2, REQUEST_SET, key, 100);
    moving_ask_localize(w, taker, 0, 0, 0, key);
    moving_travel(w, "0121");
    CHECK_EQ(moving_known(w, 1, key).owner, 0);
    CHECK(!moving_known(w, 0, key).is_here);
}
