/*
 * remote_access.c - what a worker pays for rows that another node holds, next to raw TCP
 * connections in the same run.
 *
 * Read remote_access/bench.h first; select.c says what is timed, cells.c and raw.c how.
 */
#include "remote_access/bench.h"

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
    const struct options *o = &b->run.options;
    uint64_t ms = 1000000;
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 3});
    b->warm_ns = (o->quick ? 2 : 30) * ms;
    b->timed_ns = (o->quick ? 8 : 150) * ms;
    b->single_ns = (o->quick ? 20 : 500) * ms;
    b->sequence = o->quick ? 1 << 14 : 1 << 20;
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
    node_process_limit(b->run.options.quick ? 90 : 120 + 40 * b->run.repetitions);
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
    const struct args_option more[] = {
        {"--calls-only", NULL, "no floors and no targets: for a look with a profiler",
         .kind = ARGS_FLAG, .target = &b->calls_only},
    };
    const struct program program = {
        .name = "remote_access", .about = about, .more = more, .more_count = 1};
    fail_set_program("remote_access");
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_node(argc - 2, argv + 2);
    if (node_process_is(argc, argv, RAW_PEER)) raw_peer(values_bytes_max());
    run_parse(&b->run, &program, argc, argv);
    choose_sizes(b);
    run_begin(&b->run, anything_selected(b));
    run(b);
    if (!b->calls_only) summary_targets(b);
    if (b->run.options.svg != NULL) summary_svg(b);
    run_end(&b->run);
    return 0;
}
