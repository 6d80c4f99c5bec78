/*
 * meshes.h - the nodes of a mesh, each a thread of the test's process with sockets of its own, and
 * others who connect meanwhile.
 */
#ifndef TEST_NET_MESHES_H
#define TEST_NET_MESHES_H

#include "net/mesh.h"
#include "net/secret.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { NODES_MAX = 4, SHARDS_MAX = 3 };
/* Each test is a process: a late knock of one at a port that another has now is refused. */
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
    char address[NODES_MAX][MESH_ADDRESS_MAX];
    struct node node[NODES_MAX];
};

uint64_t now_ns(void);
void sleep_ms(unsigned ms);
int open_descriptors(void);

/* mesh_listen() with a time-out of a second. */
int listen_at(const char *listen, const char *rendezvous, int *listener,
              char address[MESH_ADDRESS_MAX]);

void open_cluster(struct cluster *, unsigned size, unsigned shards, const char *listen);
struct secret secret_of(const char *text);
void share_secret(struct cluster *, const struct secret *);

/* mesh_connect() of one node; what came of it is in the node. */
void *run_node(void *node);
/* The same on a thread of the node's own. */
void start_node(struct node *);
void start_all(struct cluster *);
void await_all(struct cluster *);

/* Each connection leads from where it should to where it should. */
void check_mesh(struct cluster *);
void close_mesh(struct cluster *);

struct sockaddr_in place_of(const char *address);
int call(const char *address);
struct mesh_hello hello_of(unsigned rank, unsigned shard);
/* Says `hello` and returns the connection with the answer; an answer of no magic: it was closed. */
int call_and_say(const char *address, const struct mesh_hello *hello, struct mesh_hello *answer);

/* What the node's thread and others print on stderr meanwhile. */
FILE *catch_stderr(int *before);
void release_stderr(FILE *, int before, char *text, size_t capacity);

#endif
