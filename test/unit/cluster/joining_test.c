/* Who joins, and with whom: agreement, differences, versions. */
#include "cluster/message.h"
#include "cluster/peers.h"
#include "common/port.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- joining ---- */

enum { SIZE = 4, TABLES = LOCUS_TABLES_MAX };

static const struct locus_table *many_tables(void)
{
    static struct locus_table tables[TABLES];
    static char names[TABLES][200];
    for (int i = 0; i < TABLES; i++) {
        memset(names[i], 'a' + i % 26, sizeof names[i] - 1);
        tables[i] = (struct locus_table){.name = names[i], .rows = 1 + (uint64_t)i, .length = 1};
    }
    return tables;
}

static void check_cluster(const struct node *n, unsigned shards)
{
    for (int rank = 0; rank < SIZE; rank++) {
        CHECK(n[rank].cluster.id != 0);
        CHECK(n[rank].cluster.id == n[0].cluster.id);
        CHECK_EQ(n[rank].cluster.shards, shards);
        CHECK(n[rank].cluster.peer_timeout_s == 60); /* the shortest */
        for (int other = 0; other < SIZE; other++) {
            CHECK_STR(n[rank].cluster.address[other], n[other].data_address);
            CHECK_EQ(n[rank].cluster.workers[other], other + 1);
        }
    }
}

/* The shards of rank 0 count, and others may leave them to it. */
TEST(rendezvous, nodes_learn_of_each_other)
{
    static const struct {
        const char *host;
        bool has_many_tables, has_secret;
        unsigned shards[SIZE], agreed;
    } cases[] = {
        {.host = "127.0.0.1", .agreed = 2},
        {.host = "localhost", .has_secret = true, .shards = {5, 0, 5}, .agreed = 5},
        {.host = "127.0.0.1", .has_many_tables = true, .agreed = 2},
        {.host = "[::1]", .agreed = 2},
    };
    struct secret s = secret_of("open sesame");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node n[SIZE];
        char address[32];
        snprintf(address, sizeof address, "%s:%d", cases[i].host, port_new());
        nodes_init(n, SIZE, address);
        for (int rank = 0; rank < SIZE; rank++) {
            struct locus_config *c = &n[rank].config.node;
            if (cases[i].has_secret) n[rank].config.secret = &s;
            if (cases[i].has_many_tables) c->tables = many_tables();
            if (cases[i].has_many_tables) c->table_count = TABLES;
            c->shards = cases[i].shards[rank];
            if (rank == 2) c->peer_timeout_s = 60;
            if (i == 3) c->join_timeout_s = 2;
        }
        nodes_do(n, SIZE, node_join);
        if (i == 3 && n[0].rc) SKIP("there is no IPv6 here");
        nodes_check(n, SIZE, 0, "");
        check_cluster(n, cases[i].agreed);
        nodes_meet(n, SIZE);
        nodes_leave(n, SIZE);
        nodes_check_unharmed(n, SIZE);
    }
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

TEST(rendezvous, rank_is_given_once_and_the_first_keeps_it)
{
    struct node n[3], twin;
    nodes_init(n, 3, nodes_address());
    node_init(&twin, 1, 3, n[0].config.node.rendezvous);
    snprintf(twin.data_address, sizeof twin.data_address, "127.0.0.1:9101");
    node_start(&n[0], node_join);
    int fd = peer_join(&n[1]);
    node_check_wrong(&twin, -EINVAL,
                     "rank 1 of 3 is taken: the node at 127.0.0.1:9001 joined with it, then the "
                     "one at 127.0.0.1:9101");
    node_join(&n[2]);
    node_finish(&n[0]);
    nodes_check(n, 3, 0, "");
    CHECK_STR(n[2].cluster.address[1], "127.0.0.1:9001");
    close(fd);
    node_leave(&n[0]);
    node_leave(&n[2]);
}

/* Which addresses are none: address_test.c. */
TEST(rendezvous, wrong_configuration_is_refused_at_once)
{
    static const struct {
        const char *rendezvous, *data_address, *sentence;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:9001", "\"127.0.0.1\" has no port"},
        {NULL, "127.0.0.1:9001", "the rendezvous is not given"},
        {"127.0.0.1:7777", "", "the address \"\" of the data port"},
        {"no-such-host.invalid:7777", "127.0.0.1:9001",
         "\"no-such-host.invalid:7777\" is not known: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node n;
        node_init(&n, 1, 2, cases[i].rendezvous);
        n.config.data_address = cases[i].data_address;
        if (i == 3) n.config.node.join_timeout_s = 0.3;
        node_check_wrong(&n, -EINVAL, cases[i].sentence);
    }
}

TEST(rendezvous, rank_0_says_why_it_cannot_listen)
{
    struct node n;
    node_init(&n, 0, 2, nodes_address());
    int fd = loopback_listen(n.config.node.rendezvous);
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
    int fd = loopback_listen(n[0].config.node.rendezvous);
    node_start(&n[0], node_join);
    sleep_s(0.1); /* far below its time-out */
    close(fd);
    node_start(&n[1], node_join);
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

/* ---- other versions ---- */

TEST(rendezvous, member_of_another_version_and_rank_0_tell_each_other)
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

TEST(rendezvous, something_else_at_the_address_is_recognized)
{
    struct message *welcome = message_done(message_new(MESSAGE_WELCOME));
    welcome->data[4] = 99;
    const struct {
        const void *data;
        size_t bytes;
        const char *sentence;
    } cases[] = {
        {welcome->data, welcome->bytes, "rank 0 speaks version 99 of the protocol, rank 1 speaks "},
        {"HTTP/1.1 400 Bad Request\r\n\r\n", 28, "is no rendezvous of locus"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node n;
        node_init(&n, 1, 2, nodes_address());
        CLOSED_BY(impostor_close) struct impostor impostor = impostor_meet(&n);
        peer_say(impostor.fd, cases[i].data, cases[i].bytes);
        node_finish(&n);
        CHECK_EQ(n.rc, -EPROTO);
        CHECK_STR(n.error, cases[i].sentence);
    }
    message_let_go(welcome);
}
