/*
 * relocation.c - what it costs to bring rows to the node that uses them, next to raw TCP
 * connections in the same run.
 *
 * Read relocation/bench.h first; select.c says what is timed, cells.c and takes.c how.
 */
#include "relocation/bench.h"

#include "common/cluster.h"
#include "common/json.h"
#include "common/raw.h"

#include <stdlib.h>

static const char *const about =
    "Times localize and the throughput of moving rows, two processes on loopback, against raw TCP.\n"
    "A cell's name, for --only, is like: localize keys=1000 busy length=128\n"
    "  first word    localize, with keys=1 or keys=1000; blocks, exchange (8 calls of 1000 keys in flight);\n"
    "                pingpong spinning, stream with write=64KiB or write=1MiB, all also pinned\n"
    "  further ones  busy (rows are accessed meanwhile); length=16 128 1000\n"
    "Both nodes have two workers, whatever --threads says.";

static struct bench bench;

static void choose_sizes(struct bench *b)
{
    const struct options *o = &b->run.options;
    uint64_t ms = 1000000;
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 5});
    b->warm_ns = (o->quick ? 2 : 20) * ms;
    b->timed_ns = (o->quick ? 10 : 200) * ms;
}

static void open_all(struct bench *b)
{
    char rendezvous[CLUSTER_RENDEZVOUS];
    cluster_rendezvous(rendezvous);
    b->other = cluster_start_other(rendezvous, b->run.options.quick);
    node_open(&b->node, b->run.options.quick, 0, rendezvous);
    b->raw = raw_start();
    b->buffer = must_alloc(raw_bytes_max());
}

static void close_all(struct bench *b)
{
    uint64_t done;
    raw_stop(b->raw);
    node_process_dismiss(b->other);
    node_process_ask(b->other, &(struct node_question){.what = NODE_LEAVE}, &done, sizeof done, 10);
    node_close(&b->node);
    node_process_end_well(b->other, 20);
    free(b->buffer);
}

static void run(struct bench *b)
{
    node_process_limit(b->run.options.quick ? 90 : 120 + 60 * b->run.repetitions);
    open_all(b);
    report_start(b);
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (!length_selected(b, length)) continue;
        length_measure(b, length);
        report_length(b, length);
    }
    close_all(b);
}

static bool anything_selected(const struct bench *b)
{
    bool any = false;
    for (unsigned length = 0; length < LENGTHS; length++) any |= length_selected(b, length);
    return any;
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    const struct args_option more[] = {
        {"--calls-only", NULL, "no floors and no targets: for a look with a profiler",
         .kind = ARGS_FLAG, .target = &b->calls_only},
    };
    const struct program program = {
        .name = "relocation", .about = about, .more = more, .more_count = 1};
    fail_set_program("relocation");
    if (node_process_is(argc, argv, CLUSTER_OTHER_NODE)) return other_node(argc - 2, argv + 2);
    if (node_process_is(argc, argv, RAW_PEER)) raw_peer(raw_bytes_max());
    run_parse(&b->run, &program, argc, argv);
    choose_sizes(b);
    run_begin(&b->run, anything_selected(b));
    run(b);
    if (!b->calls_only) summary_targets(b);
    if (b->run.options.svg != NULL) summary_svg(b);
    run_end(&b->run);
    return 0;
}
