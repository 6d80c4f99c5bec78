/*
 * local_access.c - what a worker pays for rows that its own node holds, next to a plain array in
 * the same run: the cells, and measuring them.
 *
 * A setting is a row length, a choice of keys and a number of threads. In each setting every step
 * is timed in every repetition, floors and locus in turn. One step in one setting is a cell.
 *
 * Read local_access/bench.h next; steps.c says what is timed, tails.c how single pulls are.
 */
#include "local_access/bench.h"

#include "common/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const about =
    "Times pull, push, change, set, view and intent on one node, against a plain array in the same run.\n"
    "A cell's name, for --only, is like: pull length=128 keys=64 uniform threads=1\n"
    "  first word    pull push change change-fetched set view view-fetched intent memory; latency;\n"
    "                array-read array-add array-write array-sum; mutex-read mutex-add\n"
    "  further ones  length=1 16 128 1000; keys=1 8 64 (keys a call); uniform zipf-1.1 one-row;\n"
    "                threads=1 N; quiet writer (whether another thread adds to rows meanwhile)";

enum { LENGTHS = 4, CHOICES = 2, TEAMS = 9 }; /* 1, 2, 4 ... TEAM_MAX threads */

static const uint32_t lengths[LENGTHS] = {1, 16, 128, 1000}; /* floats a row */

static struct setting {
    uint32_t length;
    enum key_choice choice;
    unsigned threads;
} settings[LENGTHS][CHOICES][TEAMS];
static const char tails[LENGTHS][CHOICES]; /* their addresses are where tails are measured */
static unsigned teams[TEAMS], team_count;
static bool is_chart;
static bool has_cells[LENGTHS];
static struct cell *memory[LENGTHS];

uint64_t rows_of(uint32_t length)
{
    uint64_t rows = length < 1000 ? 1000000 : 100000;
    return run.quick ? rows / 50 : rows;
}

/* ---- Cells ---- */

static void describe(struct cell *c, uint32_t length, const char *operation)
{
    cell_text(c, "operation", operation);
    *cell_count(c, "length") = length;
    *cell_count(c, "rows") = rows_of(length);
}

/* A floor is measured, too, when a step that is compared with it is chosen. */
static void add_setting(const struct setting *s)
{
    struct cell *cell[STEPS];
    for (unsigned i = 0; i < STEPS; i++) {
        const struct step *step = &steps[i];
        char per_call[24] = "";
        if (step->per_call > 0) snprintf(per_call, sizeof per_call, " keys=%u", step->per_call);
        cell[i] = run_cell(step, s, !is_chart || step->in_chart,
                           "%s length=%" PRIu32 "%s %s threads=%u", step->name, s->length, per_call,
                           key_choice_name(s->choice), s->threads);
        describe(cell[i], s->length, step->name);
        cell_text(cell[i], "keys", key_choice_name(s->choice));
        *cell_count(cell[i], "keys_per_call") = step->per_call;
        *cell_count(cell[i], "threads") = s->threads;
    }
    for (unsigned i = 0; i < STEPS * STEPS; i++) {
        struct cell *one = cell[i / STEPS], *other = cell[i % STEPS];
        const char *floor = steps[i / STEPS].floor;
        if (!floor || strcmp(steps[i % STEPS].name, floor) != 0) continue;
        cell_text(one, "floor", other->name);
        other->is_chosen |= one->is_chosen;
    }
}

static void add_settings(unsigned length)
{
    unsigned choices = is_chart ? 1 : CHOICES; /* KEYS_UNIFORM comes first */
    for (unsigned choice = 0; choice < choices; choice++)
        for (unsigned team = 0; team < team_count; team++) {
            struct setting *s = &settings[length][choice][team];
            *s = (struct setting){lengths[length], choice, teams[team]};
            add_setting(s);
        }
}

static void add_tails(unsigned length)
{
    static const char *const keys[] = {"one-row", "uniform", "zipf-1.1"};
    for (const struct watch *w = watches; w < watches + WATCHES; w++)
        describe(run_cell(w, &tails[length][w->keys == SKEWED], !is_chart,
                          "latency length=%" PRIu32 " keys=1 %s %s", lengths[length], keys[w->keys],
                          w->writer ? "writer" : "quiet"),
                 lengths[length], "latency");
}

static void add_cells(unsigned length)
{
    struct cell *m =
        run_cell(NULL, &memory[length], true, "memory length=%" PRIu32, lengths[length]);
    describe(m, lengths[length], "memory");
    memory[length] = m;
    add_settings(length);
    add_tails(length);
    for (struct cell *c = m; c; c = run_next(c)) has_cells[length] |= c->is_chosen;
}

/* ---- The steps of a setting ---- */

struct turn {
    lane_work *work;
    size_t at;             /* where the keys begin in each lane's sequence */
    size_t warm_up, timed; /* keys */
};

static void warm_up(void *context, unsigned lane)
{
    struct turn *t = context;
    struct lane *l = &bench.lanes[lane];
    t->work(l, l->keys + t->at, t->warm_up);
}

static void work(void *context, unsigned lane)
{
    struct turn *t = context;
    struct lane *l = &bench.lanes[lane];
    t->work(l, l->keys + t->at + t->warm_up, t->timed);
}

/* Enough rows that they cannot all come from the caches, few enough that a step takes about 10
 * ms. */
static size_t keys_of_step(uint32_t length)
{
    if (run.quick) return 4096;
    size_t keys = ((size_t)96 << 20) / (length * sizeof(float));
    if (keys > (size_t)1 << 20) keys = (size_t)1 << 20;
    return keys / BATCH * BATCH;
}

/* Nanoseconds a key, on each of the threads. */
static void measure_step(struct cell *c)
{
    const struct step *s = c->what;
    const struct setting *at = c->where;
    size_t keys = keys_of_step(at->length);
    /* Half as many keys first, 32 MB of rows and more: the step before left other rows in the
     * caches. */
    struct turn t = {.work = s->work, .warm_up = keys / 2 / BATCH * BATCH, .timed = keys};
    batches_reset();
    t.at = next_keys(t.warm_up + t.timed);
    for (unsigned i = 0; i < at->threads; i++) bench.lanes[i].per_call = s->per_call;
    struct team_figures f = team_run(at->threads, warm_up, work, &t);
    for (unsigned i = 0; i < at->threads; i++) must(bench.lanes[i].rc, s->name);
    double all = (double)keys * at->threads;
    *cell_figure(c, "ns_per_key") = f.ns / (double)keys;
    *cell_figure(c, "cpu_ns_per_key") = f.count[TEAM_CPU_NS] / all;
    *cell_figure(c, "cycles_per_key") = f.count[TEAM_CYCLES] / all;
    *cell_figure(c, "cache_misses_per_key") = f.count[TEAM_CACHE_MISSES] / all;
    *cell_figure(c, "digest") = digest_take(at->threads);
}

static void measure_choice(unsigned length, enum key_choice choice)
{
    bool any = run_has(&tails[length][choice]);
    for (unsigned team = 0; team < team_count; team++)
        any |= run_has(&settings[length][choice][team]);
    if (!any) return;
    draw_keys(choice, rows_of(lengths[length]));
    for (unsigned team = 0; team < team_count; team++)
        run_measure(&settings[length][choice][team], measure_step);
    run_measure(&tails[length][choice], measure_tail);
}

static void measure_length(unsigned length)
{
    node_open(lengths[length], memory[length]);
    run_report(&memory[length]);
    for (unsigned choice = 0; choice < CHOICES; choice++)
        measure_choice(length, (enum key_choice)choice);
    node_close();
}

int main(int argc, char **argv)
{
    const struct args_option more[] = {
        OPTION_FLAG("--chart", &is_chart, 0,
                    "what local.py shows: uniform keys; 1, 2, 4 and so on up to all threads"),
    };
    const struct program program = {.name = "local_access",
                                    .about = about,
                                    .more = more,
                                    .more_count = 1,
                                    .quick = 2,
                                    .full = 9};
    run_parse(&program, argc, argv);
    for (unsigned n = 1; n < run.threads; n *= is_chart ? 2 : run.threads) teams[team_count++] = n;
    teams[team_count++] = run.threads;
    bench.workers = run.threads > 1 ? run.threads
                                    : 2; /* the writer beside a reader needs one, too */
    bench.sequence = run.quick ? 1 << 16 : 1 << 22;
    for (unsigned length = 0; length < LENGTHS; length++) add_cells(length);
    run_begin();
    for (unsigned length = 0; length < LENGTHS; length++)
        if (has_cells[length]) measure_length(length);
    run_end();
    return 0;
}
