/* Who does not come, who comes and goes, and names that nobody knows. */
#include "cluster/late_name.h"
#include "cluster/peers.h"
#include "common/port.h"
#include "net/secret.h"
#include "test.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

/* In which those who come are let in, on a busy machine, too. */
enum { TIMEOUT_S = 4 };

/* ---- who does not come ---- */

/* The first whose time is over ends it for all. */
TEST(rendezvous, those_who_came_are_told_who_did_not)
{
    static const struct {
        int size, came, first_rank; /* that comes */
        double timeout_s[3];
        const char *sentence;
    } cases[] = {
        {4,
         3,
         0,
         {TIMEOUT_S, TIMEOUT_S, TIMEOUT_S},
         "rank 3 of 4 has not joined after 4 s; rendezvous 127.0.0.1:"},
        {4, 1, 0, {0.5}, "ranks 1 to 3 of 4 have not joined after 0.5 s; rendezvous 127.0.0.1:"},
        {3, 2, 0, {120, TIMEOUT_S}, "rank 2 of 3 has not joined after 4 s; rendezvous 127.0.0.1:"},
        {2, 1, 1, {0.4}, "rank 1 of 2 could not join for 0.4 s; rendezvous 127.0.0.1:"},
    };
    struct node n[4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nodes_init(n, cases[i].size, nodes_address());
        struct node *first = &n[cases[i].first_rank];
        for (int k = 0; k < cases[i].came; k++)
            first[k].config.node.join_timeout_s = cases[i].timeout_s[k];
        nodes_do(first, cases[i].came, node_join);
        nodes_check(first, cases[i].came, -ETIMEDOUT, cases[i].sentence);
        nodes_check(first, cases[i].came, -ETIMEDOUT, n[0].config.node.rendezvous);
    }
    CHECK_STR(n[1].error, ": nobody answers there");
}

TEST(rendezvous, listener_that_says_nothing_holds_a_member_no_longer_than_its_timeout)
{
    struct node n;
    node_init(&n, 1, 2, nodes_address());
    n.config.node.join_timeout_s = TIMEOUT_S;
    int listener = loopback_listen(n.config.node.rendezvous);
    node_check_wrong(&n, -ETIMEDOUT, "takes the connection, but does not answer");
    close(listener);
}

TEST(rendezvous, node_that_goes_while_others_wait_ends_their_waiting)
{
    struct node n[3];
    nodes_init(n, 3, nodes_address());
    node_start(&n[0], node_join);
    close(peer_join(&n[1]));
    node_finish(&n[0]);
    nodes_check(n, 1, -ECONNRESET,
                "rank 1 of 3 closed the connection before all had joined; rendezvous 127.0.0.1:");
}

TEST(rendezvous, rank_0_that_goes_while_others_wait_ends_their_waiting)
{
    static const unsigned char no_proof[SECRET_PROOF_BYTES];
    struct node n;
    unsigned char hello[TEXT_BYTES];
    node_init(&n, 1, 3, nodes_address());
    struct impostor i = impostor_meet(&n);
    peer_hear(i.fd, MESSAGE_HELLO, hello, sizeof hello);
    peer_say_message(i.fd, peer_welcome(no_proof));
    impostor_close(&i);
    node_finish(&n);
    CHECK_EQ(n.rc, -ECONNRESET);
    CHECK_STR(n.error, "rank 0 closed the connection before all had joined; rendezvous 127.0.0.1:");
}

TEST(rendezvous, newcomer_waits_until_the_cluster_at_the_address_has_left)
{
    struct node n[2], next[2], hurried;
    nodes_init(n, 2, nodes_address());
    nodes_init(next, 2, n[0].config.node.rendezvous);
    node_init(&hurried, 1, 2, n[0].config.node.rendezvous);
    hurried.config.node.join_timeout_s = TIMEOUT_S;
    nodes_join(n, 2);
    node_check_wrong(&hurried, -ETIMEDOUT, "another cluster, of 2 nodes, has not ended there");
    node_start(&next[1], node_join);
    sleep_s(0.2);
    nodes_leave(n, 2);
    node_start(&next[0], node_join);
    nodes_finish(next, 2);
    nodes_check(next, 2, 0, "");
    CHECK(next[0].cluster.id == next[1].cluster.id);
    CHECK(next[0].cluster.id != n[0].cluster.id);
    nodes_leave(next, 2);
}

/* ---- names ---- */

TEST(rendezvous, resolver_that_does_not_answer_is_asked_again)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, LATE_NAME ":%d", port_new());
    nodes_init(n, 2, address);
    late_name_fails(3, EAI_AGAIN);
    nodes_join(n, 2);
    nodes_leave(n, 2);
    late_name_fails(1000, EAI_AGAIN);
    n[1].config.node.join_timeout_s = 1;
    node_check_wrong(&n[1], -EINVAL, "the rendezvous \"late.invalid:");
}
