/* What the repetitions say together, and the targets. */
#include "bench.h"

#include "../common/table.h"

#include <math.h>
#include <string.h>

struct spread over_repetitions(const struct bench *b, unsigned number, enum metric m)
{
    return run_spread(&b->run, b->results[number].value[m]);
}

double median_of(const struct bench *b, const char *cell, enum metric m)
{
    char name[CELL_NAME];
    for (unsigned i = 0; i < cells.count; i++) {
        cells.name(i, name);
        if (b->results[i].measured && strcmp(name, cell) == 0)
            return over_repetitions(b, i, m).median;
    }
    return NAN;
}

/* Judged as it is; short runs are not judged. */
static void judge(struct table *t, const struct bench *b, const char *what, const char *aim,
                  const char *format, double value, bool met)
{
    if (isnan(value)) return;
    table_add(t, "%s", what);
    table_add(t, "%s", aim);
    table_add_if(t, true, format, value);
    table_add(t, "%s", run_verdict(&b->run, met));
}

static double fewer(const struct bench *b, const char *adaptive, const char *replicate)
{
    return median_of(b, replicate, SENT) / median_of(b, adaptive, SENT);
}

/* By how many percent offset 1000 takes more of it than the best offset does. */
static double above_best(const struct bench *b, const char *pace, enum metric m)
{
    static const char *const offsets[] = {"1", "3", "10", "30", "100", "300", "1000"};
    char name[96];
    double best = INFINITY, last = NAN;
    for (unsigned i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        snprintf(name, sizeof name, "skewed nodes=2 adaptive offset=%s pace=%s", offsets[i], pace);
        last = median_of(b, name, m);
        if (last < best) best = last;
    }
    return (last / best - 1) * 100;
}

static void judge_offset(struct table *t, const struct bench *b)
{
    static const struct {
        const char *what, *pace;
        enum metric metric;
    } rows[] = {
        {"offset 1000, time above the best offset's", "free", SECONDS},
        {"the same, bytes", "free", SENT},
        {"the same, processor time", "free", CPU},
        {"the same at 1 ms a clock, bytes", "1ms", SENT},
        {"the same at 1 ms a clock, processor time", "1ms", CPU},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        double above = above_best(b, rows[i].pace, rows[i].metric);
        judge(t, b, rows[i].what, "at most 5 %", "%.1f %%", above, above <= 5);
    }
}

static void judge_bytes(struct table *t, const struct bench *b, const char *nodes,
                        const char *adaptive, const char *replicate, bool is_skewed)
{
    char what[64];
    double times = fewer(b, adaptive, replicate), percent = 100 - 100 / times;
    snprintf(what, sizeof what, "bytes fewer than replication, %s, %s",
             is_skewed ? "skewed" : "own rows", nodes);
    if (is_skewed)
        judge(t, b, what, "at least 25 %", "%.0f %%", percent, percent >= 25);
    else
        judge(t, b, what, "at least 5 times", "%.1fx", times, times >= 5);
}

static void judge_economy(struct table *t, const struct bench *b)
{
    double remote = median_of(b, "skewed nodes=3 adaptive offset=100 pace=1ms", REMOTE) * 100;
    double copies = median_of(b, "turns nodes=3 adaptive", COPIED);
    judge(t, b, "remote share, 3 nodes, 100 clocks ahead", "below 0.1 %", "%.4f %%", remote,
          remote < 0.1);
    judge(t, b, "replicas when nodes take turns", "0", "%.0f", copies, copies == 0);
    judge_bytes(t, b, "2 nodes", "skewed nodes=2 adaptive offset=100 pace=1ms",
                "skewed nodes=2 replicate offset=100 pace=1ms", true);
    judge_bytes(t, b, "4 nodes", "skewed nodes=4 adaptive offset=100 pace=1ms",
                "skewed nodes=4 replicate offset=100 pace=1ms", true);
    judge_bytes(t, b, "2 nodes", "own nodes=2 adaptive offset=100 pace=1ms",
                "own nodes=2 replicate offset=100 pace=1ms", false);
    judge_bytes(t, b, "4 nodes", "own nodes=4 adaptive offset=100 pace=1ms",
                "own nodes=4 replicate offset=100 pace=1ms", false);
    judge_offset(t, b);
}

/* The targets of the local path for pulls, twice those for pushes: two rows are written. */
static void judge_access(struct table *t, const struct bench *b, const char *cell, unsigned floats,
                         const double *most)
{
    static const struct {
        const char *what;
        enum metric metric;
    } accesses[] = {{"pull of replicas, 64 keys", PULL_X},
                    {"push of replicas, 64 keys", PUSH_X},
                    {"pull of replicas, 1 key", PULL1_X},
                    {"push of replicas, 1 key", PUSH1_X}};
    for (unsigned i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        char what[64], target[64];
        double x = median_of(b, cell, accesses[i].metric);
        snprintf(what, sizeof what, "%s, %u floats", accesses[i].what, floats);
        snprintf(target, sizeof target, "at most %.1fx the array", most[i]);
        judge(t, b, what, target, "%.2fx", x, x <= most[i]);
    }
}

static double core_share(const struct bench *b, const char *cell)
{
    return median_of(b, cell, SHARD_CPU) / median_of(b, cell, SECONDS) * 100;
}

static void judge_cost(struct table *t, const struct bench *b)
{
    double few = core_share(b, "idle keys=10000 length=128"),
           many = core_share(b, "idle keys=1000000 length=16");
    double pushes = median_of(b, "pushed keys=100000 length=128", PUSHES) / 1e6;
    double one = median_of(b, "arrival keys=1 busy", P50) * 1e6,
           block = median_of(b, "arrival keys=1000 busy", P50) * 1e3;
    double tail = median_of(b, "costs keys=100000 length=128", P999) * 1e6;
    judge(t, b, "10,000 idle replicated keys", "below 1 % of a core", "%.2f %%", few, few < 1);
    judge(t, b, "1,000,000 idle replicated keys", "below 1 % of a core", "%.2f %%", many, many < 1);
    judge(t, b, "100,000 replicated keys, both push", "at least 1.1 M/s a node", "%.2f M/s", pushes,
          pushes >= 1.1);
    judge(t, b, "sudden intent until local, 1 key, p50", "below 100 us", "%.1f us", one, one < 100);
    judge(t, b, "sudden intent until local, 1000 keys, p50", "below 1 ms", "%.2f ms", block,
          block < 1);
    judge_access(t, b, "costs keys=1000000 length=16", 16, (double[]){1.4, 4, 3.5, 10});
    judge_access(t, b, "costs keys=1000000 length=128", 128, (double[]){1, 2, 1.8, 5});
    judge(t, b, "single-key pull of replicas, p99.9", "below 20 us", "%.1f us", tail, tail < 20);
}

void summary_targets(const struct bench *b)
{
    static const char *const header[] = {"targets", "", "measured", ""};
    struct table t = table_new("llrl");
    table_header(&t, header);
    judge_economy(&t, b);
    judge_cost(&t, b);
    table_print(&t, b->run.report);
    run_show_load(&b->run);
}
