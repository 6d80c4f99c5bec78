/*
 * local_access.c - what a worker pays for rows that its own node holds, next to a plain array in
 * the same run.
 *
 * Read local_access/bench.h first; steps.c says what is timed, cells.c and tails.c how.
 */
#include "local_access/bench.h"

static const char *const about =
    "Times pull, push, change, set, view and intent on one node, against a plain array in the same run.\n"
    "A cell's name, for --only, is like: pull length=128 keys=64 uniform threads=1\n"
    "  first word    pull push change change-fetched set view view-fetched intent memory; latency-locus latency-mutex;\n"
    "                array-read array-add array-write array-sum; mutex-read mutex-add\n"
    "  further ones  length=1 16 128 1000; keys=1 64 (keys a call); uniform zipf-1.1 one-row;\n"
    "                threads=1 N; quiet writer (whether another thread adds to rows meanwhile)";

static struct bench bench;

static void choose_sizes(struct bench *b)
{
    const struct options *o = &b->run.options;
    run_repeat(&b->run, (struct run_repetitions){.quick = 2, .demo = 5, .full = 9});
    b->teams[0] = 1;
    b->teams[1] = o->threads;
    b->team_count = o->threads > 1 ? 2 : 1;
    b->workers = o->threads > 1 ? o->threads : 2; /* the writer beside a reader needs one, too */
    b->sequence = o->quick ? 1 << 16 : 1 << 22;
}

static bool anything_selected(const struct bench *b)
{
    bool any = false;
    for (unsigned length = 0; length < LENGTHS; length++) any |= length_selected(b, length);
    return any;
}

static void measure_choice(struct bench *b, unsigned length, enum key_choice choice)
{
    draw_keys(b, choice, rows_of(b, lengths[length]));
    for (unsigned team = 0; team < b->team_count; team++) {
        if (!setting_selected(b, length, choice, team)) continue;
        setting_measure(b, length, choice, team);
        report_setting(b, length, choice, team);
    }
    tails_measure(b, length, choice);
}

static void measure_length(struct bench *b, unsigned length)
{
    node_open(b, length);
    measure_choice(b, length, KEYS_UNIFORM);
    measure_choice(b, length, KEYS_ZIPF);
    report_tails(b, length);
    report_memory(b, length);
    node_close(b);
}

int main(int argc, char **argv)
{
    struct bench *b = &bench;
    run_parse(&b->run, &(struct program){.name = "local_access", .about = about}, argc, argv);
    choose_sizes(b);
    run_begin(&b->run, anything_selected(b));
    for (unsigned length = 0; length < LENGTHS; length++) {
        if (length_selected(b, length)) measure_length(b, length);
    }
    run_end(&b->run);
    return 0;
}
