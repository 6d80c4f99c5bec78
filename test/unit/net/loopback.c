#include "net/loopback.h"

#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void sleep_ms(unsigned ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

struct sockaddr_in loopback_at(const char *address)
{
    const char *port = address ? strrchr(address, ':') + 1 : "0";
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    return fd;
}

unsigned loopback_port(int fd)
{
    struct sockaddr_in a = {0};
    socklen_t bytes = sizeof a;
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
    return ntohs(a.sin_port);
}

int loopback_listen(const char *address)
{
    struct sockaddr_in a = loopback_at(address);
    int fd = new_socket(), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK_EQ(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    CHECK_EQ(listen(fd, 16), 0);
    return fd;
}

int loopback_connect(const char *address)
{
    struct sockaddr_in a = loopback_at(address);
    int fd = new_socket();
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

void loopback_pair(int fd[2])
{
    char address[16];
    int listener = loopback_listen(NULL);
    snprintf(address, sizeof address, ":%u", loopback_port(listener));
    fd[0] = loopback_connect(address);
    fd[1] = accept(listener, NULL, NULL);
    CHECK(fd[0] >= 0 && fd[1] >= 0);
    close(listener);
}

bool loopback_is_ended(int fd, int limit_ms)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, limit_ms) == 1 && recv(fd, &byte, 1, 0) <= 0;
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

struct secret secret_of(const char *text)
{
    struct secret s;
    CHECK_EQ(secret_from_text(&s, "a text", text, strlen(text)), 0);
    CHECK(s.is_known);
    return s;
}

struct caught stderr_catch(void)
{
    struct caught c = {.file = tmpfile(), .before = dup(STDERR_FILENO)};
    CHECK(c.file != NULL);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

void stderr_read(const struct caught *c, char *text, size_t capacity)
{
    ssize_t bytes = pread(fileno(c->file), text, capacity - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
}

void stderr_release(struct caught *c, char *text, size_t capacity)
{
    dup2(c->before, STDERR_FILENO);
    close(c->before);
    stderr_read(c, text, capacity);
    fclose(c->file);
}
