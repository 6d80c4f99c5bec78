/* A cluster that loses a node, as those see it who ask. */
#include "cluster/cluster.h"
#include "cluster/nodes.h"
#include "protocol/plan.h"
#include "threads.h"

#include <errno.h>

static const struct locus_table table = {.rows = 10, .length = 1};

struct member {
    struct cluster *cluster;
    char address[32];
    int rank;
    int was_told; /* atomic */
    pthread_t thread;
};

/* Slow, so that a call that does not wait for its end is seen to be too early. */
static void note_loss(void *context)
{
    struct member *m = context;
    sleep_s(0.05);
    __atomic_store_n(&m->was_told, 1, __ATOMIC_RELEASE);
}

static void *join(void *argument)
{
    struct member *m = argument;
    struct locus_config c;
    locus_config_init(&c);
    c.rank = m->rank;
    c.size = 2;
    c.rendezvous = m->address;
    c.tables = &table;
    c.table_count = 1;
    c.shards = c.workers = 1;
    CHECK_EQ(config_complete(&c), 0);
    int rc = cluster_join(&c, note_loss, m, &m->cluster);
    if (rc) test_fail(__FILE__, __LINE__, "rank %d: %s", m->rank, locus_error());
    return NULL;
}

static void join_both(struct member m[2])
{
    const char *address = nodes_address();
    for (int i = 0; i < 2; i++) {
        m[i] = (struct member){.rank = i};
        snprintf(m[i].address, sizeof m[i].address, "%s", address);
    }
    threads_run(join, m, sizeof *m, 2);
}

static void *meet(void *argument)
{
    struct member *m = argument;
    const struct meeting meeting = {.name = "barrier"};
    struct word nothing = {.rc = 0};
    CHECK_EQ(cluster_agree(m->cluster, &meeting, &nothing), -ECONNRESET);
    CHECK(__atomic_load_n(&m->was_told, __ATOMIC_ACQUIRE));
    return NULL;
}

/* From then on every access of the node fails: none may succeed after a barrier that has failed. */
TEST(cluster, barrier_fails_after_the_node_was_told_of_a_loss)
{
    struct member m[2];
    join_both(m);
    CHECK_EQ(pthread_create(&m[1].thread, NULL, meet, &m[1]), 0);
    cluster_free(m[0].cluster); /* without leaving */
    CHECK_EQ(pthread_join(m[1].thread, NULL), 0);
    REFUSED(cluster_loss(m[1].cluster), -ECONNRESET, "node 0 (127.0.0.1:");
    cluster_free(m[1].cluster);
}
