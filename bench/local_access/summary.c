/* What stands at the end: targets, the demo's tables, whether the floors are as expected, the
 * picture. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Targets ---- */

/* Times the floor, for rows of 1, 16, 128 and 1000 floats; 0: none was set. */
static const struct target {
    const char *name;
    enum step_id step;
    double ratio[LENGTHS];
} targets[] = {
    {"pull, 1 key a call", PULL_1, {0, 3.5, 1.8, 1.3}},
    {"pull, 64 keys a call", PULL_64, {0, 1.4, 1.0, 1.0}},
    {"push, 1 key a call", PUSH_1, {0, 5, 2.5, 1.3}},
    {"push, 64 keys a call", PUSH_64, {0, 2, 1.0, 1.0}},
    {"view, 1 row a section", VIEW_1, {0, 1.1, 1.1, 1.1}},
    {"view, 64 rows a section", VIEW_64, {0, 1.1, 1.1, 1.1}},
    {"view, 64 rows, prefetched", VIEW_FETCHED, {0, 1.1, 1.1, 1.1}},
};

static const double intent_target_ns = 30;
static const double p999_target_us = 10;
static const double bytes_beside_target = 24;

/* Judged as printed, with two digits. */
static const char *verdict(const struct bench *b, double measured, double target)
{
    return run_verdict(&b->run, round(measured * 100) <= round(target * 100));
}

static void add_measured(struct table *t, const struct bench *b, bool measured, double value,
                         double target, const char *unit)
{
    if (!measured) {
        table_add(t, "%s", "-");
        table_add(t, "%s", "");
        return;
    }
    table_add(t, "%.2f%s", value, unit);
    table_add(t, "%s", verdict(b, value, target));
}

static const struct cell *plain_cell(const struct bench *b, unsigned length, enum step_id step)
{
    return &b->cells[length][KEYS_UNIFORM][0][step];
}

static const struct cell *skewed_cell(const struct bench *b, unsigned length, enum step_id step)
{
    return &b->cells[length][KEYS_ZIPF][b->team_count - 1][step];
}

static void add_ratio_target(struct table *t, const struct bench *b, const struct target *target,
                             unsigned length)
{
    const struct cell *plain = plain_cell(b, length, target->step),
                      *skewed = skewed_cell(b, length, target->step);
    if (!plain->measured && !skewed->measured) return;
    table_add(t, "%s", target->name);
    table_add(t, "%" PRIu32, lengths[length]);
    table_add(t, "%.1fx", target->ratio[length]);
    add_measured(t, b, plain->measured, plain->ratio.median, target->ratio[length], "x");
    add_measured(t, b, skewed->measured, skewed->ratio.median, target->ratio[length], "x");
}

static void add_intent_target(struct table *t, const struct bench *b, enum step_id step,
                              unsigned length)
{
    const struct cell *plain = plain_cell(b, length, step), *skewed = skewed_cell(b, length, step);
    if (!plain->measured && !skewed->measured) return;
    table_add(t, "intent, %u key%s a call", steps[step].per_call,
              steps[step].per_call == 1 ? "" : "s");
    table_add(t, "%" PRIu32, lengths[length]);
    table_add(t, "%.0f ns", intent_target_ns);
    add_measured(t, b, plain->measured, plain->time.median, intent_target_ns, " ns");
    add_measured(t, b, skewed->measured, skewed->time.median, intent_target_ns, " ns");
}

static void add_single(struct table *t, const struct bench *b, const char *name, unsigned length,
                       const char *target_text, bool measured, double value, double target,
                       const char *unit)
{
    if (!measured) return;
    table_add(t, "%s", name);
    table_add(t, "%" PRIu32, lengths[length]);
    table_add(t, "%s", target_text);
    add_measured(t, b, measured, value, target, unit);
    table_add(t, "%s", "");
    table_add(t, "%s", "");
}

static void add_all_targets(struct table *t, const struct bench *b)
{
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) {
        for (unsigned length = 1; length < LENGTHS; length++)
            add_ratio_target(t, b, &targets[i], length);
    }
    table_gap(t);
    for (unsigned length = 1; length < LENGTHS; length++) add_intent_target(t, b, INTENT_1, length);
    for (unsigned length = 1; length < LENGTHS; length++)
        add_intent_target(t, b, INTENT_64, length);
    table_gap(t);
    for (unsigned length = 1; length < LENGTHS; length++) {
        const struct tail *tail = &b->tails[length][ONE_ROW_WRITER][LOCUS];
        add_single(t, b, "p99.9 of a pull, writer on the same row", length, "10 us", tail->measured,
                   tail->p999.median / 1e3, p999_target_us, " us");
    }
    for (unsigned length = 1; length < LENGTHS; length++) {
        add_single(t, b, "memory beside a key's values", length, "24 B", memory_selected(b, length),
                   b->bytes_beside[length], bytes_beside_target, " B");
    }
}

void summary_targets(const struct bench *b)
{
    char skewed[48];
    unsigned threads = b->teams[b->team_count - 1];
    snprintf(skewed, sizeof skewed, "zipf-1.1, %u thread%s", threads, threads == 1 ? "" : "s");
    struct table t = table_new("lrrrlrl");
    const char *const header[] = {
        "targets (x: times the floor)", "floats", "target", "uniform, 1 thread", "", skewed, ""};
    table_header(&t, header);
    add_all_targets(&t, b);
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

/* ---- The demo ---- */

static void add_demo_row(struct table *t, const char *what, unsigned length,
                         const struct cell *cells, const enum step_id columns[4])
{
    table_add(t, "%s %" PRIu32 " floats", what, lengths[length]);
    for (unsigned i = 0; i < 4; i++) {
        const struct cell *c = &cells[columns[i]];
        table_add_if(t, c->measured, "%.1f ns", c->time.median);
        if (i > 0) table_add_if(t, c->measured, "%.2fx", c->ratio.median);
    }
}

static void demo_table(const struct bench *b, enum key_choice choice, unsigned team)
{
    static const enum step_id reads[] = {ARRAY_READ, PULL_64, PULL_1, MUTEX_READ};
    static const enum step_id adds[] = {ARRAY_ADD, PUSH_64, PUSH_1, MUTEX_ADD};
    static const char *const header[] = {"", "plain array", "locus, 64", "", "locus, 1",
                                         "", "mutexes",     ""};
    struct table t = table_new("lrrrrrrr");
    table_header(&t, header);
    for (unsigned length = 1; length < LENGTHS; length++) {
        add_demo_row(&t, "read", length, b->cells[length][choice][team], reads);
    }
    for (unsigned length = 1; length < LENGTHS; length++) {
        add_demo_row(&t, "add", length, b->cells[length][choice][team], adds);
    }
    table_print(&t, b->run.report);
    fputc('\n', b->run.report);
}

static void demo_tail(const struct bench *b)
{
    const struct tail *ours = &b->tails[2][ONE_ROW_WRITER][LOCUS],
                      *theirs = &b->tails[2][ONE_ROW_WRITER][MUTEX];
    if (!ours->measured || !theirs->measured) return;
    fprintf(b->run.report,
            "One row of 128 floats, read again and again while another thread adds to it all\n"
            "the time: 99.9 %% of reads take at most %.1f us; with a mutex %.1f us.\n\n",
            ours->p999.median / 1e3, theirs->p999.median / 1e3);
}

void summary_demo(const struct bench *b)
{
    unsigned team = b->team_count - 1, threads = b->teams[team];
    fputs("Time a row, one thread, random rows among 1 M (100 k of 1000 floats)\n\n",
          b->run.report);
    demo_table(b, KEYS_UNIFORM, 0);
    fprintf(b->run.report,
            "The same, %u thread%s on the same rows, a few of them hot (Zipf 1.1)\n\n", threads,
            threads == 1 ? "" : "s");
    demo_table(b, KEYS_ZIPF, team);
    demo_tail(b);
    fputs("plain array  memcpy out of, or a vectorized addition into, one big array, where\n"
          "             nothing keeps a row whole and no row could ever move\n"
          "locus, 64    64 rows a call\n"
          "locus, 1     one row a call\n"
          "mutexes      the array, protected by 1000 mutexes, as classic parameter servers do\n"
          "x            times the plain array; below 1 because a call fetches rows ahead\n\n",
          b->run.report);
}

/* ---- Floors ---- */

/* Nanoseconds a row, uniform keys, one thread: the machine that the targets were set on (2 cores of
 * a Zen 5). */
static const struct reference {
    double read, add;
} references[LENGTHS] = {{3.8, 2.4}, {13, 7}, {42, 41}, {314, 293}};

enum { TOLERANCE_PERCENT = 15 };

/* By how many percent the floor here is slower than the reference; 0 when not measured. */
static double floor_distance(const struct bench *b, unsigned length, enum step_id step,
                             double reference)
{
    const struct cell *c = plain_cell(b, length, step);
    return c->measured ? (c->time.median / reference - 1) * 100 : 0;
}

static void add_floor(struct table *t, const struct bench *b, unsigned length, enum step_id step,
                      double reference)
{
    const struct cell *c = plain_cell(b, length, step);
    if (!c->measured) return;
    table_add(t, "%s", steps[step].name);
    table_add(t, "%" PRIu32, lengths[length]);
    table_add(t, "%.1f ns", c->time.median);
    table_add(t, "%.1f ns", reference);
    table_add(t, "%+.0f %%", floor_distance(b, length, step, reference));
}

static void floors_table(const struct bench *b)
{
    struct table t = table_new("lrrrr");
    const char *const header[] = {"floors", "floats", "here", "reference machine", ""};
    table_header(&t, header);
    for (unsigned length = 0; length < LENGTHS; length++) {
        add_floor(&t, b, length, ARRAY_READ, references[length].read);
        add_floor(&t, b, length, ARRAY_ADD, references[length].add);
    }
    table_print(&t, b->run.report);
}

static bool some_floor_measured(const struct bench *b)
{
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (plain_cell(b, length, ARRAY_READ)->measured ||
            plain_cell(b, length, ARRAY_ADD)->measured)
            return true;
    }
    return false;
}

void summary_floors(const struct bench *b)
{
    if (b->run.options.quick || !some_floor_measured(b)) return;
    bool near = true;
    for (unsigned length = 0; length < LENGTHS; length++) {
        near &= fabs(floor_distance(b, length, ARRAY_READ, references[length].read)) <=
                TOLERANCE_PERCENT;
        near &= fabs(floor_distance(b, length, ARRAY_ADD, references[length].add)) <=
                TOLERANCE_PERCENT;
    }
    if (!b->run.options.demo) floors_table(b);
    if (near) {
        fprintf(
            b->run.report,
            "The floors are within %d %% of those of the machine that the targets were set on.\n",
            TOLERANCE_PERCENT);
    } else {
        fprintf(
            b->run.report,
            "The floors differ by more than %d %% from those of the machine that the targets were\n"
            "set on: this is another machine, or it is busy (load %.1f). Compare ratios.\n",
            TOLERANCE_PERCENT, machine_load());
    }
}

/* ---- The picture ---- */

static bool fill_group(const struct bench *b, struct plot_group *g, unsigned length,
                       enum step_id step, enum step_id mutex)
{
    static char labels[LENGTHS][16];
    const struct cell *ours = plain_cell(b, length, step), *theirs = plain_cell(b, length, mutex);
    snprintf(labels[length], sizeof labels[length], "%" PRIu32, lengths[length]);
    g->label = labels[length];
    g->values[0] = ours->ratio.median;
    g->values[1] = theirs->ratio.median;
    return ours->measured && theirs->measured;
}

void summary_svg(const struct bench *b)
{
    static const struct {
        const char *name;
        enum step_id step, mutex;
    } sections[] = {
        {"pull, 1 key a call", PULL_1, MUTEX_READ},
        {"pull, 64 keys a call", PULL_64, MUTEX_READ},
        {"push, 1 key a call", PUSH_1, MUTEX_ADD},
        {"push, 64 keys a call", PUSH_64, MUTEX_ADD},
    };
    struct plot_group groups[12];
    size_t count = 0;
    bool complete = true;
    for (size_t i = 0; i < 4; i++) {
        for (unsigned length = 1; length < LENGTHS; length++) {
            groups[count].section = sections[i].name;
            complete &=
                fill_group(b, &groups[count++], length, sections[i].step, sections[i].mutex);
        }
    }
    if (!complete) {
        fprintf(b->run.report,
                "%s was not drawn: the picture needs pull, push and the mutexes for all lengths.\n",
                b->run.options.svg);
        return;
    }
    char subtitle[256];
    snprintf(subtitle, sizeof subtitle,
             "random rows among 1 M (100 k of 1000 floats), one thread, %s; lower is better",
             machine_processor());
    plot_svg(&(struct plot){.title = "Local access: time a row, next to a plain array",
                            .subtitle = subtitle,
                            .axis = "time a row (plain array = 1)",
                            .label_name = "floats",
                            .unit = "x",
                            .baseline = "plain array",
                            .series = {"locus", "1000 mutexes"},
                            .series_count = 2,
                            .groups = groups,
                            .group_count = count},
             1, b->run.options.svg, b->run.report);
}
