/*
 * loopback.h - sockets of this machine alone, and what else the tests of connections have in common.
 */
#ifndef TEST_NET_LOOPBACK_H
#define TEST_NET_LOOPBACK_H

#include "net/secret.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)

uint64_t now_ns(void);
void sleep_ms(unsigned ms);

/* Of "host:port", whatever the host. */
struct sockaddr_in loopback_at(const char *address);
unsigned loopback_port(int fd);
/* A socket that takes connections; NULL: at a port of its own. */
int loopback_listen(const char *address);
/* A connection; -1: nobody listens there. */
int loopback_connect(const char *address);
/* Two sockets that are connected. */
void loopback_pair(int fd[2]);
/* The peer ends the connection within the time, without a word. */
bool loopback_is_ended(int fd, int limit_ms);

/* Of this process. */
int open_descriptors(void);

struct secret secret_of(const char *text);

/* What is printed on stderr until it is released. */
struct caught {
    FILE *file;
    int before;
};

struct caught stderr_catch(void);
/* So far. */
void stderr_read(const struct caught *, char *text, size_t capacity);
void stderr_release(struct caught *, char *text, size_t capacity);

#endif
