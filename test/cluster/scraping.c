#include "scraping.h"

#include "common/port.h"
#include "process.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

unsigned scraping_ports(unsigned count)
{
    char text[16];
    unsigned port = (unsigned)port_new_row((int)count);
    snprintf(text, sizeof text, "%u", port);
    CHECK_EQ(setenv("LOCUS_METRICS", text, 1), 0);
    return port;
}

int scraping_dial(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const struct timeval timeout = {.tv_sec = HANG_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    CHECK_EQ(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

size_t scraping_read(int fd, char *page, size_t capacity)
{
    size_t have = 0;
    /* With a time-out a read is not taken up again that is interrupted, as by SIGCONT, or by what
     * an io_uring of this thread has done. */
    for (;;) {
        ssize_t n = have + 1 < capacity ? read(fd, page + have, capacity - 1 - have) : 0;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    page[have] = '\0';
    return have;
}

void scraping_say(unsigned port, const char *request, char page[PAGE_MAX])
{
    int fd = scraping_dial(port);
    CHECK_EQ(write(fd, request, strlen(request)), strlen(request));
    scraping_read(fd, page, PAGE_MAX);
    close(fd);
}

void scraping_get(unsigned port, char page[PAGE_MAX])
{
    scraping_say(port, "GET /metrics HTTP/1.0\r\n\r\n", page);
    CHECK_STR(page, " 200 OK");
    CHECK_STR(page, "text/plain; version=0.0.4");
}

double scraping_sample(const char *page, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = page; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ') return strtod(line + n, NULL);
    }
    return -1;
}

double scraping_sum(const char *page, const char *begin)
{
    double sum = 0;
    for (const char *line = page; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, begin, strlen(begin)) != 0) continue;
        sum += strtod(strchr(line, ' '), NULL);
    }
    return sum;
}
