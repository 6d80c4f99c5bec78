/* streams: connecting, and of all sockets of this process a stream's own is found, and no other. */
#include "membership/streams.h"

#include "net/tcp.h"
#include "test.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

enum { URL_BYTES = 64 };

/* A socket of loopback and its URL; it takes connections if `listens`. */
static int bound(bool listens, char url[URL_BYTES])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&a, bytes), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    if (listens) CHECK_EQ(listen(fd, 4), 0);
    snprintf(url, URL_BYTES, "tcp://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

static unsigned port_of(const char *url)
{
    unsigned port = 0;
    CHECK_EQ(sscanf(url, "tcp://127.0.0.1:%u", &port), 1);
    return port;
}

/* How often TCP tries again on the socket of this process that is connected to the port of the URL,
 * in ms; 0: the kernel does not say. */
static int retries_ms(const char *url)
{
    int ms = 0;
    unsigned port = port_of(url);
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    for (const struct dirent *d; (d = readdir(all));) {
        struct sockaddr_in a = {0};
        socklen_t bytes = sizeof a;
        int fd = atoi(d->d_name);
        if (getpeername(fd, (struct sockaddr *)&a, &bytes) || ntohs(a.sin_port) != port) continue;
        bytes = sizeof ms;
        if (getsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &ms, &bytes)) ms = 0;
        break;
    }
    closedir(all);
    return ms;
}

static nng_stream *dialed(const char *url)
{
    nng_stream *stream = NULL;
    CHECK_EQ(streams_dial(url, UINT64_C(60000000000), &stream), 0);
    return stream;
}

/* The lowest descriptor that is free. */
static int lowest(void)
{
    int fd = dup(STDERR_FILENO);
    CHECK(fd >= 0);
    close(fd);
    return fd;
}

static unsigned peers_port(int fd)
{
    struct sockaddr_in a = {0};
    socklen_t bytes = sizeof a;
    CHECK_EQ(getpeername(fd, (struct sockaddr *)&a, &bytes), 0);
    return ntohs(a.sin_port);
}

TEST(streams, descriptor_of_a_stream_is_its_own)
{
    char url[2][URL_BYTES];
    int fd[2] = {bound(true, url[0]), bound(true, url[1])};
    nng_stream *stream[2] = {dialed(url[0]), dialed(url[1])};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(peers_port(streams_descriptor(stream[i])), port_of(url[i]));
    for (int i = 0; i < 2; i++) {
        nng_stream_free(stream[i]);
        close(fd[i]);
    }
}

TEST(streams, descriptor_of_a_listener_listens_there)
{
    char url[URL_BYTES];
    nng_stream_listener *l;
    struct sockaddr_in a = {0};
    socklen_t bytes = sizeof a;
    close(bound(true, url)); /* a free port */
    CHECK_EQ(nng_stream_listener_alloc(&l, url), 0);
    CHECK_EQ(nng_stream_listener_listen(l), 0);
    nng_stream *stream = dialed(url); /* its other end has the listener's address, too */
    int fd = streams_descriptor_of_listener(l);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    CHECK_EQ(ntohs(a.sin_port), port_of(url));
    int listens = 0;
    bytes = sizeof listens;
    CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes), 0);
    CHECK_EQ(listens, 1);
    nng_stream_free(stream);
    nng_stream_listener_free(l);
}

/* Of all sockets only the stream's own tries again soon. */
TEST(streams, descriptor_bounds_the_retries_of_its_stream_alone)
{
    char url[2][URL_BYTES];
    int fd[2] = {bound(true, url[0]), bound(true, url[1])};
    nng_stream *stream[2] = {dialed(url[0]), dialed(url[1])};
    int before = retries_ms(url[1]);
    if (before) {
        CHECK(before > SILENCE_RETRY_MS);
        tcp_bound_retries(streams_descriptor(stream[0]));
        CHECK_EQ(retries_ms(url[0]), SILENCE_RETRY_MS);
        CHECK_EQ(retries_ms(url[1]), before);
    }
    for (int i = 0; i < 2; i++) {
        nng_stream_free(stream[i]);
        close(fd[i]);
    }
    if (!before) SKIP("this kernel does not let TCP's retries be bounded");
}

/* Many channels are watched, and each looks through all descriptors. */
TEST(streams, looking_for_a_stream_leaves_no_descriptor_open)
{
    char url[URL_BYTES];
    int fd = bound(true, url);
    nng_stream *stream = dialed(url);
    int before = lowest();
    for (int i = 0; i < 10; i++) CHECK(streams_descriptor(stream) >= 0);
    CHECK_EQ(lowest(), before);
    nng_stream_close(stream);
    streams_descriptor(stream); /* its socket may be somebody else's by now */
    CHECK(lowest() <= before);
    nng_stream_free(stream);
    close(fd);
}

TEST(streams, connects_to_who_listens)
{
    char url[URL_BYTES];
    int fd = bound(true, url);
    nng_stream *stream = NULL;
    CHECK_EQ(streams_dial(url, UINT64_C(20000000000), &stream), 0);
    CHECK(stream != NULL);
    int peer = accept(fd, NULL, NULL);
    CHECK(peer >= 0);
    nng_stream_free(stream);
    close(peer);
    close(fd);
}

TEST(streams, says_that_nobody_listens_and_what_is_no_address)
{
    char url[URL_BYTES];
    int fd = bound(false, url);
    nng_stream *stream = NULL;
    CHECK_EQ(streams_dial(url, UINT64_C(20000000000), &stream), NNG_ECONNREFUSED);
    CHECK(streams_dial("tcp://", UINT64_C(1000000000), &stream) != 0);
    CHECK(stream == NULL);
    close(fd);
}
