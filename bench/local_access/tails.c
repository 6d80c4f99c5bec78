/* The times of single pulls, one after the other, and how a writer stretches them. */
#include "bench.h"

#include "../common/clock.h"
#include "../common/latency.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

const struct watch watches[WATCHES] = {
    {ONE_ROW, false}, [ONE_ROW_WRITER] = {ONE_ROW, true}, {EVEN, false}, {SKEWED, false},
    {SKEWED, true},
};

/* The keys that a reader or the writer goes through, round and round. */
struct round {
    const uint64_t *keys;
    size_t count;
};

static struct round round_of(const struct bench *b, const struct watch *w, unsigned lane, size_t at,
                             size_t count)
{
    static const uint64_t one_row = 1234;
    if (w->keys == ONE_ROW) return (struct round){&one_row, 1};
    return (struct round){b->lanes[lane].keys + at, count};
}

struct writer {
    struct bench *bench;
    enum store store;
    struct round round;
    pthread_t thread;
    atomic_bool stop;
    atomic_size_t pushes; /* so far */
};

static void *keep_writing(void *argument)
{
    struct writer *w = argument;
    struct lane *l = &w->bench->lanes[1];
    for (size_t i = 0; !atomic_load_explicit(&w->stop, memory_order_relaxed);
         i = i + 1 < w->round.count ? i + 1 : 0) {
        if (w->store == LOCUS) {
            lane_note(l, locus_push(l->worker, &w->round.keys[i], 1, l->batch));
        } else {
            floor_locked_add(l->floors, &w->round.keys[i], 1, l->batch);
        }
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
    must(w->bench->lanes[1].rc, "push");
}

/* A call that waits delays the next one: these are the times of the calls themselves, not the
 * waiting times of requests that come by a schedule. */
static void pull_one_by_one(struct bench *b, enum store store, struct round round, size_t calls,
                            struct latency *times)
{
    struct lane *l = &b->lanes[0];
    for (size_t i = 0; i < calls; i++) {
        const uint64_t *key = &round.keys[round.count == 1 ? 0 : i];
        uint64_t begin = clock_ns();
        if (store == LOCUS) {
            lane_note(l, locus_pull(l->worker, key, 1, l->batch));
        } else {
            floor_locked_read(l->floors, key, 1, l->batch);
        }
        uint64_t took = clock_ns() - begin;
        latency_record(times, took > b->run.clock_cost ? took - b->run.clock_cost : 0);
    }
    must(l->rc, "pull");
}

/* Returns how many pushes the writer made for each pull: near 0 when it had no processor. */
static double watch_once(struct bench *b, const struct watch *watch, enum store store,
                         struct latency *times)
{
    size_t calls = b->run.options.quick ? 2000 : 100000;
    size_t at = next_keys(b, calls);
    struct writer writer = {.bench = b, .store = store, .round = round_of(b, watch, 1, at, calls)};
    batches_reset(b);
    latency_clear(times);
    if (watch->writer) writer_start(&writer);
    size_t before = atomic_load(&writer.pushes);
    pull_one_by_one(b, store, round_of(b, watch, 0, at, calls), calls, times);
    size_t pushes = atomic_load(&writer.pushes) - before;
    if (watch->writer) writer_stop(&writer);
    return (double)pushes / (double)calls;
}

static void watch_measure(struct bench *b, unsigned length, unsigned watch, enum store store)
{
    static struct latency times;
    struct tail *t = &b->tails[length][watch][store];
    for (unsigned r = 0; r < b->run.repetitions; r++) {
        t->pushes[r] = watch_once(b, &watches[watch], store, &times);
        times_note(&t->times, &times, r);
    }
    t->measured = true;
}

void tails_measure(struct bench *b, unsigned length, enum key_choice choice)
{
    for (unsigned watch = 0; watch < WATCHES; watch++) {
        /* One row needs no random keys: it is watched with the uniform ones. */
        if ((watches[watch].keys == SKEWED) != (choice == KEYS_ZIPF)) continue;
        for (unsigned store = 0; store < STORES; store++) {
            if (tail_selected(b, length, watch, (enum store)store))
                watch_measure(b, length, watch, (enum store)store);
        }
    }
}
