/* A node joins a running cluster, where one of its rank was lost. */
#include "cluster/member.h"
#include "cluster/message.h"
#include "cluster/peers.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a cluster that has lost one ---- */

/* All have said so before they come. */
static void lose(struct node *n, int size, int lost, unsigned view)
{
    node_end(&n[lost]);
    nodes_expect_view(n, size, view, (unsigned)lost, NODE_ENDED);
    nodes_say_repaired(n, size, view);
    nodes_do_together(n, size, node_meet, 0);
}

static void form_and_lose_last(struct node *n, int size)
{
    nodes_form_surviving(n, size);
    nodes_meet(n, size);
    lose(n, size, size - 1, 1);
}

/* Another process of that rank, each at another port: else the news of one would be taken for those
 * of the next. */
static void init_another(struct node *n, int rank, int size, const struct node *like)
{
    static int others;
    node_init(n, rank, size, like->config.node.rendezvous);
    snprintf(n->data_address, sizeof n->data_address, "127.0.0.1:%d", 9100 + others++);
    n->config.node.survives = true;
    n->config.secret = like->config.secret;
}

/* Of those that are members. */
static void await_joining(struct node *n, int size, const struct node *newcomer)
{
    int joins = newcomer->config.node.rank;
    for (int rank = 0; rank < size; rank++)
        if (rank != joins && n[rank].rendezvous)
            node_expect_joining(&n[rank], (unsigned)joins, newcomer->data_address);
}

static void await_called_off(struct node *n, int size, unsigned joins)
{
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) node_expect_joining(&n[rank], joins, "");
}

/* It has joined, as far as it knows, and all have links to it. */
static void connect_all(struct node *n, int size, struct node *newcomer)
{
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) rendezvous_connected(n[rank].rendezvous, n[rank].join_id, "");
    rendezvous_connected(newcomer->rendezvous, newcomer->cluster.id, "");
}

static void expect_member(struct node *n, int size, unsigned rank, unsigned view)
{
    char address[ADDRESS_MAX];
    for (int i = 0; i < size; i++) {
        if (!n[i].rendezvous || i == (int)rank) continue;
        node_expect_view(&n[i], view, rank, "has joined");
        CHECK_EQ(rendezvous_view(n[i].rendezvous), view);
        CHECK(!rendezvous_has_lost(n[i].rendezvous, rank));
        rendezvous_address(n[i].rendezvous, rank, address);
        CHECK_STR(address, ":91");
    }
}

/* Another process of that rank comes, and nobody is connected to it. */
static void join_in_part(struct node *n, int size, int rank, struct node *newcomer)
{
    init_another(newcomer, rank, size, &n[0]);
    node_start(newcomer, node_join);
    await_joining(n, size, newcomer);
    node_finish(newcomer);
    nodes_check(newcomer, 1, 0, "");
}

/* n[rank] comes back, and has yet to meet the others. */
static void come_back(struct node *n, int size, int rank, unsigned view)
{
    join_in_part(n, size, rank, &n[rank]);
    CHECK_EQ(n[rank].cluster.changes, view - 1);
    CHECK_EQ(rendezvous_view(n[rank].rendezvous), view);
    connect_all(n, size, &n[rank]);
    expect_member(n, size, (unsigned)rank, view);
    nodes_say_repaired(n, size, view);
}

/* It is a member, as all have heard, and they have repaired that. */
static void repair_joining(struct node *n, int size, struct node *newcomer, unsigned view)
{
    nodes_expect_view(n, size, view, (unsigned)newcomer->config.node.rank, "has joined");
    nodes_say_repaired(n, size, view);
    rendezvous_repaired(newcomer->rendezvous, view);
}

static void *meet_newcomers(void *argument)
{
    struct node *n = argument;
    const struct meeting meeting = {.name = "locus_meet", .lets_in = true};
    struct word word = {.count = 1, .number = {n->config.node.rank + 1}};
    n->rc = rendezvous_agree(n->rendezvous, &meeting, &word);
    snprintf(n->error, sizeof n->error, "%g", word.number[0]);
    return NULL;
}

/* The others, a bit each, meet until it is there, too. */
static void let_in(struct node *n, int rank, unsigned members)
{
    char all[16];
    int size = 0, sum = rank + 1;
    for (int i = 0; members >> i; i++) {
        size = i + 1;
        if (members >> i & 1) sum += i + 1;
    }
    snprintf(all, sizeof all, "%d", sum);
    node_start(&n[rank], meet_newcomers);
    do {
        for (int i = 0; i < size; i++)
            if (members >> i & 1) node_start(&n[i], meet_newcomers);
        for (int i = 0; i < size; i++)
            if (members >> i & 1) node_finish(&n[i]);
    } while (strcmp(n[0].error, all) != 0);
    node_finish(&n[rank]);
    CHECK_STR(n[rank].error, all);
}

/* ---- who joins ---- */

TEST(newcomer, takes_part_from_the_first_meeting_on_that_lets_it_in)
{
    struct node n[3];
    form_and_lose_last(n, 3);
    come_back(n, 3, 2, 2);
    CHECK_EQ(n[2].cluster.history[0].kind, CHANGE_LOST);
    CHECK_EQ(n[2].cluster.history[0].node, 2);
    nodes_meet(n, 2); /* which do not wait for it */
    nodes_do(n, 2, meet_newcomers);
    nodes_check(n, 2, 0, "3");
    let_in(n, 2, 3);
    nodes_meet(n, 3);
    lose(n, 3, 1, 3);
    nodes_do_together(n, 3, node_leave, 0);
}

TEST(newcomer, joins_again_and_again)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    for (unsigned view = 1; view < 9; view += 4) {
        lose(n, 4, 3, view);
        lose(n, 4, 1, view + 1);
        come_back(n, 4, 1, view + 2);
        come_back(n, 4, 3, view + 3);
        let_in(n, 3, 5);
        let_in(n, 1, 13);
        nodes_meet(n, 4);
    }
    nodes_leave(n, 4);
}

TEST(newcomer, of_a_secret)
{
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    struct node n[3], other;
    nodes_init(n, 3, nodes_address());
    for (int rank = 0; rank < 3; rank++) {
        n[rank].config.node.survives = true;
        n[rank].config.secret = &right;
    }
    nodes_join(n, 3);
    nodes_meet(n, 3);
    lose(n, 3, 2, 1);
    init_another(&other, 2, 3, &n[0]);
    other.config.secret = NULL;
    node_check_wrong(&other, -EACCES, "does not know the cluster's secret");
    other.config.secret = &wrong;
    other.config.node.join_timeout_s = 0.2;
    node_check_wrong(&other, -EACCES, "secret");
    come_back(n, 3, 2, 2);
    let_in(n, 2, 3);
    nodes_leave(n, 3);
}

/* ---- who must wait, or is refused ---- */

static void expect_again(struct node *n)
{
    unsigned char data[TEXT_BYTES];
    int fd = peer_connect(n->config.node.rendezvous);
    peer_say_hello(fd, &n->config);
    peer_hear(fd, MESSAGE_AGAIN, data, sizeof data);
    close(fd);
}

/* Whose predecessor lives as far as is known; or while another one joins. Each tries again. */
TEST(newcomer, waits_for_its_turn)
{
    struct node n[4], other, third;
    nodes_form_surviving(n, 4);
    init_another(&other, 3, 4, &n[0]);
    expect_again(&other);
    nodes_meet(n, 4);
    expect_again(&other);
    lose(n, 4, 3, 1);
    node_end(&n[2]);
    nodes_expect_view(n, 2, 2, 2, NODE_ENDED);
    expect_again(&other); /* that is not repaired */
    nodes_say_repaired(n, 2, 2);
    nodes_do_together(n, 2, node_meet, 0);
    int fd = peer_join(&other);
    await_joining(n, 4, &other);
    init_another(&third, 2, 4, &n[0]);
    expect_again(&third);
    expect_again(&other);
    close(fd);
    await_called_off(n, 4, 3);
    come_back(n, 4, 2, 3);
    come_back(n, 4, 3, 4);
    let_in(n, 2, 3);
    let_in(n, 3, 7);
    nodes_leave(n, 4);
}

/* And nobody else hears of it. */
TEST(newcomer, that_differs_is_refused)
{
    struct node n[3], other;
    unsigned char data[TEXT_BYTES];
    char sentence[TEXT_BYTES];
    static const struct locus_table another = {.rows = 7, .length = 16};
    form_and_lose_last(n, 3);
    init_another(&other, 2, 3, &n[0]);
    other.config.node.tables = &another;
    other.config.node.table_count = 1;
    node_check_wrong(&other, -EINVAL, "rank 2 has table_count 1, rank 0 has 2");
    init_another(&other, 2, 3, &n[0]);
    size_t bytes = peer_hello(&other.config, data, sizeof data);
    data[4]++; /* the version */
    int fd = peer_connect(other.config.node.rendezvous);
    peer_say(fd, data, bytes);
    peer_read_refusal(fd, sentence, sizeof sentence);
    CHECK_STR(sentence, "run the same version of locus");
    nodes_do_together(n, 2, node_meet, 0);
    CHECK_EQ(n[0].join_id, 0);
    nodes_leave(n, 2);
}

/* ---- it does not come to it ---- */

static void check_called_off(struct node *n, int size, struct node *other, int culprit,
                             const char *why)
{
    await_called_off(n, size, (unsigned)size - 1);
    node_expect_loss(other, culprit, why);
    node_leave(other);
    CHECK_EQ(other->rc, -ECONNRESET);
    nodes_do_together(n, size, node_meet, 0);
    for (int rank = 0; rank < size - 1; rank++) CHECK_EQ(n[rank].losses, 0);
}

/* Nothing has happened then, and another one may come. */
TEST(newcomer, that_ends_or_cannot_be_reached_changes_nothing)
{
    struct node n[3], other;
    form_and_lose_last(n, 3);
    join_in_part(n, 3, 2, &other);
    rendezvous_connected(n[0].rendezvous, n[0].join_id, "");
    rendezvous_free(other.rendezvous);
    await_called_off(n, 3, 2);

    join_in_part(n, 3, 2, &other);
    rendezvous_connected(n[0].rendezvous, n[0].join_id, "");
    rendezvous_connected(n[1].rendezvous, n[1].join_id, "has no links to it: no way");
    check_called_off(n, 3, &other, 2, "could not join: node 1 has no links to it: no way");

    join_in_part(n, 3, 2, &other);
    rendezvous_report_lost(other.rendezvous, 2, "could not start: no memory");
    check_called_off(n, 3, &other, 2, "could not start: no memory");

    /* whose link ends at a member that has given it up */
    join_in_part(n, 3, 2, &other);
    rendezvous_report_lost(other.rendezvous, 1, NODE_ENDED);
    check_called_off(n, 3, &other, 2, "could not join: node 1 " NODE_ENDED);

    CHECK_EQ(rendezvous_view(n[0].rendezvous), 1);
    come_back(n, 3, 2, 2);
    nodes_leave(n, 3);
}

/* It was stopped. */
TEST(newcomer, that_falls_silent_changes_nothing)
{
    struct node n[3], other;
    nodes_init(n, 3, nodes_address());
    for (int rank = 0; rank < 3; rank++) {
        n[rank].config.node.survives = true;
        n[rank].config.node.peer_timeout_s = 0.5;
    }
    nodes_join(n, 3);
    nodes_meet(n, 3);
    lose(n, 3, 2, 1);
    init_another(&other, 2, 3, &n[0]);
    int fd = peer_join(&other);
    await_joining(n, 3, &other);
    await_called_off(n, 3, 2);
    nodes_do_together(n, 2, node_meet, 0);
    come_back(n, 3, 2, 2);
    nodes_leave(n, 3);
    close(fd);
}

/* What is said of one attempt counts for no other. */
TEST(newcomer, is_none_by_what_was_said_of_an_earlier_one)
{
    struct node n[3], other;
    form_and_lose_last(n, 3);
    join_in_part(n, 3, 2, &other);
    uint64_t earlier = n[1].join_id;
    rendezvous_free(other.rendezvous);
    await_called_off(n, 3, 2);
    join_in_part(n, 3, 2, &other);
    CHECK(n[1].join_id != earlier);
    rendezvous_connected(n[1].rendezvous, earlier, "");
    rendezvous_connected(n[1].rendezvous, earlier, "cannot");
    rendezvous_connected(n[0].rendezvous, n[0].join_id, "");
    rendezvous_connected(other.rendezvous, other.cluster.id, "");
    nodes_do_together(n, 3, node_meet, 0);
    CHECK_EQ(rendezvous_view(n[0].rendezvous), 1);
    rendezvous_connected(n[1].rendezvous, n[1].join_id, "");
    repair_joining(n, 2, &other, 2);
    n[2] = other;
    nodes_leave(n, 3);
}

TEST(newcomer, does_not_become_a_member_when_another_is_lost_meanwhile)
{
    struct node n[4], other;
    form_and_lose_last(n, 4);
    join_in_part(n, 4, 3, &other);
    node_end(&n[2]);
    nodes_expect_view(n, 2, 2, 2, NODE_ENDED);
    nodes_say_repaired(n, 2, 2);
    check_called_off(n, 4, &other, 3, "could not join: node 2 " NODE_ENDED);
    come_back(n, 4, 3, 3);
    come_back(n, 4, 2, 4);
    let_in(n, 2, 3);
    let_in(n, 3, 7);
    nodes_leave(n, 4);
}

/* As any loss during a repair. */
TEST(newcomer, that_is_lost_while_others_repair_is_lost_as_any_member)
{
    struct node n[3], other;
    form_and_lose_last(n, 3);
    join_in_part(n, 3, 2, &other);
    connect_all(n, 3, &other);
    nodes_expect_view(n, 2, 2, 2, "has joined");
    rendezvous_free(other.rendezvous);
    nodes_expect_view(n, 2, 3, 2, NODE_ENDED);
    nodes_say_repaired(n, 2, 3);
    nodes_do_together(n, 2, node_meet, 0);
    come_back(n, 3, 2, 4);
    let_in(n, 2, 3);
    nodes_leave(n, 3);
}

TEST(newcomer, hears_that_the_others_leave)
{
    struct node n[3], other;
    form_and_lose_last(n, 3);
    join_in_part(n, 3, 2, &other);
    nodes_start_but(n, 2, -1, node_leave);
    node_expect_loss(&other, 2, "could not join: node ");
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
    node_leave(&other);
}

/* ---- meetings ---- */

/* Who is the last one that could come to a meeting is let in alone: nobody waits for what will not be. */
TEST(newcomer, is_let_in_alone_when_all_others_are_away)
{
    struct node n[3];
    form_and_lose_last(n, 3);
    come_back(n, 3, 2, 2);
    rendezvous_absent(n[1].rendezvous);
    node_start(&n[2], meet_newcomers);
    node_start(&n[0], node_leave);
    node_finish(&n[2]);
    nodes_check(&n[2], 1, 0, "3");
    node_start(&n[1], node_leave);
    node_leave(&n[2]);
    nodes_check(&n[2], 1, 0, "");
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
}

TEST(newcomer, is_missed_where_all_are_needed)
{
    struct node n[3];
    form_and_lose_last(n, 3);
    nodes_do(n, 2, node_save);
    nodes_check(n, 2, 0, "");
    come_back(n, 3, 2, 2);
    nodes_do(n, 2, node_save);
    nodes_check(n, 2, -EAGAIN, "node 2 takes no part in locus_checkpoint: it has joined this job");
    let_in(n, 2, 3);
    nodes_do(n, 3, node_save);
    nodes_check(n, 3, 0, "");
    nodes_leave(n, 3);
}

/* What it says after this comes behind its arrival. */
static void await_arrival(struct node *n)
{
    struct rendezvous *r = n->rendezvous;
    for (bool is_there = false; !is_there;) {
        hub_lock(&r->hub);
        is_there = r->barrier == ARRIVED;
        hub_unlock(&r->hub);
    }
}

/* Neither between two barriers that belong together, nor while some wait in one that needs all. */
TEST(newcomer, becomes_a_member_between_collectives)
{
    struct node n[3], other;
    form_and_lose_last(n, 3);
    join_in_part(n, 3, 2, &other);
    nodes_do_together(n, 3, node_meet_first, 0);
    connect_all(n, 3, &other);
    nodes_do_together(n, 3, node_meet_second, 0); /* a change would repeat them */
    repair_joining(n, 2, &other, 2);
    nodes_do_together(n, 3, node_meet, 0); /* all have said so before they come */
    rendezvous_free(other.rendezvous);
    nodes_expect_view(n, 2, 3, 2, NODE_ENDED);
    nodes_say_repaired(n, 2, 3);
    nodes_do_together(n, 3, node_meet, 0);

    join_in_part(n, 3, 2, &other);
    rendezvous_connected(n[0].rendezvous, n[0].join_id, "");
    rendezvous_connected(other.rendezvous, other.cluster.id, "");
    node_start(&n[1], node_save);
    await_arrival(&n[1]);
    rendezvous_connected(n[1].rendezvous, n[1].join_id, "");
    node_save(&n[0]);
    node_finish(&n[1]);
    nodes_check(n, 2, 0, "");
    repair_joining(n, 2, &other, 4);
    nodes_start_but(n, 2, -1, node_leave);
    node_leave(&other);
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
}

/* A meeting that needs all waits for who leaves, who waits for the newcomer, who waits for the meeting. */
TEST(newcomer, gives_way_where_all_are_needed_but_one_who_leaves)
{
    struct node n[4], other;
    form_and_lose_last(n, 4);
    join_in_part(n, 4, 3, &other);
    nodes_start_but(n, 2, -1, node_save);
    for (int rank = 0; rank < 2; rank++) await_arrival(&n[rank]);
    node_start(&n[2], node_leave_alone);
    node_expect_loss(&other, 3, "could not join: node 2 leaves");
    node_leave(&other);
    nodes_expect_view(n, 3, 2, 2, "has left");
    nodes_say_repaired(n, 3, 2);
    node_finish(&n[2]);
    CHECK_EQ(n[2].rc, 0);
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

/* ---- nonsense ---- */

/* Of one that joins no member hears, and it says nothing of meetings; a newcomer says nothing of others
 * than those that let it in. */
TEST(newcomer, that_says_what_it_may_not_is_lost)
{
    static const struct {
        enum message_type type;
        bool is_member;
    } said[] = {{MESSAGE_BARRIER, false}, {MESSAGE_REPAIRED, false}, {MESSAGE_BARRIER, true}};
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        struct node n[3], other;
        unsigned char data[TEXT_BYTES];
        form_and_lose_last(n, 3);
        init_another(&other, 2, 3, &n[0]);
        int fd = peer_join(&other);
        await_joining(n, 3, &other);
        peer_hear(fd, MESSAGE_START, data, sizeof data);
        if (said[i].is_member) {
            for (int rank = 0; rank < 2; rank++)
                rendezvous_connected(n[rank].rendezvous, n[rank].join_id, "");
            struct message *m = message_new(MESSAGE_CONNECTED);
            message_put_u64(m, n[0].join_id);
            message_put_text(m, "");
            peer_say_message(fd, m);
            peer_hear(fd, MESSAGE_VIEW, data, sizeof data);
            nodes_expect_view(n, 2, 2, 2, "has joined");
            nodes_say_repaired(n, 2, 2);
            m = message_new(MESSAGE_REPAIRED);
            message_put_u32(m, 2);
            peer_say_message(fd, m);
        }
        struct message *m = message_new(said[i].type);
        message_put_u32(m, said[i].type == MESSAGE_REPAIRED); /* flags, or the number */
        if (said[i].type == MESSAGE_BARRIER) message_put_text(m, "barrier");
        if (said[i].type == MESSAGE_BARRIER) message_put_word(m, &(struct word){.rc = 0});
        peer_say_message(fd, m);
        if (said[i].is_member) {
            nodes_expect_view(n, 2, 3, 2, "sent a message that makes no sense");
            nodes_say_repaired(n, 2, 3);
        } else {
            await_called_off(n, 3, 2);
        }
        close(fd);
        nodes_do_together(n, 2, node_meet, 0);
        nodes_leave(n, 2);
    }
}

/* Rank 0 says what cannot have been: of itself, of a rank that is not there, twice, or all but our
 * own loss; more than there can be; or to one that survives nothing. */
TEST(newcomer, history_that_cannot_be_is_no_message_of_rank_0)
{
    static const struct {
        uint32_t change[6];
        unsigned count;
        bool does_not_survive, is_right;
    } cases[] = {
        {{CHANGE_LOST, 0}, 1, false, false},
        {{CHANGE_LOST, 3}, 1, false, false},
        {{CHANGE_LOST, 2}, 1, false, false},
        {{CHANGE_JOINS, 1}, 1, false, false},
        {{CHANGE_LOST, 1, CHANGE_LOST, 1}, 2, false, false},
        {{CHANGE_LOST, 1, CHANGE_JOINS, 1}, 2, false, false},
        {{CHANGE_KINDS, 1}, 1, false, false},
        {{CHANGE_LOST, 1}, CHANGES_MAX + 1, false, false},
        {{CHANGE_LOST, 1}, 1, true, false},
        {{CHANGE_LOST, 1}, 1, false, true},
        {{CHANGE_LOST, 2, CHANGE_JOINS, 2, CHANGE_LOST, 1}, 3, false, true},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node n;
        node_init(&n, 1, 3, nodes_address());
        n.config.node.survives = !cases[i].does_not_survive;
        struct impostor rank_0 = impostor_meet(&n);
        impostor_let_in(&rank_0, cases[i].change, cases[i].count);
        node_finish(&n);
        if (cases[i].is_right) {
            nodes_check(&n, 1, 0, "");
            CHECK_EQ(n.cluster.changes, cases[i].count);
            rendezvous_free(n.rendezvous);
        } else {
            nodes_check(&n, 1, -ECONNRESET, "sent a message that makes no sense");
        }
        impostor_close(&rank_0);
    }
}
