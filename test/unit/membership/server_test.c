/* server: what rank 0 answers to its members, where rendezvous_test.c and loss_test.c do not show it. All of them are bare sockets here, rank 0's own
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

static struct message_reader hear(int fd, enum message_type type)
{
    static unsigned char data[4096];
    size_t bytes = peer_hear(fd, type, data, sizeof data);
    return message_reader(data + MESSAGE_HEADER_BYTES, bytes - MESSAGE_HEADER_BYTES);
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
    CHECK_EQ(server_start(&s->server, &s->node[0].config, &a, clock_now_ns() + TIMEOUT_S * SECOND),
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

static void say_number(const struct scene *s, int rank, enum message_type type, unsigned number)
{
    struct message *m = message_new(type);
    message_put_u32(m, number);
    peer_say_message(s->fd[rank], m);
}

static void say_loss(const struct scene *s, int rank, unsigned lost, const char *reason)
{
    struct message *m = message_new(MESSAGE_REPORT);
    message_put_u32(m, lost);
    message_put_text(m, reason);
    peer_say_message(s->fd[rank], m);
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

#define SERVER_TEST(name) TEST_WITH(server, name, scene, s)

SERVER_TEST(absent_member_is_waited_for_by_nobody_and_missed_where_all_are_needed)
{
    say_number(s, 2, MESSAGE_ABSENT, 1);
    for (int i = 0; i < 2; i++) arrive(s, i, "b");
    for (int i = 0; i < 2; i++) is_released(s, i, 0, "");
    for (int i = 0; i < 2; i++)
        peer_say_message(s->fd[i], barrier(MESSAGE_NEEDS_ALL, 0, "", "checkpoint"));
    for (int i = 0; i < 2; i++)
        is_released(s, i, EINVAL,
                    "node 2 takes no part in checkpoint: all of its workers have closed");
    say_number(s, 2, MESSAGE_ABSENT, 0);
    hear(s->fd[2], MESSAGE_PRESENT);
    for (int i = 0; i < NODES; i++)
        peer_say_message(s->fd[i], barrier(MESSAGE_NEEDS_ALL, 0, "", "checkpoint"));
    for (int i = 0; i < NODES; i++) is_released(s, i, 0, "");
}

static void talk_nonsense(const struct scene *s, int which)
{
    struct message *more = barrier(0, 0, "", "b");
    message_put_u32(more, 0);
    switch (which) {
    case 0: peer_say_message(s->fd[1], barrier(4, 0, "", "b")); break; /* no such flag */
    case 1: peer_say_message(s->fd[1], barrier(0, MESSAGE_ERRNO_MAX + 1, "", "b")); break;
    case 2: peer_say_message(s->fd[1], more); return; /* something behind it */
    case 3: say_number(s, 1, MESSAGE_LEAVE, 0); break;
    case 4: peer_say_message(s->fd[1], message_new(MESSAGE_BARRIER)); break;
    case 5: peer_say_hello(s->fd[1], &s->node[1].config); break; /* once more */
    case 6: say_loss(s, 1, NODES, "there is no such rank"); break;
    case 7: say_number(s, 1, MESSAGE_ABSENT, 2); break;
    default: /* comes twice to a barrier */ arrive(s, 1, "b"); arrive(s, 1, "b");
    }
    message_let_go(more);
}

TEST(server, member_that_sends_nonsense_is_lost)
{
    enum { NONSENSE = 9 };
    for (int which = 0; which < NONSENSE; which++) {
        struct scene s;
        scene_begin(&s);
        talk_nonsense(&s, which);
        hears_of_loss(&s, 0, 1, "sent a message that makes no sense");
        hears_of_loss(&s, 2, 1, "sent a message that makes no sense");
        scene_end(&s);
    }
}
