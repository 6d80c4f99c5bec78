/*
 * ends.h - the ends of a link on loopback, through TCP or memory. Most tests drive both from one
 * thread, turn by turn; where one end is a bare socket it says what no link would.
 *
 * Entries are numbered from 0, and so are their floats: an end checks whatever comes.
 */
#ifndef TEST_NET_ENDS_H
#define TEST_NET_ENDS_H

#include "net/link_private.h"
#include "net/loopback.h"
#include "net/tcp.h"
#include "net/uring.h"
#include "test.h"

enum { NODES = 4, PEER = 1 };

/* A test through TCP and through shared memory. Skips itself where there is none. */
#define LINK_TEST(name) \
    static void name(bool is_shm); \
    TEST(link, name##_over_tcp) \
    { \
        name(false); \
    } \
    TEST(link, name##_over_memory) \
    { \
        ends_need_memory(); \
        name(true); \
    } \
    static void name(bool is_shm)

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

/* Zeros: through TCP, entries of a frame, 10 s of silence, all that the kernel can do, rank 0. */
struct ends_how {
    bool is_shm;
    size_t entry_bytes_max;
    double timeout_s;
    unsigned setup, rank;
};

static inline struct link_stats stats_of(const struct end *e)
{
    struct link_stats sum = {0};
    link_add_stats(e->link, &sum);
    return sum;
}

void ends_need_memory(void);
/* An end that has not started. Skips the test where there is no io_uring. A ring belongs to the
 * thread that starts it. */
void end_create(struct end *, int fd, struct ends_how);
/* By the clock, and with all nodes running. */
void end_start(struct end *);
void ends_create(struct end e[2], struct ends_how);
void ends_open(struct end e[2], struct ends_how);
void ends_close(struct end e[2]);
/* Has the link gone over to memory, both ways? */
bool ends_are_shm(const struct end e[2]);

/* An end whose peer is a bare socket. */
struct facing {
    struct end end;
    int fd;
};

void facing_open(struct facing *, struct ends_how);
void facing_begin(struct facing *);
void facing_end(struct facing *);
#define FACING_TEST(name) TEST_WITH(link, name, facing, f)

/* What an end tells its ring to call; the context is the end. */
const char *end_on_frame(void *context, unsigned peer, const struct wire_frame *, const void *body);
void end_on_failed(void *context, unsigned peer, unsigned culprit, const char *reason);

/* An entry of that number. false: there is no room. */
bool ends_put(struct link *, uint64_t tag, uint32_t length);

/* Sleeps, if there is nothing to do. */
void end_wait(struct end *, uint64_t until_ns);
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
void ends_say(int socket, const void *bytes, size_t n);
/* A frame of one entry; returns its bytes. */
size_t ends_say_entry(int socket, uint64_t sequence, uint64_t tag, uint32_t length);
/* A frame without entries: WIRE_BYE, WIRE_LOST. */
void ends_say_notice(int socket, uint64_t sequence, enum wire_kind, unsigned lost,
                     const char *text);
/* Has it received so many bytes in all? */
bool end_has_heard(const struct end *, uint64_t bytes);
/* Waits until it has failed, for that reason, and is of no use any more. */
void end_check_failed(struct end *, unsigned culprit, const char *reason);

#endif
