/*
 * two_nodes.c - what a worker pays for rows that another node holds, and what it costs to bring
 * them here, next to raw TCP connections in the same run.
 *
 * Read two_nodes/bench.h first; select.c says what is timed, access.c, relocate.c and floors.c how.
 */
#include "two_nodes/bench.h"

#include "common/cluster.h"
#include "common/raw.h"

#include <stdlib.h>

static const char *const about =
    "Times pull, push and set of another node's rows, and localize of them, against raw TCP: two\n"
    "processes on loopback.\n"
    "A cell's name, for --only, is like: pull flight=8 length=128 keys=1024\n"
    "  first word    pull push set, with flight=1 (synchronous) or flight=8 (asynchronous); idle;\n"
    "                localize, with keys=1 or keys=1000; blocks, exchange (8 calls of 1000 keys in flight);\n"
    "                pingpong spinning, pingpong blocking, both also pinned;\n"
    "                stream, with write=64KiB or write=1MiB\n"
    "  further ones  length=16 128 1000; keys=1 64 1024 (keys a call); busy (rows are accessed while\n"
    "                they move)\n"
    "Both nodes have one worker, two where rows move, whatever --threads says.";

static struct bench bench;

static void choose_sizes(struct bench *b)
{
    bool quick = b->run.options.quick;
    uint64_t ms = 1000000;
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 3});
    b->warm_ns = (quick ? 2 : 30) * ms;
    b->timed_ns = (quick ? 8 : 150) * ms;
    b->single_ns = (quick ? 20 : 500) * ms;
}

static void open_cluster(struct bench *b, enum phase phase)
{
    char rendezvous[CLUSTER_RENDEZVOUS], number[2] = {(char)('0' + phase), '\0'};
    cluster_rendezvous(rendezvous);
    b->other = cluster_start_other(rendezvous, number, b->run.options.quick ? "--quick" : NULL);
    node_open(&b->node, phase, b->run.options.quick, 0, rendezvous);
}

static void close_cluster(struct bench *b)
{
    node_process_dismiss(b->other);
    ask(b, NODE_LEAVE, 0);
    node_close(&b->node);
    node_process_end_well(b->other, 20);
}

static void measure(struct bench *b, enum phase phase)
{
    bool any = phase == ACCESS && idle_selected(b);
    for (unsigned i = 0; i < SETTINGS; i++) any |= setting_selected(b, setting_at(phase, i));
    if (!any) return;
    open_cluster(b, phase);
    for (unsigned i = 0; i < SETTINGS; i++) {
        struct setting s = setting_at(phase, i);
        if (!setting_selected(b, s)) continue;
        setting_measure(b, s);
        report_setting(b, s);
    }
    if (phase == ACCESS) idle_measure(b); /* last: what work leaves behind would show */
    close_cluster(b);
}

static bool anything_selected(const struct bench *b)
{
    bool any = idle_selected(b);
    for (unsigned i = 0; i < PHASES * SETTINGS; i++)
        any |= setting_selected(b, setting_at(i / SETTINGS, i % SETTINGS));
    return any;
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    const struct args_option more[] = {
        OPTION_FLAG("--calls-only", &b->calls_only, 0, "no floors: for a look with a profiler"),
    };
    const struct program program = {
        .name = "two_nodes", .about = about, .more = more, .more_count = 1};
    fail_set_program("two_nodes");
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_node(argc - 2, argv + 2);
    if (node_process_is(argc, argv, RAW_PEER)) raw_peer(values_bytes_max());
    run_parse(&b->run, &program, argc, argv);
    choose_sizes(b);
    run_begin(&b->run, anything_selected(b));
    node_process_limit(b->run.options.quick ? 180 : 240 + 100 * b->run.repetitions);
    b->values = must_alloc(values_bytes_max());
    b->raw = raw_start();
    for (enum phase phase = 0; phase < PHASES; phase++) measure(b, phase);
    raw_stop(b->raw);
    free(b->values);
    run_end(&b->run);
    return 0;
}
