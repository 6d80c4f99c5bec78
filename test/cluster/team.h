/*
 * team.h - a cluster for a test: its nodes, each with its workers' threads.
 *
 *     static void body(struct seat *s)
 *     {
 *         CHECK_EQ(locus_push(s->worker, ...), 0);
 *         seat_barrier(s);
 *     }
 *     team_run(&(struct team){TEAM_OF(3, 2, 0, LOCUS_STATIC, tables, 1)}, body);
 *
 * A seat is one worker of one node. team_run() has all nodes in this process (they talk through
 * sockets like any others); team_run_node() has one of them here, for a child process. Both open
 * nodes and workers, run the body once a seat, close everything, and check that all of it succeeds.
 */
#ifndef LOCUS_TEST_TEAM_H
#define LOCUS_TEST_TEAM_H

#include "locus.h"
#include "process.h"

struct team {
    int nodes;
    unsigned workers, shards;
    enum locus_technique technique;
    unsigned survives;
    const char *lab; /* LOCUS_LAB from team_run() on; NULL: as it is */
    const struct locus_table *tables;
    size_t table_count;
    double peer_timeout_s; /* 0: the default */
    void *shared;          /* the body's */
    const int
        *must_leave;    /* at its end the node leaves the others: locus_leave(); atomic, or NULL */
    const char *listen; /* of this node, or NULL */
    char address[ADDRESS_BYTES]; /* of the rendezvous; "": team_run() chooses one */
};

/* The fields that every team has; more may follow. 0 shards: the default. */
#define TEAM_OF(n, w, s, managed_by, all, count) \
    .nodes = (n), .workers = (w), .shards = (s), .technique = (managed_by), .tables = (all), \
    .table_count = (count)

struct seat {
    const struct team *team;
    locus *node;
    locus_worker *worker;
    int rank, id;
    int number, seats; /* of all workers of all nodes */
    unsigned seed;     /* different for each seat, the same in every run */
};

typedef void seat_body(struct seat *);

void team_run(const struct team *, seat_body *);
void team_run_node(const struct team *, int rank, seat_body *);

struct locus_config team_config(const struct team *, int rank);
/* The node, which must open. */
locus *team_open(const struct team *, int rank);
/* The same with all nodes of a team in this process, from threads of their own. */
void team_open_all(struct team *, locus **nodes);
/* Closes them likewise; all succeed. */
void team_close_all(int count, locus **nodes);

/* A test whose body each seat of a team runs:
 *
 *     TEST_SEATS(suite, name, s, TEAM_OF(...))
 *     {
 *         seat_barrier(s);
 *     }
 */
#define TEST_SEATS(suite, name, s, ...) \
    static void suite##_##name(struct seat *); \
    TEST(suite, name) \
    { \
        team_run(&(struct team){__VA_ARGS__}, suite##_##name); \
    } \
    static void suite##_##name(struct seat *(s))

locus_worker *worker_of(locus *);
struct locus_stats stats_of(const locus *);

static inline void seat_barrier(struct seat *s)
{
    CHECK_EQ(locus_barrier(s->worker), 0);
}

/* A random number below `bound`. */
unsigned seat_random(struct seat *, unsigned bound);

/* ---- batches: keys with room for their rows ---- */

struct batch {
    size_t n, capacity, floats;
    locus_key *keys;
    float *values;
    const locus *node;
};

/* Room for `n` keys whose rows have `floats` floats in all. */
struct batch batch_new(const locus *, size_t n, size_t floats);
void batch_free(struct batch *);
void batch_clear(struct batch *);
/* Returns the key's row in values. */
float *batch_add(struct batch *, locus_key);
/* All keys of all tables. */
struct batch batch_of_all(const locus *);
/* Another order, drawn from the seat's random numbers. Values are not moved. */
void batch_shuffle(struct batch *, struct seat *);

/* for (each key's row of b), in order: position, key, row and its length */
struct batch_cursor {
    size_t i;
    float *row;
    locus_key key;
    uint32_t length;
};
bool batch_next(const struct batch *, struct batch_cursor *);
#define BATCH_FOREACH(c, b) for (struct batch_cursor c = {0}; batch_next(b, &c);)

#endif
