/*
 * adaptive.c - what intent brings, technique by technique, and what replicas cost.
 *
 * Read adaptive/bench.h first; select.c says what is measured, epoch.c, replicas.c and arrival.c
 * how.
 */
#include "adaptive/bench.h"

#include "common/json.h"

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

static unsigned selected(const struct bench *b)
{
    unsigned count = 0;
    for (unsigned i = 0; i < cells_count(); i++) count += cell_selected(b, i);
    return count;
}

/* Repetitions outside, so that what else the machine does meets all cells alike. */
static void run(struct bench *b)
{
    node_process_limit(b->options.quick ? 90 : 60 + 15.0 * selected(b) * b->repetitions);
    report_start(b);
    for (unsigned r = 0; r < b->repetitions; r++)
        for (unsigned i = 0; i < cells_count(); i++)
            if (cell_selected(b, i)) cell_measure(b, i, r);
    report_cells(b);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    const struct program program = {.name = "adaptive", .about = about, .has_no_demo = true};
    if (node_process_is(argc, argv, "--node")) return node_main(argc - 2, argv + 2);
    options_parse(&b->options, &program, argc, argv);
    if (selected(b) == 0) options_refuse_selection(&b->options);
    b->repetitions = b->options.repetitions ? b->options.repetitions : b->options.quick ? 1 : 3;
    b->results = calloc(cells_count(), sizeof *b->results);
    if (!b->results) return 1;
    b->report = options_report(&b->options);
    b->json = json_open(b->options.json);
    run(b);
    summary_targets(b);
    if (b->options.svg != NULL) picture_draw(b);
    json_close(b->json);
    free(b->results);
    return 0;
}
