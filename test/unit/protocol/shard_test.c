#include "protocol/origin.h"
#include "test.h"
#include "world.h"

#include <errno.h>

enum { KEYS = 64, LENGTH = 5, WORKERS = 3, NUMBERS = 4, ITEMS = 6 };

/* A key whose home is another node. */
static locus_key remote_key(struct world *w, unsigned rank)
{
    for (;;) {
        locus_key key = world_random(w, KEYS);
        if (row_ref_home(store_row_ref(&w->node[rank].store, key)) != rank) return key;
    }
}

/* One request of a node's worker, served to its end. */
static void run_one(struct world *w, unsigned rank, enum request_kind kind, locus_key key,
                    float *values)
{
    struct request r = {0};
    struct request_item item = {.key = key, .values = values};
    world_request(&r, 0, 0, kind, &item, 1);
    CHECK(shard_serve(&w->node[rank].shard, &r));
    world_deliver_all(w);
    CHECK(!r.busy);
}

TEST(shard, what_is_set_and_pushed_at_the_owner_is_pulled_from_there)
{
    struct world *w = world_new(2, KEYS, LENGTH, WORKERS, 1 << 20, 1);
    locus_key key = remote_key(w, 0);
    float set[LENGTH] = {1, 2, 3, 4, 5}, push[LENGTH] = {10, 10, 10, 10, 10}, got[LENGTH] = {0};
    run_one(w, 0, REQUEST_PULL, key, got);
    for (int i = 0; i < LENGTH; i++) CHECK_EQ((int)got[i], 0);
    run_one(w, 0, REQUEST_SET, key, set);
    run_one(w, 0, REQUEST_PUSH, key, push);
    run_one(w, 0, REQUEST_PULL, key, got);
    for (int i = 0; i < LENGTH; i++) CHECK_EQ((int)got[i], 11 + i);
    CHECK_EQ(w->node[1].shard.counters.served_pulls, 2);
    CHECK_EQ(w->node[1].shard.counters.served_pushes, 2);
    CHECK_EQ(w->node[0].shard.asked_bytes[1], 0);
    world_free(w);
}

struct storm_worker {
    struct request request[NUMBERS], *waiting;
    struct request_item item[NUMBERS][ITEMS];
    float values[NUMBERS][ITEMS][LENGTH];
    unsigned pushed[KEYS]; /* by this worker, posted */
};

/* Posts a request: pushes add 1 everywhere; a pull must later show at least this worker's own
 * earlier pushes. */
static void post(struct world *w, unsigned rank, unsigned worker, struct storm_worker *s,
                 unsigned number)
{
    enum request_kind kind = world_random(w, 2) ? REQUEST_PUSH : REQUEST_PULL;
    uint32_t count = 1 + (uint32_t)world_random(w, ITEMS);
    for (uint32_t i = 0; i < count; i++) {
        locus_key key = remote_key(w, rank);
        for (int f = 0; f < LENGTH; f++) s->values[number][i][f] = 1;
        s->item[number][i] = (struct request_item){.key = key, .values = s->values[number][i]};
        if (kind == REQUEST_PUSH) s->pushed[key]++;
    }
    world_request(&s->request[number], worker, number, kind, s->item[number], count);
    if (!shard_serve(&w->node[rank].shard, &s->request[number])) s->waiting = &s->request[number];
}

static void check_pulled(const struct storm_worker *s, unsigned number, const unsigned *own_before)
{
    const struct request *r = &s->request[number];
    if (r->kind != REQUEST_PULL) return;
    for (uint32_t i = 0; i < r->count; i++)
        for (int f = 0; f < LENGTH; f++) {
            CHECK(s->values[number][i][f] == s->values[number][i][0]); /* not torn */
            CHECK(s->values[number][i][0] >= (float)own_before[r->item[i].key]);
        }
}

static void storm(unsigned nodes, size_t lookahead, uint64_t seed)
{
    static struct storm_worker worker[WORLD_NODES_MAX][WORKERS];
    static unsigned own_before[WORLD_NODES_MAX][WORKERS][NUMBERS][KEYS];
    struct world *w = world_new(nodes, KEYS, LENGTH, WORKERS, lookahead, seed);
    memset(worker, 0, sizeof worker);
    for (unsigned step = 0; step < 600; step++) {
        unsigned rank = (unsigned)world_random(w, nodes), id = (unsigned)world_random(w, WORKERS);
        unsigned number = (unsigned)world_random(w, NUMBERS);
        struct storm_worker *s = &worker[rank][id];
        const char *why;
        if (world_random(w, 3) == 0) world_step(w, &why), CHECK(why == NULL);
        if (s->waiting) {
            if (!shard_serve(&w->node[rank].shard, s->waiting)) continue;
            s->waiting = NULL;
        }
        if (s->request[number].busy) continue;
        if (s->request[number].count) check_pulled(s, number, own_before[rank][id][number]);
        memcpy(own_before[rank][id][number], s->pushed, sizeof s->pushed);
        post(w, rank, id, s, number);
    }
    for (bool waiting = true; waiting || !world_is_quiet(w);) {
        const char *why;
        waiting = false;
        world_step(w, &why);
        CHECK(why == NULL);
        for (unsigned rank = 0; rank < nodes; rank++)
            for (unsigned id = 0; id < WORKERS; id++) {
                struct storm_worker *s = &worker[rank][id];
                if (s->waiting && shard_serve(&w->node[rank].shard, s->waiting)) s->waiting = NULL;
                waiting |= s->waiting != NULL;
            }
    }
    for (locus_key key = 0; key < KEYS; key++) {
        unsigned sum = 0, home = row_ref_home(store_row_ref(&w->node[0].store, key));
        float row[64]; /* the compiler looks at longer copies, too */
        for (unsigned rank = 0; rank < nodes; rank++)
            for (unsigned id = 0; id < WORKERS; id++) sum += worker[rank][id].pushed[key];
        CHECK_EQ(row_read(store_row_ref(&w->node[home].store, key), row), 0);
        for (int f = 0; f < LENGTH; f++) CHECK_EQ((unsigned)row[f], sum);
    }
    for (unsigned rank = 0; rank < nodes; rank++)
        for (unsigned peer = 0; peer < nodes; peer++)
            CHECK_EQ(w->node[rank].shard.asked_bytes[peer], 0);
    world_free(w);
}

TEST(shard, no_update_is_lost_and_own_updates_are_seen_whatever_the_order_of_delivery)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        storm(2 + seed % 3, seed % 2 ? 1 << 20 : 400, seed);
}

TEST(shard, used_up_credit_holds_a_request_back_until_answers_come)
{
    struct world *w =
        world_new(2, KEYS, LENGTH, WORKERS, wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 7);
    locus_key key = remote_key(w, 0);
    float values[2][LENGTH] = {{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}};
    struct request_item item[2] = {{.key = key, .values = values[0]},
                                   {.key = key, .values = values[1]}};
    struct request r = {0};
    const char *why;
    world_request(&r, 1, 2, REQUEST_PUSH, item, 2);
    CHECK(!shard_serve(&w->node[0].shard, &r));
    CHECK_EQ(r.sent, 1);
    CHECK(!shard_serve(&w->node[0].shard, &r));
    while (world_step(w, &why)) CHECK(why == NULL);
    CHECK(shard_serve(&w->node[0].shard, &r));
    world_deliver_all(w);
    CHECK_EQ(w->node[0].completed, 1);
    world_free(w);
}

TEST(shard, the_loss_of_a_node_completes_every_request)
{
    struct world *w =
        world_new(3, KEYS, LENGTH, WORKERS, wire_entry_bytes(LENGTH) + wire_entry_bytes(0), 9);
    float values[ITEMS][LENGTH] = {{0}};
    struct request_item item[ITEMS];
    struct request sent = {0}, held = {0}, later = {0};
    for (int i = 0; i < ITEMS; i++)
        item[i] = (struct request_item){.key = remote_key(w, 0), .values = values[i]};
    world_request(&sent, 0, 0, REQUEST_PULL, item, 1);
    world_request(&held, 1, 0, REQUEST_PULL, item, ITEMS);
    CHECK(shard_serve(&w->node[0].shard, &sent));
    CHECK(!shard_serve(&w->node[0].shard, &held));
    shard_fail(&w->node[0].shard, -ECONNRESET);
    CHECK_EQ(w->node[0].completed, 1);
    CHECK(shard_serve(&w->node[0].shard, &held));
    world_request(&later, 2, 1, REQUEST_PUSH, item, 1);
    CHECK(shard_serve(&w->node[0].shard, &later));
    CHECK_EQ(w->node[0].completed, 3);
    CHECK_EQ(w->node[0].last_rc, -ECONNRESET);
    world_deliver_all(w); /* answers that still arrive are for nobody */
    world_free(w);
}
