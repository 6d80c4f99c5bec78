/*
 * remote_access.c - what a worker pays for rows that another node holds, next to raw TCP
 * connections in the same run.
 *
 * Read remote_access/bench.h first; select.c says what is timed, cells.c and raw.c how.
 */
#include "remote_access/bench.h"

#include "common/clock.h"
#include "common/cluster.h"
#include "common/json.h"
#include "common/raw.h"

static const char *const about =
    "Times pull, push and set of another node's rows, two processes on loopback, against raw TCP.\n"
    "A cell's name, for --only, is like: pull flight=8 length=128 keys=1024\n"
    "  first word    pull push set, with flight=1 (synchronous) or flight=8 (asynchronous); idle\n"
    "                pingpong spinning, pingpong blocking, both also pinned;\n"
    "                stream, with write=64KiB or write=1MiB\n"
    "  further ones  length=16 128 1000; keys=1 64 1024 (keys a call)\n"
    "Both nodes have one worker, whatever --threads says.";

static struct bench bench;

static void choose_sizes(struct bench *b)
{
    const struct options *o = &b->options;
    uint64_t ms = 1000000;
    b->repetitions = o->repetitions ? o->repetitions : o->quick ? 1 : 3;
    b->warm_ns = (o->quick ? 2 : 30) * ms;
    b->timed_ns = (o->quick ? 8 : 150) * ms;
    b->single_ns = (o->quick ? 20 : 500) * ms;
    b->sequence = o->quick ? 1 << 14 : 1 << 20;
    b->clock_cost = clock_cost_ns();
}

static void measure(struct bench *b)
{
    for (unsigned length = 0; length < LENGTHS; length++) {
        for (unsigned batch = 0; batch < BATCHES; batch++) {
            if (!setting_selected(b, length, batch)) continue;
            setting_measure(b, length, batch);
            report_setting(b, length, batch);
        }
    }
    idle_measure(b); /* last: what work leaves behind would show */
    report_idle(b);
}

static void run(struct bench *b)
{
    node_process_limit(b->options.quick ? 90 : 120 + 40 * b->repetitions);
    node_open(b);
    b->raw = raw_start();
    report_start(b);
    measure(b);
    raw_stop(b->raw);
    node_close(b);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    const struct option_spec more[] = {
        {"--calls-only", NULL, "no floors and no targets: for a look with a profiler", OPTION_FLAG,
         &b->calls_only, 0},
    };
    const struct program program = {
        .name = "remote_access", .about = about, .more = more, .more_count = 1};
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_node(argc - 2, argv + 2);
    if (node_process_is(argc, argv, RAW_PEER)) raw_peer(values_bytes_max());
    options_parse(&b->options, &program, argc, argv);
    if (!anything_selected(b)) options_refuse_selection(&b->options);
    choose_sizes(b);
    b->report = options_report(&b->options);
    b->json = json_open(b->options.json);
    run(b);
    if (!b->calls_only) summary_targets(b);
    if (b->options.svg != NULL) summary_svg(b);
    json_close(b->json);
    return 0;
}
