/*
 * adaptive.c - what intent brings, technique by technique, and what replicas cost.
 *
 * Read adaptive/bench.h first; select.c says what is measured, epoch.c, replicas.c and arrival.c
 * how.
 */
#include "adaptive/bench.h"

#include <stdlib.h>

static const char *const about =
    "Runs accesses with intent on clusters of processes on loopback, with every technique and offset.\n"
    "A cell's name, for --only, is like: skewed nodes=2 adaptive offset=100 pace=1ms\n"
    "  first word    skewed, own (pace=1ms or pace=free; offset=1 ... 1000); turns;\n"
    "                idle, pushed, costs (keys=, length=); arrival (keys=1 1000, busy or idle)\n"
    "  techniques    adaptive, immediate (adaptive without action timing), replicate, relocate,\n"
    "                full-replication, static\n"
    "Every node has one worker, whatever --threads says.";

static struct bench bench;

static void run(struct bench *b, unsigned selected)
{
    node_process_limit(b->run.options.quick ? 90 : 60 + 15.0 * selected * b->run.repetitions);
    cells_measure(&b->run, &cells, cell_measure, b);
    report_cells(b);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    const struct program program = {.name = "adaptive", .about = about, .has_no_demo = true};
    fail_set_program("adaptive");
    if (node_process_is(argc, argv, "--node")) return node_main(argc - 2, argv + 2);
    run_parse(&b->run, &program, argc, argv);
    run_repeat(&b->run, (struct run_repetitions){.quick = 1, .full = 3});
    unsigned selected = cells_selected_count(&b->run, &cells);
    run_begin(&b->run, selected > 0);
    b->results = must_alloc(cells.count * sizeof *b->results);
    run(b, selected);
    run_end(&b->run);
    free(b->results);
    return 0;
}
