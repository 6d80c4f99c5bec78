#include "http.h"

#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int try_connect(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

int http_connect(unsigned port)
{
    int fd = try_connect(port);
    CHECK(fd >= 0);
    return fd;
}

bool http_listens(unsigned port)
{
    int fd = try_connect(port);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static char *read_all(int fd, size_t *have)
{
    size_t capacity = 4096;
    char *text = malloc(capacity + 1);
    *have = 0;
    CHECK(text != NULL);
    for (ssize_t n; (n = recv(fd, text + *have, capacity - *have, 0)) > 0;) {
        *have += (size_t)n;
        if (*have < capacity) continue;
        capacity *= 2;
        char *larger = realloc(text, capacity + 1);
        CHECK(larger != NULL);
        text = larger;
    }
    text[*have] = '\0';
    return text;
}

struct http_answer http_talk(int fd, const char *request)
{
    struct http_answer a = {.status = 0};
    size_t have;
    send(fd, request, strlen(request), MSG_NOSIGNAL);
    a.text = read_all(fd, &have);
    close(fd);
    if (sscanf(a.text, "HTTP/1.1 %d", &a.status) != 1) a.status = 0;
    char *end = strstr(a.text, "\r\n\r\n");
    a.body = end ? end + 4 : a.text + have;
    a.bytes = have - (size_t)(a.body - a.text);
    return a;
}

struct http_answer http_get(unsigned port, const char *path)
{
    char request[4096];
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    CHECK(n < (int)sizeof request);
    return http_talk(http_connect(port), request);
}

void http_expect(unsigned port, const char *path, int status, const char *part)
{
    struct http_answer a = http_get(port, path);
    if (a.status != status)
        test_fail(__FILE__, __LINE__, "%s: %d, not %d: %s", path, a.status, status, a.body);
    CHECK_STR(a.body, part);
    free(a.text);
}

unsigned http_port_of(int fd)
{
    struct sockaddr_in a;
    socklen_t bytes = sizeof a;
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    CHECK_EQ(a.sin_family, AF_INET);
    return ntohs(a.sin_port);
}
