#include "proxy.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 64 << 10, DIRECTIONS = 2 };
#define NEVER UINT64_MAX

struct chunk {
    struct chunk *next;
    uint64_t due_ns;
    size_t bytes, sent;
    unsigned char data[CHUNK_BYTES];
};

/* One direction of a connection: chunks wait in order until they are due. */
struct stream {
    int from, to;
    struct chunk *first, *last;
    size_t queued;
    bool at_end;   /* nothing more comes from `from` */
    bool is_ended; /* and `to` was told */
};

struct connection {
    struct stream stream[DIRECTIONS];
    bool is_broken;
};

struct proxy {
    pthread_mutex_t mutex; /* for all that follows but the thread's own poll list */
    pthread_t thread;
    int listener, wake;
    int (*dial)(void *);
    void *context;
    bool is_stopping, is_cut;
    bool is_stalled[DIRECTIONS];
    uint64_t delay_ns;
    unsigned connections;
    struct connection connection[PROXY_CONNECTIONS_MAX];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- streams ---- */

static void stream_take(struct proxy *p, struct connection *c, int direction)
{
    struct stream *s = &c->stream[direction];
    struct chunk *k = malloc(sizeof *k);
    CHECK(k != NULL);
    ssize_t n = recv(s->from, k->data, CHUNK_BYTES, 0);
    if (n <= 0) {
        if (n == 0) s->at_end = true;
        if (n < 0 && errno != EAGAIN && errno != EINTR) c->is_broken = true;
        free(k);
        return;
    }
    k->next = NULL;
    k->bytes = (size_t)n;
    k->sent = 0;
    k->due_ns = now_ns() + p->delay_ns;
    *(s->first ? &s->last->next : &s->first) = k;
    s->last = k;
    s->queued += k->bytes;
}

static void stream_give(struct connection *c, int direction)
{
    struct stream *s = &c->stream[direction];
    struct chunk *k = s->first;
    ssize_t n = send(s->to, k->data + k->sent, k->bytes - k->sent, MSG_NOSIGNAL);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) c->is_broken = true;
        return;
    }
    k->sent += (size_t)n;
    if (k->sent < k->bytes) return;
    s->queued -= k->bytes;
    s->first = k->next;
    free(k);
}

static void stream_end_if_empty(struct stream *s)
{
    if (!s->at_end || s->first || s->is_ended) return;
    shutdown(s->to, SHUT_WR);
    s->is_ended = true;
}

static void stream_drop(struct stream *s)
{
    for (struct chunk *k = s->first, *next; k; k = next) {
        next = k->next;
        free(k);
    }
}

/* ---- connections ---- */

static void accept_connection(struct proxy *p)
{
    int from = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from < 0) return;
    int to = p->connections < PROXY_CONNECTIONS_MAX ? p->dial(p->context) : -1;
    if (to < 0) {
        close(from);
        return;
    }
    fcntl(to, F_SETFL, fcntl(to, F_GETFL) | O_NONBLOCK);
    struct connection *c = &p->connection[p->connections++];
    memset(c, 0, sizeof *c);
    c->stream[PROXY_FORTH].from = c->stream[PROXY_BACK].to = from;
    c->stream[PROXY_FORTH].to = c->stream[PROXY_BACK].from = to;
}

/* Both ends see a reset unless both streams had come to their ends. */
static void close_connection(struct proxy *p, struct connection *c)
{
    const struct linger reset = {.l_onoff = 1};
    for (int d = 0; d < DIRECTIONS; d++) {
        struct stream *s = &c->stream[d];
        if (c->is_broken) setsockopt(s->from, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(s->from);
        stream_drop(s);
    }
    *c = p->connection[--p->connections];
}

static void close_those_that_ended(struct proxy *p)
{
    for (unsigned i = p->connections; i-- > 0;) {
        struct connection *c = &p->connection[i];
        c->is_broken |= p->is_cut || p->is_stopping;
        if (c->is_broken || (c->stream[0].is_ended && c->stream[1].is_ended))
            close_connection(p, c);
    }
    p->is_cut = false;
}

/* ---- the thread ---- */

/* Sets what to wait for, and returns when the next chunk is due. */
static uint64_t list_stream(const struct proxy *p, const struct stream *s, int direction,
                            struct pollfd *in, struct pollfd *out, uint64_t now)
{
    *in = *out = (struct pollfd){.fd = -1};
    if (p->is_stalled[direction]) return NEVER;
    if (!s->at_end && s->queued < PROXY_QUEUE_BYTES)
        *in = (struct pollfd){.fd = s->from, .events = POLLIN};
    if (!s->first) return NEVER;
    if (s->first->due_ns > now) return s->first->due_ns;
    *out = (struct pollfd){.fd = s->to, .events = POLLOUT};
    return NEVER;
}

enum { POLL_LISTENER, POLL_WAKE, POLL_STREAMS };

static void wait_for_something(struct proxy *p, struct pollfd *list, unsigned count)
{
    uint64_t now = now_ns(), due = NEVER;
    list[POLL_LISTENER] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    list[POLL_WAKE] = (struct pollfd){.fd = p->wake, .events = POLLIN};
    for (unsigned i = 0; i < count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            struct pollfd *at = &list[POLL_STREAMS + 4 * i + 2 * (unsigned)d];
            uint64_t t = list_stream(p, &p->connection[i].stream[d], d, &at[0], &at[1], now);
            if (t < due) due = t;
        }
    uint64_t left = due == NEVER ? 0 : due - now;
    struct timespec t = {.tv_sec = (time_t)(left / 1000000000),
                         .tv_nsec = (long)(left % 1000000000)};
    pthread_mutex_unlock(&p->mutex);
    ppoll(list, POLL_STREAMS + 4 * count, due == NEVER ? NULL : &t, NULL);
    pthread_mutex_lock(&p->mutex);
}

/* Connections come and go on this thread alone: `list` still fits them. */
static void act(struct proxy *p, const struct pollfd *list, unsigned count)
{
    uint64_t ignored;
    if (list[POLL_WAKE].revents && read(p->wake, &ignored, sizeof ignored) < 0) return;
    for (unsigned i = 0; i < count; i++)
        for (int d = 0; d < DIRECTIONS; d++) {
            const struct pollfd *at = &list[POLL_STREAMS + 4 * i + 2 * (unsigned)d];
            if (p->is_stalled[d]) continue;
            if (at[1].revents) stream_give(&p->connection[i], d);
            if (at[0].revents) stream_take(p, &p->connection[i], d);
            stream_end_if_empty(&p->connection[i].stream[d]);
        }
    close_those_that_ended(p);
    if (list[POLL_LISTENER].revents && !p->is_stopping) accept_connection(p);
}

static void *run(void *argument)
{
    struct proxy *p = argument;
    struct pollfd list[POLL_STREAMS + 4 * PROXY_CONNECTIONS_MAX];
    pthread_mutex_lock(&p->mutex);
    while (!p->is_stopping) {
        unsigned count = p->connections;
        wait_for_something(p, list, count);
        act(p, list, count);
    }
    close_those_that_ended(p);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- from other threads ---- */

struct proxy *proxy_new(int listener, int (*dial)(void *), void *context)
{
    struct proxy *p = calloc(1, sizeof *p);
    CHECK(p != NULL && listener >= 0);
    p->listener = listener;
    p->dial = dial;
    p->context = context;
    p->wake = eventfd(0, EFD_CLOEXEC);
    CHECK(p->wake >= 0);
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
    pthread_mutex_init(&p->mutex, NULL);
    CHECK_EQ(pthread_create(&p->thread, NULL, run, p), 0);
    return p;
}

static void change(struct proxy *p, bool *what, bool value)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&p->mutex);
    *what = value;
    pthread_mutex_unlock(&p->mutex);
    CHECK_EQ(write(p->wake, &one, sizeof one), sizeof one);
}

void proxy_free(struct proxy *p)
{
    change(p, &p->is_stopping, true);
    pthread_join(p->thread, NULL);
    close(p->listener);
    close(p->wake);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

void proxy_delay(struct proxy *p, double seconds)
{
    pthread_mutex_lock(&p->mutex);
    p->delay_ns = (uint64_t)(seconds * 1e9);
    pthread_mutex_unlock(&p->mutex);
}

void proxy_stall(struct proxy *p, enum proxy_direction d, bool stalled)
{
    change(p, &p->is_stalled[d], stalled);
}

void proxy_cut(struct proxy *p)
{
    change(p, &p->is_cut, true);
}
