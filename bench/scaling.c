/*
 * scaling.c - what more workers of one node bring: pull and push of 64 keys a call, 1 to N workers,
 * by shards, placement and skew, next to plain arrays that race in the same run, and next to what a
 * stated model of a machine says.
 *
 * Read scaling/bench.h first, then scaling/model.h; steps.c says what is timed, places.c where.
 */
#include "scaling/bench.h"

static const char *const about =
    "Times 1, 2, 4 ... N workers of one node on the same rows, against plain arrays that race and against a model.\n"
    "A cell's name, for --only, is like: push zipf-1.1 spread shards=1 workers=4\n"
    "  first word    pull push; array-read array-add (plain loops); atomic-read atomic-add (relaxed atomics)\n"
    "  further ones  uniform zipf-1.1; free packed spread (who is pinned where); shards=N workers=N";

static struct bench bench = {.model = MODEL_DEFAULTS};

static const struct args_option more[] = {
    {.name = "--length",
     .argument = "N",
     .help = "floats of a row (default: 16)",
     .kind = ARGS_SMALL,
     .target = &bench.length,
     .min = 1,
     .max = 4096},
    {.name = "--machine",
     .argument = "SxC",
     .help = "the model's machine: S sockets of C cores; default: this\none",
     .kind = ARGS_TEXT,
     .target = &bench.machine},
    {.name = "--near",
     .argument = "NS",
     .help = "the model's time for a cache line of another core, of\nthe same socket",
     .kind = ARGS_REAL,
     .target = &bench.model.near_ns,
     .max = 1e6},
    {.name = "--far",
     .argument = "NS",
     .help = "the same of another socket",
     .kind = ARGS_REAL,
     .target = &bench.model.far_ns,
     .max = 1e6},
    {.name = "--overlap",
     .argument = "N",
     .help = "lines that a core of the model waits for at once",
     .kind = ARGS_REAL,
     .target = &bench.model.overlap,
     .min = 1,
     .max = 64},
    {.name = "--model-workers",
     .argument = "N",
     .help = "the model goes to so many workers (default: its machine's\ncores)",
     .kind = ARGS_SMALL,
     .target = &bench.model_workers,
     .min = 1,
     .max = TEAM_MAX},
};

/* 1, 2, 4 ... and the last one itself. */
static unsigned choose_teams(unsigned last, unsigned *teams)
{
    unsigned count = 0;
    for (unsigned n = 1; n < last; n *= 2) teams[count++] = n;
    teams[count++] = last;
    return count;
}

static void choose_sizes(struct bench *b)
{
    const struct options *o = &b->run.options;
    run_repeat(&b->run, (struct run_repetitions){.quick = 2, .full = 9});
    if (b->length == 0) b->length = 16;
    b->rows = o->quick ? 1 << 13 : 1 << 20;
    b->keys = o->quick ? 1 << 12 : 1 << 20;
    b->sequence = o->quick ? 1 << 14 : 1 << 22;
    b->team_count = choose_teams(o->threads, b->teams);
    b->shards[0] = 1;
    b->shard_count = 1;
    if (!o->quick && o->threads >= 4) b->shards[b->shard_count++] = o->threads / 4;
    if (o->quick && o->threads >= 2) b->shards[b->shard_count++] = 2;
}

static void measure_shards(struct bench *b, unsigned shards)
{
    if (!shards_selected(b, shards)) return;
    node_open(b, b->shards[shards]);
    for (unsigned skew = 0; skew < SKEWS; skew++) {
        draw_keys(b, (enum key_choice)skew);
        for (unsigned place = 0; place < PLACES; place++) setting_measure(b, shards, skew, place);
    }
    node_close(b);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    run_parse(&b->run,
              &(struct program){.name = "scaling",
                                .about = about,
                                .more = more,
                                .more_count = sizeof more / sizeof *more,
                                .has_no_demo = true},
              argc, argv);
    choose_sizes(b);
    places_open(b);
    model_machine(b); /* complains first of all */
    run_begin(&b->run, anything_selected(b));
    report_start(b);
    for (unsigned shards = 0; shards < b->shard_count; shards++) {
        measure_shards(b, shards);
        for (unsigned skew = 0; skew < SKEWS; skew++) report_skew(b, shards, skew);
    }
    report_model(b);
    run_show_load(&b->run);
    if (b->run.options.svg != NULL) report_svg(b);
    run_end(&b->run);
    places_close(b);
    return 0;
}
