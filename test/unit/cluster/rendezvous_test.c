/* A cluster that stands: barriers, and who is missing. */
#include "cluster/nodes.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEETINGS = 500, MEMBERS = 4 };
static int arrivals[MEETINGS];

static void *meet_often(void *argument)
{
    struct node *n = argument;
    for (int i = 0; i < MEETINGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "meeting %d", i);
        __atomic_fetch_add(&arrivals[i], 1, __ATOMIC_RELAXED);
        CHECK_EQ(nodes_barrier(n->rendezvous, name, false), 0);
        CHECK_EQ(__atomic_load_n(&arrivals[i], __ATOMIC_RELAXED), MEMBERS);
    }
    return NULL;
}

TEST(rendezvous, barrier_holds_all_until_the_last_has_come)
{
    struct node n[MEMBERS];
    nodes_form(n, MEMBERS);
    nodes_do(n, MEMBERS, meet_often);
    nodes_leave(n, MEMBERS);
}

/* Rank 0 knows that it is back when it has met the others; they wait for it from then on. */
static int is_back, comes_again, is_absent; /* atomic */

static void *come_back_twice(void *argument)
{
    struct node *n = argument;
    CHECK_EQ(rendezvous_present(n->rendezvous), 0);
    CHECK_EQ(nodes_barrier(n->rendezvous, n->barrier, false), 0);
    __atomic_store_n(&is_back, 1, __ATOMIC_SEQ_CST);
    sleep_s(0.005); /* for a mistake to show; the right answer never depends on it */
    __atomic_store_n(&comes_again, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(nodes_barrier(n->rendezvous, n->barrier, false), 0);
    rendezvous_absent(n->rendezvous);
    __atomic_store_n(&is_absent, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

TEST(rendezvous, absent_node_counts_as_arrived_until_it_is_back)
{
    struct node n[3];
    nodes_form(n, 3);
    node_start(&n[0], node_meet);
    node_start(&n[1], node_meet);
    rendezvous_absent(n[2].rendezvous);
    node_finish(&n[0]);
    node_finish(&n[1]);
    nodes_check(n, 2, 0, "");
    for (int i = 0; i < 20; i++) {
        is_back = comes_again = is_absent = 0;
        nodes_meet(n, 2);
        node_start(&n[2], come_back_twice);
        while (!__atomic_load_n(&is_absent, __ATOMIC_SEQ_CST)) {
            bool must_wait = __atomic_load_n(&is_back, __ATOMIC_SEQ_CST);
            nodes_meet(n, 2);
            CHECK(!must_wait || __atomic_load_n(&comes_again, __ATOMIC_SEQ_CST));
        }
        node_finish(&n[2]);
    }
    /* A barrier that began without it would leave it behind, in another one, for good. */
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(rendezvous_present(n[2].rendezvous), 0);
        nodes_meet(n, 3);
        rendezvous_absent(n[2].rendezvous);
    }
    nodes_leave(n, 3);
}

static void *meet_and_go_on(void *argument)
{
    struct node *n = argument;
    n->rc = nodes_barrier(n->rendezvous, n->barrier, true);
    return NULL;
}

static void *come_back(void *argument)
{
    struct node *n = argument;
    n->rc = rendezvous_present(n->rendezvous);
    __atomic_store_n(&is_back, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Its first barrier would be taken for the second of the others. */
TEST(rendezvous, absent_node_does_not_come_back_between_two_barriers_that_belong_together)
{
    struct node n[3];
    nodes_form(n, 3);
    for (int i = 0; i < 20; i++) {
        rendezvous_absent(n[2].rendezvous);
        is_back = 0;
        nodes_do(n, 2, meet_and_go_on);
        nodes_check(n, 2, 0, "");
        node_start(&n[2], come_back);
        sleep_s(0.002); /* for a mistake to show; the right answer never depends on it */
        CHECK_EQ(__atomic_load_n(&is_back, __ATOMIC_SEQ_CST), 0);
        nodes_meet(n, 2);
        node_finish(&n[2]);
        CHECK_EQ(n[2].rc, 0);
        nodes_meet(n, 3);
    }
    nodes_leave(n, 3);
}

/* They came to different ones: nobody goes on. */
TEST(rendezvous, barrier_that_failed_keeps_nobody_out)
{
    struct node n[3];
    nodes_form(n, 3);
    rendezvous_absent(n[2].rendezvous);
    n[1].barrier = "epoch";
    nodes_do(n, 2, meet_and_go_on);
    CHECK_EQ(n[0].rc, -EINVAL);
    CHECK_EQ(rendezvous_present(n[2].rendezvous), 0);
    n[1].barrier = n[0].barrier;
    nodes_meet(n, 3);
    nodes_leave(n, 3);
}

TEST(rendezvous, absent_node_is_missed_where_all_are_needed)
{
    struct node n[3];
    nodes_form(n, 3);
    rendezvous_absent(n[2].rendezvous);
    nodes_meet(n, 2); /* by when it is known */
    nodes_do(n, 2, node_save);
    nodes_check(n, 2, -EINVAL,
                "node 2 takes no part in locus_checkpoint: all of its workers have closed");
    CHECK_EQ(rendezvous_present(n[2].rendezvous), 0);
    nodes_do(n, 3, node_save);
    nodes_check(n, 3, 0, "");
    nodes_leave(n, 3);
}

TEST(rendezvous, missing_ranks_are_said_after_10_s)
{
    static const char *const sentences[] = {
        "locus: barrier has waited 10 s for rank 2\n",
        "locus: leaving the cluster has waited 10 s for ranks 0, 2\n",
        "locus: rank 1 of 2 could not join for 10 s; rendezvous 127.0.0.1:",
    };
    struct node n[3], late;
    char text[2 * TEXT_BYTES];
    struct caught caught = stderr_catch();
    nodes_init(n, 3, nodes_address());
    node_init(&late, 1, 2, nodes_address());
    late.config.node.join_timeout_s = 13;
    nodes_join(n, 3);
    node_start(&n[0], node_meet);
    node_start(&n[1], node_leave);
    node_start(&late, node_join);
    node_finish(&late);
    for (int i = 0; i < 3; i++) do {
            sleep_s(0.05);
            stderr_read(&caught, text, sizeof text);
        } while (!strstr(text, sentences[i]));
    stderr_release(&caught, text, sizeof text);
    node_start(&n[2], node_meet);
    node_finish(&n[0]);
    node_finish(&n[2]);
    CHECK_EQ(n[0].rc, 0);
    node_start(&n[0], node_leave);
    node_leave(&n[2]);
    node_finish(&n[0]);
    node_finish(&n[1]);
    nodes_check(n, 3, 0, "");
}
