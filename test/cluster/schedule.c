/* Schedulers and the ports of workers on the library itself, whatever manages its rows: sums are
 * whole, each variable has one writer, and nothing is lost. Which rounds there are, in all orders,
 * and rotations: the simulation of schedules; what a bound lets a worker see: stress.c. */
#include "locus_schedule.h"
#include "team.h"

#include <errno.h>
#include <string.h>

enum {
    NODES = 3,
    WORKERS = 2, /* of a node; one more is free for a scheduler */
    ALL = NODES * WORKERS,
    VARIABLES = 300,
    WIDTH = 16,
    FIGURES = 2,
    SCHEDULERS = 2,
    WINDOW_MAX = 3,
};

static struct locus_scheduler_config config;
static unsigned round_count, ended;
static unsigned times[ALL][VARIABLES];

static struct locus_scheduler_config config_of(enum locus_order order, unsigned depth,
                                               unsigned window)
{
    struct locus_scheduler_config c;
    locus_scheduler_config_init(&c);
    c.schedule.order = order;
    c.schedule.variables = VARIABLES;
    c.schedule.workers = ALL;
    c.schedule.width = WIDTH;
    c.schedule.window = window;
    c.schedulers = SCHEDULERS;
    c.depth = depth;
    c.figures = FIGURES;
    c.extra = 1;
    c.first = VARIABLES;
    c.variable_key = 0;
    return c;
}

/* The seat's worker makes room for the scheduler, which has its place until all are done. */
static void schedule(struct seat *s)
{
    struct locus_scheduler_config c = config;
    locus_scheduler *scheduler = NULL;
    CHECK_EQ(locus_worker_close(s->worker), 0);
    if (s->rank < SCHEDULERS)
        CHECK_EQ(locus_scheduler_open(s->node, &c, (unsigned)s->rank, &scheduler), 0);
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < ALL) sleep_s(0.002);
    CHECK_EQ(locus_scheduler_close(scheduler), 0);
    CHECK_EQ(locus_worker_open(s->node, &s->worker), 0);
}

/* ---- a worker ---- */

static unsigned number_of(const struct seat *s)
{
    return (unsigned)s->rank * WORKERS + (unsigned)s->id;
}

/* Whole numbers: sums are exact, in whatever order. */
static void fill(unsigned number, const struct locus_part *parts, size_t count, float *partial)
{
    for (size_t i = 0; i < count; i++) {
        partial[FIGURES * i] = (float)((number + 1) * (parts[i].variable % 7));
        partial[FIGURES * i + 1] = 1;
    }
    partial[FIGURES * count] = (float)number;
}

static void check_sums(const struct locus_part *parts, size_t count, const float *sums)
{
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(sums[FIGURES * i], ALL * (ALL + 1) / 2 * (int)(parts[i].variable % 7));
        CHECK_EQ(sums[FIGURES * i + 1], ALL);
    }
    CHECK_EQ(sums[FIGURES * count], ALL * (ALL - 1) / 2);
}

/* A read and a write, which lose updates unless a variable has one writer at a time. */
static void update_own(struct seat *s, const struct locus_part *parts, size_t count, float *changes)
{
    for (size_t i = 0; i < count; i++) {
        locus_key key = config.variable_key + parts[i].variable;
        float row = 0;
        changes[i] = (float)(parts[i].variable % 5);
        times[number_of(s)][parts[i].variable]++;
        if (parts[i].worker != number_of(s)) continue;
        CHECK_EQ(locus_pull(s->worker, &key, 1, &row), 0);
        row++;
        CHECK_EQ(locus_set(s->worker, &key, 1, &row), 0);
    }
}

/* A round under way. */
struct round {
    const struct locus_part *parts;
    size_t count;
};

static void begin_round(struct seat *s, locus_port *port, struct round *r)
{
    float values[FIGURES * WIDTH + 1];
    CHECK_EQ(locus_port_schedule(port, &r->parts, &r->count), 0);
    CHECK(r->count + (config.schedule.window > 1) > 0 && r->count <= WIDTH);
    fill(number_of(s), r->parts, r->count, values);
    CHECK_EQ(locus_port_push(port, values), 0);
}

static void end_round(struct seat *s, locus_port *port, const struct round *r)
{
    float values[FIGURES * WIDTH + 1];
    CHECK_EQ(locus_port_pull(port, values), 0);
    check_sums(r->parts, r->count, values);
    update_own(s, r->parts, r->count, values);
    CHECK_EQ(locus_port_sync(port, values), 0);
}

static void check_rows(struct seat *s)
{
    for (locus_key v = 0; v < VARIABLES; v++) {
        float row;
        CHECK_EQ(locus_pull(s->worker, &v, 1, &row), 0);
        CHECK_EQ(row, times[0][v]);
        CHECK(row > 0);
    }
}

static void work(struct seat *s)
{
    struct round under_way[WINDOW_MAX];
    locus_port *port;
    unsigned window = config.schedule.window;
    CHECK_EQ(locus_port_open(s->node, s->worker, &config, number_of(s), &port), 0);
    for (unsigned begun = 0, ended_here = 0; ended_here < round_count; ended_here++) {
        for (; begun < round_count && begun < ended_here + window; begun++)
            begin_round(s, port, &under_way[begun % window]);
        end_round(s, port, &under_way[ended_here % window]);
    }
    CHECK_EQ(locus_port_close(port), 0);
    __atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
}

static void body(struct seat *s)
{
    seat_barrier(s);
    if (s->id == WORKERS)
        schedule(s);
    else
        work(s);
    seat_barrier(s);
    if (s->number == 0) check_rows(s);
}

static void run(enum locus_technique technique, enum locus_order order, unsigned depth,
                unsigned window)
{
    struct locus_table tables[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = VARIABLES, .length = 1}};
    struct team team = {
        TEAM_OF(NODES, WORKERS + 1, 0, technique, tables, 1 + LOCUS_SCHEDULER_TABLES)};
    config = config_of(order, depth, window);
    ended = 0;
    memset(times, 0, sizeof times);
    CHECK_EQ(locus_scheduler_tables(&config, tables + 1), 0);
    team_run(&team, body);
}

/* With a window a variable still has one writer at a time, who knows what it has written. */
TEST(schedule, port_sums_are_whole_and_variables_have_one_writer)
{
    round_count = 120;
    run(LOCUS_ADAPTIVE, LOCUS_PRIORITY, 1, WINDOW_MAX);
    run(LOCUS_RELOCATE, LOCUS_ROUND_ROBIN, 0, 2);
    round_count = 400;
    run(LOCUS_STATIC, LOCUS_PRIORITY, 0, 1);
    run(LOCUS_REPLICATE, LOCUS_PRIORITY, 2, 1);
}

/* ---- wrong calls ---- */

/* At once, on one node, too: with several, mailboxes would differ between nodes for ever. */
TEST(schedule, full_replication_is_refused)
{
    struct locus_table all[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = VARIABLES, .length = 1}};
    const struct team team = {
        TEAM_OF(1, 2, 0, LOCUS_FULL_REPLICATION, all, 1 + LOCUS_SCHEDULER_TABLES)};
    locus_scheduler *scheduler;
    locus_port *port;
    config = config_of(LOCUS_ROUND_ROBIN, 1, 1);
    CHECK_EQ(locus_scheduler_tables(&config, all + 1), 0);
    locus *node = team_open(&team, 0);
    locus_worker *worker = worker_of(node);
    CHECK_EQ(locus_scheduler_open(node, &config, 0, &scheduler), -EINVAL);
    CHECK_STR(locus_error(), "locus_scheduler_open: `technique` of the node is LOCUS_FULL_REPLI");
    CHECK_EQ(locus_port_open(node, worker, &config, 0, &port), -EINVAL);
    CHECK_STR(locus_error(), "locus_port_open: `technique` of the node is LOCUS_FULL_REPLICATION");
    CHECK_EQ(locus_worker_close(worker), 0);
    CHECK_EQ(locus_close(node), 0);
}
