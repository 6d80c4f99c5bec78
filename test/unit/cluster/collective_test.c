#include "cluster/collective.h"

#include "one_node.h"
#include "threads.h"

#include <unistd.h>

static int meet(struct collective *c, int id, enum collective_kind kind)
{
    return collective_agree(c, id, kind, &(struct word){.rc = 0});
}

/* ---- workers of a node ---- */

/* A thread at a collective, and whether it has come through. */
struct visit {
    locus_worker *worker;
    int (*call)(locus_worker *);
    int rc, is_through;
    pthread_t thread;
};

static void *visit(void *argument)
{
    struct visit *v = argument;
    v->rc = v->call(v->worker);
    __atomic_store_n(&v->is_through, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void begin_visit(struct visit *v, locus_worker *w, int (*call)(locus_worker *))
{
    *v = (struct visit){.worker = w, .call = call};
    CHECK_EQ(pthread_create(&v->thread, NULL, visit, v), 0);
}

static void end_visit(struct visit *v)
{
    CHECK_EQ(pthread_join(v->thread, NULL), 0);
    CHECK_EQ(v->rc, 0);
}

/* Time enough for a mistake to show; the right answer never depends on it. */
static void check_still_waiting(struct visit *v)
{
    usleep(20000);
    CHECK_EQ(__atomic_load_n(&v->is_through, __ATOMIC_ACQUIRE), 0);
}

/* One that has not opened is waited for, one that has closed is not, and one that opened again is
 * again. */
TEST(collective, barrier_waits_for_all_workers_but_those_that_closed)
{
    locus *n = one_node(4, 1, 3);
    locus_worker *w[3] = {worker_of(n)};
    struct visit v[2];
    begin_visit(&v[0], w[0], locus_barrier);
    check_still_waiting(&v[0]);
    w[1] = worker_of(n);
    check_still_waiting(&v[0]); /* open is not arrived */
    begin_visit(&v[1], w[1], locus_barrier);
    w[2] = worker_of(n);
    check_still_waiting(&v[1]);
    CHECK_EQ(locus_barrier(w[2]), 0);
    end_visit(&v[0]);
    end_visit(&v[1]);
    begin_visit(&v[0], w[0], locus_quiesce);
    begin_visit(&v[1], w[1], locus_quiesce);
    check_still_waiting(&v[0]);
    CHECK_EQ(locus_worker_close(w[2]), 0); /* which lets those go that wait */
    end_visit(&v[0]);
    end_visit(&v[1]);
    CHECK_EQ(locus_worker_close(w[1]), 0);
    CHECK_EQ(locus_barrier(w[0]), 0);
    w[1] = worker_of(n);
    begin_visit(&v[0], w[0], locus_barrier);
    check_still_waiting(&v[0]);
    CHECK_EQ(locus_barrier(w[1]), 0);
    end_visit(&v[0]);
    CHECK_EQ(locus_worker_close(w[1]), 0);
    close_both(n, w[0]);
}

/* On the struct, where the other's arrival can be seen. */
static struct collective shared;

static void open_two(void)
{
    collective_init(&shared, 2);
    CHECK_EQ(collective_open(&shared), 0);
    CHECK_EQ(collective_open(&shared), 1);
}

static void open_two_close_one(void)
{
    open_two();
    collective_close(&shared, 1, PLACE_CLOSED);
}

static void *meet_in_barrier(void *id)
{
    CHECK_EQ(meet(&shared, *(int *)id, COLLECTIVE_BARRIER), 0);
    return NULL;
}

static void wait_for_arrival(int id)
{
    for (bool there = false; !there; usleep(100)) {
        pthread_mutex_lock(&shared.mutex);
        there = shared.place[id] == PLACE_ARRIVED;
        pthread_mutex_unlock(&shared.mutex);
    }
}

TEST(collective, agree_refuses_another_kind_than_others_wait_in)
{
    pthread_t thread;
    int first = 0;
    open_two();
    CHECK_EQ(pthread_create(&thread, NULL, meet_in_barrier, &first), 0);
    wait_for_arrival(0);
    REFUSED(meet(&shared, 1, COLLECTIVE_QUIESCE), -EINVAL,
            "worker 1 called locus_quiesce while others wait in locus_barrier");
    pthread_mutex_lock(&shared.mutex);
    CHECK_EQ(shared.place[0], PLACE_ARRIVED); /* still waiting */
    CHECK_EQ(shared.place[1], PLACE_OPEN);
    pthread_mutex_unlock(&shared.mutex);
    CHECK_EQ(meet(&shared, 1, COLLECTIVE_BARRIER), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    collective_close(&shared, 0, PLACE_CLOSED);
    CHECK_EQ(meet(&shared, 1, COLLECTIVE_QUIESCE), 0); /* and nothing is left of it */
    collective_fini(&shared);
}

/* Another worker opens when this node has arrived and waits for the others; then it comes, too. */
struct late {
    enum collective_kind first, last; /* which one comes to */
    pthread_t thread;
    bool has_begun;
    int is_open; /* atomic */
    double sum;
};

static double meet_with(int id, enum collective_kind kind, double number)
{
    struct word w = {.count = kind == COLLECTIVE_SUM, .number = {number}};
    CHECK_EQ(collective_agree(&shared, id, kind, &w), 0);
    return w.number[0];
}

static void *open_and_meet(void *late)
{
    struct late *l = late;
    CHECK_EQ(collective_open(&shared), 1);
    __atomic_store_n(&l->is_open, 1, __ATOMIC_RELEASE);
    l->sum = meet_with(1, l->first, 5);
    if (l->last != l->first) meet_with(1, l->last, 0);
    return NULL;
}

static int others_are_slow(void *late, const struct meeting *meeting, struct word *w)
{
    struct late *l = late;
    (void)meeting;
    if (w->count > 0) w->number[0] += 100;
    if (l->has_begun) return 0;
    l->has_begun = true;
    CHECK_EQ(pthread_create(&l->thread, NULL, open_and_meet, l), 0);
    usleep(20000); /* for a mistake to show; the right answer never depends on it */
    CHECK_EQ(__atomic_load_n(&l->is_open, __ATOMIC_ACQUIRE), 0);
    return 0;
}

static void await_open(struct late *l)
{
    while (!__atomic_load_n(&l->is_open, __ATOMIC_ACQUIRE)) usleep(100);
}

TEST(collective, open_during_a_quiesce_joins_the_next)
{
    struct late l = {.first = COLLECTIVE_UPDATES, .last = COLLECTIVE_REPLICAS};
    open_two_close_one();
    collective_join(&shared, others_are_slow, &l);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_UPDATES), 0);
    CHECK_EQ(collective_open_count(&shared), 1);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_REPLICAS), 0);
    await_open(&l);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_UPDATES), 0);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_REPLICAS), 0);
    CHECK_EQ(pthread_join(l.thread, NULL), 0);
    collective_fini(&shared);
}

/* Its number would be in no sum. */
TEST(collective, open_during_a_sum_joins_the_next)
{
    struct late l = {.first = COLLECTIVE_SUM, .last = COLLECTIVE_SUM};
    open_two_close_one();
    collective_join(&shared, others_are_slow, &l);
    CHECK(meet_with(0, COLLECTIVE_SUM, 1) == 101);
    await_open(&l);
    CHECK(meet_with(0, COLLECTIVE_SUM, 2) == 107);
    CHECK_EQ(pthread_join(l.thread, NULL), 0);
    CHECK(l.sum == 107);
    collective_fini(&shared);
}

TEST(collective, open_during_a_barrier_waits_for_its_end)
{
    struct late l = {.first = COLLECTIVE_BARRIER, .last = COLLECTIVE_BARRIER};
    open_two_close_one();
    collective_join(&shared, others_are_slow, &l);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_BARRIER), 0);
    await_open(&l);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_BARRIER), 0);
    CHECK_EQ(pthread_join(l.thread, NULL), 0);
    collective_fini(&shared);
}

/* ---- words ---- */

static void *say_nothing(void *rc)
{
    struct word w = {.rc = 0};
    *(int *)rc = collective_agree(&shared, 1, COLLECTIVE_STAGE, &w);
    CHECK_STR(w.text, "worker 0 says");
    return NULL;
}

static int say_beside_nothing(struct word w)
{
    pthread_t thread;
    int other = 1;
    open_two();
    CHECK_EQ(pthread_create(&thread, NULL, say_nothing, &other), 0);
    int rc = collective_agree(&shared, 0, COLLECTIVE_STAGE, &w);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(other, rc);
    collective_fini(&shared);
    return rc;
}

TEST(collective, word_of_one_worker_is_heard_by_all_and_its_error_is_theirs)
{
    CHECK_EQ(say_beside_nothing((struct word){.text = "worker 0 says this"}), 0);
    REFUSED(say_beside_nothing((struct word){.rc = -ENOSPC, .text = "worker 0 says: no space"}),
            -ENOSPC, "worker 0 says: no space");
}

static void *open_late(void *id)
{
    *(int *)id = collective_open(&shared);
    return NULL;
}

TEST(collective, open_waits_for_the_end_of_a_checkpoint)
{
    pthread_t thread;
    int id = -1;
    open_two_close_one();
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_CHECKPOINT), 0);
    CHECK_EQ(pthread_create(&thread, NULL, open_late, &id), 0);
    usleep(20000); /* for a mistake to show; the right answer never depends on it */
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_STAGE), 0);
    CHECK_EQ(collective_open_count(&shared), 1);
    CHECK_EQ(meet(&shared, 0, COLLECTIVE_END), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(id, 1);
    collective_fini(&shared);
}

/* ---- many rounds ---- */

enum { THREADS = 5, ROUNDS = 400 };

struct runner {
    locus_worker *worker;
    unsigned number;
};

static unsigned round_of[THREADS];

/* What one worker wrote before a quiesce, all read after it; nobody is a round ahead; and the others
 * go on when some end early. */
static void *write_meet_read(void *argument)
{
    struct runner *r = argument;
    const locus_key own = r->number;
    for (unsigned round = 1; round <= ROUNDS / (r->number + 1); round++) {
        const float value = (float)round;
        float row;
        __atomic_store_n(&round_of[r->number], round, __ATOMIC_RELAXED);
        CHECK_EQ(locus_set(r->worker, &own, 1, &value), 0);
        CHECK_EQ(locus_quiesce(r->worker), 0);
        for (locus_key k = 0; k < THREADS; k++) {
            unsigned other = __atomic_load_n(&round_of[k], __ATOMIC_RELAXED);
            CHECK(other == round || other == UINT32_MAX);
            CHECK_EQ(locus_pull(r->worker, &k, 1, &row), 0);
            CHECK(row == value || round > ROUNDS / (k + 1));
        }
        CHECK_EQ(locus_barrier(r->worker), 0);
    }
    __atomic_store_n(&round_of[r->number], UINT32_MAX, __ATOMIC_RELAXED);
    CHECK_EQ(locus_worker_close(r->worker), 0);
    return NULL;
}

TEST(collective, quiesce_shows_all_writes_and_nobody_is_a_round_ahead)
{
    locus *n = one_node(THREADS, 1, THREADS);
    struct runner r[THREADS];
    for (unsigned i = 0; i < THREADS; i++) r[i] = (struct runner){worker_of(n), i};
    threads_run(write_meet_read, r, sizeof *r, THREADS);
    CHECK_EQ(locus_close(n), 0);
}

/* Ten seconds, nearly all asleep: once is enough, without sanitizers. */
#if !defined(LOCUS_ASAN) && !defined(LOCUS_TSAN)
TEST(collective, barrier_reports_missing_workers_after_ten_seconds)
{
    locus *n = one_node(4, 1, 3);
    locus_worker *a = worker_of(n), *b = worker_of(n);
    struct visit v;
    char text[512] = "";
    int ends[2], saved = dup(STDERR_FILENO);
    CHECK_EQ(pipe(ends), 0);
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    begin_visit(&v, a, locus_barrier);
    CHECK(read(ends[0], text, sizeof text - 1) > 0); /* comes when it comes */
    CHECK(dup2(saved, STDERR_FILENO) >= 0);
    CHECK_STR(text, "barrier");
    CHECK_STR(text, "10 s");
    CHECK_STR(text, " 1");
    CHECK_STR(text, "2 (never opened)");
    CHECK_EQ(locus_worker_close(b), 0);
    b = worker_of(n);
    locus_worker *c = worker_of(n);
    CHECK_EQ(locus_worker_close(c), 0);
    CHECK_EQ(locus_barrier(b), 0);
    end_visit(&v);
    CHECK_EQ(locus_worker_close(a), 0);
    close_both(n, b);
}
#endif
