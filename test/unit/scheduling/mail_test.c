/* mail: what cannot be is refused, and rows are read as they were written. Which rows are where, and
 * when they are written: the simulation (test/sim/schedule). */
#include "scheduling/mail.h"

#include "one_node.h"

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

TEST(mail, init_refuses_each_field_out_of_range)
{
    enum { AHEAD = LOCUS_SCHEDULE_AHEAD_MAX, FIGURES = LOCUS_SCHEDULER_FIGURES_MAX + 1 };
    static const struct {
        const char *sentence;
        unsigned schedulers, depth, figures, extra, window, width;
    } cases[] = {
        {"`schedulers` is 0: must be 1 to 64", 0, 2, 5, 7, 1, 3},
        {"`depth` is 63: must be 0 to 62", 2, AHEAD - 1, 5, 7, 1, 3},
        {"`figures` is 1025: must be 0 to 1024", 2, 2, FIGURES, 7, 1, 3},
        {"`extra` is 1025", 2, 2, 5, FIGURES, 1, 3},
        {"`window` is 62: must be 1 to 61", 2, 2, 5, 7, AHEAD - 2, 3},
        {"`width` is 0", 2, 2, 5, 7, 1, 0},
        {"4096 parts of 1000 figures, and 7 extra, are a row of 4096008 floats", 2, 2, 1000, 7, 1,
         LOCUS_SCHEDULE_WIDTH_MAX},
    };
    struct mail m;
    CHECK_EQ(mail_init(&m, "a_call", NULL), -EINVAL);
    CHECK_STR(locus_error(), "a_call: the configuration is NULL");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_scheduler_config c = config();
        c.schedulers = cases[i].schedulers;
        c.depth = cases[i].depth;
        c.figures = cases[i].figures;
        c.extra = cases[i].extra;
        c.schedule.window = cases[i].window;
        c.schedule.width = cases[i].width;
        if (mail_init(&m, "a_call", &c) != -EINVAL)
            test_fail(__FILE__, __LINE__, "accepted: %s", cases[i].sentence);
        CHECK_STR(locus_error(), cases[i].sentence);
    }
}

/* Callbacks are the scheduler's: a port needs none. */
TEST(mail, init_needs_no_next_function)
{
    struct locus_scheduler_config c = config();
    c.schedule.order = LOCUS_OWN_ORDER;
    made(&c);
}

/* Variables have 40 bits, a float 24. */
TEST(mail, read_gives_variables_of_40_bits_as_written)
{
    struct locus_scheduler_config c = config();
    struct mail m = made(&c);
    const struct locus_part parts[3] = {{.variable = (UINT64_C(1) << 40) - 1, .worker = 3},
                                        {.variable = UINT64_C(0xABCDEF1234), .worker = 0},
                                        {.variable = 0, .worker = 2}};
    struct locus_part read[3];
    size_t count;
    CLOSED_BY(free_at) float *row = floats_of(m.round_length);
    mail_write(&m, 17, parts, 3, row);
    CHECK(mail_read(&m, 17, row, read, &count));
    CHECK_EQ(count, 3);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(read[i].variable, parts[i].variable);
        CHECK_EQ(read[i].worker, parts[i].worker);
    }
}

/* Not while it only yields, and not before 10 s have gone. */
TEST(mail, nap_says_a_long_wait)
{
    struct mail_wait wait = {0};
    while (wait.polls < 100) CHECK_EQ(mail_nap(&wait), 0);
    CHECK(wait.reminder.since_ns > 0);
    wait.reminder.since_ns = time_now_ns() - 1005 * UINT64_C(1000000000);
    CHECK(mail_nap(&wait) >= 1000);
    wait.reminder.since_ns = time_now_ns();
    CHECK_EQ(mail_nap(&wait), 0);
}
