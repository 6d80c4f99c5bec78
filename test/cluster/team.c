#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 16, WORKERS_MAX = 16 };

struct locus_config team_config(const struct team *t, int rank)
{
    struct locus_config c;
    locus_config_init(&c);
    c.technique = t->technique;
    c.survives = t->survives;
    c.tables = t->tables;
    c.table_count = t->table_count;
    c.workers = t->workers;
    c.shards = t->shards;
    c.rank = rank;
    c.size = t->nodes;
    c.rendezvous = t->address;
    c.listen = t->listen;
    c.peer_timeout_s = t->peer_timeout_s;
    c.join_timeout_s = HANG_S;
    return c;
}

locus *team_open(const struct team *t, int rank)
{
    struct locus_config c = team_config(t, rank);
    locus *n;
    int rc = locus_open(&c, &n);
    if (rc) test_fail(__FILE__, __LINE__, "locus_open of node %d: %d, %s", rank, rc, locus_error());
    return n;
}

locus_worker *worker_of(locus *n)
{
    locus_worker *w;
    CHECK_EQ(locus_worker_open(n, &w), 0);
    CHECK(w != NULL);
    return w;
}

struct locus_stats stats_of(const locus *n)
{
    struct locus_stats s;
    CHECK_EQ(locus_stats_read(n, &s), 0);
    return s;
}

/* ---- seats ---- */

struct place {
    const struct team *team;
    int rank;
    seat_body *body;
    locus *node;
    pthread_t thread;
};

static void *sit(void *argument)
{
    struct place *p = argument;
    const struct team *t = p->team;
    struct seat s = {.team = t, .node = p->node, .rank = p->rank};
    s.worker = worker_of(p->node);
    s.id = locus_worker_id(s.worker);
    s.number = p->rank * (int)t->workers + s.id;
    s.seats = t->nodes * (int)t->workers;
    s.seed = 1000u + (unsigned)s.number;
    p->body(&s);
    int rc = locus_worker_close(s.worker);
    if (rc) test_fail(__FILE__, __LINE__, "locus_worker_close: %d, %s", rc, locus_error());
    return NULL;
}

static void close_node(const struct place *p)
{
    const int *must_leave = p->team->must_leave;
    bool leaves = must_leave && __atomic_load_n(must_leave, __ATOMIC_SEQ_CST);
    int rc = leaves ? locus_leave(p->node) : locus_close(p->node);
    if (rc)
        test_fail(__FILE__, __LINE__, "%s of node %d: %d, %s",
                  leaves ? "locus_leave" : "locus_close", p->rank, rc, locus_error());
}

static void *run_node(void *argument)
{
    struct place *p = argument, seat[WORKERS_MAX];
    CHECK(p->team->workers <= WORKERS_MAX);
    p->node = team_open(p->team, p->rank);
    for (unsigned i = 0; i < p->team->workers; i++) {
        seat[i] = *p;
        CHECK_EQ(pthread_create(&seat[i].thread, NULL, sit, &seat[i]), 0);
    }
    for (unsigned i = 0; i < p->team->workers; i++) pthread_join(seat[i].thread, NULL);
    close_node(p);
    return NULL;
}

void team_run_node(const struct team *t, int rank, seat_body *body)
{
    struct place p = {.team = t, .rank = rank, .body = body};
    if (t->lab) setenv("LOCUS_LAB", t->lab, 1);
    run_node(&p);
}

static void run_places(const struct team *t, seat_body *body, locus **nodes, void *(*run)(void *))
{
    struct place place[NODES_MAX];
    CHECK(t->nodes <= NODES_MAX);
    for (int i = 0; i < t->nodes; i++) {
        place[i] =
            (struct place){.team = t, .rank = i, .body = body, .node = nodes ? nodes[i] : NULL};
        CHECK_EQ(pthread_create(&place[i].thread, NULL, run, &place[i]), 0);
    }
    for (int i = 0; i < t->nodes; i++) {
        pthread_join(place[i].thread, NULL);
        if (nodes) nodes[i] = place[i].node;
    }
}

void team_run(const struct team *team, seat_body *body)
{
    struct team t = *team;
    if (!*t.address) address_new(t.address);
    if (t.lab) setenv("LOCUS_LAB", t.lab, 1);
    run_places(&t, body, NULL, run_node);
}

static void *open_place(void *argument)
{
    struct place *p = argument;
    p->node = team_open(p->team, p->rank);
    return NULL;
}

static void *close_place(void *argument)
{
    struct place *p = argument;
    close_node(p);
    return NULL;
}

void team_open_all(struct team *t, locus **nodes)
{
    address_new(t->address);
    memset(nodes, 0, (size_t)t->nodes * sizeof(locus *));
    run_places(t, NULL, nodes, open_place);
}

void team_close_all(int count, locus **nodes)
{
    run_places(&(struct team){.nodes = count}, NULL, nodes, close_place);
}

unsigned seat_random(struct seat *s, unsigned bound)
{
    return (unsigned)rand_r(&s->seed) % bound;
}

/* ---- batches ---- */

struct batch batch_new(const locus *node, size_t n, size_t floats)
{
    struct batch b = {.capacity = floats, .node = node};
    b.keys = calloc(n ? n : 1, sizeof *b.keys);
    b.values = calloc(floats ? floats : 1, sizeof *b.values);
    CHECK(b.keys && b.values);
    return b;
}

void batch_free(struct batch *b)
{
    free(b->keys);
    free(b->values);
}

void batch_clear(struct batch *b)
{
    b->n = b->floats = 0;
}

float *batch_add(struct batch *b, locus_key key)
{
    float *row = b->values + b->floats;
    b->keys[b->n++] = key;
    b->floats += locus_length(b->node, key);
    CHECK(b->floats <= b->capacity);
    return row;
}

struct batch batch_of_all(const locus *node)
{
    size_t floats = 0;
    locus_key keys = locus_keys(node);
    for (locus_key k = 0; k < keys; k++) floats += locus_length(node, k);
    struct batch b = batch_new(node, keys, floats);
    for (locus_key k = 0; k < keys; k++) batch_add(&b, k);
    return b;
}

void batch_shuffle(struct batch *b, struct seat *s)
{
    for (size_t i = b->n; i > 1; i--) {
        size_t j = seat_random(s, (unsigned)i);
        locus_key key = b->keys[i - 1];
        b->keys[i - 1] = b->keys[j];
        b->keys[j] = key;
    }
}

bool batch_next(const struct batch *b, struct batch_cursor *c)
{
    if (c->row) c->i++;
    if (c->i >= b->n) return false;
    c->row = c->row ? c->row + c->length : b->values;
    c->key = b->keys[c->i];
    c->length = locus_length(b->node, c->key);
    return true;
}
