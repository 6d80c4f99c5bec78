/*
 * scale.c - what a node costs among 4, 16, 64 and 256 of its kind, in simulation.
 *
 * Read scale/bench.h first, then scale/model.h, which says what is assumed; platform.c (how time
 * passes), node.c (what a node does), run.c (what is measured).
 */
#include "scale/bench.h"

#include <sys/mman.h>

static const char *const about =
    "Simulates clusters of 4 to 256 nodes with a load for each node that stays the same: the real library on virtual\n"
    "time, with a model of network and processors.\n"
    "A cell's name, for --only, is like: skewed nodes=64\n"
    "  first word    skewed, own, shared\n"
    "  keys          of shared: 10 to 10,000\n"
    "The simulation has one thread, whatever --threads says, and comes to the same figures each time: no --repetitions.";

static struct bench bench;

static void parse(struct bench *b, int argc, char **argv)
{
    const char *changes = NULL, *wrong;
    struct load *l = &b->load;
    const struct args_option more[] = {
        OPTION_TEXT("--model", "CHANGES", &changes, 0,
                    "other constants, like latency=50000,bandwidth=12.5"),
        OPTION_SMALL("--rows", "N", &l->rows, 1, 1 << 20, 0, "of a node"),
        OPTION_SMALL("--length", "N", &l->length, 1, 1 << 12, 0, "floats of a row"),
        OPTION_SMALL("--keys", "N", &l->keys, 1, 1 << 12, 0, "pulled and pushed a clock"),
        OPTION_SMALL("--period", "US", &l->period_us, 1, 1 << 20, 0, "of a clock"),
        OPTION_SMALL("--offset", "N", &l->offset, 1, 1 << 12, 0,
                     "clocks from an intent's signal to its start"),
        OPTION_SMALL("--clocks", "N", &l->clocks, 1, 1 << 20, 0,
                     "of a run; the first third is not measured"),
        OPTION_SMALL("--max-rounds", "N", &l->max_rounds, 1, 1 << 20, 0,
                     "a second, of those that synchronize"),
    };
    const struct program program = {.name = "scale",
                                    .about = about,
                                    .more = more,
                                    .more_count = sizeof more / sizeof *more,
                                    .has_no_demo = true};
    run_parse(&b->run, &program, argc, argv);
    b->run.repetitions = 1; /* it comes to the same each time */
    model_init(&b->model);
    if (model_change(&b->model, changes, &wrong)) return;
    fail_usage("--model %s: this is no constant with a number", wrong);
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
    run_begin(&b->run, cells_selected_count(&b->run, &cells) > 0);
    if (b->run.options.quick) b->load.clocks = 90;
    b->results = mmap(NULL, cells.count * sizeof *b->results, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b->results == MAP_FAILED) return 1;
    cells_measure(&b->run, &cells, cell_measure, b);
    report_cells(b);
    run_end(&b->run);
    return 0;
}
