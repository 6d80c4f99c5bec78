#include "cluster/nodes.h"

#include "common/port.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loss = PTHREAD_COND_INITIALIZER;
static const struct locus_table two_tables[] = {{.name = "users", .rows = 1000, .length = 16},
                                                {.rows = 50, .length = 8}};

const char *nodes_address(void)
{
    static char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", port_new());
    return address;
}

static void on_lost(void *context, int rank, const char *reason)
{
    struct node *n = context;
    pthread_mutex_lock(&mutex);
    n->losses++;
    n->lost_rank = rank;
    snprintf(n->lost_reason, sizeof n->lost_reason, "%s", reason);
    pthread_cond_broadcast(&loss);
    pthread_mutex_unlock(&mutex);
}

static void on_view(void *context, const struct change *change, const char *reason)
{
    struct node *n = context;
    pthread_mutex_lock(&mutex);
    n->views = change->number;
    n->told++;
    n->gone = change->node;
    snprintf(n->gone_reason, sizeof n->gone_reason, "%s", reason);
    pthread_cond_broadcast(&loss);
    pthread_mutex_unlock(&mutex);
}

static void on_joining(void *context, uint64_t id, unsigned rank, const char *address)
{
    struct node *n = context;
    pthread_mutex_lock(&mutex);
    n->join_id = id;
    n->joins = rank;
    snprintf(n->join_address, sizeof n->join_address, "%s", address);
    pthread_cond_broadcast(&loss);
    pthread_mutex_unlock(&mutex);
}

void node_init(struct node *n, int rank, int size, const char *address)
{
    *n = (struct node){.barrier = "barrier"};
    snprintf(n->data_address, sizeof n->data_address, "127.0.0.1:%d", 9000 + rank);
    n->config = (struct rendezvous_config){.node = {.rank = rank,
                                                    .size = size,
                                                    .rendezvous = address,
                                                    .tables = two_tables,
                                                    .table_count = 2,
                                                    .workers = (unsigned)rank + 1,
                                                    .join_timeout_s = 120,
                                                    .peer_timeout_s = 120},
                                           .data_address = n->data_address,
                                           .choice = 2,
                                           .lost = on_lost,
                                           .view = on_view,
                                           .joining = on_joining,
                                           .context = n};
}

void nodes_init(struct node *n, int size, const char *address)
{
    for (int rank = 0; rank < size; rank++) node_init(&n[rank], rank, size, address);
}

static void *note_result(struct node *n, int rc)
{
    n->rc = rc;
    snprintf(n->error, sizeof n->error, "%s", rc ? locus_error() : "");
    return NULL;
}

void *node_join(void *argument)
{
    struct node *n = argument;
    return note_result(n, rendezvous_join(&n->config, &n->rendezvous, &n->cluster));
}

void *node_meet(void *argument)
{
    struct node *n = argument;
    return note_result(n, nodes_barrier(n->rendezvous, n->barrier, false));
}

void *node_save(void *argument)
{
    static const struct meeting of_all = {.name = "locus_checkpoint", .needs_all = true};
    struct node *n = argument;
    struct word nothing = {.rc = 0};
    note_result(n, rendezvous_agree(n->rendezvous, &of_all, &nothing));
    return NULL;
}

static void *leave(struct node *n, bool alone)
{
    note_result(n, rendezvous_leave(n->rendezvous, alone));
    node_end(n);
    return NULL;
}

void *node_leave(void *argument)
{
    return leave(argument, false);
}

void *node_leave_alone(void *argument)
{
    return leave(argument, true);
}

void node_start(struct node *n, void *(*call)(void *))
{
    CHECK_EQ(pthread_create(&n->thread, NULL, call, n), 0);
}

void node_finish(struct node *n)
{
    CHECK_EQ(pthread_join(n->thread, NULL), 0);
}

void nodes_start_but(struct node *n, int size, int but, void *(*call)(void *))
{
    for (int rank = size - 1; rank >= 0; rank--)
        if (rank != but) node_start(&n[rank], call);
}

void nodes_finish_but(struct node *n, int size, int but)
{
    for (int rank = 0; rank < size; rank++)
        if (rank != but) node_finish(&n[rank]);
}

void nodes_finish(struct node *n, int size)
{
    nodes_finish_but(n, size, -1);
}

void nodes_do(struct node *n, int size, void *(*call)(void *))
{
    nodes_start_but(n, size, -1, call);
    nodes_finish(n, size);
}

void nodes_check(struct node *n, int size, int rc, const char *part)
{
    for (int rank = 0; rank < size; rank++) {
        if (n[rank].rc != rc)
            test_fail(__FILE__, __LINE__, "rank %d: %d, not %d: %s", rank, n[rank].rc, rc,
                      n[rank].error);
        CHECK_STR(n[rank].error, part);
    }
}

void nodes_join(struct node *n, int size)
{
    nodes_do(n, size, node_join);
    nodes_check(n, size, 0, "");
}

void nodes_leave(struct node *n, int size)
{
    nodes_do(n, size, node_leave);
    nodes_check(n, size, 0, "");
}

void nodes_form(struct node *n, int size)
{
    nodes_init(n, size, nodes_address());
    nodes_join(n, size);
}

void nodes_form_surviving(struct node *n, int size)
{
    nodes_init(n, size, nodes_address());
    for (int rank = 0; rank < size; rank++) n[rank].config.node.survives = true;
    nodes_join(n, size);
}

void nodes_meet(struct node *n, int size)
{
    nodes_do(n, size, node_meet);
    nodes_check(n, size, 0, "");
}

void nodes_check_unharmed(const struct node *n, int size)
{
    for (int rank = 0; rank < size; rank++) CHECK_EQ(n[rank].losses, 0);
}

void node_await_loss(struct node *n)
{
    pthread_mutex_lock(&mutex);
    while (n->losses == 0) pthread_cond_wait(&loss, &mutex);
    pthread_mutex_unlock(&mutex);
}

void node_expect_loss(struct node *n, int rank, const char *reason)
{
    node_await_loss(n);
    pthread_mutex_lock(&mutex);
    CHECK_EQ(n->losses, 1);
    CHECK_EQ(n->lost_rank, rank);
    CHECK_STR(n->lost_reason, reason);
    pthread_mutex_unlock(&mutex);
}

void node_expect_view(struct node *n, unsigned view, unsigned gone, const char *reason)
{
    pthread_mutex_lock(&mutex);
    while (n->views < view && n->losses == 0) pthread_cond_wait(&loss, &mutex);
    CHECK_EQ(n->losses, 0);
    CHECK_EQ(n->views, view);
    CHECK_EQ(n->gone, gone);
    CHECK_STR(n->gone_reason, reason);
    pthread_mutex_unlock(&mutex);
}

void nodes_expect_view(struct node *n, int size, unsigned view, unsigned gone, const char *reason)
{
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) node_expect_view(&n[rank], view, gone, reason);
}

void nodes_say_repaired(struct node *n, int size, uint32_t view)
{
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) rendezvous_repaired(n[rank].rendezvous, view);
}

void node_end(struct node *n)
{
    rendezvous_free(n->rendezvous);
    n->rendezvous = NULL;
}

void node_await_news(struct node *n, unsigned times)
{
    pthread_mutex_lock(&mutex);
    while (n->told < times) pthread_cond_wait(&loss, &mutex);
    pthread_mutex_unlock(&mutex);
}

uint64_t node_expect_joining(struct node *n, unsigned rank, const char *address)
{
    pthread_mutex_lock(&mutex);
    while (n->losses == 0 &&
           (n->join_id == 0 || n->joins != rank || strcmp(n->join_address, address) != 0))
        pthread_cond_wait(&loss, &mutex);
    CHECK_EQ(n->losses, 0);
    uint64_t id = n->join_id;
    pthread_mutex_unlock(&mutex);
    return id;
}

void node_check_wrong(struct node *n, int rc, const char *part)
{
    node_join(n);
    CHECK_STR(n->error, part);
    CHECK_EQ(n->rc, rc);
    CHECK(n->rendezvous == NULL);
}

void *node_meet_first(void *argument)
{
    struct node *n = argument;
    n->rc = nodes_barrier(n->rendezvous, "first", true);
    return NULL;
}

void *node_meet_second(void *argument)
{
    struct node *n = argument;
    n->rc = nodes_barrier(n->rendezvous, "second", false);
    return NULL;
}

void nodes_do_together(struct node *n, int size, void *(*call)(void *), int rc)
{
    unsigned members = 0; /* a node that leaves has no rendezvous any more */
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) members |= 1u << rank;
    for (int rank = 0; rank < size; rank++)
        if (members >> rank & 1) node_start(&n[rank], call);
    for (int rank = 0; rank < size; rank++) {
        if (!(members >> rank & 1)) continue;
        node_finish(&n[rank]);
        nodes_check(&n[rank], 1, rc, "");
    }
}
