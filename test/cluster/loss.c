/*
 * A node is lost: killed, stopped, or gone without a word, at work or at rest. All others learn it,
 * of one that has ended without waiting for a time-out, name that node and no other, and nobody
 * hangs.
 *
 * Every node is a process in the role `loss_node`. Its workers do what the test says until a call
 * fails; then every other call must fail likewise, and the node must close.
 */
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MAX = 4, WORKERS = 2, KEYS = 500, LENGTH = 50 };
static const struct locus_table table = {.rows = KEYS, .length = LENGTH};

/* Half of it is longer than a busy machine keeps one of the others from running: then it would be
 * taken for one that was cut off. */
#define PEER_TIMEOUT_S 8.0
/* Where nobody is stopped: whoever ends is noticed by its connections, and nobody's time-out may be
 * what shows it. */
#define LONG_TIMEOUT_S (2.0 * HANG_S)

enum activity { AT_REST, AT_WORK, AT_BARRIER, AT_CLOSE, WHILE_ROWS_MOVE };
enum end { END_KILLED, END_STOPPED, END_EXITED };

/* ---- a member ---- */

struct member {
    struct team team;
    int rank, is_victim;
    unsigned seed;
    enum activity activity;
    locus *node;
    locus_key here, there; /* keys */
    locus_distribution *distribution;
    int may_go; /* of the victim: it was stopped long enough */
};

struct member_worker {
    struct member *member;
    locus_worker *worker;
    locus_sample sample; /* prepared before the loss; 0: too late for that */
    unsigned seed;
    pthread_t thread;
};

static void report_loss(const struct member *m)
{
    CHECK_STR(locus_error(), "node ");
    parent_tell("lost %d %s", m->rank, locus_error());
}

/* Threads of a member are looked at by its parent only through what they say; the first to see the
 * loss says it. */
static void check_loss(const struct member *m, const char *call, int rc)
{
    if (rc != -ECONNRESET)
        test_fail(__FILE__, __LINE__, "node %d: %s: %d, %s", m->rank, call, rc, locus_error());
    if (strncmp(locus_error(), "node ", 5) != 0)
        test_fail(__FILE__, __LINE__, "node %d: %s: \"%s\" names no node", m->rank, call,
                  locus_error());
}

#define FAILS(call) check_loss(m, #call, call)

/* A sample that was prepared before the loss, and one more. */
static void check_sampling(const struct member *m, locus_worker *w, locus_sample sample)
{
    float row[LENGTH];
    locus_key key;
    locus_loader *l;
    locus_sample one = 1, other = 1;
    CHECK_EQ(locus_loader_open(w, &l), 0);
    if (sample != 0) FAILS(locus_pull_sample(w, sample, 1, &key, row));
    if (sample != 0) FAILS(locus_pull_sample(w, sample, 1, &key, NULL));
    CHECK_EQ(locus_finish_sample(w, sample), 0);
    FAILS(locus_prepare_sample(w, m->distribution, 1, 0, 1, &one));
    FAILS(locus_loader_prepare_sample(l, m->distribution, 1, 0, 1, &other));
    CHECK(one == 0 && other == 0);
    CHECK_EQ(locus_loader_close(l), 0);
}

static void check_every_call(const struct member *m, locus_worker *w)
{
    float row[LENGTH] = {0};
    locus_ticket t;
    const locus_key keys[] = {m->here, m->there};
    for (const locus_key *key = keys; key < keys + 2; key++) {
        FAILS(locus_pull(w, key, 1, row));
        FAILS(locus_push(w, key, 1, row));
        FAILS(locus_set(w, key, 1, row));
        FAILS(locus_pull_async(w, key, 1, row, &t));
        FAILS(locus_push_async(w, key, 1, row, &t));
        FAILS(locus_set_async(w, key, 1, row, &t));
        CHECK_EQ(t, 0);
    }
    FAILS(locus_localize(w, keys, 2));
    FAILS(locus_localize_async(w, keys, 2, &t));
    FAILS(locus_pull_local(w, m->here, row));
    FAILS(locus_barrier(w));
    FAILS(locus_quiesce(w));
}

static int rest(struct member_worker *w)
{
    float row[LENGTH];
    int rc;
    while ((rc = locus_pull(w->worker, &w->member->here, 1, row)) == 0) sleep_s(0.01);
    return rc;
}

/* A call that failed must not say that it was done: then all rows would be there. */
static int pull_all_of(locus_worker *w, const locus_key *keys, size_t n, float *values)
{
    memset(values, 0xff, n * LENGTH * sizeof *values); /* not numbers */
    int rc = locus_pull(w, keys, n, values);
    for (size_t i = 0; i < n * LENGTH && rc == 0; i++) CHECK(values[i] == values[i]);
    return rc;
}

/* Push, or pull, or where rows move localize, synchronously or not. */
static int call(locus_worker *w, unsigned kind, const locus_key *keys, size_t n, float *pulled,
                const float *update, locus_ticket *t)
{
    switch (kind) {
    case 0: return locus_push(w, keys, n, update);
    case 1: return pull_all_of(w, keys, n, pulled);
    case 2:
    case 3: return locus_push_async(w, keys, n, update, t);
    case 4: return locus_localize(w, keys, n);
    default: return locus_localize_async(w, keys, n, t);
    }
}

/* Some rows everybody wants. Arrays are freed as soon as the calls have failed: nobody may use them
 * then. */
static int work(struct member_worker *w)
{
    enum { CALL = 40, FLIGHTS = 100, FEW = 20 };
    const unsigned kinds = w->member->activity == WHILE_ROWS_MOVE ? 6 : 4;
    locus_key(*keys)[CALL] = calloc(FLIGHTS, sizeof *keys);
    float *pulled = calloc((size_t)CALL * LENGTH, sizeof *pulled),
          *update = calloc((size_t)CALL * LENGTH, sizeof *update);
    locus_ticket tickets[FLIGHTS] = {0};
    int rc = 0;
    CHECK(keys && pulled && update);
    for (unsigned step = 0; rc == 0; step++) {
        unsigned flight = step % FLIGHTS, among = rand_r(&w->seed) % 2 ? FEW : KEYS;
        size_t n = 1 + (size_t)rand_r(&w->seed) % CALL;
        rc = locus_wait(w->worker, tickets[flight]);
        tickets[flight] = 0;
        for (size_t i = 0; i < n; i++) keys[flight][i] = (unsigned)rand_r(&w->seed) % among;
        if (rc == 0)
            rc = call(w->worker, (unsigned)rand_r(&w->seed) % kinds, keys[flight], n, pulled,
                      update, &tickets[flight]);
    }
    locus_wait_all(w->worker);
    free(keys);
    free(pulled);
    free(update);
    return rc;
}

static void wait_to_go(const struct member *m)
{
    while (m->is_victim && !__atomic_load_n(&m->may_go, __ATOMIC_ACQUIRE)) sleep_s(0.01);
}

static void *be_active(void *argument)
{
    struct member_worker *w = argument;
    struct member *m = w->member;
    int rc = -ECONNRESET;
    switch (m->activity) {
    case AT_REST: rc = rest(w); break;
    case AT_WORK:
    case WHILE_ROWS_MOVE: rc = work(w); break;
    case AT_BARRIER:
        wait_to_go(m);
        rc = locus_barrier(w->worker);
        /* who was stopped may find that all had come before they left; nobody comes again */
        if (rc == 0 && m->is_victim) rc = locus_barrier(w->worker);
        break;
    case AT_CLOSE:
        wait_to_go(m);
        CHECK_EQ(locus_worker_close(w->worker), 0); /* it has no operations under way */
        return NULL;
    }
    check_loss(m, "the call under way", rc);
    report_loss(m);
    check_every_call(m, w->worker);
    check_sampling(m, w->worker, w->sample);
    CHECK_EQ(locus_worker_close(w->worker), 0);
    return NULL;
}

/* What the test tells us. */
static void *listen_to_parent(void *argument)
{
    struct member *m = argument;
    char line[LINE_BYTES];
    while (parent_hear(line)) {
        if (strcmp(line, "exit") == 0) _exit(0);
        __atomic_store_n(&m->may_go, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void find_keys(struct member *m)
{
    if (m->activity == WHILE_ROWS_MOVE) { /* others take rows away already: any will do */
        m->there = 1;
        return;
    }
    CHECK_EQ(locus_owned(m->node, 0, &m->here, 1), 1);
    locus_key owned = m->here;
    for (m->there = m->here; owned == m->there;)
        CHECK_EQ(locus_owned(m->node, ++m->there, &owned, 1), 1);
}

static void live(struct member *m)
{
    struct member_worker w[WORKERS];
    pthread_t listener;
    find_keys(m);
    CHECK_EQ(locus_distribution_uniform(m->node, 0, KEYS, LOCUS_BOUNDED, 0, &m->distribution), 0);
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct member_worker){
            .member = m, .worker = worker_of(m->node), .seed = m->seed + (unsigned)i};
        int rc = locus_prepare_sample(w[i].worker, m->distribution, 1, 0, 1, &w[i].sample);
        if (rc) check_loss(m, "locus_prepare_sample", rc);
    }
    parent_tell("ready");
    pthread_create(&listener, NULL, listen_to_parent, m);
    pthread_detach(listener);
    for (int i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&w[i].thread, NULL, be_active, &w[i]), 0);
    for (int i = 0; i < WORKERS; i++) pthread_join(w[i].thread, NULL);
    locus_distribution_free(m->distribution);
    int rc = locus_close(m->node);
    check_loss(m, "locus_close", rc);
    report_loss(m);
    parent_tell("closed");
}

ROLE(loss_node)
{
    static struct member m;
    double join_timeout_s;
    int activity;
    CHECK_EQ(sscanf(arguments, "%d %d %d %d %u %lf %lf %31s", &m.team.nodes, &m.rank, &m.is_victim,
                    &activity, &m.seed, &m.team.peer_timeout_s, &join_timeout_s, m.team.address),
             8);
    m.activity = (enum activity)activity;
    m.team.workers = WORKERS;
    m.team.shards = 2;
    m.team.tables = &table;
    m.team.table_count = 1;
    m.team.technique = m.activity == WHILE_ROWS_MOVE ? LOCUS_RELOCATE : LOCUS_STATIC;
    struct locus_config c = team_config(&m.team, m.rank);
    c.join_timeout_s = join_timeout_s;
    int rc = locus_open(&c, &m.node);
    if (rc) { /* the victim died early */
        CHECK(rc == -ECONNRESET || rc == -ETIMEDOUT);
        parent_tell("not open %d %s", rc, locus_error());
        return;
    }
    live(&m);
}

/* ---- a cluster that loses a node ---- */

struct scenario {
    int nodes, victim;
    enum activity activity;
    enum end end;
    double when_s; /* after all are ready */
    /* filled in */
    struct child child[NODES_MAX];
    char name[32]; /* what messages must begin with */
};

static double timeout_of(const struct scenario *s)
{
    return s->end == END_STOPPED ? PEER_TIMEOUT_S : LONG_TIMEOUT_S;
}

static void start(struct scenario *s)
{
    char address[ADDRESS_BYTES];
    address_new(address);
    for (int i = 0; i < s->nodes; i++)
        child_start(&s->child[i], "loss_node", "%d %d %d %d %d %g %d %s", s->nodes, i,
                    i == s->victim, (int)s->activity, (int)(s->when_s * 1e3) + 100 * i,
                    timeout_of(s), HANG_S, address);
}

/* At its moment, when all are ready. */
static void await_moment(struct scenario *s)
{
    for (int i = 0; i < s->nodes; i++) child_expect(&s->child[i], "ready");
    sleep_s(s->when_s);
}

static void end_victim(struct scenario *s)
{
    struct child *victim = &s->child[s->victim];
    for (int i = 0; i < s->nodes; i++)
        if (child_has_spoken(&s->child[i]))
            test_fail(__FILE__, __LINE__, "before anything happened, node %d: %s", i,
                      child_hear(&s->child[i]));
    if (s->end == END_KILLED) child_signal(victim, SIGKILL);
    if (s->end == END_STOPPED) child_signal(victim, SIGSTOP);
    if (s->end == END_EXITED) child_tell(victim, "exit");
    snprintf(s->name, sizeof s->name, "node %d (127.0.0.1:", s->victim);
}

/* "lost <rank> <message>" */
static void check_report(const struct scenario *s, const char *line)
{
    int rank, at = 0;
    if (sscanf(line, "lost %d %n", &rank, &at) != 1)
        test_fail(__FILE__, __LINE__, "it said: %s", line);
    if (strncmp(line + at, s->name, strlen(s->name)) != 0)
        test_fail(__FILE__, __LINE__, "node %d was lost, but node %d says: %s", s->victim, rank,
                  line + at);
}

static void check_survivor(const struct scenario *s, struct child *c)
{
    const char *line;
    int reports = 0;
    while (strcmp(line = child_hear(c), "closed") != 0) {
        check_report(s, line);
        reports++;
    }
    CHECK_EQ(reports, s->activity == AT_CLOSE ? 1 : WORKERS + 1);
    child_wait(c);
}

/* Who was stopped wakes up when all the others have gone: it has lost them. */
static void wake_victim(struct scenario *s)
{
    struct child *victim = &s->child[s->victim];
    child_signal(victim, SIGCONT);
    child_tell(victim, "go");
    while (strcmp(child_hear(victim), "closed") != 0) continue;
    child_wait(victim);
}

static void check_outcome(struct scenario *s)
{
    for (int i = 0; i < s->nodes; i++)
        if (i != s->victim) check_survivor(s, &s->child[i]);
    if (s->end == END_STOPPED)
        wake_victim(s);
    else
        child_kill(&s->child[s->victim]);
}

/* Several clusters at once: what they do is wait, mostly. */
static void lose(struct scenario *s, int count)
{
    for (int i = 0; i < count; i++) start(&s[i]);
    for (int i = 0; i < count; i++) {
        await_moment(&s[i]);
        end_victim(&s[i]);
    }
    for (int i = 0; i < count; i++) check_outcome(&s[i]);
}

/* Rank 0, which has the rendezvous, or the last one, of two or three nodes. */
static void add_each(struct scenario *all, enum activity activity, enum end end)
{
    const struct scenario s = {.nodes = 3, .activity = activity, .end = end, .when_s = 0.05};
    all[0] = all[1] = all[2] = s;
    all[1].victim = 2;
    all[2].nodes = 2;
    all[2].victim = 1;
}

/* All of these wait: together. */
static void lose_idle(enum end end)
{
    static struct scenario all[9];
    add_each(&all[0], AT_REST, end);
    add_each(&all[3], AT_BARRIER, end);
    add_each(&all[6], AT_CLOSE, end);
    lose(all, 9);
}

/* Those who work take the whole machine: one cluster after the other. */
static void lose_at_work(enum end end)
{
    static struct scenario all[3];
    int count = end == END_STOPPED ? 2 : 3; /* these take long */
    add_each(all, AT_WORK, end);
    for (int i = 0; i < count; i++) lose(&all[i], 1);
}

#define TEST_LOSS(name, how, end) \
    TEST(loss, name) \
    { \
        how(end); \
    }

TEST_LOSS(node_killed_while_others_rest_wait_at_a_barrier_or_close, lose_idle, END_KILLED)
TEST_LOSS(node_stopped_while_others_rest_wait_at_a_barrier_or_close, lose_idle, END_STOPPED)
TEST_LOSS(node_killed_while_all_work, lose_at_work, END_KILLED)
TEST_LOSS(node_stopped_while_all_work, lose_at_work, END_STOPPED)

/* ---- random moments ---- */

TEST(loss, any_node_at_any_moment_while_rows_move)
{
    static struct scenario s;
    unsigned seed = (unsigned)getpid();
    double end = now_s() + test_seconds() / 2.0;
    printf("seed %u\n", seed);
    do {
        int nodes = 2 + (int)((unsigned)rand_r(&seed) % 3);
        s = (struct scenario){.nodes = nodes,
                              .victim = rand_r(&seed) % nodes,
                              .activity = WHILE_ROWS_MOVE,
                              .end = rand_r(&seed) % 4 ? END_KILLED : END_EXITED,
                              .when_s = (double)(rand_r(&seed) % 1000) * 4e-4};
        lose(&s, 1);
    } while (now_s() < end);
}

/* Until all have joined, a node that dies may have to be waited for as one that never came. */
static void check_others_end(struct scenario *s)
{
    const char *line;
    for (int i = 0; i < s->nodes; i++) {
        if (i == s->victim) continue;
        while (strncmp(line = child_hear(&s->child[i]), "closed", 6) != 0 &&
               strncmp(line, "not open", 8) != 0)
            continue;
        child_wait(&s->child[i]);
    }
    child_kill(&s->child[s->victim]);
}

TEST(loss, node_killed_while_the_cluster_forms)
{
    enum { AT_ONCE = 3, JOIN_TIMEOUT_S = 4 };
    static struct scenario s[AT_ONCE];
    char address[ADDRESS_BYTES];
    for (int k = 0; k < AT_ONCE; k++) {
        s[k] = (struct scenario){.nodes = 3, .victim = k};
        address_new(address);
        for (int i = 0; i < 3; i++)
            child_start(&s[k].child[i], "loss_node", "3 %d %d 1 %d %g %d %s", i, i == k, i,
                        PEER_TIMEOUT_S, JOIN_TIMEOUT_S, address);
        sleep_s(0.012 * (1 + k));
        child_signal(&s[k].child[k], SIGKILL);
    }
    for (int k = 0; k < AT_ONCE; k++) check_others_end(&s[k]);
}

/* ---- who fails first ---- */

/* `first` is killed while `last` does not look. `messenger` notices and leaves, so that `last`
 * finds two nodes gone. */
static void lose_in_a_chain(int first, int messenger, int last)
{
    static struct scenario s;
    s = (struct scenario){.nodes = 3, .victim = first, .activity = AT_REST, .end = END_KILLED};
    start(&s);
    await_moment(&s);
    child_signal(&s.child[last], SIGSTOP);
    end_victim(&s);
    check_survivor(&s, &s.child[messenger]);
    child_signal(&s.child[last], SIGCONT);
    check_survivor(&s, &s.child[last]);
    child_kill(&s.child[first]);
}

TEST(loss, node_that_failed_first_is_named)
{
    lose_in_a_chain(1, 2, 0);
    lose_in_a_chain(2, 0, 1);
    lose_in_a_chain(0, 2, 1);
}
