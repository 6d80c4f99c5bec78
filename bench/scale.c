/*
 * scale.c - what a node costs among 4, 16, 64 and 256 of its kind, in simulation.
 *
 * Read scale/bench.h first, then scale/model.h, which says what is assumed; platform.c (how time
 * passes), node.c (what a node does), run.c (what is measured).
 */
#include "scale/bench.h"

#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const about =
    "Simulates clusters of 4 to 256 nodes with a load for each node that stays the same: the real library on virtual\n"
    "time, with a model of network and processors.\n"
    "A cell's name, for --only, is like: skewed nodes=64\n"
    "  first word    skewed, own\n"
    "The simulation has one thread, whatever --threads says, and comes to the same figures each time: no --repetitions.";

static struct bench bench;

static void parse(struct bench *b, int argc, char **argv)
{
    const char *changes = NULL, *wrong;
    const struct option_spec more[] = {
        {"--model", "CHANGES", "other constants, like latency=50000,bandwidth=12.5", OPTION_TEXT,
         &changes, 0},
        {"--rows", "N", "of a node", OPTION_COUNT, &b->load.rows, 1 << 20},
        {"--length", "N", "floats of a row", OPTION_COUNT, &b->load.length, 1 << 12},
        {"--keys", "N", "pulled and pushed a clock", OPTION_COUNT, &b->load.keys, 1 << 12},
        {"--period", "US", "of a clock", OPTION_COUNT, &b->load.period_us, 1 << 20},
        {"--offset", "N", "clocks from an intent's signal to its start", OPTION_COUNT,
         &b->load.offset, 1 << 12},
        {"--clocks", "N", "of a run; the first third is not measured", OPTION_COUNT,
         &b->load.clocks, 1 << 20},
        {"--max-rounds", "N", "a second, of those that synchronize", OPTION_COUNT,
         &b->load.max_rounds, 1 << 20},
    };
    const struct program program = {.name = "scale",
                                    .about = about,
                                    .more = more,
                                    .more_count = sizeof more / sizeof *more,
                                    .has_no_demo = true};
    options_parse(&b->options, &program, argc, argv);
    model_init(&b->model);
    if (model_change(&b->model, changes, &wrong)) return;
    fprintf(stderr, "scale: --model %s: this is no constant with a number\n", wrong);
    exit(2);
}

static unsigned selected(const struct bench *b)
{
    unsigned count = 0;
    for (unsigned i = 0; i < cells_count(); i++) count += cell_selected(b, i);
    return count;
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    b->load = (struct load){.rows = 2048,
                            .length = 128,
                            .keys = 100,
                            .period_us = 1000,
                            .offset = 100,
                            .clocks = 600,
                            .max_rounds = 0};
    parse(b, argc, argv);
    if (selected(b) == 0) options_refuse_selection(&b->options);
    if (b->options.quick) b->load.clocks = 90;
    b->results = mmap(NULL, cells_count() * sizeof *b->results, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b->results == MAP_FAILED) return 1;
    b->report = options_report(&b->options);
    b->json = json_open(b->options.json);
    report_start(b);
    for (unsigned i = 0; i < cells_count(); i++)
        if (cell_selected(b, i)) cell_measure(b, i);
    report_cells(b);
    summary_targets(b);
    if (b->options.svg) report_draw(b);
    json_close(b->json);
    return 0;
}
