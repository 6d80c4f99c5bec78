/* The times of single pulls, one after the other, and how a writer stretches them. */
#include "bench.h"

#include "../common/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

const struct watch watches[WATCHES] = {
    {ONE_ROW, false}, {ONE_ROW, true}, {EVEN, false}, {SKEWED, false}, {SKEWED, true},
};

/* The keys that a reader or the writer goes through, round and round. */
struct round {
    const uint64_t *keys;
    size_t count;
};

static struct round round_of(const struct watch *w, unsigned lane, size_t at, size_t count)
{
    static const uint64_t one_row = 1234;
    if (w->keys == ONE_ROW) return (struct round){&one_row, 1};
    return (struct round){bench.lanes[lane].keys + at, count};
}

struct writer {
    struct round round;
    pthread_t thread;
    atomic_bool stop;
    atomic_size_t pushes; /* so far */
};

static void *keep_writing(void *argument)
{
    struct writer *w = argument;
    struct lane *l = &bench.lanes[1];
    for (size_t i = 0; !atomic_load_explicit(&w->stop, memory_order_relaxed);
         i = i + 1 < w->round.count ? i + 1 : 0) {
        lane_note(l, locus_push(l->worker, &w->round.keys[i], 1, l->batch));
        atomic_fetch_add_explicit(&w->pushes, 1, memory_order_relaxed);
    }
    return NULL;
}

static void writer_start(struct writer *w)
{
    must(-pthread_create(&w->thread, NULL, keep_writing, w), "pthread_create");
    while (atomic_load(&w->pushes) == 0) sched_yield();
}

static void writer_stop(struct writer *w)
{
    atomic_store(&w->stop, true);
    pthread_join(w->thread, NULL);
    must(bench.lanes[1].rc, "push");
}

/* A call that waits delays the next one: these are the times of the calls themselves, not the
 * waiting times of requests that come by a schedule. */
static void pull_one_by_one(struct round round, size_t calls, struct latency *times)
{
    struct lane *l = &bench.lanes[0];
    for (size_t i = 0; i < calls; i++) {
        const uint64_t *key = &round.keys[round.count == 1 ? 0 : i];
        uint64_t begin = clock_ns();
        lane_note(l, locus_pull(l->worker, key, 1, l->batch));
        latency_since(times, begin);
    }
    must(l->rc, "pull");
}

void measure_tail(struct cell *c)
{
    static struct latency times;
    const struct watch *watched = c->what;
    size_t calls = run.quick ? 2000 : 100000, at = next_keys(calls);
    struct writer writer = {.round = round_of(watched, 1, at, calls)};
    batches_reset();
    latency_clear(&times);
    if (watched->writer) writer_start(&writer);
    size_t before = atomic_load(&writer.pushes);
    pull_one_by_one(round_of(watched, 0, at, calls), calls, &times);
    size_t pushes = atomic_load(&writer.pushes) - before;
    if (watched->writer) writer_stop(&writer);
    cell_times(c, &times);
    /* Near 0 when the writer had no processor. */
    *cell_figure(c, "pushes_per_pull") = (double)pushes / (double)calls;
}
