/* steps: all workers go step by step, and where one fails all end with its sentence. */
#include "api/steps.h"

#include "base/error.h"
#include "one_node.h"

#include <pthread.h>
#include <string.h>

enum { WORKERS = 3, ROWS = 100 };

/* ---- what is refused ---- */

static void refuses(locus_worker *w, const char *directory, int rc, const char *sentence)
{
    struct steps s;
    CHECK_EQ(steps_begin(&s, "a_call", w, directory, COLLECTIVE_CHECKPOINT), rc);
    CHECK_STR(locus_error(), sentence);
}

TEST(steps, what_cannot_begin_is_refused_without_waiting_for_others)
{
    locus *n = one_node(ROWS, 1, WORKERS);
    locus_worker *w = worker_of(n), *other = worker_of(n); /* which never comes */
    refuses(NULL, "folder", -EINVAL, "a_call: the worker is NULL");
    refuses(w, NULL, -EINVAL, "a_call: the directory is NULL");
    refuses(w, "", -EINVAL, "a_call: the directory is empty");
    locus_read_begin(w);
    refuses(w, "folder", -EDEADLK, "a_call: would wait inside a read section");
    locus_read_end(w);
    CHECK_EQ(locus_worker_close(other), 0);
    close_both(n, w);
}

/* ---- several workers ---- */

struct seat {
    locus_worker *worker;
    pthread_t thread;
    int number, fails_at; /* the step; -1: none */
    bool is_first;
    struct share *share;
    unsigned slices;
    int rc;
    char error[256];
};

static int part(const struct seat *s, int step)
{
    return s->fails_at == step ? error_set(-ENOSPC, "worker %d's disk is full", s->number) : 0;
}

static int deal(struct seat *seat, struct steps *s)
{
    struct slice slice;
    while (steps_deal(s, &slice)) seat->slices++;
    return part(seat, 1);
}

static void *go(void *argument)
{
    struct seat *seat = argument;
    struct steps s;
    int rc = steps_begin(&s, "a_call", seat->worker, "folder", COLLECTIVE_CHECKPOINT);
    CHECK_EQ(rc, 0);
    CHECK(seat->worker->advice_at == UINT64_MAX);
    seat->is_first = steps_is_rank_0(&s);
    rc = steps_flush(&s, part(seat, 0));
    if (rc == 0) seat->share = s.share;
    if (rc == 0) rc = steps_meet(&s, COLLECTIVE_STEP, deal(seat, &s));
    if (rc == 0) rc = steps_meet(&s, COLLECTIVE_END, part(seat, 2));
    seat->rc = steps_end(&s, rc);
    snprintf(seat->error, sizeof seat->error, "%s", seat->rc ? locus_error() : "");
    return NULL;
}

/* All at once; worker 1 fails at that step. */
static void run(struct seat seat[WORKERS], int fails_at)
{
    locus *n = one_node(ROWS, 1, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        seat[i] =
            (struct seat){.worker = worker_of(n), .number = i, .fails_at = i == 1 ? fails_at : -1};
        seat[i].worker->advice_at = 77;
    }
    for (int i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&seat[i].thread, NULL, go, &seat[i]), 0);
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(pthread_join(seat[i].thread, NULL), 0);
    for (int i = 0; i < WORKERS; i++) {
        CHECK_EQ(seat[i].worker->advice_at, 77);
        CHECK_EQ(locus_worker_close(seat[i].worker), 0);
    }
    CHECK_EQ(locus_close(n), 0);
}

TEST(steps, one_worker_is_the_first_and_all_share_what_is_dealt)
{
    struct seat seat[WORKERS];
    unsigned first = 0, slices = 0;
    run(seat, -1);
    for (int i = 0; i < WORKERS; i++) {
        CHECK_EQ(seat[i].rc, 0);
        CHECK(seat[i].share != NULL && seat[i].share == seat[0].share);
        first += seat[i].is_first;
        slices += seat[i].slices;
    }
    CHECK_EQ(first, 1);
    CHECK_EQ(slices, 1); /* 100 rows, one shard */
}

TEST(steps, where_one_fails_all_end_with_its_sentence)
{
    for (int step = 0; step < 3; step++) {
        struct seat seat[WORKERS];
        run(seat, step);
        for (int i = 0; i < WORKERS; i++) {
            CHECK_EQ(seat[i].rc, -ENOSPC);
            CHECK_EQ(strcmp(seat[i].error, "a_call: node 0: worker 1's disk is full"), 0);
        }
    }
}

/* Once over, or failed, the next may begin; what was shared is empty again. */
TEST_ON_NODE(steps, the_next_one_begins_anew, ROWS, 1)
{
    struct seat seat = {.worker = w, .number = 1, .fails_at = 1};
    go(&seat);
    CHECK_EQ(seat.rc, -ENOSPC);
    seat = (struct seat){.worker = w, .fails_at = -1};
    go(&seat);
    CHECK_EQ(seat.rc, 0);
    CHECK_EQ(seat.slices, 1);
}
