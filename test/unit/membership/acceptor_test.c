/* What unauthenticated peers and mad members send harms nobody else. */
#include "membership/acceptor.h"
#include "membership/hello.h"
#include "membership/peers.h"
#include "net/strangers.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char garbage[] =
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not a word of locus in this\r\n\r\n";

static void bother(const char *address)
{
    unsigned char hello[TEXT_BYTES];
    struct node n;
    node_init(&n, 1, 2, address);
    size_t bytes = peer_hello(&n.config, hello, sizeof hello);

    int fd = peer_connect(address);
    peer_say(fd, garbage, sizeof garbage);
    CHECK(peer_is_cut_off(fd, 60000));

    fd = peer_connect(address);
    hello[11] = 0x7f; /* as if the body had 2 GB */
    peer_say(fd, hello, bytes);
    CHECK(peer_is_cut_off(fd, 60000));
    hello[11] = 0;

    fd = peer_connect(address);
    hello[6] = MESSAGE_LEAVE; /* before it said who it is */
    peer_say(fd, hello, bytes);
    CHECK(peer_is_cut_off(fd, 60000));
    hello[6] = MESSAGE_HELLO;

    fd = peer_connect(address);
    hello[8]--; /* a body one byte too short */
    peer_say(fd, hello, bytes - 1);
    CHECK(peer_is_cut_off(fd, 60000));
}

TEST(rendezvous, garbage_ends_its_own_connection_and_nothing_else)
{
    struct node n[3];
    nodes_init(n, 3, nodes_address());
    node_start(&n[0], node_join);
    bother(n[0].config.node.rendezvous);
    node_start(&n[1], node_join);
    bother(n[0].config.node.rendezvous);
    node_start(&n[2], node_join);
    nodes_finish(n, 3);
    nodes_check(n, 3, 0, "");
    bother(n[0].config.node.rendezvous);
    nodes_meet(n, 3);
    nodes_leave(n, 3);
    nodes_check_unharmed(n, 3);
}

/* More than rank 0 would keep until their time is over, if it cut off none before. */
enum { SILENT = 150, HIGH_DESCRIPTOR = 512 };

/* In the end rank 0 has accepted all who came before: else the system would have to keep more than
 * it does, and would let those who come wait for a second. */
static void knock(const char *address)
{
    int fd = peer_connect(address);
    peer_say(fd, garbage, sizeof garbage);
    CHECK(peer_is_cut_off(fd, 60000));
}

/* Out of the way: rank 0 takes many low descriptors for its own that wait to be closed, and pauses.
 * Unauthenticated peers are in other processes. */
static int connect_unauthenticated(const char *address)
{
    int low = peer_connect(address), fd = fcntl(low, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    CHECK(fd >= HIGH_DESCRIPTOR);
    close(low);
    return fd;
}

/* The nodes give up before the time of an unauthenticated peer is over: they come in because it
 * loses its place, or not at all. */
TEST(rendezvous, silent_and_slow_connections_keep_nobody_out)
{
    struct node n[3];
    int silent[SILENT];
    unsigned char hello[TEXT_BYTES];
    nodes_init(n, 3, nodes_address());
    n[1].config.node.join_timeout_s = n[2].config.node.join_timeout_s = STRANGERS_S - 1;
    peer_hello(&n[1].config, hello, sizeof hello);
    node_start(&n[0], node_join);
    for (int i = 0; i < SILENT; i++) {
        if (i == SILENT / 2) knock(n[0].config.node.rendezvous);
        silent[i] = connect_unauthenticated(n[0].config.node.rendezvous);
        if (i % 2) send(silent[i], hello, 5 + (size_t)i % 20, MSG_NOSIGNAL);
    }
    node_start(&n[1], node_join);
    node_start(&n[2], node_join);
    nodes_finish(n, 3);
    nodes_check(n, 3, 0, "");
    nodes_meet(n, 3);
    CHECK(peer_is_cut_off(silent[0], 60000));          /* others took its place */
    CHECK(peer_is_cut_off(silent[SILENT - 1], 60000)); /* its time was over */
    nodes_leave(n, 3);
    for (int i = 1; i < SILENT - 1; i++) close(silent[i]);
}

/* The first loses its place when so many have been accepted, each a hundredth of a second after
 * the one before. */
TEST(rendezvous, a_flood_of_connections_to_a_running_job_is_taken_slowly)
{
    enum { PLACES = STRANGERS_MAX + 2, FLOOD = PLACES + 20 };
    struct node n[2];
    int fd[FLOOD];
    nodes_form(n, 2);
    double began_s = now_s();
    for (int i = 0; i < FLOOD; i++) fd[i] = peer_connect(n[0].config.node.rendezvous);
    CHECK(peer_is_cut_off(fd[0], 60000));
    CHECK(now_s() - began_s > (PLACES - 1) * 0.01);
    nodes_meet(n, 2);
    for (int i = 1; i < FLOOD; i++) close(fd[i]);
    nodes_leave(n, 2);
}
