/* server: what rank 0 answers to its members. All of them are bare sockets here, rank 0's own
 * member too; they are closed when the server has stopped. */
#include "membership/server.h"

#include "membership/hub.h"
#include "membership/peers.h"
#include "membership/streams.h"
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES = 3, TIMEOUT_S = 600 };

struct scene {
    struct node node[NODES];
    char address[32];
    struct server *server;
    int fd[NODES];
};

/* A message other than a heartbeat, of that type. */
static struct message_reader hear(int fd, enum message_type type)
{
    static unsigned char data[4096];
    struct message_header header;
    do {
        CHECK_EQ(recv(fd, data, MESSAGE_HEADER_BYTES, MSG_WAITALL), MESSAGE_HEADER_BYTES);
        header = message_header(data);
        CHECK(header.length <= sizeof data);
        if (header.length) CHECK_EQ(recv(fd, data, header.length, MSG_WAITALL), header.length);
    } while (header.type == MESSAGE_HEARTBEAT);
    CHECK_EQ(header.type, type);
    return message_reader(data, header.length);
}

static void start(struct scene *s)
{
    struct rendezvous_address a;
    *s = (struct scene){.server = NULL};
    snprintf(s->address, sizeof s->address, "%s", nodes_address());
    nodes_init(s->node, NODES, s->address);
    for (int i = 0; i < NODES; i++) s->node[i].config.node.peer_timeout_s = TIMEOUT_S;
    CHECK_EQ(streams_prepare(), 0);
    CHECK_EQ(rendezvous_address_parse(&a, s->address), 0);
    CHECK_EQ(rendezvous_address_resolve(&a, 0), 0);
    CHECK_EQ(server_start(&s->server, &s->node[0].config, &a,
                          clock_now_ns() + TIMEOUT_S * UINT64_C(1000000000)),
             0);
}

/* All have joined. */
static void scene_begin(struct scene *s)
{
    start(s);
    for (int i = 0; i < NODES; i++) s->fd[i] = peer_join(&s->node[i]);
    for (int i = 0; i < NODES; i++) hear(s->fd[i], MESSAGE_START);
}

static void scene_end(struct scene *s)
{
    for (int i = 0; i < NODES; i++) shutdown(s->fd[i], SHUT_RDWR);
    server_stop(s->server);
    for (int i = 0; i < NODES; i++) close(s->fd[i]);
}

static struct message *barrier(unsigned flags, unsigned code, const char *text, const char *name)
{
    struct message *m = message_new(MESSAGE_BARRIER);
    message_put_u32(m, flags);
    message_put_text(m, name);
    message_put_u32(m, code);
    message_put_text(m, text);
    message_put_u32(m, 0); /* numbers */
    return m;
}

static void arrive(const struct scene *s, int rank, const char *name)
{
    peer_say_message(s->fd[rank], barrier(0, 0, "", name));
}

static void is_released(const struct scene *s, int rank, unsigned code, const char *text)
{
    struct word heard;
    struct message_reader r = hear(s->fd[rank], MESSAGE_RELEASE);
    CHECK(message_get_word(&r, &heard) && message_read_all(&r));
    CHECK_EQ(heard.rc, -(int)code);
    CHECK_EQ(heard.count, 0);
    CHECK_STR(heard.text, text);
}

static void hears_of_loss(const struct scene *s, int rank, unsigned lost, const char *reason)
{
    char said[MESSAGE_TEXT_MAX];
    struct message_reader r = hear(s->fd[rank], MESSAGE_LOST);
    CHECK_EQ(message_get_u32(&r), lost);
    message_get_text(&r, said, sizeof said);
    CHECK_STR(said, reason);
}

/* ---- barriers ---- */

TEST_WITH(server, a_barrier_answers_all_with_the_first_failure, scene, s)
{
    peer_say_message(s->fd[1], barrier(0, 0, "a text", "b"));
    peer_say_message(s->fd[2], barrier(0, EIO, "the disk is broken", "b"));
    arrive(s, 0, "b");
    for (int i = 0; i < NODES; i++) is_released(s, i, EIO, "the disk is broken");
    for (int i = 0; i < NODES; i++) arrive(s, i, "b"); /* and nothing of that lasts */
    for (int i = 0; i < NODES; i++) is_released(s, i, 0, "");
}

TEST_WITH(server, who_comes_to_different_barriers_is_told_so, scene, s)
{
    arrive(s, 1, "one"); /* or one of the others is the first: they have connections of their own */
    peer_say_message(s->fd[2], barrier(MESSAGE_GOES_ON, 0, "", "other"));
    arrive(s, 0, "one");
    for (int i = 0; i < NODES; i++) is_released(s, i, EINVAL, ", while rank ");
}

static void say_absent(const struct scene *s, int rank, unsigned absent)
{
    struct message *m = message_new(MESSAGE_ABSENT);
    message_put_u32(m, absent);
    peer_say_message(s->fd[rank], m);
}

TEST_WITH(server, an_absent_member_is_waited_for_by_nobody_and_missed_where_all_are_needed, scene,
          s)
{
    say_absent(s, 2, 1);
    for (int i = 0; i < 2; i++) arrive(s, i, "b");
    for (int i = 0; i < 2; i++) is_released(s, i, 0, "");
    for (int i = 0; i < 2; i++)
        peer_say_message(s->fd[i], barrier(MESSAGE_NEEDS_ALL, 0, "", "checkpoint"));
    for (int i = 0; i < 2; i++)
        is_released(s, i, EINVAL,
                    "node 2 takes no part in checkpoint: all of its workers have closed");
    say_absent(s, 2, 0);
    hear(s->fd[2], MESSAGE_PRESENT);
    for (int i = 0; i < NODES; i++)
        peer_say_message(s->fd[i], barrier(MESSAGE_NEEDS_ALL, 0, "", "checkpoint"));
    for (int i = 0; i < NODES; i++) is_released(s, i, 0, "");
}

/* ---- nonsense ---- */

static struct message *report(unsigned rank, const char *reason)
{
    struct message *m = message_new(MESSAGE_REPORT);
    message_put_u32(m, rank);
    message_put_text(m, reason);
    return m;
}

enum { NONSENSE = 8 };

static struct message *nonsense(int which)
{
    struct message *m = NULL;
    switch (which) {
    case 0: return barrier(4, 0, "", "b");                     /* no such flag */
    case 1: return barrier(0, MESSAGE_ERRNO_MAX + 1, "", "b"); /* no errno */
    case 2: m = barrier(0, 0, "", "b"); break;                 /* something behind it */
    case 3: m = message_new(MESSAGE_LEAVE); break;
    case 4: return message_new(MESSAGE_BARRIER);
    case 5: return message_new(MESSAGE_HELLO); /* once more */
    case 6: return report(NODES, "there is no such rank");
    default:
        m = message_new(MESSAGE_ABSENT);
        message_put_u32(m, 2);
        return m;
    }
    message_put_u32(m, 0);
    return m;
}

TEST(server, a_member_that_sends_nonsense_is_lost)
{
    for (int which = 0; which < NONSENSE; which++) {
        struct scene s;
        scene_begin(&s);
        peer_say_message(s.fd[1], nonsense(which));
        hears_of_loss(&s, 0, 1, "sent a message that makes no sense");
        hears_of_loss(&s, 2, 1, "sent a message that makes no sense");
        scene_end(&s);
    }
}

TEST_WITH(server, a_member_that_comes_twice_to_a_barrier_is_lost, scene, s)
{
    arrive(s, 1, "b");
    arrive(s, 1, "b");
    hears_of_loss(s, 0, 1, "sent a message that makes no sense");
}

/* ---- losses ---- */

TEST_WITH(server, a_member_that_goes_is_lost_and_the_first_loss_is_the_only_one, scene, s)
{
    shutdown(s->fd[2], SHUT_RDWR);
    hears_of_loss(s, 0, 2, "closed the connection");
    hears_of_loss(s, 1, 2, "closed the connection");
    peer_say_message(s->fd[1], report(0, "a link broke"));
    for (int i = 0; i < 2; i++) {
        unsigned char byte;
        shutdown(s->fd[i], SHUT_WR); /* it has heard: the end is the acknowledgement */
        CHECK(recv(s->fd[i], &byte, 1, 0) <= 0);
    }
}

TEST_WITH(server, a_broken_link_is_told_to_all_at_once, scene, s)
{
    peer_say_message(s->fd[1], report(2, "a link broke"));
    for (int i = 0; i < NODES; i++) hears_of_loss(s, i, 2, "a link broke");
}

/* Silence is mutual: who is lost is who most say. */
TEST_WITH(server, of_silence_the_most_accused_is_lost, scene, s)
{
    peer_say_message(s->fd[2], report(1, SILENCE_REASON "10 s"));
    peer_say_message(s->fd[1], report(2, SILENCE_REASON "10 s"));
    peer_say_message(s->fd[0], report(1, SILENCE_REASON "10 s"));
    for (int i = 0; i < NODES; i++) hears_of_loss(s, i, 1, "was silent for 10 s, as 2 nodes say");
}

/* ---- the end ---- */

TEST_WITH(server, all_leave_together_and_the_port_is_free_by_then, scene, s)
{
    for (int i = 0; i < NODES; i++) peer_say_message(s->fd[i], message_new(MESSAGE_LEAVE));
    hear(s->fd[0], MESSAGE_LEFT);
    close(peer_listen(s->address));
    for (int i = 1; i < NODES; i++) hear(s->fd[i], MESSAGE_LEFT);
}

/* Who leaves counts as arrived. */
TEST_WITH(server, a_member_that_leaves_holds_up_no_barrier, scene, s)
{
    peer_say_message(s->fd[1], message_new(MESSAGE_LEAVE));
    arrive(s, 0, "b");
    arrive(s, 2, "b");
    is_released(s, 0, 0, "");
    is_released(s, 2, 0, "");
}

TEST(server, stopped_before_all_have_come_it_ends_their_connections)
{
    struct scene s;
    unsigned char byte;
    start(&s);
    s.fd[1] = peer_join(&s.node[1]);
    server_stop(s.server);
    while (recv(s.fd[1], &byte, 1, 0) > 0) continue;
    close(s.fd[1]);
    close(peer_listen(s.address));
}

TEST(server, a_port_that_is_taken_is_named)
{
    struct scene s;
    struct server *other = NULL;
    struct rendezvous_address a;
    start(&s);
    CHECK_EQ(rendezvous_address_parse(&a, s.address), 0);
    CHECK_EQ(rendezvous_address_resolve(&a, 0), 0);
    CHECK_EQ(server_start(&other, &s.node[0].config, &a, clock_now_ns()), -EADDRINUSE);
    CHECK_STR(locus_error(), s.address);
    CHECK(other == NULL);
    server_stop(s.server);
}
