/* home_rows: a row that leaves its home between the look at it and the end of its copy is in the
 * checkpoint. */
#include "checkpoint/stages.h"
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 128, LENGTH = IS_SANITIZED ? 1000 : 16000, LOSSES = IS_SANITIZED ? 2 : 16 };

static const struct locus_table rows[] = {{.name = "rows", .rows = ROWS, .length = LENGTH}};

/* It is fetched from where it has gone: the thread that copies is stopped, most often within a copy,
 * until another node has taken all rows. Between the thread that walks, its handler, and the thread
 * that takes rows away. */
static struct {
    pthread_t walker;
    _Atomic bool is_walking, is_stopped, has_taken, is_over;
    double delay_s;
    locus_worker *taker;
} scene;

static void stop_here(int signal)
{
    const struct timespec moment = {.tv_nsec = 50000};
    (void)signal;
    scene.is_stopped = true;
    while (!scene.has_taken) nanosleep(&moment, NULL);
}

static void await_flag(const _Atomic bool *flag)
{
    for (double until = now_s() + HANG_S; !*flag; sched_yield()) CHECK(now_s() < until);
}

static void take_all(locus_worker *w)
{
    locus_key keys[ROWS];
    for (locus_key key = 0; key < ROWS; key++) keys[key] = key;
    CHECK_EQ(locus_localize(w, keys, ROWS), 0);
}

static void *take_rows_away(void *none)
{
    while (!scene.is_walking && !scene.is_over) sched_yield();
    while (!scene.is_over) {
        double from = now_s();
        while (now_s() < from + scene.delay_s) continue;
        CHECK_EQ(pthread_kill(scene.walker, SIGUSR1), 0);
        await_flag(&scene.is_stopped);
        take_all(scene.taker);
        scene.is_walking = false;
        scene.has_taken = true;
        while (!scene.is_walking && !scene.is_over) sched_yield();
    }
    return none;
}

struct visits {
    unsigned count[ROWS];
};

static int visit(void *visits, unsigned table, uint64_t row, const float *values)
{
    struct visits *v = visits;
    CHECK_EQ(table, 0);
    CHECK(row < ROWS);
    for (int i = 0; i < LENGTH; i += LENGTH - 1) CHECK(values[i] == (float)(row + 1));
    v->count[row]++;
    return 0;
}

static struct visits walk(locus_worker *w)
{
    struct visits v = {.count = {0}};
    struct slice last = {.table = 0}, next;
    while (home_rows_deal(w->store, &last, &next)) CHECK_EQ(home_rows_each(w, &next, visit, &v), 0);
    return v;
}

static void write_rows(locus_worker *w)
{
    CLOSED_BY(free_at) float *row = calloc(LENGTH, sizeof *row);
    CHECK(row != NULL);
    for (locus_key key = 0; key < ROWS; key++) {
        for (int i = 0; i < LENGTH; i++) row[i] = (float)(key + 1);
        CHECK_EQ(locus_set(w, &key, 1, row), 0);
    }
}

TEST(home_rows, row_that_leaves_while_it_is_copied_is_fetched)
{
    struct team team = {TEAM_OF(2, 1, 1, LOCUS_RELOCATE, rows, 1)};
    locus *nodes[2];
    pthread_t taker;
    unsigned seed = 5;
    team_open_all(&team, nodes);
    locus_worker *w = worker_of(nodes[0]);
    scene.taker = worker_of(nodes[1]);
    scene.walker = pthread_self();
    CHECK(signal(SIGUSR1, stop_here) != SIG_ERR);
    write_rows(w);
    take_all(w);
    walk(w); /* the caches know them now */
    double began = now_s();
    const struct visits all = walk(w);
    double took_s = now_s() - began;
    CHECK_EQ(pthread_create(&taker, NULL, take_rows_away, NULL), 0);
    for (int i = 0; i < LOSSES; i++) {
        take_all(w);
        scene.delay_s = took_s * (double)rand_r(&seed) / RAND_MAX;
        scene.is_stopped = false;
        scene.has_taken = false;
        scene.is_walking = true;
        while (!scene.is_stopped) {
            const struct visits v = walk(w);
            for (int row = 0; row < ROWS; row++) CHECK_EQ(v.count[row], all.count[row]);
        }
        await_flag(&scene.has_taken);
    }
    scene.is_over = true;
    pthread_join(taker, NULL);
    unsigned home = 0;
    for (int row = 0; row < ROWS; row++) home += all.count[row];
    CHECK(home > ROWS / 4 && home < ROWS);
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_worker_close(scene.taker), 0);
    team_close_all(2, nodes);
}
