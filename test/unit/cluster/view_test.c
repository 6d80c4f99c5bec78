/* A cluster that survives the loss of a member. */
#include "cluster/message.h"
#include "cluster/peers.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void expect_losses(struct node *n, int size, int lost, const char *reason)
{
    for (int rank = 0; rank < size; rank++)
        if (n[rank].rendezvous) node_expect_loss(&n[rank], lost, reason);
    for (int rank = size - 1; rank >= 0; rank--)
        if (n[rank].rendezvous) node_leave(&n[rank]);
}

/* They meet and leave without it; and who hears of it by a link after that says nothing that
 * counts. */
TEST(view, members_meet_and_leave_without_those_that_were_lost_one_after_the_other)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    node_end(&n[3]);
    nodes_expect_view(n, 4, 1, 3, NODE_ENDED);
    for (int rank = 0; rank < 3; rank++) {
        CHECK_EQ(rendezvous_view(n[rank].rendezvous), 1);
        CHECK(rendezvous_has_lost(n[rank].rendezvous, 3));
        CHECK(!rendezvous_has_lost(n[rank].rendezvous, 1));
        CHECK(rendezvous_report_lost(n[rank].rendezvous, 3, NODE_ENDED));
    }
    nodes_do_together(n, 4, node_meet, 0);
    nodes_say_repaired(n, 4, 1);
    nodes_do_together(n, 4, node_meet, 0); /* all have said so before they came */
    node_end(&n[1]);
    nodes_expect_view(n, 4, 2, 1, NODE_ENDED);
    nodes_do_together(n, 4, node_meet, 0);
    nodes_say_repaired(n, 4, 2);
    nodes_do_together(n, 4, node_leave, 0);
    nodes_check_unharmed(n, 4);
}

/* ---- one leaves, and the others go on ---- */

/* It counts as arrived from the beginning; and is there until all are through. The next one waits. */
TEST(view, members_leave_one_after_the_other_while_the_others_meet)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    rendezvous_absent(n[2].rendezvous);
    node_start(&n[2], node_leave_alone);
    nodes_expect_view(n, 4, 1, 2, "has left");
    node_start(&n[1], node_leave_alone);
    for (int rank = 0; rank < 4; rank += 3) node_start(&n[rank], node_meet);
    for (int rank = 0; rank < 4; rank += 3) node_finish(&n[rank]);
    nodes_check(&n[3], 1, 0, "");
    CHECK(!rendezvous_has_lost(n[0].rendezvous, 2));
    nodes_say_repaired(n, 3, 1);
    sleep_s(0.005); /* for a mistake to show */
    CHECK(n[2].rendezvous != NULL);
    CHECK_EQ(rendezvous_view(n[0].rendezvous), 1);
    rendezvous_repaired(n[3].rendezvous, 1);
    node_finish(&n[2]);
    CHECK_EQ(n[2].rc, 0);
    CHECK(rendezvous_has_lost(n[3].rendezvous, 2));
    nodes_expect_view(n, 2, 2, 1, "has left");
    node_expect_view(&n[3], 2, 1, "has left");
    nodes_say_repaired(n, 4, 2);
    node_finish(&n[1]);
    CHECK_EQ(n[1].rc, 0);
    node_start(&n[3], node_leave);
    node_leave(&n[0]);
    node_finish(&n[3]);
    nodes_check(&n[3], 1, 0, "");
}

/* Then it is a loss by the same number, of which those that are through say nothing more. */
TEST(view, member_that_is_lost_while_it_leaves_is_lost_to_the_others)
{
    struct node n[3];
    nodes_form_surviving(n, 3);
    nodes_meet(n, 3);
    rendezvous_absent(n[2].rendezvous);
    node_start(&n[2], node_leave_alone);
    nodes_expect_view(n, 3, 1, 2, "has left");
    rendezvous_repaired(n[0].rendezvous, 1);
    rendezvous_report_lost(n[1].rendezvous, 2, "went mad");
    for (int rank = 0; rank < 2; rank++) {
        node_await_news(&n[rank], 2);
        node_expect_view(&n[rank], 1, 2, "went mad");
    }
    node_finish(&n[2]);
    CHECK_EQ(n[2].rc, -ECONNRESET);
    rendezvous_repaired(n[1].rendezvous, 1);
    nodes_meet(n, 2);
    nodes_leave(n, 2);
}

/* ---- another one, before all have repaired a change ---- */

TEST(view, loss_of_another_overtakes_the_repair_of_the_first)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    node_end(&n[3]);
    nodes_expect_view(n, 4, 1, 3, NODE_ENDED);
    for (int rank = 0; rank < 3; rank += 2) rendezvous_repaired(n[rank].rendezvous, 1);
    nodes_do_together(n, 4, node_meet, 0);
    node_end(&n[2]);
    nodes_expect_view(n, 4, 2, 2, NODE_ENDED);
    rendezvous_repaired(n[1].rendezvous, 1); /* said before it has heard of the second */
    rendezvous_repaired(n[1].rendezvous, 2);
    nodes_do_together(n, 4, node_meet, 0);
    node_end(&n[1]);
    nodes_expect_view(n, 4, 3, 1, NODE_ENDED);
    nodes_say_repaired(n, 4, 3);
    nodes_do_together(n, 4, node_leave, 0);
    nodes_check_unharmed(n, 4);
}

/* Of each once, whether the view of the first has come or not; they may live. */
TEST(view, failures_of_two_are_reported_at_once)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    for (int lost = 3; lost > 1; lost--) rendezvous_report_lost(n[1].rendezvous, lost, "went mad");
    for (int rank = 0; rank < 2; rank++) {
        node_await_news(&n[rank], 2);
        node_expect_view(&n[rank], 2, 2, "went mad");
    }
    nodes_say_repaired(n, 2, 2);
    for (int lost = 3; lost > 1; lost--) {
        node_expect_loss(&n[lost], lost, "went mad");
        node_leave(&n[lost]);
    }
    nodes_check(n + 2, 2, -ECONNRESET, "went mad");
    nodes_do_together(n, 2, node_leave, 0);
    nodes_check_unharmed(n, 2);
}

/* What it gives away may be given to the lost one. */
TEST(view, member_that_leaves_is_lost_with_another_one)
{
    struct node n[4];
    nodes_form_surviving(n, 4);
    nodes_meet(n, 4);
    rendezvous_absent(n[2].rendezvous);
    node_start(&n[2], node_leave_alone);
    nodes_expect_view(n, 4, 1, 2, "has left");
    rendezvous_repaired(n[1].rendezvous, 1);
    node_end(&n[3]);
    for (int rank = 0; rank < 2; rank++) {
        node_await_news(&n[rank], 3);
        node_expect_view(&n[rank], 2, 3, NODE_ENDED);
    }
    node_finish(&n[2]);
    nodes_check(&n[2], 1, -ECONNRESET, "was about to leave when node 3 " NODE_ENDED);
    nodes_say_repaired(n, 2, 2);
    nodes_meet(n, 2);
    nodes_leave(n, 2);
}

/* ---- what is not survived ---- */

TEST(view, loss_before_the_first_barrier_ends_all)
{
    struct node n[3];
    nodes_form_surviving(n, 3);
    node_end(&n[2]);
    expect_losses(n, 3, 2, NODE_ENDED ", before all nodes had opened");
}

TEST(view, loss_of_rank_0_ends_all)
{
    struct node n[3];
    nodes_form_surviving(n, 3);
    nodes_meet(n, 3);
    node_end(&n[0]);
    expect_losses(n, 3, 0, NODE_ENDED);
}

TEST(view, loss_while_another_closes_ends_all)
{
    struct node n[3];
    nodes_form_surviving(n, 3);
    nodes_meet(n, 3);
    node_start(&n[1], node_leave);
    node_start(&n[0], node_meet);
    node_meet(&n[2]); /* which counts node 1 as arrived */
    nodes_check(&n[2], 1, 0, "");
    node_finish(&n[0]);
    node_end(&n[2]);
    node_finish(&n[1]);
    nodes_check(&n[1], 1, -ECONNRESET, "node 2 ");
    node_expect_loss(&n[0], 2, NODE_ENDED ", after others had begun to close");
    node_leave(&n[0]);
}

/* ---- meetings ---- */

/* Who has closed all workers may be about to leave: so the others try again. Rank 0 never does. */
TEST(view, meeting_of_all_may_succeed_later_without_one_that_is_absent_and_then_leaves)
{
    struct node n[3];
    nodes_form_surviving(n, 3);
    nodes_meet(n, 3);
    rendezvous_absent(n[0].rendezvous);
    nodes_start_but(n, 3, 0, node_save);
    nodes_finish_but(n, 3, 0);
    nodes_check(n + 1, 2, -EINVAL, "node 0 takes no part in locus_checkpoint: all of its workers");
    CHECK_EQ(rendezvous_present(n[0].rendezvous), 0);
    rendezvous_absent(n[2].rendezvous);
    nodes_meet(n, 2); /* by when it is known */
    nodes_do(n, 2, node_save);
    nodes_check(n, 2, -EAGAIN, "node 2 takes no part in locus_checkpoint: all of its workers");
    node_start(&n[2], node_leave_alone);
    nodes_expect_view(n, 3, 1, 2, "has left");
    nodes_start_but(n, 2, -1, node_save);
    nodes_say_repaired(n, 3, 1);
    node_finish(&n[2]);
    nodes_finish(n, 2);
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

static void peer_arrives(int fd, const char *name, unsigned flags, const struct word *w)
{
    struct message *m = message_new(MESSAGE_BARRIER);
    message_put_u32(m, flags);
    message_put_text(m, name);
    message_put_word(m, w);
    peer_say_message(fd, m);
}

static void peer_is_released(int fd)
{
    unsigned char data[TEXT_BYTES];
    peer_hear(fd, MESSAGE_RELEASE, data, sizeof data);
}

/* The last of them is a bare socket, whose end comes behind what it has said; and all have opened. */
static int form_with_peer(struct node *n, int size)
{
    unsigned char data[TEXT_BYTES];
    int last = size - 1;
    nodes_init(n, size, nodes_address());
    for (int rank = 0; rank < size; rank++) n[rank].config.node.survives = true;
    nodes_start_but(n, size, last, node_join);
    int fd = peer_join(&n[last]);
    nodes_finish_but(n, size, last);
    peer_hear(fd, MESSAGE_START, data, sizeof data);
    peer_arrives(fd, "barrier", 0, &(struct word){.rc = 0});
    nodes_do_together(n, last, node_meet, 0);
    peer_is_released(fd);
    return fd;
}

static void *sum_ranks(void *argument)
{
    struct node *n = argument;
    const struct meeting meeting = {.name = "sum"};
    struct word word = {.count = 1, .number = {n->config.node.rank + 1}};
    n->rc = rendezvous_agree(n->rendezvous, &meeting, &word);
    snprintf(n->error, sizeof n->error, "%g", word.number[0]);
    return NULL;
}

TEST(view, sum_has_what_a_lost_member_said_only_if_that_was_released)
{
    struct node n[3];
    const struct word more = {.count = 1, .number = {100}};
    int fd = form_with_peer(n, 3);
    peer_arrives(fd, "sum", 0, &more);
    nodes_do(n, 2, sum_ranks);
    nodes_check(n, 2, 0, "103");
    peer_arrives(fd, "sum", 0, &more);
    close(fd);
    nodes_expect_view(n, 2, 1, 2, NODE_ENDED);
    nodes_do(n, 2, sum_ranks);
    nodes_check(n, 2, 0, "3");
    nodes_say_repaired(n, 2, 1);
    nodes_leave(n, 2);
}

/* Nor the name of a barrier to which nobody else has come. */
TEST(view, barrier_may_be_another_after_the_only_one_who_waited_there_is_lost)
{
    struct node n[3];
    int fd = form_with_peer(n, 3);
    peer_arrives(fd, "another", MESSAGE_NEEDS_ALL, &(struct word){.rc = -EIO});
    close(fd);
    nodes_expect_view(n, 2, 1, 2, NODE_ENDED);
    nodes_meet(n, 2);
    nodes_say_repaired(n, 2, 1);
    nodes_leave(n, 2);
}

static int is_back; /* atomic */

static void *come_back(void *argument)
{
    struct node *n = argument;
    n->rc = rendezvous_present(n->rendezvous);
    __atomic_store_n(&is_back, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void check_all(struct node *n, int size, void *(*call)(void *), int rc)
{
    nodes_do(n, size, call);
    for (int rank = 0; rank < size; rank++) CHECK_EQ(n[rank].rc, rc);
}

/* A node that is absent does not come back before all of it is over. */
TEST(view, two_barriers_repeat_if_a_member_is_lost_between_them)
{
    struct node n[4];
    int fd = form_with_peer(n, 4);
    rendezvous_absent(n[2].rendezvous);
    peer_arrives(fd, "first", MESSAGE_GOES_ON, &(struct word){.rc = 0});
    check_all(n, 2, node_meet_first, 0);
    peer_is_released(fd);
    node_start(&n[2], come_back);
    close(fd);
    nodes_expect_view(n, 3, 1, 3, NODE_ENDED);
    nodes_say_repaired(n, 3, 1);
    check_all(n, 2, node_meet_second, MEETING_REPEATS);
    sleep_s(0.005); /* for a mistake to show */
    CHECK_EQ(__atomic_load_n(&is_back, __ATOMIC_SEQ_CST), 0);
    check_all(n, 2, node_meet_first, 0);
    check_all(n, 2, node_meet_second, 0);
    node_finish(&n[2]);
    CHECK_EQ(n[2].rc, 0);
    nodes_meet(n, 3);
    nodes_leave(n, 3);
    nodes_check_unharmed(n, 3);
}

/* ---- nonsense ---- */

/* What a member says of its repair when there is none, or of another, or twice. */
TEST(view, member_that_says_nonsense_of_its_repair_is_lost)
{
    for (unsigned said = 0; said < 3; said++) {
        struct node n[4];
        int fd = form_with_peer(n, 4);
        unsigned view = 1;
        if (said > 0) {
            unsigned char data[TEXT_BYTES];
            node_end(&n[2]);
            nodes_expect_view(n, 2, 1, 2, NODE_ENDED);
            peer_hear(fd, MESSAGE_VIEW, data, sizeof data);
            nodes_say_repaired(n, 2, 1);
            nodes_start_but(n, 2, -1, node_meet); /* rank 0 has heard that then */
            peer_arrives(fd, "barrier", 0, &(struct word){.rc = 0});
            nodes_finish(n, 2);
            nodes_check(n, 2, 0, "");
            view = 2;
        }
        for (unsigned i = 0; i < 1 + (said == 2); i++) {
            struct message *m = message_new(MESSAGE_REPAIRED);
            message_put_u32(m, said == 1 ? 7 : 1);
            peer_say_message(fd, m);
        }
        int left = said ? 2 : 3;
        nodes_expect_view(n, left, view, 3, "sent a message that makes no sense");
        nodes_say_repaired(n, left, view);
        close(fd);
        nodes_start_but(n, left, -1, node_leave);
        nodes_finish(n, left);
    }
}

static void say_view(int fd, unsigned number, unsigned lost)
{
    struct message *m = message_new(MESSAGE_VIEW);
    message_put_u32(m, number);
    message_put_u32(m, CHANGE_LOST);
    message_put_u32(m, lost);
    message_put_text(m, "left");
    peer_say_message(fd, m);
}

/* Rank 0 says what it cannot: a number that is not the next one, a rank that is not there, that was
 * lost before, this node's or its own; or all of it to one that does not survive anything. */
TEST(view, view_that_cannot_be_is_no_message_of_rank_0)
{
    static const unsigned said[][2] = {{2, 2}, {1, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 2}};
    enum { CASES = sizeof said / sizeof *said, AGAIN = 2, ENDS = CASES - 1 };
    for (unsigned i = 0; i < CASES; i++) {
        struct node n;
        node_init(&n, 1, 3, nodes_address());
        n.config.node.survives = i != ENDS;
        struct impostor rank_0 = impostor_meet(&n);
        impostor_let_in(&rank_0, NULL, 0);
        node_finish(&n);
        nodes_check(&n, 1, 0, "");
        if (i == AGAIN) {
            say_view(rank_0.fd, 1, 2);
            node_expect_view(&n, 1, 2, "left");
            rendezvous_repaired(n.rendezvous, 1);
        }
        say_view(rank_0.fd, said[i][0], said[i][1]);
        node_expect_loss(&n, 0, "sent a message that makes no sense");
        node_leave(&n);
        impostor_close(&rank_0);
    }
}
