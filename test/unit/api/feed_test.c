#include "locus.h"

#include "one_node.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORTIONS = 1000, DEPTH = 4 };

struct counted {
    int next, limit;
    atomic_int given;
    bool is_ahead_too_far;
    locus_loader *loader;
};

static bool count_up(void *context, locus_loader *loader, void *portion)
{
    struct counted *c = context;
    c->loader = loader;
    if (c->next == c->limit) return false;
    /* What was not given back is the worker's, or waits for it. */
    if (c->next - atomic_load(&c->given) >= DEPTH) c->is_ahead_too_far = true;
    *(int *)portion = c->next++;
    return true;
}

static int numbers[DEPTH];

static locus_feed *feed_of(locus_worker *w, struct counted *c)
{
    static void *portions[DEPTH];
    locus_feed *f;
    for (int i = 0; i < DEPTH; i++) portions[i] = &numbers[i];
    CHECK_EQ(locus_feed_open(w, count_up, c, portions, DEPTH, &f), 0);
    return f;
}

TEST(feed, next_gives_portions_in_order)
{
    struct counted c = {.limit = PORTIONS};
    locus_feed *f = feed_of(NULL, &c);
    for (int i = 0; i < PORTIONS; i++) {
        const int *number = locus_feed_next(f);
        CHECK(number != NULL);
        CHECK_EQ(*number, i);
        atomic_store(&c.given, i + 1); /* before the next call gives it back */
    }
    CHECK(locus_feed_next(f) == NULL);
    CHECK(locus_feed_next(f) == NULL);
    CHECK_EQ(locus_feed_close(f), 0);
    CHECK(!c.is_ahead_too_far && c.loader == NULL);
}

TEST(feed, close_while_the_thread_waits_for_room)
{
    for (int taken = 0; taken < 3; taken++) {
        struct counted c = {.limit = PORTIONS};
        locus_feed *f = feed_of(NULL, &c);
        for (int i = 0; i < taken; i++) CHECK(locus_feed_next(f) != NULL);
        if (taken == 2) usleep(10000);
        CHECK_EQ(locus_feed_close(f), 0);
    }
}

TEST_ON_NODE(feed, loader_keeps_its_worker_open, 4, 1)
{
    struct counted c = {.limit = 1};
    locus_feed *f = feed_of(w, &c);
    CHECK(locus_feed_next(f) != NULL);
    CHECK(locus_feed_next(f) == NULL);
    CHECK(c.loader != NULL);
    CHECK_EQ(locus_worker_close(w), -EBUSY);
    CHECK_EQ(locus_feed_close(f), 0);
}

TEST_ON_NODE(feed, calls_refuse_a_closed_feed_and_a_child, 4, 1)
{
    struct counted c = {.limit = PORTIONS}; /* its thread waits */
    locus_feed *f = feed_of(w, &c);
    pid_t child = fork();
    if (child == 0) _exit(locus_feed_next(f) || locus_feed_close(f) != -EPERM);
    int status = 1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(locus_feed_close(f), 0);
    CHECK(locus_feed_next(f) == NULL);
    CHECK_STR(locus_error(), "locus_feed_next: the feed is closed");
    CHECK_EQ(locus_feed_close(f), -EINVAL);
}

TEST(feed, open_refuses_wrong_arguments)
{
    void *portion = numbers;
    struct counted c = {.limit = 1};
    locus *n = one_node(4, 1, 1);
    locus_worker *w = worker_of(n);
    locus_feed *f;
    CHECK_EQ(locus_worker_close(w), 0);
    CHECK_EQ(locus_feed_open(w, count_up, &c, &portion, 1, &f), -EINVAL);
    CHECK(f == NULL);
    REFUSED(locus_feed_open(NULL, NULL, &c, &portion, 1, &f), -EINVAL, "`fill` is NULL");
    REFUSED(locus_feed_open(NULL, count_up, &c, &portion, 0, &f), -EINVAL, "there are no portions");
    CHECK_EQ(locus_feed_open(NULL, count_up, &c, NULL, 1, &f), -EINVAL);
    CHECK_EQ(locus_feed_open(NULL, count_up, &c, &portion, 1, NULL), -EINVAL);
    CHECK(locus_feed_next(NULL) == NULL);
    CHECK_EQ(locus_feed_close(NULL), 0);
    CHECK_EQ(locus_close(n), 0);
}
