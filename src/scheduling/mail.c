#include "scheduling/mail.h"

#include "base/error.h"
#include "base/sync.h"
#include "scheduling/schedule.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A float holds so many bits of a whole number. */
enum { BITS = 24, PART_FLOATS = 3, HEAD_FLOATS = 2 };

/* Beside the slots being updated there is one for each round ahead. */
enum { SLOTS_MAX = LOCUS_SCHEDULE_AHEAD_MAX - 1, DEPTH_MAX = SLOTS_MAX - 1 };

void locus_scheduler_config_init_sized(struct locus_scheduler_config *c, size_t size)
{
    struct locus_scheduler_config defaults = {
        .schedulers = 1, .depth = 2, .figures = 1, .variable_key = UINT64_MAX};
    locus_schedule_config_init(&defaults.schedule);
    if (!c) return;
    memcpy(c, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

/* What a worker's port does not need is not looked at. */
static int check_schedule(const char *call, const struct locus_scheduler_config *c)
{
    struct locus_schedule_config s = c->schedule;
    s.shares = c->schedulers;
    s.share = 0;
    if (s.order == LOCUS_OWN_ORDER) s.order = LOCUS_ROUND_ROBIN;
    int rc = schedule_check(call, &s);
    return rc ? rc : schedule_range(call, "window", s.window, 1, SLOTS_MAX - c->depth);
}

int mail_init(struct mail *m, const char *call, const struct locus_scheduler_config *c)
{
    if (!c) {
        error_set(-EINVAL, "%s: the configuration is NULL", call);
        return -EINVAL;
    }
    int rc = schedule_range(call, "schedulers", c->schedulers, 1, LOCUS_SCHEDULERS_MAX);
    if (rc == 0) rc = schedule_range(call, "depth", c->depth, 0, DEPTH_MAX);
    if (rc == 0) rc = schedule_range(call, "figures", c->figures, 0, LOCUS_SCHEDULER_FIGURES_MAX);
    if (rc == 0) rc = schedule_range(call, "extra", c->extra, 0, LOCUS_SCHEDULER_FIGURES_MAX);
    if (rc == 0) rc = check_schedule(call, c);
    if (rc) return rc;
    unsigned width = schedule_width(&c->schedule), window = c->schedule.window;
    unsigned own_window = (window + c->schedulers - 1) / c->schedulers;
    unsigned slots = c->depth + own_window;
    uint64_t sums = 1 + (uint64_t)width * c->figures + c->extra;
    if (sums > LOCUS_LENGTH_MAX) {
        error_set(-EINVAL,
                  "%s: %u parts of %u figures, and %u extra, are a row of %llu floats: must be at "
                  "most %u",
                  call, width, c->figures, c->extra, (unsigned long long)sums, LOCUS_LENGTH_MAX);
        return -EINVAL;
    }
    uint64_t rows = (uint64_t)c->schedulers * slots;
    *m = (struct mail){.schedulers = c->schedulers,
                       .slots = slots,
                       .width = width,
                       .figures = c->figures,
                       .extra = c->extra,
                       .window = window,
                       .own_window = own_window,
                       .round_length = HEAD_FLOATS + PART_FLOATS * width,
                       .sums_length = (uint32_t)sums,
                       .changes_length = 1 + width,
                       .rounds = c->first,
                       .sums = c->first + rows,
                       .changes = c->first + 2 * rows};
    return 0;
}

int locus_scheduler_tables(const struct locus_scheduler_config *c,
                           struct locus_table tables[LOCUS_SCHEDULER_TABLES])
{
    struct mail m = {0};
    int rc = mail_init(&m, "locus_scheduler_tables", c);
    if (rc) return rc;
    if (!tables) return error_set(-EINVAL, "locus_scheduler_tables: `tables` is NULL");
    uint64_t rows = (uint64_t)m.schedulers * m.slots;
    tables[0] = (struct locus_table){.name = "rounds", .rows = rows, .length = m.round_length};
    tables[1] = (struct locus_table){.name = "sums", .rows = rows, .length = m.sums_length};
    tables[2] = (struct locus_table){.name = "changes", .rows = rows, .length = m.changes_length};
    return 0;
}

int mail_open(struct mail *m, const char *call, const locus *node,
              const struct locus_scheduler_config *c)
{
    int rc = locus_size(node);
    if (rc < 0) return error_set(rc, "%s: %s", call, locus_error());
    rc = mail_init(m, call, c);
    if (rc) return rc;
    if (locus_technique_of(node) == LOCUS_FULL_REPLICATION)
        return error_set(-EINVAL,
                         "%s: `technique` of the node is LOCUS_FULL_REPLICATION, with which no row "
                         "is the same on all nodes at once, as mailboxes must be: use another one",
                         call);
    const locus_key first[] = {m->rounds, m->sums, m->changes};
    const uint32_t length[] = {m->round_length, m->sums_length, m->changes_length};
    uint64_t rows = (uint64_t)m->schedulers * m->slots;
    for (int i = 0; i < LOCUS_SCHEDULER_TABLES; i++)
        for (locus_key key = first[i]; key - first[i] < rows; key++)
            if (locus_length(node, key) != length[i])
                return error_set(-EINVAL,
                                 "%s: key %llu has a row of %u floats, and a mailbox has %u: are "
                                 "the tables of locus_scheduler_tables() where `first` says?",
                                 call, (unsigned long long)key, locus_length(node, key), length[i]);
    return 0;
}

/* ---- rounds as rows ---- */

/* Never 0, which is what an unwritten row holds; two rounds of a slot never have the same. */
static float stamp_of(const struct mail *m, uint64_t round)
{
    return (float)(round / m->schedulers % ((1 << BITS) - 1) + 1);
}

void mail_write(const struct mail *m, uint64_t round, const struct locus_part *parts, size_t count,
                float *row)
{
    const uint64_t mask = (UINT64_C(1) << BITS) - 1;
    memset(row, 0, m->round_length * sizeof *row);
    row[0] = stamp_of(m, round);
    row[1] = (float)count;
    for (float *at = row + HEAD_FLOATS; count > 0; count--, parts++, at += PART_FLOATS) {
        at[0] = (float)(parts->variable >> BITS);
        at[1] = (float)(parts->variable & mask);
        at[2] = (float)parts->worker;
    }
}

bool mail_read(const struct mail *m, uint64_t round, const float *row, struct locus_part *parts,
               size_t *count)
{
    float stamp = stamp_of(m, round);
    if (row[0] < stamp || row[0] > stamp) return false;
    *count = (size_t)row[1];
    INVARIANT(*count <= m->width, "a mailbox has a round that is wider than any");
    const float *at = row + HEAD_FLOATS;
    for (size_t i = 0; i < *count; i++, at += PART_FLOATS)
        parts[i] = (struct locus_part){.variable = (uint64_t)at[0] << BITS | (uint64_t)at[1],
                                       .worker = (uint32_t)at[2]};
    return true;
}

void mail_write_failure(const struct mail *m, float *rows)
{
    memset(rows, 0, (m->round_length + m->sums_length) * sizeof *rows);
    rows[0] = rows[m->round_length] = -INFINITY;
}

int mail_check(const struct mail *m, const char *call, uint64_t round, const float *row)
{
    if (row[0] >= 0) return 0;
    return error_set(-ECANCELED,
                     "%s: round %llu does not come: scheduler %llu has failed; its "
                     "locus_scheduler_close() says why",
                     call, (unsigned long long)round, (unsigned long long)(round % m->schedulers));
}

/* ---- waiting ---- */

double mail_now(void)
{
    return (double)time_now_ns() * 1e-9;
}

#ifdef LOCUS_FIBERS
unsigned mail_nap(struct mail_wait *w)
{
    w->polls++;
    LOCUS_YIELD();
    return 0; /* no time passes */
}
#else
/* Others may need this processor; later, nobody needs us soon. */
unsigned mail_nap(struct mail_wait *w)
{
    enum { YIELDS = 100, STEP_NS = 5000, STEPS_MAX = 100 };
    if (w->polls == 0) w->reminder.since_ns = time_now_ns();
    if (w->polls++ < YIELDS) {
        sched_yield();
        return 0;
    }
    uint64_t steps = w->polls - YIELDS;
    const struct timespec t = time_timespec(STEP_NS * (steps < STEPS_MAX ? steps : STEPS_MAX));
    nanosleep(&t, NULL);
    return reminder_due(&w->reminder, time_now_ns());
}
#endif
