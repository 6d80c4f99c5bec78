/*
 * Whose NUMA node memory is asked for on, on machines that hwloc makes up: the calls that ask for
 * it are noted (config.mk), and where a row lies is compared with them, whatever brought it there:
 * its home, a relocation, a replica.
 */
#include "team.h"

#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 600, LENGTH = 16, NODES = 2, SHARDS = 2, AREAS_MAX = 64 };

static const struct locus_table table[] = {{.rows = ROWS, .length = LENGTH}};

/* ---- the calls ---- */

static struct {
    pthread_mutex_t lock;
    struct area {
        const char *from, *end;
        int numa;
    } area[AREAS_MAX];
    unsigned count;
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

int __real_hwloc_set_area_membind(hwloc_topology_t, const void *, size_t, hwloc_const_bitmap_t,
                                  hwloc_membind_policy_t, int);
int __wrap_hwloc_set_area_membind(hwloc_topology_t, const void *, size_t, hwloc_const_bitmap_t,
                                  hwloc_membind_policy_t, int);

int __wrap_hwloc_set_area_membind(hwloc_topology_t t, const void *from, size_t bytes,
                                  hwloc_const_bitmap_t set, hwloc_membind_policy_t policy,
                                  int flags)
{
    CHECK_EQ(policy, HWLOC_MEMBIND_BIND);
    CHECK_EQ(flags, HWLOC_MEMBIND_BYNODESET);
    CHECK_EQ(hwloc_bitmap_weight(set), 1);
    pthread_mutex_lock(&calls.lock);
    CHECK(calls.count < AREAS_MAX);
    calls.area[calls.count++] =
        (struct area){from, (const char *)from + bytes, hwloc_bitmap_first(set)};
    pthread_mutex_unlock(&calls.lock);
    return __real_hwloc_set_area_membind(t, from, bytes, set, policy, flags);
}

/* -1: nobody asked. Memory that was given back may have been asked for once more: the last
 * counts. */
static int numa_of(const void *at)
{
    int numa = -1;
    pthread_mutex_lock(&calls.lock);
    for (unsigned i = 0; i < calls.count; i++)
        if ((const char *)at >= calls.area[i].from && (const char *)at < calls.area[i].end)
            numa = calls.area[i].numa;
    pthread_mutex_unlock(&calls.lock);
    return numa;
}

/* ---- the rows ---- */

struct machine {
    const char *description;
    int numa[NODES][SHARDS]; /* by rank and shard */
};

/* A third of all keys is wanted by both, a third by each of the two. */
static bool wants(const struct seat *s, locus_key key)
{
    return key % 3 == 2 || key % 3 == (locus_key)s->rank;
}

/* Not for ever: such rows would all be replicas. */
static const locus_clock TO_THE_END = INT64_C(1) << 60;

static void bring_rows(struct seat *s)
{
    locus_key keys[ROWS];
    float row[LENGTH];
    size_t n = 0;
    for (locus_key k = 0; k < ROWS; k++)
        if (wants(s, k)) keys[n++] = k;
    CHECK_EQ(locus_intent(s->worker, keys, n, 0, TO_THE_END), 0);
    for (size_t i = 0; i < n; i++) AWAIT(locus_pull_local(s->worker, keys[i], row) == 0);
}

static void write_all(struct seat *s)
{
    CLOSED_BY(batch_free) struct batch all = batch_of_all(s->node);
    if (s->rank == 0) CHECK_EQ(locus_set(s->worker, all.keys, all.n, all.values), 0);
    CHECK_EQ(locus_quiesce(s->worker), 0);
}

static void look_at_rows(struct seat *s, const struct machine *m)
{
    locus_read_begin(s->worker);
    for (locus_key k = 0; k < ROWS; k++) {
        const float *view = locus_view(s->worker, k);
        int numa = m->numa[s->rank][k % SHARDS];
        if (wants(s, k)) CHECK(view != NULL);
        if (view) CHECK_EQ(numa_of(view), numa);
        if (view) CHECK_EQ(numa_of(view + LENGTH - 1), numa);
    }
    locus_read_end(s->worker);
}

static uint64_t replicas; /* of both nodes */

static void look(struct seat *s)
{
    write_all(s);
    bring_rows(s);
    seat_barrier(s);
    struct locus_stats stats = stats_of(s->node);
    CHECK(stats.relocated_in > 0);
    __atomic_fetch_add(&replicas, stats.replicas_now, __ATOMIC_RELAXED);
    look_at_rows(s, s->team->shared);
    seat_barrier(s);
    CHECK(__atomic_load_n(&replicas, __ATOMIC_RELAXED) >= ROWS / 3);
}

/* On the last, more threads than processing units, nobody is bound, and neither is memory. */
static const struct machine machines[] = {
    {"package:2 numa:1 l3:1 core:8 pu:1", {{0, 0}, {1, 1}}},
    {"package:2 numa:1 l3:1 core:8 pu:2(indexes=2*16:1*2)", {{0, 0}, {1, 1}}},
    {"package:4 numa:1 l3:1 core:16 pu:1", {{0, 1}, {2, 3}}},
    {"package:4 numa:1 l3:1 core:16 pu:2(indexes=2*64:1*2)", {{0, 1}, {2, 3}}},
    {"package:1 core:8 pu:1", {{-1, -1}, {-1, -1}}},
    {"package:2 numa:1 core:2 pu:1", {{-1, -1}, {-1, -1}}},
};

TEST(numa, memory_of_a_shard_is_asked_for_where_the_shard_runs)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const struct machine *m = &machines[i];
        struct team t = {TEAM_OF(NODES, 1, SHARDS, LOCUS_ADAPTIVE, table, 1), .shared = (void *)m};
        CHECK_EQ(setenv("HWLOC_SYNTHETIC", m->description, 1), 0);
        calls.count = 0;
        replicas = 0;
        printf("%s\n", m->description);
        team_run(&t, look);
        CHECK((calls.count == 0) == (m->numa[0][0] < 0));
    }
}
