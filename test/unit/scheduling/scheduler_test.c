/* Schedulers and ports on a node: what is refused, and what a failure ends. Rounds, their sums and
 * their order: the simulation (test/sim/schedule). */
#include "scheduling/mail.h"

#include "one_node.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 10, WORKERS = 2, WIDTH = 3, FLOATS = 64 };

struct scene {
    struct locus_scheduler_config config;
    locus *node;
    locus_worker *worker[WORKERS];
    locus_port *port[WORKERS];
    locus_scheduler *scheduler;
};

static void scene_begin(struct scene *s)
{
    struct locus_table tables[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = VARIABLES, .length = 1}};
    *s = (struct scene){.node = NULL};
    locus_scheduler_config_init(&s->config);
    s->config.schedule.variables = VARIABLES;
    s->config.schedule.workers = WORKERS;
    s->config.schedule.width = WIDTH;
    s->config.depth = 2;
    s->config.first = VARIABLES;
    s->config.variable_key = 0;
    CHECK_EQ(locus_scheduler_tables(&s->config, tables + 1), 0);
    s->node = node_of(tables, 1 + LOCUS_SCHEDULER_TABLES, WORKERS + 1, 1);
    for (int i = 0; i < WORKERS; i++) s->worker[i] = worker_of(s->node);
}

static void open_all(struct scene *s)
{
    CHECK_EQ(locus_scheduler_open(s->node, &s->config, 0, &s->scheduler), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        CHECK_EQ(locus_port_open(s->node, s->worker[i], &s->config, i, &s->port[i]), 0);
}

static void scene_end(struct scene *s)
{
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(locus_port_close(s->port[i]), 0);
    CHECK_EQ(locus_scheduler_close(s->scheduler), 0);
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(locus_worker_close(s->worker[i]), 0);
    CHECK_EQ(locus_close(s->node), 0);
}

/* ---- the order of a port's calls ---- */

static int call(locus_port *p, const char *name)
{
    static float floats[FLOATS];
    const struct locus_part *parts;
    size_t count;
    if (strcmp(name, "locus_port_schedule") == 0) return locus_port_schedule(p, &parts, &count);
    if (strcmp(name, "locus_port_push") == 0) return locus_port_push(p, floats);
    if (strcmp(name, "locus_port_pull") == 0) return locus_port_pull(p, floats);
    return locus_port_sync(p, floats);
}

static const char *const calls[] = {"locus_port_schedule", "locus_port_push", "locus_port_pull",
                                    "locus_port_sync"};

TEST_WITH(port, calls_in_another_order_are_refused_and_change_nothing, scene, s)
{
    char sentence[128];
    open_all(s);
    for (int next = 0; next < 4; next++) {
        snprintf(sentence, sizeof sentence, "in round 0 %s() is next", calls[next]);
        for (int other = 0; other < 4; other++) {
            if (other == next) continue;
            if (call(s->port[0], calls[other]) != -EINVAL)
                test_fail(__FILE__, __LINE__, "%s instead of %s", calls[other], calls[next]);
            CHECK_STR(locus_error(), sentence);
        }
        for (int i = 0; i < WORKERS && next < 2; i++) CHECK_EQ(call(s->port[i], calls[next]), 0);
        if (next >= 2) CHECK_EQ(call(s->port[0], calls[next]), 0);
        if (next == 2) CHECK_EQ(locus_port_sync(s->port[0], NULL), -EINVAL);
        if (next == 2) CHECK_STR(locus_error(), "locus_port_sync: an argument is NULL");
    } /* the other one is closed within a round */
}

/* ---- opening ---- */

static void port_refuses(struct scene *s, unsigned number, const char *sentence)
{
    locus_port *none = (void *)&none;
    CHECK_EQ(locus_port_open(s->node, s->worker[0], &s->config, number, &none), -EINVAL);
    CHECK_STR(locus_error(), sentence);
    CHECK(none == NULL);
}

TEST_WITH(port, open_refuses_with_the_reason, scene, s)
{
    CHECK_EQ(locus_port_open(s->node, s->worker[0], &s->config, 0, NULL), -EINVAL);
    port_refuses(s, WORKERS, "locus_port_open: `number` is 2: must be 0 to 1");
    s->config.variable_key = locus_keys(s->node) - VARIABLES + 1;
    port_refuses(s, 0, "locus_port_open: variables have keys ");
    s->config.variable_key = UINT64_MAX - 3; /* beyond the last number */
    port_refuses(s, 0, "variables have keys 18446744073709551612 to 5: valid keys ");
    s->config.variable_key = UINT64_MAX;
    s->config.first = 0;
    port_refuses(s, 0, "locus_port_open: key 0 has a row of 1 floats, and a mailbox has ");
    s->config.first = UINT64_MAX - 3; /* no such keys */
    port_refuses(s, 0, "are the tables of locus_scheduler_tables() where `first` says?");
}

static void scheduler_refuses(struct scene *s, unsigned number, int rc, const char *sentence)
{
    locus_scheduler *none = (void *)&none;
    CHECK_EQ(locus_scheduler_open(s->node, &s->config, number, &none), rc);
    CHECK_STR(locus_error(), sentence);
    CHECK(none == NULL);
}

TEST_WITH(scheduler, open_refuses_with_the_reason, scene, s)
{
    locus_scheduler *none;
    CHECK_EQ(locus_scheduler_open(NULL, &s->config, 0, &none), -EINVAL);
    CHECK_EQ(locus_scheduler_open(s->node, &s->config, 0, NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_scheduler_open: `out` is NULL");
    scheduler_refuses(s, 1, -EINVAL, "`number` is 1: must be 0 to 0");
    s->config.first++;
    scheduler_refuses(s, 0, -EINVAL, "are the tables of locus_scheduler_tables() where `first`");
    s->config.first--;
    locus_worker *other = worker_of(s->node); /* the last one that there may be */
    scheduler_refuses(s, 0, -EBUSY, "");
    CHECK_EQ(locus_worker_close(other), 0);
}

/* ---- the end ---- */

static sem_t may_fail;
static uint64_t fails_later(void *at)
{
    unsigned *next = at;
    if (*next < WIDTH) return (*next)++;
    while (sem_wait(&may_fail)) continue;
    return VARIABLES;
}

/* Workers that wait for sums or for a round learn of it, and who closes the scheduler, why. */
TEST_WITH(scheduler, failure_ends_all_waits, scene, s)
{
    unsigned at = 0;
    CHECK_EQ(sem_init(&may_fail, 0, 0), 0);
    s->config.schedule.order = LOCUS_OWN_ORDER;
    s->config.schedule.next = fails_later;
    s->config.schedule.context = &at;
    open_all(s);
    CHECK_EQ(call(s->port[0], "locus_port_schedule"), 0);
    CHECK_EQ(call(s->port[0], "locus_port_push"), 0);
    sem_post(&may_fail);
    CHECK_EQ(call(s->port[0], "locus_port_pull"), -ECANCELED); /* the other one has not pushed */
    CHECK_STR(locus_error(), "locus_port_pull: round 0 does not come: scheduler 0 has failed");
    CHECK_EQ(call(s->port[1], "locus_port_schedule"), -ECANCELED);
    CHECK_STR(locus_error(), "locus_port_schedule: round 0 does not come");
    CHECK_EQ(locus_scheduler_close(s->scheduler), -EINVAL);
    CHECK_STR(locus_error(), "10");
    s->scheduler = NULL;
}

/* While it waits for workers, and at once. */
TEST(scheduler, close_may_come_at_any_time)
{
    for (int i = 0; i < 10; i++) {
        struct scene s;
        scene_begin(&s);
        open_all(&s);
        if (i % 2) CHECK_EQ(call(s.port[0], "locus_port_schedule"), 0);
        scene_end(&s);
    }
}
