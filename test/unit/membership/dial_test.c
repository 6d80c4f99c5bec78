#include "membership/dial.h"

#include "membership/retries.h"
#include "net/silence.h"
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

/* How often TCP tries again on the socket of this process that is connected to the port of the URL,
 * in ms; 0: the kernel does not say. */
static int retries_ms(const char *url)
{
    unsigned port = 0;
    int ms = 0;
    CHECK_EQ(sscanf(url, "tcp://127.0.0.1:%u", &port), 1);
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

TEST(dial, connects_to_who_listens)
{
    char url[URL_BYTES];
    int fd = bound(true, url);
    nng_stream *stream = NULL;
    CHECK_EQ(rendezvous_dial(url, UINT64_C(20000000000), &stream), 0);
    CHECK(stream != NULL);
    int peer = accept(fd, NULL, NULL);
    CHECK(peer >= 0);
    nng_stream_free(stream);
    close(peer);
    close(fd);
}

TEST(dial, says_that_nobody_listens_and_what_is_no_address)
{
    char url[URL_BYTES];
    int fd = bound(false, url);
    nng_stream *stream = NULL;
    CHECK_EQ(rendezvous_dial(url, UINT64_C(20000000000), &stream), NNG_ECONNREFUSED);
    CHECK(rendezvous_dial("tcp://", UINT64_C(1000000000), &stream) != 0);
    CHECK(stream == NULL);
    close(fd);
}

TEST(retries, are_bounded_on_the_stream_of_nng)
{
    char url[URL_BYTES];
    int fd = bound(true, url);
    nng_stream *stream = NULL;
    CHECK_EQ(rendezvous_dial(url, UINT64_C(20000000000), &stream), 0);
    int before = retries_ms(url);
    if (before) {
        CHECK(before > SILENCE_RETRY_MS);
        retries_bound(stream);
        CHECK_EQ(retries_ms(url), SILENCE_RETRY_MS);
    }
    nng_stream_free(stream);
    close(fd);
    if (!before) SKIP("this kernel does not let TCP's retries be bounded");
}
