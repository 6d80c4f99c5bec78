#include "membership/dial.h"

#include "test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

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
