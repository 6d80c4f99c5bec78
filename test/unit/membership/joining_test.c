/* Who joins, and with whom: agreement, differences, versions. */
#include "common/port.h"
#include "membership/hello.h"
#include "membership/peers.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- joining ---- */

TEST(rendezvous, nodes_learn_of_each_other)
{
    struct node n[4];
    nodes_form(n, 4);
    for (int rank = 0; rank < 4; rank++) {
        CHECK(n[rank].cluster.id != 0);
        CHECK(n[rank].cluster.id == n[0].cluster.id);
        CHECK_EQ(n[rank].cluster.shards, 2);
        for (int other = 0; other < 4; other++) {
            CHECK_STR(n[rank].cluster.address[other], n[other].data_address);
            CHECK_EQ(n[rank].cluster.workers[other], other + 1);
        }
    }
    nodes_leave(n, 4);
    nodes_check_unharmed(n, 4);
}

TEST(rendezvous, the_shards_of_rank_0_count_and_others_may_leave_them_to_it)
{
    struct node n[3];
    nodes_init(n, 3, nodes_address());
    n[0].config.node.shards = 5;
    n[2].config.node.shards = 5;
    nodes_join(n, 3);
    CHECK_EQ(n[1].cluster.shards, 5);
    nodes_leave(n, 3);
}

TEST(rendezvous, any_node_may_be_the_last_to_come)
{
    for (int late = 0; late < 4; late++) {
        struct node n[4];
        nodes_init(n, 4, nodes_address());
        nodes_start_but(n, 4, late, node_join);
        sleep_s(0.15);
        node_start(&n[late], node_join);
        nodes_finish(n, 4);
        nodes_check(n, 4, 0, "");
        nodes_leave(n, 4);
    }
}

TEST(rendezvous, an_ipv6_address_does)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, "[::1]:%d", port_new());
    nodes_init(n, 2, address);
    n[0].config.node.join_timeout_s = n[1].config.node.join_timeout_s = 2;
    nodes_do(n, 2, node_join);
    if (n[0].rc) SKIP("there is no IPv6 here");
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

TEST(rendezvous, a_host_name_does)
{
    struct node n[2];
    char address[32];
    snprintf(address, sizeof address, "localhost:%d", port_new());
    nodes_init(n, 2, address);
    nodes_join(n, 2);
    nodes_leave(n, 2);
}

TEST(rendezvous, many_tables_do)
{
    enum { TABLES = LOCUS_TABLES_MAX };
    struct node n[2];
    static struct locus_table tables[TABLES];
    static char names[TABLES][200];
    for (int i = 0; i < TABLES; i++) {
        memset(names[i], 'a' + i % 26, sizeof names[i] - 1);
        tables[i] = (struct locus_table){.name = names[i], .rows = 1 + (uint64_t)i, .length = 1};
    }
    nodes_init(n, 2, nodes_address());
    for (int rank = 0; rank < 2; rank++) {
        n[rank].config.node.tables = tables;
        n[rank].config.node.table_count = TABLES;
    }
    nodes_join(n, 2);
    nodes_leave(n, 2);
}

/* ---- what differs ---- */

TEST(rendezvous, all_who_wait_are_told_that_one_differs)
{
    struct node n[4];
    int fd[3];
    char sentence[TEXT_BYTES];
    nodes_init(n, 4, nodes_address());
    n[3].config.node.shards = 7;
    node_start(&n[0], node_join);
    for (int rank = 1; rank < 3; rank++) fd[rank] = peer_join(&n[rank]);
    node_check_wrong(&n[3], -EINVAL, "rank 3 has shards 7, rank 0 has 2");
    node_finish(&n[0]);
    CHECK_EQ(n[0].rc, -EINVAL);
    for (int rank = 1; rank < 3; rank++) {
        peer_read_refusal(fd[rank], sentence, sizeof sentence);
        CHECK_STR(sentence, n[0].error);
    }
}

TEST(rendezvous, a_rank_is_given_once_and_the_first_keeps_it)
{
    struct node n[3], twin;
    nodes_init(n, 3, nodes_address());
    node_init(&twin, 1, 3, n[0].config.node.rendezvous);
    snprintf(twin.data_address, sizeof twin.data_address, "127.0.0.1:9101");
    node_start(&n[0], node_join);
    int fd = peer_join(&n[1]);
    node_join(&twin);
    CHECK_EQ(twin.rc, -EINVAL);
    CHECK_STR(
        twin.error,
        "rank 1 of 3 is taken: the node at 127.0.0.1:9001 joined with it, then the one at 127.0.0.1:9101");
    node_join(&n[2]);
    node_finish(&n[0]);
    nodes_check(n, 3, 0, "");
    CHECK_STR(n[2].cluster.address[1], "127.0.0.1:9001");
    close(fd);
    node_leave(&n[0]);
    node_leave(&n[2]);
}

static void check_address(const char *address, const char *part)
{
    struct node n;
    node_init(&n, 1, 2, address);
    node_check_wrong(&n, -EINVAL, part);
}

TEST(rendezvous, a_wrong_configuration_is_refused_at_once)
{
    struct node n;
    check_address("127.0.0.1", "\"127.0.0.1\" has no port");
    check_address("127.0.0.1:70000", "\"127.0.0.1:70000\" has no port from 1 to 65535");
    check_address("127.0.0.1:http", "\"127.0.0.1:http\" has no port from 1 to 65535");
    check_address(":7777", "\":7777\" has no host");
    check_address("::1:7777", "write an IPv6 address in brackets");
    check_address(NULL, "the rendezvous is not given");
    node_init(&n, 1, 2, "127.0.0.1:7777");
    n.config.data_address = "";
    node_check_wrong(&n, -EINVAL, "the address \"\" of the data port");
    node_init(&n, 1, 2, "no-such-host.invalid:7777");
    n.config.node.join_timeout_s = 0.3;
    node_check_wrong(&n, -EINVAL, "\"no-such-host.invalid:7777\" is not known: ");
}

TEST(rendezvous, rank_0_says_why_it_cannot_listen)
{
    struct node n;
    node_init(&n, 0, 2, nodes_address());
    int fd = peer_listen(n.config.node.rendezvous);
    node_check_wrong(&n, -EADDRINUSE, n.config.node.rendezvous);
    CHECK_STR(n.error, "the port is taken");
    close(fd);
    node_init(&n, 0, 2, "203.0.113.7:7777");
    node_check_wrong(&n, -EINVAL, "203.0.113.7:7777: this machine has no such address");
}

TEST(rendezvous, rank_0_waits_for_a_port_that_is_about_to_be_free)
{
    struct node n[2];
    nodes_init(n, 2, nodes_address());
    int fd = peer_listen(n[0].config.node.rendezvous);
    node_start(&n[0], node_join);
    sleep_s(0.1); /* far below its time-out */
    close(fd);
    node_start(&n[1], node_join);
    node_finish(&n[0]);
    node_finish(&n[1]);
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

/* ---- other versions ---- */

TEST(rendezvous, a_member_of_another_version_and_rank_0_tell_each_other)
{
    struct node n[2];
    unsigned char hello[TEXT_BYTES];
    char sentence[TEXT_BYTES];
    nodes_init(n, 2, nodes_address());
    size_t bytes = peer_hello(&n[1].config, hello, sizeof hello);
    hello[4] = 99;                        /* the version */
    memset(hello + 20, 0xee, bytes - 20); /* whatever it says behind rank and size */
    node_start(&n[0], node_join);
    int fd = peer_connect(n[0].config.node.rendezvous);
    peer_say(fd, hello, bytes);
    peer_read_refusal(fd, sentence, sizeof sentence);
    node_finish(&n[0]);
    CHECK_STR(sentence, "rank 1 speaks version 99 of the protocol, rank 0 speaks ");
    CHECK_STR(n[0].error, sentence);
    CHECK_EQ(n[0].rc, -EPROTO);
}

TEST(rendezvous, a_rank_0_of_another_version_is_recognized)
{
    struct node n;
    struct message *welcome = message_done(message_new(MESSAGE_WELCOME));
    node_init(&n, 1, 2, nodes_address());
    CLOSED_BY(impostor_close) struct impostor i = impostor_meet(&n);
    welcome->data[4] = 99;
    peer_say(i.fd, welcome->data, welcome->bytes);
    node_finish(&n);
    CHECK_EQ(n.rc, -EPROTO);
    CHECK_STR(n.error, "rank 0 speaks version 99 of the protocol, rank 1 speaks ");
    message_let_go(welcome);
}
