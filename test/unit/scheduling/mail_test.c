/* mail: where each round lies, and that rows are read as they were written. */
#include "scheduling/mail.h"

#include "one_node.h"

#include <math.h>
#include <string.h>

static struct locus_scheduler_config config(void)
{
    struct locus_scheduler_config c;
    locus_scheduler_config_init(&c);
    c.schedule.variables = UINT64_C(1) << 40;
    c.schedule.workers = 4;
    c.schedule.width = 3;
    c.schedulers = 2;
    c.depth = 2;
    c.figures = 5;
    c.extra = 7;
    c.first = 100;
    return c;
}

static struct mail made(const struct locus_scheduler_config *c)
{
    struct mail m;
    CHECK_EQ(mail_init(&m, "a_call", c), 0);
    return m;
}

static void refuses(const struct locus_scheduler_config *c, const char *sentence)
{
    struct mail m;
    CHECK_EQ(mail_init(&m, "a_call", c), -EINVAL);
    CHECK_STR(locus_error(), sentence);
}

TEST(mail, rows_are_as_long_as_a_round_needs)
{
    struct locus_scheduler_config c = config();
    struct mail m = made(&c);
    struct locus_table tables[LOCUS_SCHEDULER_TABLES];
    CHECK_EQ(m.round_length, 2 + 3 * 3);
    CHECK_EQ(m.sums_length, 1 + 3 * 5 + 7);
    CHECK_EQ(m.changes_length, 1 + 3);
    CHECK_EQ(locus_scheduler_tables(&c, tables), 0);
    for (int i = 0; i < LOCUS_SCHEDULER_TABLES; i++) CHECK_EQ(tables[i].rows, 2 * 3);
    CHECK_EQ(tables[0].length, m.round_length);
    CHECK_EQ(tables[1].length, m.sums_length);
    CHECK_EQ(tables[2].length, m.changes_length);
    CHECK_EQ(m.rounds, 100);
    CHECK_EQ(m.sums, 106);
    CHECK_EQ(m.changes, 112);
}

TEST(mail, what_cannot_be_is_refused_by_its_name)
{
    struct locus_scheduler_config c = config();
    refuses(NULL, "a_call: the configuration is NULL");
    c.schedulers = 0;
    refuses(&c, "a_call: `schedulers` is 0: must be 1 to 64");
    c = config(), c.depth = LOCUS_SCHEDULE_AHEAD_MAX - 1;
    refuses(&c, "a_call: `depth` is 63: must be 0 to 62");
    c = config(), c.figures = LOCUS_SCHEDULER_FIGURES_MAX + 1;
    refuses(&c, "a_call: `figures` is 1025: must be 0 to 1024");
    c = config(), c.extra = LOCUS_SCHEDULER_FIGURES_MAX + 1;
    refuses(&c, "a_call: `extra` is 1025");
    c = config(), c.schedule.window = LOCUS_SCHEDULE_AHEAD_MAX - 2;
    refuses(&c, "a_call: `window` is 62: must be 1 to 61");
    c = config(), c.schedule.width = 0;
    refuses(&c, "a_call: `width` is 0");
    c = config(), c.schedule.width = LOCUS_SCHEDULE_WIDTH_MAX, c.figures = 1000;
    refuses(&c, "a_call: 4096 parts of 1000 figures, and 7 extra, are a row of 4096008 floats");
}

/* Callbacks are the scheduler's: a port needs none. */
TEST(mail, an_order_of_the_programs_own_needs_no_function_here)
{
    struct locus_scheduler_config c = config();
    c.schedule.order = LOCUS_OWN_ORDER;
    c.schedule.next = NULL;
    made(&c);
}

/* How many parts; 0: the row is not that round's. */
static size_t parts_read(const struct mail *m, uint64_t round, const float *row,
                         struct locus_part *parts)
{
    size_t count = 0;
    return mail_read(m, round, row, parts, &count) ? count : 0;
}

/* Variables have 40 bits, a float 24. */
TEST(mail, a_round_is_read_as_it_was_written)
{
    struct locus_scheduler_config c = config();
    struct mail m = made(&c);
    const struct locus_part parts[3] = {{.variable = (UINT64_C(1) << 40) - 1, .worker = 3},
                                        {.variable = UINT64_C(0xABCDEF1234), .worker = 0},
                                        {.variable = 0, .worker = 2}};
    struct locus_part read[3];
    CLOSED_BY(free_at) float *row = floats_of(m.round_length);
    for (size_t count = 1; count <= 3; count++) {
        mail_write(&m, 17, parts, count, row);
        memset(read, 0, sizeof read);
        CHECK_EQ(parts_read(&m, 17, row, read), count);
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(read[i].variable, parts[i].variable);
            CHECK_EQ(read[i].worker, parts[i].worker);
        }
    }
}

/* An empty row, the round that was in the slot before, and one of another scheduler's. */
TEST(mail, a_row_of_another_round_is_none)
{
    struct locus_scheduler_config c = config();
    struct mail m = made(&c);
    const struct locus_part part = {.variable = 1};
    struct locus_part read[3];
    CLOSED_BY(free_at) float *row = floats_of(m.round_length);
    CHECK_EQ(parts_read(&m, 0, row, read), 0);
    mail_write(&m, 5, &part, 1, row);
    CHECK_EQ(parts_read(&m, 5, row, read), 1);
    CHECK_EQ(parts_read(&m, 5 + m.schedulers * m.slots, row, read), 0);
    CHECK_EQ(parts_read(&m, 3, row, read), 0);
}

TEST(mail, a_failure_is_seen_in_both_mailboxes_whatever_is_added)
{
    struct locus_scheduler_config c = config();
    struct mail m = made(&c);
    float *round = floats_of(m.round_length), *sums = floats_of(m.sums_length);
    CHECK_EQ(mail_check(&m, "a_call", 5, round), 0);
    mail_write_failure(&m, round, sums);
    sums[0] += 1000; /* workers that push */
    CHECK_EQ(mail_check(&m, "a_call", 5, round), -ECANCELED);
    CHECK_STR(locus_error(), "a_call: round 5 does not come: scheduler 1 has failed");
    CHECK_EQ(mail_check(&m, "a_call", 4, sums), -ECANCELED);
    CHECK_STR(locus_error(), "scheduler 0 has failed");
    free(round);
    free(sums);
}

TEST(mail, tables_are_where_first_says_or_named_as_missing)
{
    struct locus_scheduler_config c = config();
    struct locus_table tables[1 + LOCUS_SCHEDULER_TABLES] = {{.rows = 100, .length = 1}};
    CHECK_EQ(locus_scheduler_tables(&c, tables + 1), 0);
    locus *n = node_of(tables, 1 + LOCUS_SCHEDULER_TABLES, 1, 1);
    struct mail m = made(&c);
    CHECK_EQ(mail_check_node(&m, "a_call", n), 0);
    c.first = 101;
    m = made(&c);
    CHECK_EQ(mail_check_node(&m, "a_call", n), -EINVAL);
    CHECK_STR(locus_error(), "a_call: key 106 has a row of 23 floats, and a mailbox has 11");
    c.first = UINT64_MAX - 3; /* no such keys */
    m = made(&c);
    CHECK_EQ(mail_check_node(&m, "a_call", n), -EINVAL);
    CHECK_EQ(locus_close(n), 0);
}

/* It is said once, and not before somebody has waited. */
TEST(mail, a_long_wait_is_said_once)
{
    struct mail_wait wait = {0};
    CHECK(!mail_is_long(&wait));
    mail_nap(&wait);
    CHECK_EQ(wait.looks, 1);
    wait.began_s = mail_now() - 1000;
    CHECK(mail_is_long(&wait));
    CHECK(!mail_is_long(&wait));
}
