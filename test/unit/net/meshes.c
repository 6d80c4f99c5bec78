#include "meshes.h"

#include "test.h"

#include "net/mesh_listener.h"
#include "locus.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void sleep_ms(unsigned ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

int open_descriptors(void)
{
    int n = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all);
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

/* ---- nodes ---- */

int listen_at(const char *listen, const char *rendezvous, int *listener,
              char address[MESH_ADDRESS_MAX])
{
    const struct mesh_place p = {
        .listen = listen, .rendezvous = rendezvous, .deadline_ns = now_ns() + UINT64_C(1000000000)};
    return mesh_listen(&p, listener, address);
}

void open_cluster(struct cluster *c, unsigned size, unsigned shards, const char *listen)
{
    *c = (struct cluster){.size = size, .shards = shards};
    for (unsigned i = 0; i < size; i++) {
        struct node *n = &c->node[i];
        n->config = (struct mesh_config){.cluster = CLUSTER,
                                         .rank = i,
                                         .size = size,
                                         .shards = shards,
                                         .address = (const char(*)[MESH_ADDRESS_MAX])c->address,
                                         .deadline_ns = now_ns() + UINT64_C(120000000000)};
        CHECK_EQ(listen_at(listen, RENDEZVOUS, &n->config.listener, c->address[i]), 0);
    }
}

struct secret secret_of(const char *text)
{
    struct secret s;
    CHECK_EQ(secret_from_text(&s, "a text", text, strlen(text)), 0);
    return s;
}

void share_secret(struct cluster *c, const struct secret *s)
{
    for (unsigned i = 0; i < c->size; i++) c->node[i].config.secret = s;
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

void start_all(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++) start_node(&c->node[i]);
}

void await_all(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++) pthread_join(c->node[i].thread, NULL);
}

struct label {
    unsigned from, to, shard;
};

void check_mesh(struct cluster *c)
{
    for (unsigned a = 0; a < c->size; a++) {
        if (c->node[a].rc) test_fail(__FILE__, __LINE__, "node %u: %s", a, c->node[a].error);
        for (unsigned b = 0; b < c->size; b++)
            for (unsigned s = 0; s < c->shards; s++) {
                struct label l = {a, b, s};
                int fd = c->node[a].fd[b * c->shards + s];
                if (a == b)
                    CHECK_EQ(fd, -1);
                else
                    CHECK_EQ(send(fd, &l, sizeof l, 0), sizeof l);
            }
    }
    for (unsigned a = 0; a < c->size; a++)
        for (unsigned b = 0; b < c->size; b++)
            for (unsigned s = 0; s < c->shards && a != b; s++) {
                struct label l;
                struct pollfd p = {.fd = c->node[b].fd[a * c->shards + s], .events = POLLIN};
                CHECK_EQ(poll(&p, 1, 20000), 1);
                CHECK_EQ(recv(p.fd, &l, sizeof l, 0), sizeof l);
                CHECK(l.from == a && l.to == b && l.shard == s);
            }
}

void close_mesh(struct cluster *c)
{
    for (unsigned i = 0; i < c->size; i++)
        for (unsigned k = 0; k < c->size * c->shards && c->node[i].rc == 0; k++)
            if (c->node[i].fd[k] >= 0) close(c->node[i].fd[k]);
}

/* ---- others who connect ---- */

struct sockaddr_in place_of(const char *address)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    return at;
}

int call(const char *address)
{
    struct sockaddr_in at = place_of(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!connect(fd, (struct sockaddr *)&at, sizeof at));
    return fd;
}

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
    int fd = call(address);
    *answer = (struct mesh_hello){0};
    CHECK_EQ(send(fd, hello, sizeof *hello, MSG_NOSIGNAL), sizeof *hello);
    if (recv(fd, answer, sizeof *answer, MSG_WAITALL) != sizeof *answer) answer->magic = 0;
    return fd;
}

/* ---- what is printed ---- */

FILE *catch_stderr(int *before)
{
    FILE *file = tmpfile();
    CHECK(file != NULL);
    *before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    return file;
}

void release_stderr(FILE *file, int before, char *text, size_t capacity)
{
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    fclose(file);
}
