#include "meshes.h"

#include "locus.h"
#include "net/address.h"
#include "test.h"

#include <poll.h>
#include <sys/socket.h>

/* ---- nodes ---- */

int listen_at(const char *listen, const char *rendezvous, int *listener, char address[ADDRESS_MAX])
{
    const struct address_place p = {
        .listen = listen, .rendezvous = rendezvous, .deadline_ns = now_ns() + SECOND};
    return address_listen(&p, listener, address);
}

void open_cluster(struct cluster *c, unsigned size, unsigned shards, const struct secret *secret,
                  const char *listen)
{
    *c = (struct cluster){.size = size, .shards = shards};
    for (unsigned i = 0; i < size; i++) {
        struct node *n = &c->node[i];
        n->config = (struct mesh_config){.cluster = CLUSTER,
                                         .rank = i,
                                         .size = size,
                                         .shards = shards,
                                         .side = c->side[i],
                                         .address = (const char(*)[ADDRESS_MAX])c->address,
                                         .secret = secret,
                                         .deadline_ns = now_ns() + 120 * SECOND};
        for (unsigned k = 0; k < size; k++)
            c->side[i][k] = k == i ? MESH_NOBODY : k < i ? MESH_WE_DO : MESH_THEY_DO;
        CHECK_EQ(listen_at(listen, RENDEZVOUS, &n->config.listener, c->address[i]), 0);
    }
}

void *run_node(void *context)
{
    struct node *n = context;
    sleep_ms(n->late_ms);
    n->rc = mesh_connect(&n->config, n->fd);
    if (n->rc) snprintf(n->error, sizeof n->error, "%s", locus_error());
    return NULL;
}

void start_node(struct node *n)
{
    CHECK(!pthread_create(&n->thread, NULL, run_node, n));
}

void start_from(struct cluster *c, unsigned rank)
{
    for (; rank < c->size; rank++) start_node(&c->node[rank]);
}

struct label {
    unsigned from, to, shard;
};

void await_mesh(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++) pthread_join(c->node[i].thread, NULL);
    for (unsigned a = 0; a < c->size; a++) {
        if (c->node[a].rc) test_fail(__FILE__, __LINE__, "node %u: %s", a, c->node[a].error);
        for (unsigned i = 0; i < c->size * c->shards; i++) {
            struct label l = {a, i / c->shards, i % c->shards};
            if (l.to == a)
                CHECK_EQ(c->node[a].fd[i], -1);
            else
                CHECK_EQ(send(c->node[a].fd[i], &l, sizeof l, 0), sizeof l);
        }
    }
    for (unsigned b = 0; b < c->size; b++)
        for (unsigned i = 0; i < c->size * c->shards; i++) {
            struct label l;
            struct pollfd p = {.fd = c->node[b].fd[i], .events = POLLIN};
            if (i / c->shards == b) continue;
            CHECK_EQ(poll(&p, 1, 20000), 1);
            CHECK_EQ(recv(p.fd, &l, sizeof l, 0), sizeof l);
            CHECK(l.from == i / c->shards && l.to == b && l.shard == i % c->shards);
        }
}

void close_mesh(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++)
        for (unsigned k = 0; k < c->size * c->shards && c->node[i].rc == 0; k++)
            if (c->node[i].fd[k] >= 0) close(c->node[i].fd[k]);
}

/* ---- others who connect ---- */

struct mesh_hello hello_of(unsigned rank, unsigned shard)
{
    return (struct mesh_hello){.magic = MESH_MAGIC,
                               .version = MESH_VERSION,
                               .cluster = CLUSTER,
                               .rank = rank,
                               .shard = shard};
}

int call_and_say(const char *address, const struct mesh_hello *hello, struct mesh_hello *answer)
{
    int fd = loopback_connect(address);
    CHECK(fd >= 0);
    *answer = (struct mesh_hello){0};
    CHECK_EQ(send(fd, hello, sizeof *hello, MSG_NOSIGNAL), sizeof *hello);
    if (recv(fd, answer, sizeof *answer, MSG_WAITALL) != sizeof *answer) answer->magic = 0;
    return fd;
}
