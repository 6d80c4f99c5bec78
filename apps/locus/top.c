#include "top.h"

#include "args.h"
#include "detail.h"
#include "fail.h"
#include "say.h"
#include "screen.h"
#include "table.h"

#include <stdio.h>
#include <time.h>

static const char usage[] =
    "usage: locus top [options] [HOST:PORT ...]\n"
    "\n"
    "Shows a row for each node of a running job. Its nodes must serve metrics (LOCUS_METRICS). HOST:PORT is rank 0's,\n"
    "which stands for all nodes at the ports after it, or another node's. Without one it shows the jobs of this user on\n"
    "this host.\n"
    "\n"
    "  --once              one table on stdout, of what happens within the interval\n"
    "  --json              the same as a JSON object for each node\n"
    "  --interval SECONDS  between two looks (1)\n"
    "  --keys              with --once: the hottest keys of each node, instead\n"
    "  -h, --help          this text\n"
    "\n"
    "  keys/s    keys that calls access in a second; their shares: local rows, replica here, remote at other nodes\n"
    "  moved/s   rows that came here; then how many rows it owns, and how many replicas it has\n"
    "  age ms    of replicas, since their owner was heard: the median, and what 99 of 100 are below\n"
    "  sent/s    bytes; shards: their load; waits: the share of time in which workers wait for other nodes\n"
    "  late/s    keys accessed at other nodes although an intent was active; clock: the highest\n"
    "\n"
    "  keys: q ends; s sorts by the next column; space freezes; up and down choose a node; n shows its shards and peers;\n"
    "  k the keys that its calls name most often; b goes back\n";

struct top {
    double interval_s;
    bool once, json, keys;
    char **address;
    size_t count;
};

static int parse(struct top *t, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_FLAG("--once", &t->once, 0, ""),
        OPTION_FLAG("--json", &t->json, 0, ""),
        OPTION_FLAG("--keys", &t->keys, 0, ""),
        OPTION_REAL("--interval", "SECONDS", &t->interval_s, 0.05, 3600, 0, ""),
    };
    args_parse(&(struct args_program){.help = usage,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .words = &t->address},
               argc, argv);
    t->once = t->once || t->json || t->keys;
    t->count = (size_t)(argv + argc - t->address);
    if (t->keys && t->json)
        return say_and(STATUS_USAGE, "--keys is a text: leave --json out, or ask a node for /keys");
    return 0;
}

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static int end_once(const struct look *l, size_t answers)
{
    size_t missing = look_missing(l);
    if (fflush(stdout) || ferror(stdout)) return say_and(STATUS_FAILED, "stdout cannot be written");
    if (missing)
        return say_and(STATUS_FAILED,
                       "%zu nodes more do not answer at the ports behind: give HOST:PORT of those "
                       "on other hosts, too",
                       missing);
    return answers == l->count ? 0 : STATUS_FAILED;
}

/* The first look makes nodes note them. */
static int show_keys(const struct top *t, struct look *l)
{
    static char text[DETAIL_BYTES_MAX];
    size_t answers = 0;
    look_again(l);
    for (size_t i = 0; i < l->count; i++) detail_keys(&l->row[i], text);
    pause_for(t->interval_s);
    for (size_t i = 0; i < l->count; i++) {
        answers += detail_keys(&l->row[i], text);
        printf("%snode %u\n%s", i > 0 ? "\n" : "", l->row[i].rank, text);
    }
    return end_once(l, answers);
}

static int show_once(const struct top *t, struct look *l)
{
    char line[TABLE_LINE_MAX];
    size_t answers = 0;
    look_again(l);
    pause_for(t->interval_s);
    look_again(l);
    table_sort(l, TABLE_RANK);
    for (size_t i = 0; i < l->count; i++) answers += l->row[i].answers;
    if (t->json) {
        table_json(l);
    } else {
        table_head(line);
        puts(line);
        for (size_t i = 0; i < l->count; i++) {
            table_row(&l->row[i], line);
            puts(line);
        }
    }
    return end_once(l, answers);
}

int top_main(int argc, char **argv)
{
    struct top t = {.interval_s = 1};
    struct look l;
    say_as("locus top");
    fail_set_program("locus top");
    int rc = parse(&t, argc, argv);
    if (rc) return rc;
    if (!look_find(&l, t.address, t.count)) rc = say_and(STATUS_FAILED, "no memory");
    if (rc == 0 && l.count == 0)
        rc = say_and(STATUS_FAILED, "no job of yours on this host serves metrics: start it with "
                                    "LOCUS_METRICS=127.0.0.1:9400, or give HOST:PORT");
    if (rc == 0)
        rc = t.keys   ? show_keys(&t, &l)
             : t.once ? show_once(&t, &l)
                      : screen_show(&l, t.interval_s);
    look_free(&l);
    return rc;
}
