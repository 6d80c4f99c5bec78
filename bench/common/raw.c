#include "raw.h"

#include "clock.h"
#include "must.h"
#include "team.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RAW_TASK = NODE_FIGURES + 1 }; /* the other end answers with its port */

/* ---- What both ends share ---- */

static _Noreturn void lost(const char *what)
{
    fail("raw connection: %s: %s", what, strerror(errno));
}

/* As the library's links are: no delay, and cubic, which the kernel may not have. */
static void prepare(int fd)
{
    int on = 1;
    if (fd < 0) lost("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

static bool would_wait(ssize_t moved)
{
    return moved < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Whole, by polling or by sleeping. False: the other end has closed. */
static bool send_all(int fd, const void *data, size_t bytes, bool spins)
{
    const char *at = data;
    int flags = MSG_NOSIGNAL | (spins ? MSG_DONTWAIT : 0);
    while (bytes > 0) {
        ssize_t sent = send(fd, at, bytes, flags);
        if (would_wait(sent)) continue;
        if (sent < 0) return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t bytes, bool spins)
{
    char *at = data;
    while (bytes > 0) {
        ssize_t got = recv(fd, at, bytes, spins ? MSG_DONTWAIT : 0);
        if (would_wait(got)) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* ---- Our end ---- */

struct node_process *raw_start(void)
{
    return node_process_start("the raw connections' other end",
                              (const char *const[]){RAW_PEER, NULL});
}

void raw_stop(struct node_process *peer)
{
    node_process_end(peer, 10);
}

bool raw_can(const struct raw_task *t)
{
    return !t->pinned || team_processors() > 1;
}

static int connect_to(uint64_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    prepare(s);
    if (connect(s, (struct sockaddr *)&address, sizeof address) != 0) lost("connect");
    return s;
}

int raw_open(struct node_process *peer, const struct raw_task *t)
{
    struct node_question q = {.what = RAW_TASK};
    uint64_t port;
    _Static_assert(sizeof *t == sizeof q.numbers, "a task travels as the numbers of a question");
    memcpy(q.numbers, t, sizeof *t);
    node_process_ask(peer, &q, &port, sizeof port, 10);
    int fd = connect_to(port);
    if (t->pinned) team_pin(0);
    return fd;
}

void raw_close(int fd)
{
    team_unpin();
    close(fd);
}

uint64_t raw_round_trips(int fd, const struct raw_task *t, void *buffer, uint64_t ns,
                         uint64_t trips_min, struct latency *times)
{
    uint64_t start = clock_ns(), now = start, trips = 0;
    for (; now - start < ns || trips < trips_min; trips++) {
        uint64_t sent = clock_ns();
        if (!send_all(fd, buffer, t->request, t->spins)) break;
        if (!receive_all(fd, buffer, t->answer, t->spins)) break;
        now = latency_since(times, sent);
    }
    return trips;
}

double raw_receive_for(int fd, const struct raw_task *t, void *buffer, uint64_t ns)
{
    uint64_t start = clock_ns(), now = start, bytes = 0;
    while (now - start < ns || bytes == 0) {
        ssize_t got = recv(fd, buffer, t->write, 0);
        if (got <= 0) break;
        bytes += (uint64_t)got;
        now = clock_ns();
    }
    return (double)bytes / (double)(now - start) * 1e9;
}

/* ---- The other end ---- */

static void answer_all(int fd, const struct raw_task *t, char *buffer)
{
    while (receive_all(fd, buffer, t->request, t->spins) &&
           send_all(fd, buffer, t->answer, t->spins)) {
    }
}

static void stream(int fd, const struct raw_task *t, const char *buffer)
{
    while (send_all(fd, buffer, t->write, false)) {
    }
}

static void serve(int listener, const struct raw_task *t, char *buffer)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    prepare(fd);
    if (t->pinned) team_pin(1);
    if (t->kind == RAW_PINGPONG) answer_all(fd, t, buffer);
    if (t->kind == RAW_STREAM) stream(fd, t, buffer);
    team_unpin();
    close(fd);
}

static int listen_on_loopback(uint64_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&address, size) != 0 || listen(s, 4) != 0)
        lost("listen");
    getsockname(s, (struct sockaddr *)&address, &size);
    *port = ntohs(address.sin_port);
    return s;
}

void raw_peer(size_t buffer_bytes)
{
    uint64_t port;
    struct node_question q;
    struct raw_task task;
    int listener = listen_on_loopback(&port);
    char *buffer = must_alloc(buffer_bytes);
    for (;;) {
        node_process_question(&q);
        if (q.what == NODE_FIGURES) {
            struct node_figures figures = node_figures(NULL);
            node_process_answer(&figures, sizeof figures);
        } else {
            node_process_answer(&port, sizeof port);
            memcpy(&task, q.numbers, sizeof task);
            serve(listener, &task, buffer);
        }
    }
}
