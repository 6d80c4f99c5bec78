/* httpd: where it listens, what it answers, and that no connection keeps others out. */
#include "observe/httpd.h"

#include "common/port.h"
#include "http.h"
#include "test.h"
#include "locus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- listening ---- */

static int listens(const char *address, unsigned more)
{
    int fd = -1, rc = httpd_listen("LOCUS_METRICS", address, more, &fd);
    if (rc) test_fail(__FILE__, __LINE__, "%s: %s", address, locus_error());
    return fd;
}

static void refuses(const char *address, unsigned more, int rc, const char *sentence)
{
    int fd = -1;
    CHECK_EQ(httpd_listen("LOCUS_METRICS", address, more, &fd), rc);
    CHECK_STR(locus_error(), sentence);
    CHECK_EQ(fd, -1);
}

TEST(httpd, listen_without_a_host_is_on_loopback)
{
    static const char *const format[] = {"%d", ":%d", "127.0.0.1:%d", "localhost:%d"};
    for (int i = 0; i < 4; i++) {
        char address[64];
        struct sockaddr_in a;
        socklen_t bytes = sizeof a;
        int port = port_new();
        snprintf(address, sizeof address, format[i], port);
        int fd = listens(address, 0);
        CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
        if (a.sin_family == AF_INET) CHECK_EQ(ntohl(a.sin_addr.s_addr), INADDR_LOOPBACK);
        CHECK_EQ(ntohs(a.sin_port), port); /* it stands where IPv6 has it, too */
        close(fd);
    }
}

TEST(httpd, listen_adds_the_rank_to_the_port)
{
    char address[64];
    int port = port_new();
    snprintf(address, sizeof address, "127.0.0.1:%d", port - 3);
    int fd = listens(address, 3);
    CHECK_EQ(http_port_of(fd), port);
    close(fd);
    fd = listens("127.0.0.1:0", 3);
    CHECK(http_port_of(fd) > 3);
    close(fd);
}

TEST(httpd, listen_refuses_wrong_addresses)
{
    char address[400];
    int port = port_new();
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    int fd = listens(address, 0);
    snprintf(address, sizeof address, "127.0.0.1:%d", port - 2);
    refuses(address, 2, -EADDRINUSE,
            "this node cannot listen there, at its port + 2: Address already in use");
    close(fd);
    refuses("127.0.0.1:65530", 6, -EINVAL,
            "LOCUS_METRICS is \"127.0.0.1:65530\": this node would listen at port 65536, above");
    refuses("192.0.2.1:9400", 0, -EADDRNOTAVAIL, "Cannot assign requested address");
    refuses("nonsense", 0, -EINVAL, "LOCUS_METRICS");
    memset(address, 'a', sizeof address - 1);
    address[sizeof address - 1] = '\0';
    refuses(address, 0, -EINVAL, "LOCUS_METRICS is longer than 300 characters");
}

/* ---- answering ---- */

struct server {
    int answers; /* atomic */
    unsigned port;
    struct httpd *httpd;
};

static void greet(void *context, const struct httpd_request *request, struct httpd_reply *out)
{
    struct server *r = context;
    const char *name = httpd_argument(request, "name");
    __atomic_fetch_add(&r->answers, 1, __ATOMIC_RELAXED);
    httpd_put(out, "hello %s", name ? name : "nobody");
}

static void be_busy(void *context, const struct httpd_request *request, struct httpd_reply *out)
{
    (void)context;
    (void)request;
    out->status = 503;
    httpd_put(out, "busy");
}

static void have_no_memory(void *context, const struct httpd_request *request,
                           struct httpd_reply *out)
{
    (void)context;
    (void)request;
    httpd_put(out, "half of a text");
    out->failed = true;
}

static const struct httpd_path paths[] = {{"/hello", "text/plain; charset=utf-8", greet},
                                          {"/busy", "text/plain", be_busy},
                                          {"/none", "text/plain", have_no_memory},
                                          {0}};

static void server_begin(struct server *s)
{
    int fd = listens("127.0.0.1:0", 0);
    *s = (struct server){.port = http_port_of(fd)};
    CHECK_EQ(httpd_open(fd, paths, s, &s->httpd), 0);
}

static void server_end(struct server *s)
{
    if (s->httpd) httpd_close(s->httpd);
}

static int answers(const struct server *s)
{
    return __atomic_load_n(&s->answers, __ATOMIC_RELAXED);
}

static struct http_answer talk(const struct server *s, const char *request)
{
    return http_talk(http_connect(s->port), request);
}

TEST_WITH(httpd, paths_get_their_arguments, server, s)
{
    struct http_answer a = http_get(s->port, "/hello?name=you");
    CHECK_EQ(a.status, 200);
    CHECK_STR(a.text, "Content-Type: text/plain; charset=utf-8");
    CHECK_EQ(strcmp(a.body, "hello you"), 0);
    free(a.text);
    http_expect(s->port, "/hello", 200, "hello nobody");
    http_expect(s->port, "/hello?name=a%20b", 200, "hello a b");
    http_expect(s->port, "/busy", 503, "busy");
    CHECK_EQ(answers(s), 3);
}

TEST_WITH(httpd, unknown_paths_and_methods_have_their_status, server, s)
{
    http_expect(s->port, "/", 404, "no such path: try /metrics");
    http_expect(s->port, "/hello/more", 404, "no such path");
    http_expect(s->port, "/none", 500, "no memory");
    struct http_answer a =
        talk(s, "DELETE /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    CHECK_EQ(a.status, 405);
    CHECK_STR(a.text, "\r\nAllow: GET, HEAD\r\n");
    free(a.text);
    a = talk(s, "HEAD /busy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    CHECK_EQ(a.status, 503);
    CHECK_STR(a.text, "Content-Length: 4\r\n");
    CHECK_EQ(a.bytes, 0);
    free(a.text);
    CHECK_EQ(answers(s), 0);
}

/* A body, garbage, a request that is longer than there is memory for. */
TEST_WITH(httpd, malformed_requests_end_their_own_connection, server, s)
{
    static char longest[3 * HTTPD_CONNECTION_BYTES];
    snprintf(longest, sizeof longest, "GET /%*d HTTP/1.1\r\n\r\n", 2 * HTTPD_CONNECTION_BYTES, 7);
    for (char *at = longest + 5; *at == ' '; at++) *at = 'x';
    const char *const request[] = {
        "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        "\x16\x03\x01\x02 this is no HTTP\r\n\r\n\r\n", longest};
    for (int i = 0; i < 3; i++) {
        struct http_answer a = talk(s, request[i]);
        CHECK(a.status != 200);
        free(a.text);
    }
    http_expect(s->port, "/hello", 200, "hello nobody");
    CHECK_EQ(answers(s), 1);
}

/* More than there is room for, which say nothing and stay, or are in the middle of a request. */
TEST_WITH(httpd, silent_connections_keep_nobody_out_and_end_with_the_server, server, s)
{
    enum { SILENT = 3 * HTTPD_CONNECTIONS_MAX };
    int fd[SILENT];
    for (int i = 0; i < SILENT; i++) fd[i] = http_connect(s->port);
    CHECK_EQ(send(fd[SILENT - 1], "GET /", 5, MSG_NOSIGNAL), 5);
    http_expect(s->port, "/hello", 200, "hello nobody");
    char byte;
    CHECK(recv(fd[0], &byte, 1, 0) <= 0); /* the oldest made room */
    httpd_close(s->httpd);
    s->httpd = NULL;
    for (int i = SILENT - 2; i < SILENT; i++) CHECK(recv(fd[i], &byte, 1, 0) <= 0);
    for (int i = 0; i < SILENT; i++) close(fd[i]);
    CHECK(!http_listens(s->port));
    CHECK_EQ(answers(s), 1);
    httpd_close(NULL);
}

/* ---- texts ---- */

/* Beyond its first room, and again: no line is lost or broken where it grows. */
TEST(httpd, text_grows_by_whole_lines)
{
    enum { LINES = 20000 };
    struct httpd_reply e = {0};
    char line[64];
    for (unsigned i = 0; i < LINES; i++) httpd_put(&e, "a_name_of_some_length %u\n", i);
    CHECK(!e.failed && e.text[e.length] == '\0');
    const char *at = e.text;
    for (uint64_t i = 0; i < LINES; i++) {
        int n = snprintf(line, sizeof line, "a_name_of_some_length %llu\n", (unsigned long long)i);
        CHECK(strncmp(at, line, (size_t)n) == 0);
        at += n;
    }
    CHECK_EQ(*at, '\0');
    free(e.text);
}

TEST(httpd, text_beyond_its_bound_fails)
{
    struct httpd_reply e = {0};
    size_t lines = 0;
    for (; !e.failed; lines++) httpd_put(&e, "a 1234567890\n");
    CHECK(e.length <= HTTPD_REPLY_BYTES_MAX);
    CHECK(e.length > HTTPD_REPLY_BYTES_MAX - 64);
    size_t length = e.length;
    httpd_put(&e, "b\n"); /* this one would find room */
    CHECK(e.failed);
    CHECK_EQ(e.length, length);
    free(e.text);
    char name[600]; /* longer than any line */
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    e = (struct httpd_reply){0};
    httpd_put(&e, "%s", name);
    CHECK(e.failed);
    free(e.text);
}
