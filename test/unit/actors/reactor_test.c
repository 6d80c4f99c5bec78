/* Two nodes of one shard each in one process, over TCP on loopback: reactors, links, a worker's
 * operations. */
#include "actors/reactor.h"
#include "common/stores.h"
#include "worker/operation.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 1000, LENGTH = 7, WORKERS = 2 };

struct node {
    struct store store;
    struct node_plan plan;
    struct reactor *reactor;
    struct operations operations[WORKERS];
    int losses;
    unsigned lost_rank;
    char reason[200];
};

struct pair {
    struct node node[2];
};

static void connect_pair(int fd[2])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, (void *)&a, length), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(getsockname(listener, (void *)&a, &length), 0);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(fd[0], (void *)&a, length), 0);
    fd[1] = accept(listener, NULL, NULL);
    CHECK(fd[1] >= 0);
    close(listener);
}

static void on_lost(void *context, unsigned rank, const char *reason)
{
    struct node *n = context;
    if (__atomic_load_n(&n->losses, __ATOMIC_RELAXED) == 0) {
        n->lost_rank = rank;
        snprintf(n->reason, sizeof n->reason, "%s", reason);
        reactor_lose(n->reactor, rank, reason);
    }
    __atomic_fetch_add(&n->losses, 1, __ATOMIC_RELEASE);
}

/* Requests that this thread has served to their end. */
static _Thread_local unsigned served_here;

/* A request that is asked again as soon as it is served. */
static struct {
    struct request request;
    struct reactor *reactor;
    int goes_on; /* atomic */
} restless;

static void on_completed(struct request *r, int rc)
{
    served_here++;
    if (r != &restless.request) {
        operation_request_done(r, rc);
        return;
    }
    r->sent = r->answered = 0;
    r->item->state = ITEM_NEW;
    if (__atomic_load_n(&restless.goes_on, __ATOMIC_RELAXED)) reactor_post(restless.reactor, r);
}

static void open_reactor(struct node *n, int fd, void (*repaired)(void *, uint32_t))
{
    const int fds[2] = {fd, fd};
    const struct reactor_config c = {.plan = &n->plan,
                                     .fd = fds,
                                     .peer_timeout_s = 30,
                                     .place = {PINNING_NONE, PINNING_NONE},
                                     .yields = true,
                                     .completed = on_completed,
                                     .lost = on_lost,
                                     .repaired = repaired,
                                     .context = n};
    CHECK_EQ(reactor_open(&c, &n->reactor), 0);
}

static void open_node(struct node *n, unsigned rank, int fd, unsigned workers, bool yields)
{
    const struct locus_table table = {.rows = KEYS, .length = LENGTH};
    CHECK_EQ(store_init(&n->store, &table, 1, 1, 2, rank), 0);
    n->plan = (struct node_plan){
        .technique = technique_of(LOCUS_STATIC), .store = &n->store, .config.workers = workers};
    open_reactor(n, fd, NULL);
    for (unsigned w = 0; w < WORKERS; w++) {
        const struct operations_config o = {
            .worker = w, .reactor = &n->reactor, .shards = 1, .yields = yields};
        CHECK_EQ(operations_init(&n->operations[w], &o), 0);
    }
}

static struct pair *open_pair_of(unsigned workers, bool yields)
{
    int fd[2];
    struct pair *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
    CHECK(p != NULL);
    memset(p, 0, sizeof *p);
    connect_pair(fd);
    for (unsigned rank = 0; rank < 2; rank++)
        open_node(&p->node[rank], rank, fd[rank], workers, yields);
    for (unsigned rank = 0; rank < 2; rank++) CHECK_EQ(reactor_start(p->node[rank].reactor), 0);
    return p;
}

static struct pair *open_pair(bool yields)
{
    return open_pair_of(WORKERS, yields);
}

static void *stop(void *node)
{
    reactor_stop(((struct node *)node)->reactor);
    return NULL;
}

static void close_pair(struct pair **at)
{
    struct pair *p = *at;
    pthread_t other;
    /* each waits for the other's goodbye */
    CHECK_EQ(pthread_create(&other, NULL, stop, &p->node[1]), 0);
    stop(&p->node[0]);
    pthread_join(other, NULL);
    for (unsigned rank = 0; rank < 2; rank++) {
        for (unsigned w = 0; w < WORKERS; w++) operations_fini(&p->node[rank].operations[w]);
        reactor_free(p->node[rank].reactor);
        store_fini(&p->node[rank].store);
    }
    free(p);
}

/* Descriptors from here on are refused. */
static rlim_t allow_descriptors(rlim_t most)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = most;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* ---- members change ------------------------------------------------------------------------------- */

static int joining; /* the socket to who comes back */

/* Nothing is between. */
static void joins_again(void *context, uint32_t view)
{
    struct node *n = context;
    if (view == 1 && n->store.home.rank == 0)
        reactor_see(n->reactor, (struct change){2, CHANGE_JOINS, 1}, joining);
}

/* The link to who has left is dropped, not the one to who comes. */
TEST(reactor, node_joins_as_soon_as_one_of_its_rank_has_left)
{
    const struct locus_table table = {.rows = KEYS, .length = LENGTH};
    const locus_clock zero = 0, *const clock[1] = {&zero};
    struct node node[2] = {0};
    uint64_t node_keys = 0;
    int fd[2], joins[2];
    char frame;
    connect_pair(fd);
    connect_pair(joins);
    joining = joins[1];
    for (unsigned rank = 0; rank < 2; rank++) {
        struct node *n = &node[rank];
        const struct store_config store = {&table,          1, 1, 2, rank, .replicates = true,
                                           .survives = true};
        CHECK_EQ(store_open(&n->store, &store), 0);
        n->plan = (struct node_plan){.technique = technique_of(LOCUS_RELOCATE),
                                     .store = &n->store,
                                     .config = {.workers = 1, .survives = 1},
                                     .clock = clock,
                                     .node_keys = &node_keys};
        open_reactor(n, fd[rank], joins_again);
        CHECK_EQ(reactor_start(n->reactor), 0);
    }
    for (int i = 0; i < 2; i++)
        reactor_see(node[i].reactor, (struct change){1, CHANGE_LEAVES, 1}, -1);
    CHECK_EQ(recv(joins[0], &frame, 1, 0), 1); /* 0: it has ended */
    close(joins[0]);
    for (int i = 0; i < 2; i++) reactor_stop(node[i].reactor);
    for (int i = 0; i < 2; i++) reactor_free(node[i].reactor);
    for (int i = 0; i < 2; i++) store_fini(&node[i].store);
}

/* The store knows the shard of one that could not open, and the other shards wait for whom the
 * store knows. */
TEST(reactor, open_that_fails_keeps_the_shard_until_all_have_ended)
{
    const struct locus_table table = {.rows = KEYS, .length = LENGTH};
    const locus_clock clock = 0, *clocks[1] = {&clock};
    uint64_t node_keys = 0;
    CLOSED_BY(store_fini) struct store store;
    struct reactor *reactor[2];
    const struct node_plan plan = {.store = &store,
                                   .technique = technique_of(LOCUS_RELOCATE),
                                   .config.workers = 1,
                                   .clock = clocks,
                                   .node_keys = &node_keys};
    CHECK_EQ(store_init(&store, &table, 1, 2, 2, 0), 0);
    for (unsigned s = 0; s < 2; s++) {
        int fd[2];
        connect_pair(fd);
        close(fd[1]);
        const int fds[2] = {-1, fd[0]};
        const struct reactor_config c = {.plan = &plan,
                                         .shard = s,
                                         .fd = fds,
                                         .peer_timeout_s = 30,
                                         .place = {PINNING_NONE, PINNING_NONE},
                                         .completed = operation_request_done,
                                         .lost = on_lost};
        rlim_t before = s == 1 ? allow_descriptors((rlim_t)fd[0]) : 0;
        CHECK_EQ(reactor_open(&c, &reactor[s]), s == 1 ? -EMFILE : 0);
        if (s == 1) allow_descriptors(before);
        CHECK(reactor[s] != NULL);
        if (s == 1) CHECK(fcntl(fd[0], F_GETFD) < 0);
    }
    for (unsigned s = 0; s < 2; s++) reactor_stop(reactor[s]);
    for (unsigned s = 0; s < 2; s++) reactor_fini(reactor[s]);
    for (unsigned s = 0; s < 2; s++) reactor_free(reactor[s]);
}

/* The i-th of the keys whose home is the other node. */
static locus_key remote_key(const struct node *n, unsigned i)
{
    for (locus_key key = 0;; key = (key + 1) % KEYS)
        if (row_ref_home(store_row_ref(&n->store, key)) != n->store.home.rank && i-- == 0)
            return key;
}

static int run(struct node *n, unsigned worker, enum request_kind kind, locus_key key,
               float *values)
{
    struct operations *o = &n->operations[worker];
    struct operation *op = operation_begin(o);
    operation_add(o, op, kind, 0, key, values);
    return operations_wait(o, operation_submit(o, op));
}

/* ---- the only worker of a node acts for its shard while it waits -------------------------------- */

static bool is_shm(const struct pair *p)
{
    return reactor_load(p->node[0].reactor, 1).is_shm && reactor_load(p->node[1].reactor, 0).is_shm;
}

static int help_and_run(struct node *n, enum request_kind kind, locus_key key, float *values)
{
    struct operation *op = operation_begin(&n->operations[0]);
    operation_add(&n->operations[0], op, kind, 0, key, values);
    return operation_run(&n->operations[0], op);
}

struct helping {
    struct pair *pair;
    unsigned rank, pushed;
    int *left; /* atomic: workers at work */
};

/* Waits for some calls, and not for others. */
static void *push_and_help(void *helping)
{
    enum { HELPED = 20, CALLS = 100 };
    struct helping *h = helping;
    struct node *n = &h->pair->node[h->rank];
    float one[LENGTH] = {1}, got[LENGTH] = {0};
    locus_key key = remote_key(n, 3);
    while (h->pushed < CALLS || served_here < HELPED) {
        struct operations *o = &n->operations[0];
        if (h->pushed++ % 16 == 0) {
            struct operation *op = operation_begin(o);
            operation_add(o, op, REQUEST_PUSH, 0, key, one);
            operation_submit(o, op);
        } else {
            CHECK_EQ(help_and_run(n, REQUEST_PUSH, key, one), 0);
        }
        if (h->pushed % 64 == 0) usleep(500);
        CHECK_EQ(help_and_run(n, REQUEST_PULL, key, got), 0);
        CHECK_EQ((unsigned)got[0], h->pushed);
    }
    __atomic_fetch_sub(h->left, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Others want the shards' threads meanwhile. */
TEST(reactor, waiting_worker_serves_the_shard_of_a_sleeping_thread)
{
    CLOSED_BY(close_pair) struct pair *p = open_pair_of(1, true);
    pthread_t thread[2];
    int left = 2;
    struct helping h[2] = {{p, 0, 0, &left}, {p, 1, 0, &left}};
    for (int i = 0; i < 1000 && !is_shm(p); i++) usleep(10000);
    if (!is_shm(p)) SKIP("these links do not go through memory");
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&thread[i], NULL, push_and_help, &h[i]), 0);
    for (unsigned i = 0; __atomic_load_n(&left, __ATOMIC_ACQUIRE) > 0; i++) {
        struct key_snapshot of;
        CHECK_EQ(reactor_snapshot(p->node[i % 2].reactor, i % KEYS, &of), 0);
        reactor_wake(p->node[i % 2].reactor);
        usleep(3000);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

/* Scheduled otherwise than the thread, it may be left without a core while it has the turn. */
static void *push_alone(void *node)
{
    float one[LENGTH] = {1}, got[LENGTH];
    int other = sched_getscheduler(0) == SCHED_BATCH ? SCHED_OTHER : SCHED_BATCH;
    bool is_other = sched_setscheduler(0, other, &(struct sched_param){0}) == 0;
    locus_key key = remote_key(node, 3);
    for (unsigned i = 1; i <= 100 && is_other; i++) {
        CHECK_EQ(help_and_run(node, REQUEST_PUSH, key, one), 0);
        CHECK_EQ(help_and_run(node, REQUEST_PULL, key, got), 0);
        CHECK_EQ((unsigned)got[0], i);
        usleep(100); /* the thread sleeps */
    }
    CHECK_EQ(served_here, 0);
    return NULL;
}

TEST(reactor, worker_of_another_policy_does_not_serve_the_shard)
{
    CLOSED_BY(close_pair) struct pair *p = open_pair_of(1, true);
    for (int i = 0; i < 1000 && !is_shm(p); i++) usleep(10000);
    threads_run(push_alone, &p->node[0], 0, 1);
}

TEST(reactor, endless_requests_leave_others_their_turn)
{
    CLOSED_BY(close_pair) struct pair *p = open_pair(true);
    locus_key key = remote_key(&p->node[1], 0);
    float own[LENGTH], got[LENGTH] = {1};
    struct request_item item = {.key = key, .values = own};
    restless.reactor = p->node[0].reactor;
    restless.goes_on = 1;
    restless.request = (struct request){.kind = REQUEST_PULL,
                                        .worker = 1,
                                        .number = REQUEST_NUMBERS_MAX - 1,
                                        .count = 1,
                                        .item = &item};
    reactor_post(restless.reactor, &restless.request);
    for (int i = 0; i < 10; i++) CHECK_EQ(run(&p->node[1], 0, REQUEST_PULL, key, got), 0);
    CHECK_EQ((int)got[0], 0);
    __atomic_store_n(&restless.goes_on, 0, __ATOMIC_RELAXED);
}
