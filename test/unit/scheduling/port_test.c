/* port: rounds are taken in order, sums are those of all workers, and calls in another order are
 * refused. There is no scheduler: the test writes the rounds. */
#include "scheduling/port.h"

#include "one_node.h"

#include <stdio.h>
#include <string.h>

enum { VARIABLES = 10, WORKERS = 2, WIDTH = 3, FIGURES = 2, EXTRA = 1, ROW = 64 };

struct scene {
    struct locus_scheduler_config config;
    struct mail mail;
    locus *node;
    locus_worker *worker[WORKERS + 1]; /* the last one is the test's, as a scheduler */
    locus_port *port[WORKERS];
};

static void open_port(struct scene *s, unsigned i)
{
    int rc = locus_port_open(s->node, s->worker[i], &s->config, i, &s->port[i]);
    if (rc) test_fail(__FILE__, __LINE__, "%d: %s", rc, locus_error());
}

static void scene_begin(struct scene *s)
{
    struct locus_table tables[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = VARIABLES, .length = 1}};
    *s = (struct scene){.node = NULL};
    locus_scheduler_config_init(&s->config);
    s->config.schedule.variables = VARIABLES;
    s->config.schedule.workers = WORKERS;
    s->config.schedule.width = WIDTH;
    s->config.figures = FIGURES;
    s->config.extra = EXTRA;
    s->config.first = VARIABLES;
    s->config.variable_key = 0;
    CHECK_EQ(locus_scheduler_tables(&s->config, tables + 1), 0);
    CHECK_EQ(mail_init(&s->mail, "a test", &s->config), 0);
    s->node = node_of(tables, 1 + LOCUS_SCHEDULER_TABLES, WORKERS + 1, 1);
    for (int i = 0; i <= WORKERS; i++) s->worker[i] = worker_of(s->node);
    for (unsigned i = 0; i < WORKERS; i++) open_port(s, i);
}

static void scene_end(struct scene *s)
{
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(locus_port_close(s->port[i]), 0);
    for (int i = 0; i <= WORKERS; i++) CHECK_EQ(locus_worker_close(s->worker[i]), 0);
    CHECK_EQ(locus_close(s->node), 0);
}

/* Empties the mailboxes of the round and writes it: `count` variables from `first` on. */
static void write_round(struct scene *s, uint64_t round, uint64_t first, size_t count)
{
    struct locus_part parts[WIDTH];
    float row[ROW] = {0};
    uint64_t slot = mail_slot(&s->mail, round);
    locus_key keys[] = {s->mail.sums + slot, s->mail.changes + slot, s->mail.rounds + slot};
    locus_worker *w = s->worker[WORKERS];
    CHECK_EQ(locus_set(w, &keys[0], 1, row), 0);
    CHECK_EQ(locus_set(w, &keys[1], 1, row), 0);
    for (size_t i = 0; i < count; i++)
        parts[i] =
            (struct locus_part){.variable = first + i, .worker = (uint32_t)((first + i) % WORKERS)};
    mail_write(&s->mail, round, parts, count, row);
    CHECK_EQ(locus_set(w, &keys[2], 1, row), 0);
}

static size_t take(struct scene *s, unsigned i, uint64_t first)
{
    const struct locus_part *parts;
    size_t count;
    CHECK_EQ(locus_port_schedule(s->port[i], &parts, &count), 0);
    for (size_t k = 0; k < count; k++) {
        CHECK_EQ(parts[k].variable, first + k);
        CHECK_EQ(parts[k].worker, (first + k) % WORKERS);
    }
    return count;
}

/* Figure f of part k, of a worker. */
static float figure(unsigned worker, size_t k, unsigned f)
{
    return (float)(100 * worker + 10 * k + f);
}

static void push(struct scene *s, unsigned i, size_t count)
{
    float partial[WIDTH * FIGURES + EXTRA];
    for (size_t k = 0; k < count; k++)
        for (unsigned f = 0; f < FIGURES; f++) partial[k * FIGURES + f] = figure(i, k, f);
    partial[count * FIGURES] = (float)(i + 1);
    CHECK_EQ(locus_port_push(s->port[i], partial), 0);
}

static void pull_and_check(struct scene *s, unsigned i, size_t count)
{
    float sums[WIDTH * FIGURES + EXTRA];
    CHECK_EQ(locus_port_pull(s->port[i], sums), 0);
    for (size_t k = 0; k < count; k++)
        for (unsigned f = 0; f < FIGURES; f++)
            CHECK(sums[k * FIGURES + f] == figure(0, k, f) + figure(1, k, f));
    CHECK(sums[count * FIGURES] == 3);
}

static void sync_all(struct scene *s, float change)
{
    float changes[WIDTH];
    for (int k = 0; k < WIDTH; k++) changes[k] = change + (float)k;
    for (int i = 0; i < WORKERS; i++) CHECK_EQ(locus_port_sync(s->port[i], changes), 0);
}

/* ---- rounds ---- */

/* What rounds ahead name is intended for the clock at which they come: the worker's clock advances
 * with each. */
TEST_WITH(port, rounds_ahead_are_taken_in_order_and_advance_the_clock, scene, s)
{
    for (uint64_t round = 0; round < s->mail.slots; round++) write_round(s, round, round, WIDTH);
    for (uint64_t round = 0; round < s->mail.slots; round++) {
        for (unsigned i = 0; i < WORKERS; i++) {
            take(s, i, round);
            CHECK_EQ(locus_current_clock(s->worker[i]), round + 1);
        }
        for (unsigned i = 0; i < WORKERS; i++) push(s, i, WIDTH);
        for (unsigned i = 0; i < WORKERS; i++) pull_and_check(s, i, WIDTH);
        sync_all(s, 0);
    }
    uint64_t own = 0; /* parts of both workers' own: each is intended once */
    for (uint64_t round = 0; round < s->mail.slots; round++) own += WIDTH;
    CHECK_EQ(stats_of(s->node).intents_signaled, own);
    struct locus_port_stats stats;
    locus_port_stats(s->port[0], &stats);
    CHECK_EQ(stats.rounds, s->mail.slots);
    CHECK_EQ(stats.parts, s->mail.slots * WIDTH);
}

/* A scheduler that fails says so in both mailboxes. */
TEST_WITH(port, a_scheduler_that_failed_keeps_nobody_waiting, scene, s)
{
    const struct locus_part *parts;
    float round[ROW], sums[ROW];
    size_t count;
    write_round(s, 0, 0, WIDTH);
    take(s, 0, 0);
    push(s, 0, WIDTH);
    mail_write_failure(&s->mail, round, sums);
    locus_key keys[] = {s->mail.rounds + mail_slot(&s->mail, 0),
                        s->mail.sums + mail_slot(&s->mail, 0)};
    CHECK_EQ(locus_wait_all(s->worker[0]), 0);
    CHECK_EQ(locus_set(s->worker[WORKERS], &keys[0], 1, round), 0);
    CHECK_EQ(locus_set(s->worker[WORKERS], &keys[1], 1, sums), 0);
    CHECK_EQ(locus_port_pull(s->port[0], sums), -ECANCELED);
    CHECK_STR(locus_error(), "locus_port_pull: round 0 does not come: scheduler 0 has failed");
    CHECK_EQ(locus_port_schedule(s->port[1], &parts, &count), -ECANCELED);
    CHECK_STR(locus_error(), "locus_port_schedule: round 0 does not come");
}

/* ---- the order of calls, and what is refused ---- */

static void comes_next(struct scene *s, const char *next)
{
    const struct locus_part *parts;
    float floats[ROW] = {0};
    size_t count;
    char sentence[128];
    snprintf(sentence, sizeof sentence, "in round 0 %s() is next", next);
    if (strcmp(next, "locus_port_schedule") != 0)
        CHECK_EQ(locus_port_schedule(s->port[0], &parts, &count), -EINVAL);
    if (strcmp(next, "locus_port_push") != 0)
        CHECK_EQ(locus_port_push(s->port[0], floats), -EINVAL);
    if (strcmp(next, "locus_port_pull") != 0)
        CHECK_EQ(locus_port_pull(s->port[0], floats), -EINVAL);
    if (strcmp(next, "locus_port_sync") != 0)
        CHECK_EQ(locus_port_sync(s->port[0], floats), -EINVAL);
    CHECK_STR(locus_error(), sentence);
}

TEST(port, calls_in_another_order_are_refused_and_change_nothing)
{
    struct scene s;
    float changes[WIDTH] = {0};
    scene_begin(&s);
    write_round(&s, 0, 0, WIDTH);
    comes_next(&s, "locus_port_schedule");
    take(&s, 0, 0);
    comes_next(&s, "locus_port_push");
    push(&s, 0, WIDTH);
    comes_next(&s, "locus_port_pull");
    take(&s, 1, 0);
    push(&s, 1, WIDTH);
    pull_and_check(&s, 0, WIDTH);
    comes_next(&s, "locus_port_sync");
    CHECK_EQ(locus_port_sync(s.port[0], NULL), -EINVAL);
    CHECK_STR(locus_error(), "locus_port_sync: an argument is NULL");
    CHECK_EQ(locus_port_sync(s.port[0], changes), 0);
    scene_end(&s); /* the other one is within a round */
}

static void refuses(struct scene *s, unsigned number, const char *sentence)
{
    locus_port *none = (void *)&none;
    CHECK_EQ(locus_port_open(s->node, s->worker[0], &s->config, number, &none), -EINVAL);
    CHECK_STR(locus_error(), sentence);
    CHECK(none == NULL);
}

TEST_WITH(port, what_cannot_be_opened_says_why, scene, s)
{
    CHECK_EQ(locus_port_open(s->node, s->worker[0], &s->config, 0, NULL), -EINVAL);
    refuses(s, WORKERS, "locus_port_open: `number` is 2: must be below `workers`, 2");
    s->config.variable_key = locus_keys(s->node) - VARIABLES + 1;
    refuses(s, 0, "locus_port_open: variables have keys ");
    s->config.variable_key = UINT64_MAX - 3; /* beyond the last number */
    refuses(s, 0, "locus_port_open: variables have keys 18446744073709551612 to 5: valid keys ");
    s->config.variable_key = UINT64_MAX;
    s->config.first = 0;
    refuses(s, 0, "locus_port_open: key 0 has a row of 1 floats, and a mailbox has ");
    CHECK_EQ(locus_port_close(NULL), 0);
}
