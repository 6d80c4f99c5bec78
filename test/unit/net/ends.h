/*
 * ends.h - the ends of a link over TCP on loopback. Most tests drive both from one thread, turn by
 * turn; where one end is a bare socket it says what no link would.
 *
 * Entries are numbered from 0, and so are their floats: an end checks whatever comes.
 */
#ifndef TEST_NET_ENDS_H
#define TEST_NET_ENDS_H

#include "net/link_private.h"
#include "net/tcp.h"
#include "net/uring.h"
#include "test.h"

#include <time.h>

enum { NODES = 4, PEER = 1 };
#define SECOND UINT64_C(1000000000)

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

struct end {
    struct uring *uring;
    struct link *link;
    uint64_t entries, floats; /* received so far */
    uint64_t now;             /* the ring's time, when it is not the clock's */
    const char *veto;         /* what to answer to frames */
    bool echoes;              /* answers each entry with one of as many floats */
    bool submits;             /* while it handles a frame */
    int failures, heartbeats;
    unsigned culprit;
    char reason[256];
};

/* Two sockets that are connected. */
void ends_connect(int fd[2]);

static inline struct link_stats stats_of(const struct end *e)
{
    struct link_stats sum = {0};
    link_add_stats(e->link, &sum);
    return sum;
}

/* An end that has not started. Skips the test where there is no io_uring. */
void end_open_by(struct end *, int fd, size_t entry_bytes_max, double timeout_s, unsigned setup);
void end_open(struct end *, int fd, double timeout_s);
/* With a bare socket as the peer, which is returned. */
int end_open_to_socket(struct end *);
void end_close(struct end *, int socket);
void ends_open(struct end e[2]);
void ends_open_by(struct end e[2], size_t entry_bytes_max, double timeout_s, unsigned setup);
void ends_close(struct end e[2]);

/* What an end tells its ring to call; the context is the end. */
const char *end_on_frame(void *context, unsigned peer, const struct wire_frame *, const void *body);
void end_on_failed(void *context, unsigned peer, unsigned culprit, const char *reason);
void end_on_heartbeat(void *context, unsigned peer);

/* An entry of that number. false: there is no room. */
bool ends_put(struct link *, uint64_t tag, uint32_t length);

/* Sleeps, if there is nothing to do. */
static inline void end_wait(struct uring *u, uint64_t until_ns)
{
    if (!uring_lie_down(u)) return;
    uring_sleep(u, until_ns);
    uring_get_up(u);
}

/* Submits and polls. Returns the completions. */
unsigned end_turn(struct end *);
/* Of one or both. */
void ends_turn_for(struct end *a, struct end *b, double seconds);
/* Turns of one or both ends until the condition holds; a test that hangs says where. */
#define TURN_UNTIL(a, b, condition) \
    do { \
        uint64_t end_ns = now_ns() + 60 * SECOND; \
        struct end *ends[2] = {(a), (b)}; \
        while (!(condition)) { \
            for (int i_ = 0; i_ < 2; i_++) \
                if (ends[i_]) end_turn(ends[i_]); \
            if (now_ns() >= end_ns) CHECK(!"in time: " #condition); \
        } \
    } while (0)

/* A frame of `count` entries, numbered from `tag`, of `length` floats. Returns its bytes. */
size_t ends_frame(void *out, uint64_t sequence, uint64_t tag, uint32_t count, uint32_t length);
/* WIRE_BYE or WIRE_LOST. */
size_t ends_notice(void *out, uint64_t sequence, enum wire_kind, unsigned lost, const char *text);
void ends_say(int socket, const void *bytes, size_t n);
/* Has it received so many bytes in all? */
bool end_has_heard(const struct end *, uint64_t bytes);
/* Waits until it has failed, for that reason, and is of no use any more. */
void end_check_failed(struct end *, unsigned culprit, const char *reason);

#endif
