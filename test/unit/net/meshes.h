/*
 * meshes.h - the nodes of a mesh, each a thread of the test's process with sockets of its own, and
 * others who connect meanwhile.
 */
#ifndef TEST_NET_MESHES_H
#define TEST_NET_MESHES_H

#include "net/loopback.h"
#include "net/mesh.h"

#include <pthread.h>
#include <unistd.h>

enum { NODES_MAX = 4, SHARDS_MAX = 3 };
/* Each test is a process: a late hello of one at a port that another has now is refused. */
#define CLUSTER (UINT64_C(0x1234567800000000) + (uint64_t)getpid())
#define RENDEZVOUS "127.0.0.1:7777"

struct node {
    struct mesh_config config;
    unsigned late_ms;
    int fd[NODES_MAX * SHARDS_MAX];
    int rc;
    char error[512];
    pthread_t thread;
};

struct cluster {
    unsigned size, shards;
    char address[NODES_MAX][ADDRESS_MAX];
    unsigned char side[NODES_MAX][NODES_MAX];
    struct node node[NODES_MAX];
};

/* address_listen() with a time-out of a second. */
int listen_at(const char *listen, const char *rendezvous, int *listener, char address[ADDRESS_MAX]);

/* `secret`: NULL, or of all. */
void open_cluster(struct cluster *, unsigned size, unsigned shards, const struct secret *secret,
                  const char *listen);

/* mesh_connect() of one node; what came of it is in the node. */
void *run_node(void *node);
/* The same on a thread of the node's own. */
void start_node(struct node *);
/* Those that have not started yet, from that rank on. */
void start_from(struct cluster *, unsigned rank);
/* Each connection leads from where it should to where it should. */
void await_mesh(struct cluster *);
void close_mesh(struct cluster *);

/* Of that node, to whom it connects or who it is. */
struct mesh_hello hello_of(unsigned rank, unsigned shard);
/* Says `hello` and returns the connection with the answer; an answer of no magic: it was closed. */
int call_and_say(const char *address, const struct mesh_hello *hello, struct mesh_hello *answer);

#endif
