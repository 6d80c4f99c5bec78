/* What unauthenticated peers send to rank 0 harms nobody else. A crowd of them while nodes join:
 * test/cluster/hostile. */
#include "membership/acceptor.h"

#include "membership/hello.h"
#include "membership/peers.h"
#include "net/strangers.h"
#include "test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A hello with one byte changed, and some of it missing; or something else. */
static void bother(const char *address)
{
    static const struct {
        const char *what;
        size_t at;
        int by;
        size_t less;
    } cases[] = {
        {"no message", 0, 'G', 0},
        {"a body of 2 GB", 11, 0x7f, 0},
        {"a leave before it said who it is", 6, MESSAGE_LEAVE - MESSAGE_HELLO, 0},
        {"a body one byte too short", 8, -1, 1},
    };
    struct node n;
    node_init(&n, 1, 2, address);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char hello[TEXT_BYTES];
        size_t bytes = peer_hello(&n.config, hello, sizeof hello);
        hello[cases[i].at] = (unsigned char)(hello[cases[i].at] + cases[i].by);
        int fd = peer_connect(address);
        peer_say(fd, hello, bytes - cases[i].less);
        if (!peer_is_cut_off(fd, 60000))
            test_fail(__FILE__, __LINE__, "%s was not cut off", cases[i].what);
    }
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

/* The first loses its place when so many have been accepted, each a hundredth of a second after
 * the one before. */
TEST(rendezvous, flood_of_connections_to_a_running_job_is_accepted_slowly)
{
    enum { PLACES = STRANGERS_MAX + 2, FLOOD = PLACES + 20 };
    struct node n[2];
    int fd[FLOOD];
    nodes_form(n, 2);
    uint64_t began_ns = now_ns();
    for (int i = 0; i < FLOOD; i++) fd[i] = peer_connect(n[0].config.node.rendezvous);
    CHECK(peer_is_cut_off(fd[0], 60000));
    CHECK(now_ns() - began_ns > (PLACES - 1) * SECOND / 100);
    nodes_meet(n, 2);
    for (int i = 1; i < FLOOD; i++) close(fd[i]);
    nodes_leave(n, 2);
}
