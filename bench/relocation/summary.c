/* What the repetitions say together, the targets, and the picture. */
#include "bench.h"

#include "../common/machine.h"
#include "../common/plot.h"
#include "../common/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct spread to_pingpong(const struct bench *b, unsigned length, const double *values)
{
    const struct cell *any = &b->cells[length][PINGPONG],
                      *pinned = &b->cells[length][PINGPONG_PINNED];
    double floor[SPREAD_MAX];
    memcpy(floor, any->times.p50, sizeof floor);
    if (pinned->measured) run_least(&b->run, floor, pinned->times.p50);
    return run_ratio(&b->run, values, floor);
}

/* The best stream, or the best of those that are pinned: the largest writes are not always the
 * fastest. */
static struct spread share_of(const struct bench *b, unsigned length, enum step_id step,
                              bool pinned_only)
{
    static const enum step_id streams[] = {STREAM_64K_PINNED, STREAM_1M_PINNED, STREAM_64K,
                                           STREAM_1M};
    const struct cell *cells = b->cells[length];
    double rates[SPREAD_MAX], floor[SPREAD_MAX] = {0};
    for (unsigned i = 0; i < (pinned_only ? 2 : 4); i++)
        run_most(&b->run, floor, cells[streams[i]].per_s);
    for (unsigned r = 0; r < b->run.repetitions; r++)
        rates[r] = cells[step].per_s[r] * (double)row_bytes(length);
    return run_ratio(&b->run, rates, floor);
}

struct spread share_of_stream(const struct bench *b, unsigned length, enum step_id step)
{
    return share_of(b, length, step, false);
}

/* ---- Targets ---- */

static const double one_target = 5, block_target_us = 1000, rate_target = 1e6, share_target = 0.5;
enum { TARGET_LENGTH = 1 };

static void add_one(struct table *t, const struct bench *b, unsigned length)
{
    const struct cell *c = &b->cells[length][LOCALIZE_1];
    if (!c->measured || !b->cells[length][PINGPONG].measured) return;
    double ratio = to_pingpong(b, length, c->times.p50).median;
    table_add(t, "localize of 1 row of %u floats, p50", (unsigned)lengths[length]);
    table_add(t, "at most %.0fx spinning ping-pong", one_target);
    table_add(t, "%.2fx", ratio);
    table_add(t, "%s", run_verdict(&b->run, round(ratio * 100) <= one_target * 100));
    table_add(t, "%.1f us", run_spread(&b->run, c->times.p50).median / 1e3);
}

static void add_block(struct table *t, const struct bench *b, unsigned length)
{
    const struct cell *c = &b->cells[length][LOCALIZE_BLOCK];
    if (!c->measured) return;
    double us = run_spread(&b->run, c->times.p50).median / 1e3;
    table_add(t, "localize of 1000 rows of %u floats, p50", (unsigned)lengths[length]);
    table_add(t, "below %.0f us", block_target_us);
    table_add(t, "%.0f us", us);
    table_add(t, "%s", run_verdict(&b->run, us < block_target_us));
    table_add(t, "best of runs %.0f us", run_spread(&b->run, c->times.p50).min / 1e3);
}

static void add_rate(struct table *t, const struct bench *b, unsigned length, enum step_id step)
{
    const struct cell *c = &b->cells[length][step];
    if (!c->measured || !b->cells[length][STREAM_64K].measured) return;
    double rate = run_spread(&b->run, c->per_s).median,
           share = share_of_stream(b, length, step).median;
    table_add(t, "%s of 1000 rows of %u floats", steps[step].name, (unsigned)lengths[length]);
    table_add(t, "above 1 M rows/s or %.0f %% of stream", share_target * 100);
    table_add(t, "%.2f M rows/s", rate / 1e6);
    table_add(t, "%s", run_verdict(&b->run, rate > rate_target || share > share_target));
    table_add(t, "%.0f %% of the best stream, %.0f %% of the pinned one", share * 100,
              share_of(b, length, step, true).median * 100);
}

void summary_targets(const struct bench *b)
{
    static const char *const header[] = {"targets", "", "measured", "", ""};
    struct table t = table_new("llrll");
    table_header(&t, header);
    add_one(&t, b, TARGET_LENGTH);
    add_block(&t, b, TARGET_LENGTH);
    add_rate(&t, b, TARGET_LENGTH, BLOCKS);
    add_rate(&t, b, TARGET_LENGTH, EXCHANGE);
    table_gap(&t);
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (length == TARGET_LENGTH) continue;
        add_one(&t, b, length);
        add_block(&t, b, length);
        add_rate(&t, b, length, BLOCKS);
        add_rate(&t, b, length, EXCHANGE);
    }
    table_print(&t, b->run.report);
    run_show_load(&b->run);
}

/* ---- The picture ---- */

static bool fill_group(const struct bench *b, struct plot_group *g, unsigned length, bool is_busy)
{
    static char labels[LENGTHS][16];
    static const enum step_id series[2][3] = {{LOCALIZE_BLOCK, BLOCKS, EXCHANGE},
                                              {LOCALIZE_BLOCK_BUSY, BLOCKS_BUSY, EXCHANGE_BUSY}};
    bool complete = true;
    snprintf(labels[length], sizeof labels[length], "%" PRIu32, lengths[length]);
    g->section = is_busy ? "accessed meanwhile" : "at rest";
    g->label = labels[length];
    for (unsigned i = 0; i < 3; i++) {
        const struct cell *c = &b->cells[length][series[is_busy][i]];
        complete &= c->measured;
        g->values[i] = run_spread(&b->run, c->per_s).median / 1e6;
    }
    return complete;
}

void summary_svg(const struct bench *b)
{
    struct plot_group groups[2 * LENGTHS] = {0};
    bool complete = true;
    for (unsigned i = 0; i < 2 * LENGTHS; i++)
        complete &= fill_group(b, &groups[i], i % LENGTHS, i >= LENGTHS);
    if (!complete) {
        fprintf(b->run.report, "%s was not drawn: the picture needs blocks of all lengths.\n",
                b->run.options.svg);
        return;
    }
    char subtitle[256];
    snprintf(subtitle, sizeof subtitle,
             "two nodes on loopback, blocks of 1000 rows, median, %s; higher is better",
             machine_processor());
    plot_svg(&(struct plot){.title = "Relocation between two nodes",
                            .subtitle = subtitle,
                            .axis = "million rows a second",
                            .label_name = "floats",
                            .unit = "",
                            .series = {"one block at a time", "eight blocks in flight",
                                       "both ways at once"},
                            .series_count = 3,
                            .groups = groups,
                            .group_count = 2 * LENGTHS},
             1, b->run.options.svg, b->run.report);
}
