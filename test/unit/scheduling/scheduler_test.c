/* scheduler: it writes rounds ahead as far as there are slots, goes on when workers are through,
 * and says why it ended. Workers are the test's own, who read and write the mailboxes by hand. */
#include "scheduling/scheduler.h"

#include "one_node.h"

#include <string.h>

enum { VARIABLES = 10, WORKERS = 2, WIDTH = 3, DEPTH = 2 };

struct scene {
    struct locus_scheduler_config config;
    struct mail mail;
    locus *node;
    locus_worker *worker;
    locus_scheduler *scheduler;
    struct locus_part parts[WIDTH];
    float row[64];
};

static void configure(struct scene *s)
{
    *s = (struct scene){.node = NULL};
    locus_scheduler_config_init(&s->config);
    s->config.schedule.variables = VARIABLES;
    s->config.schedule.workers = WORKERS;
    s->config.schedule.width = WIDTH;
    s->config.depth = DEPTH;
}

static void open_node(struct scene *s)
{
    struct locus_table tables[LOCUS_SCHEDULER_TABLES];
    CHECK_EQ(locus_scheduler_tables(&s->config, tables), 0);
    CHECK_EQ(mail_init(&s->mail, "a test", &s->config), 0);
    s->node = node_of(tables, LOCUS_SCHEDULER_TABLES, 2, 1);
    s->worker = worker_of(s->node);
}

static void scene_begin(struct scene *s)
{
    configure(s);
    open_node(s);
}

static void open_scheduler(struct scene *s)
{
    int rc = locus_scheduler_open(s->node, &s->config, 0, &s->scheduler);
    if (rc) test_fail(__FILE__, __LINE__, "%d: %s", rc, locus_error());
}

static void scene_end(struct scene *s)
{
    CHECK_EQ(locus_scheduler_close(s->scheduler), 0);
    close_both(s->node, s->worker);
}

static void pull(struct scene *s, locus_key first, uint64_t round)
{
    locus_key key = first + mail_slot(&s->mail, round);
    CHECK_EQ(locus_pull(s->worker, &key, 1, s->row), 0);
}

/* The parts of a round, once it is written. */
static size_t await_round(struct scene *s, uint64_t round)
{
    size_t count = 0;
    do {
        pull(s, s->mail.rounds, round);
        CHECK_EQ(mail_check(&s->mail, "a test", round, s->row), 0);
    } while (!mail_read(&s->mail, round, s->row, s->parts, &count));
    return count;
}

TEST_WITH(scheduler, writes_rounds_ahead_as_far_as_there_are_slots, scene, s)
{
    open_scheduler(s);
    for (uint64_t round = 0; round <= DEPTH; round++) {
        CHECK_EQ(await_round(s, round), WIDTH);
        for (unsigned i = 0; i < WIDTH; i++)
            CHECK_EQ(s->parts[i].variable, (round * WIDTH + i) % VARIABLES);
    }
}

/* ---- what is refused, and what fails ---- */

TEST(scheduler, what_cannot_be_opened_says_why)
{
    struct scene s;
    locus_scheduler *none = (void *)&none;
    scene_begin(&s);
    CHECK_EQ(locus_scheduler_open(NULL, &s.config, 0, &none), -EINVAL);
    CHECK_EQ(locus_scheduler_open(s.node, &s.config, 0, NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_scheduler_open: `out` is NULL");
    CHECK_EQ(locus_scheduler_open(s.node, &s.config, 1, &none), -EINVAL);
    CHECK_STR(locus_error(), "locus_scheduler_open: `number` is 1: must be below `schedulers`, 1");
    CHECK(none == NULL);
    s.config.first = 1;
    CHECK_EQ(locus_scheduler_open(s.node, &s.config, 0, &none), -EINVAL);
    CHECK_STR(locus_error(), "are the tables of locus_scheduler_tables() where `first` says?");
    s.config.first = 0;
    locus_worker *other = worker_of(s.node);
    CHECK_EQ(locus_scheduler_open(s.node, &s.config, 0, &none), -EBUSY);
    CHECK(none == NULL);
    CHECK_EQ(locus_worker_close(other), 0);
    CHECK_EQ(locus_scheduler_close(NULL), 0);
    close_both(s.node, s.worker);
}

static uint64_t beyond(void *context)
{
    (void)context;
    return VARIABLES;
}

/* Workers who wait for rounds, and for sums, learn of it. */
TEST(scheduler, a_failure_is_told_to_workers_and_to_who_closes)
{
    struct scene s;
    scene_begin(&s);
    s.config.schedule.order = LOCUS_OWN_ORDER;
    s.config.schedule.next = beyond;
    open_scheduler(&s);
    do pull(&s, s.mail.rounds, DEPTH);
    while (mail_check(&s.mail, "a test", DEPTH, s.row) == 0);
    do pull(&s, s.mail.sums, DEPTH);
    while (mail_check(&s.mail, "a test", DEPTH, s.row) == 0);
    CHECK_EQ(locus_scheduler_close(s.scheduler), -EINVAL);
    CHECK_STR(locus_error(), "10");
    close_both(s.node, s.worker);
}

/* While it waits for workers, and at once. */
TEST(scheduler, may_be_closed_at_any_time)
{
    for (int i = 0; i < 10; i++) {
        struct scene s;
        scene_begin(&s);
        open_scheduler(&s);
        if (i % 2) await_round(&s, DEPTH);
        scene_end(&s);
    }
}
