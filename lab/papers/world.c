/*
 * The world of a simulation (apps/common/world.h): threads are fibers of their node, the clock is
 * virtual, and what a thread computes takes the time that the machine says. Compute is real, at the
 * moment when it begins: what it writes is there from then on, and then its time passes.
 *
 * Fibers give way only where they wait, so locks are nothing.
 */
#include "../../apps/common/world.h"

#include "api/feed.h"
#include "base/sync.h"
#include "scale/platform.h"
#include "scale/virtual.h"
#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum role { OTHER, WORKER, LOADER, ROLES };

/* What a thread waits for in the library. */
enum call { CALL_PULL, CALL_SAMPLE, CALL_UPDATE, CALL_SETTLE, CALLS };
static const char *const call_names[CALLS] = {"pull_s", "sample_s", "update_s", "settle_s"};

/* What the threads of a role have done. */
struct account {
    double computed_ns, starved_ns, met_ns, waited_ns[CALLS];
    uint64_t examples, threads;
    uint64_t pulls_waited; /* calls: of rows, or samples, that were not all here */
};

/* What a worker has waited for since its last step: it belongs to training if a step follows before
 * the next collective. The first collective behind a step ends an epoch. */
struct since {
    double waited_ns[CALLS];
    unsigned pulls_waited;
    bool is_training;
};

/* What a worker has beside its steps where there are several nodes. */
struct beside {
    uint64_t on_replicas; /* accesses */
    uint64_t came;        /* bytes of rows that its node's shards wrote */
};

static struct {
    const struct papers *papers;
    struct account account[ROLES];
    uint64_t began_ns, ended_ns; /* the first and the last training step */
    double slower_ns;            /* an example: LOCUS_STEP_TIME */
    locus *node[PAPERS_NODES_MAX];
    struct beside paid[PAPERS_NODES_MAX]; /* by its workers */
    uint64_t most_rows;                   /* that any node had when all had quiesced */
} world;

static const struct world_thread *threads[PLATFORM_FIBERS_MAX];
static struct since since[PLATFORM_FIBERS_MAX];

void world_begin(const struct papers *p)
{
    memset(&world, 0, sizeof world);
    world.papers = p;
}

static enum role role(void)
{
    const struct world_thread *t = threads[virtual_fiber()];
    if (!t) return OTHER;
    return strcmp(t->name, "worker") == 0 ? WORKER : LOADER;
}

static struct account *account(void)
{
    return &world.account[role()];
}

/* ---- threads ---- */

static void be_thread(void *world_thread)
{
    struct world_thread *t = world_thread;
    t->run(t->argument);
}

int world_start(struct world_thread *t, const char *name, world_run *run, void *argument)
{
    *t = (struct world_thread){.name = name, .run = run, .argument = argument};
    t->fiber = virtual_start(virtual_node(), be_thread, t);
    threads[t->fiber] = t;
    world.account[strcmp(name, "worker") == 0 ? WORKER : LOADER].threads++;
    return 0;
}

static bool has_ended(const void *thread)
{
    return virtual_has_ended(((const struct world_thread *)thread)->fiber);
}

void world_join(struct world_thread *t)
{
    locus_fiber_wait(has_ended, t);
}

/* ---- meeting and waiting ---- */

void world_lock_init(struct world_lock *l)
{
    (void)l;
}

void world_lock_fini(struct world_lock *l)
{
    (void)l;
}

void world_lock_take(struct world_lock *l)
{
    (void)l;
}

void world_lock_give(struct world_lock *l)
{
    (void)l;
}

void world_signal_init(struct world_signal *s)
{
    s->count = 0;
}

void world_signal_fini(struct world_signal *s)
{
    (void)s;
}

struct awaited {
    const uint64_t *count;
    uint64_t seen;
};

static bool has_come(const void *awaited)
{
    const struct awaited *a = awaited;
    return *a->count != a->seen;
}

static double wait_for(const uint64_t *count)
{
    const struct awaited a = {count, *count};
    uint64_t began = virtual_now_ns();
    locus_fiber_wait(has_come, &a);
    return (double)(virtual_now_ns() - began);
}

void world_wait(struct world_signal *s, struct world_lock *l)
{
    (void)l;
    account()->starved_ns += wait_for(&s->count);
}

void world_signal(struct world_signal *s)
{
    s->count++;
}

void world_meeting_init(struct world_meeting *m, unsigned members)
{
    m->members = members;
    m->arrived = 0;
    m->meetings = 0;
}

void world_meeting_fini(struct world_meeting *m)
{
    (void)m;
}

void world_meet(struct world_meeting *m)
{
    if (++m->arrived == m->members) {
        m->arrived = 0;
        m->meetings++;
    } else {
        account()->met_ns += wait_for(&m->meetings);
    }
}

/* ---- time ---- */

double world_now(void)
{
    return (double)virtual_now_ns() * 1e-9;
}

/* Of this node's workers since one of them asked last. */
static double time_beside(void)
{
    const struct machine *m = &world.papers->machine;
    struct platform_figures f = platform_figures(virtual_node());
    struct beside *paid = &world.paid[virtual_node()], before = *paid;
    struct locus_stats s = {0};
    if (locus_stats_read(world.node[virtual_node()], &s)) return 0;
    paid->on_replicas = s.pulled_replica + s.pushed_replica;
    paid->came = f.bytes_in - f.frames_in * sizeof(struct wire_frame) -
                 f.entries_in * sizeof(struct wire_entry);
    return (double)(paid->on_replicas - before.on_replicas) * m->replica +
           (double)(paid->came - before.came) / 64 * m->line;
}

void world_computed(enum world_work work, size_t examples)
{
    const struct machine *m = &world.papers->machine;
    struct account *a = account();
    const double each[] = {[WORLD_TRAINED] = m->step + world.slower_ns,
                           [WORLD_PREPARED] = m->prepare,
                           [WORLD_COMPARED] = m->compare};
    double ns = (double)examples * each[work];
    struct since *waited = &since[virtual_fiber()];
    if (work == WORLD_TRAINED) {
        double beside_ns = time_beside();
        if (waited->is_training) ns += beside_ns; /* else it is what an evaluation fetched */
    }
    a->computed_ns += ns;
    a->examples += examples;
    platform_work(ns);
    if (work != WORLD_TRAINED) return;
    for (int c = 0; c < CALLS; c++) a->waited_ns[c] += waited->waited_ns[c];
    a->pulls_waited += waited->pulls_waited;
    *waited = (struct since){.is_training = true};
    if (world.began_ns == 0) world.began_ns = virtual_now_ns();
    world.ended_ns = virtual_now_ns();
}

void world_slow(double seconds)
{
    world.slower_ns = seconds * 1e9;
}

/* ---- the cluster ---- */

size_t world_ahead(void)
{
    return world.papers->ahead;
}

void world_place(struct locus_config *c)
{
    char lab[40];
    c->rank = (int)virtual_node();
    c->size = (int)world.papers->nodes;
    c->rendezvous = "simulated:1";
    c->shards = (unsigned)world.papers->machine.shards;
    snprintf(lab, sizeof lab, "rounds=%u%s", (unsigned)world.papers->machine.rounds,
             world.papers->acts_immediately ? ",immediate" : "");
    setenv("LOCUS_LAB", lab, 1);
}

/* The program calls these instead of the library's: the linker sees to it. */

static void waited_since(enum call call, uint64_t began_ns)
{
    uint64_t ns = virtual_now_ns() - began_ns;
    struct since *s = &since[virtual_fiber()];
    if (role() != WORKER) return;
    s->waited_ns[call] += (double)ns;
    if (ns > 0 && (call == CALL_PULL || call == CALL_SAMPLE)) s->pulls_waited++;
}

#define WRAP(call, name, parameters, arguments) \
    int __real_locus_##name parameters; \
    int __wrap_locus_##name parameters; \
    int __wrap_locus_##name parameters \
    { \
        uint64_t began_ns = virtual_now_ns(); \
        int rc = __real_locus_##name arguments; \
        waited_since(call, began_ns); \
        return rc; \
    }

WRAP(CALL_PULL, pull, (locus_worker * w, const locus_key *keys, size_t n, float *values),
     (w, keys, n, values))
WRAP(CALL_SAMPLE, pull_sample,
     (locus_worker * w, locus_sample s, size_t n, locus_key *keys, float *values),
     (w, s, n, keys, values))
WRAP(CALL_UPDATE, wait, (locus_worker * w, locus_ticket t), (w, t))
WRAP(CALL_UPDATE, wait_all, (locus_worker * w), (w))
WRAP(CALL_UPDATE, push_async,
     (locus_worker * w, const locus_key *keys, size_t n, const float *updates, locus_ticket *t),
     (w, keys, n, updates, t))
WRAP(CALL_UPDATE, localize, (locus_worker * w, const locus_key *keys, size_t n), (w, keys, n))

/* A replica is two rows: as it is, and as its owner knows it. */
static void note_rows(void)
{
    struct locus_stats s = {0};
    if (locus_stats_read(world.node[virtual_node()], &s)) return;
    uint64_t rows = s.owned_now + 2 * s.replicas_now;
    if (rows > world.most_rows) world.most_rows = rows;
}

int __real_locus_quiesce(locus_worker *);
int __wrap_locus_quiesce(locus_worker *);

int __wrap_locus_quiesce(locus_worker *w)
{
    uint64_t began_ns = virtual_now_ns();
    int rc = __real_locus_quiesce(w);
    struct since *s = &since[virtual_fiber()];
    if (s->is_training) account()->waited_ns[CALL_SETTLE] += (double)(virtual_now_ns() - began_ns);
    *s = (struct since){0};
    note_rows();
    return rc;
}

/* Whose statistics are read here. */

int __real_locus_open(const struct locus_config *, locus **);
int __wrap_locus_open(const struct locus_config *, locus **);

int __wrap_locus_open(const struct locus_config *c, locus **out)
{
    int rc = __real_locus_open(c, out);
    world.node[virtual_node()] = *out;
    return rc;
}

/* Feeds have a fiber each, and are as far ahead as they are told. */

int __real_locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                           size_t depth, locus_feed **out);
int __wrap_locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                           size_t depth, locus_feed **out);
void *__real_locus_feed_next(locus_feed *);
void *__wrap_locus_feed_next(locus_feed *);

int __wrap_locus_feed_open(locus_worker *w, locus_fill *fill, void *context, void **portions,
                           size_t depth, locus_feed **out)
{
    static struct world_thread loaders[PLATFORM_FIBERS_MAX];
    static unsigned next;
    int rc = __real_locus_feed_open(w, fill, context, portions, depth, out);
    if (rc) return rc;
    (*out)->is_exact = world_ahead() > 0;
    return world_start(&loaders[next++ % PLATFORM_FIBERS_MAX], "loader", feed_run, *out);
}

void *__wrap_locus_feed_next(locus_feed *f)
{
    uint64_t began_ns = virtual_now_ns();
    void *portion = __real_locus_feed_next(f);
    account()->starved_ns += (double)(virtual_now_ns() - began_ns);
    return portion;
}

/* ---- the report ---- */

void world_report(void)
{
    const struct account *w = &world.account[WORKER];
    double all_ns = 0, shard_ns = 0, bytes = 0, busiest = 0;
    for (unsigned n = 0; n < world.papers->nodes; n++) {
        struct platform_figures f = platform_figures(n);
        shard_ns += f.shard_ns;
        bytes += (double)f.wire_bytes_out;
        if (f.shard_ns > busiest) busiest = f.shard_ns;
    }
    all_ns = (double)(world.ended_ns - world.began_ns);
    printf("{\"event\":\"machine\",\"nodes\":%u,\"seconds\":%.9f,\"worker_seconds\":%.9f,"
           "\"computed_s\":%.9f,\"starved_s\":%.9f,\"loader_s\":%.9f,\"shard_s\":%.9f,"
           "\"busiest_shard_s\":%.9f,\"wire_bytes\":%.0f,\"most_rows\":%llu,\"examples\":%llu,"
           "\"pulls_waited\":%llu",
           world.papers->nodes, all_ns * 1e-9, all_ns * 1e-9 * (double)w->threads,
           w->computed_ns * 1e-9, w->starved_ns * 1e-9, world.account[LOADER].computed_ns * 1e-9,
           shard_ns * 1e-9, busiest * 1e-9, bytes, (unsigned long long)world.most_rows,
           (unsigned long long)w->examples, (unsigned long long)w->pulls_waited);
    for (int c = 0; c < CALLS; c++) printf(",\"%s\":%.9f", call_names[c], w->waited_ns[c] * 1e-9);
    printf("}\n");
    fflush(stdout);
}
