/* steps: all workers go step by step, and where one fails all end with its sentence. */
#include "api/steps.h"

#include "base/error.h"
#include "one_node.h"
#include "threads.h"

#include <string.h>

enum { WORKERS = 3, ROWS = 100 };

/* ---- what is refused ---- */

static int begin(locus_worker *w, const char *directory)
{
    return steps_begin(&(struct steps){.share = NULL}, "a_call", w, directory,
                       COLLECTIVE_CHECKPOINT);
}

TEST(steps, what_cannot_begin_is_refused_without_waiting_for_others)
{
    locus *n = one_node(ROWS, 1, WORKERS);
    locus_worker *w = worker_of(n), *other = worker_of(n); /* which never comes */
    REFUSED(begin(NULL, "folder"), -EINVAL, "a_call: the worker is NULL");
    REFUSED(begin(w, NULL), -EINVAL, "a_call: the directory is NULL");
    REFUSED(begin(w, ""), -EINVAL, "a_call: the directory is empty");
    locus_read_begin(w);
    REFUSED(begin(w, "folder"), -EDEADLK, "a_call: would wait inside a read section");
    locus_read_end(w);
    CHECK_EQ(locus_worker_close(other), 0);
    close_both(n, w);
}

/* ---- several workers ---- */

struct party {
    locus_worker *worker;
    int number, fails_at; /* the step; -1: none */
    bool is_first;
    struct share *share;
    unsigned slices;
    int rc;
    char error[256];
};

static int part(const struct party *s, int step)
{
    return s->fails_at == step ? error_set(-ENOSPC, "worker %d's disk is full", s->number) : 0;
}

static int deal(struct party *party, struct steps *s)
{
    struct slice slice;
    while (steps_deal(s, &slice)) party->slices++;
    return part(party, 1);
}

static void *go(void *argument)
{
    struct party *party = argument;
    struct steps s;
    int rc = steps_begin(&s, "a_call", party->worker, "folder", COLLECTIVE_CHECKPOINT);
    CHECK_EQ(rc, 0);
    CHECK(party->worker->advice_at == UINT64_MAX);
    party->is_first = steps_is_rank_0(&s);
    rc = steps_flush(&s, part(party, 0));
    if (rc == 0) party->share = s.share;
    if (rc == 0) rc = steps_meet(&s, COLLECTIVE_STEP, deal(party, &s));
    if (rc == 0) rc = steps_meet(&s, COLLECTIVE_END, part(party, 2));
    party->rc = steps_end(&s, rc);
    snprintf(party->error, sizeof party->error, "%s", party->rc ? locus_error() : "");
    return NULL;
}

/* All at once; worker 1 fails at that step. */
static void run(struct party party[WORKERS], int fails_at)
{
    locus *n = one_node(ROWS, 1, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        party[i] =
            (struct party){.worker = worker_of(n), .number = i, .fails_at = i == 1 ? fails_at : -1};
        party[i].worker->advice_at = 77;
    }
    threads_run(go, party, sizeof *party, WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        CHECK_EQ(party[i].worker->advice_at, 77);
        CHECK_EQ(locus_worker_close(party[i].worker), 0);
    }
    CHECK_EQ(locus_close(n), 0);
}

TEST(steps, one_worker_is_the_first_and_all_share_what_is_dealt)
{
    struct party party[WORKERS];
    unsigned first = 0, slices = 0;
    run(party, -1);
    for (int i = 0; i < WORKERS; i++) {
        CHECK_EQ(party[i].rc, 0);
        CHECK(party[i].share != NULL && party[i].share == party[0].share);
        first += party[i].is_first;
        slices += party[i].slices;
    }
    CHECK_EQ(first, 1);
    CHECK_EQ(slices, 1); /* 100 rows, one shard */
}

TEST(steps, where_one_fails_all_end_with_its_sentence)
{
    for (int step = 0; step < 3; step++) {
        struct party party[WORKERS];
        run(party, step);
        for (int i = 0; i < WORKERS; i++) {
            CHECK_EQ(party[i].rc, -ENOSPC);
            CHECK_EQ(strcmp(party[i].error, "a_call: node 0: worker 1's disk is full"), 0);
        }
    }
}

/* Once over, or failed, the next may begin; what was shared is empty again. */
TEST_ON_NODE(steps, the_next_one_begins_anew, ROWS, 1)
{
    struct party party = {.worker = w, .number = 1, .fails_at = 1};
    go(&party);
    CHECK_EQ(party.rc, -ENOSPC);
    party = (struct party){.worker = w, .fails_at = -1};
    go(&party);
    CHECK_EQ(party.rc, 0);
    CHECK_EQ(party.slices, 1);
}
