/*
 * protocol - the whole library in a simulated cluster: production code on virtual time and a
 * network of chance, workers and shards interleaved at every narrow place, the invariants of the
 * protocol checked after every step.
 *
 *   protocol                     2,000 runs (LOCUS_SIM_SEEDS), every script in turn but the last
 *                                three, which then have as many as each; the number of nodes is drawn,
 *                                or LOCUS_SIM_NODES; then new seeds until LOCUS_TEST_SECONDS
 *                                seconds are over
 *   protocol --seeds N           seeds 1 ... N, or to the first failure
 *   protocol --seed N            one run, described by the other options:
 *            --nodes M --script NAME --technique NAME --schedule K --keep STEPS
 *                                as a failure prints them
 *            --trace             every event
 *            --print             the script
 *   protocol --list              the scripts
 */
#include "base/time.h"
#include "protocol/plan.h"
#include "report.h"
#include "shrink.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS = 2000, SECONDS_MAX = 480, SHRINK_SECONDS = 20, UNDECIDED_OF = 200 };
enum { UNDECIDED_MIN = 2 }; /* of few seeds that says nothing */

static const enum locus_technique techniques[] = {
    LOCUS_ADAPTIVE, LOCUS_RELOCATE,         LOCUS_ADAPTIVE, LOCUS_REPLICATE,
    LOCUS_ADAPTIVE, LOCUS_FULL_REPLICATION, LOCUS_RELOCATE, LOCUS_STATIC};
enum { TECHNIQUES = sizeof techniques / sizeof *techniques };

/* The last scripts have seeds of their own: so those of the others run what they did before there
 * were these, by which mutants are found. */
enum { IN_TURN = SCRIPTS - 3 };

/* That survive a loss. */
static const enum locus_technique moving[] = {LOCUS_ADAPTIVE, LOCUS_RELOCATE, LOCUS_ADAPTIVE,
                                              LOCUS_REPLICATE};
enum { SURVIVE = SCRIPTS - 2, MOVING = sizeof moving / sizeof *moving };

struct test {
    uint64_t seeds, operations, keys, relocations, replicas, steps, entries, undecided;
    uint64_t lost_nodes, lost_meanwhile, lost_rows, doubtful, left, joined;
    bool has_failed;
};

/* Shared with the process that runs the seeds: it may end in any way. */
struct progress {
    struct run_options now;
    uint64_t next; /* seed */
    bool is_done;
    struct test test[SCRIPTS];
};
static struct progress *progress;

struct plan {
    const enum locus_technique *technique; /* NULL: all in turn */
    uint64_t first, seeds;                 /* seeds: 0: until the deadline */
    uint64_t deadline_ns;
    unsigned nodes;
    const char *script; /* NULL: all in turn */
};

static unsigned script_number(const char *name)
{
    unsigned n = 0;
    while (n < SCRIPTS && strcmp(script_names[n], name) != 0) n++;
    return n;
}

static enum locus_technique technique_for(const char *script, uint64_t seed)
{
    return script_number(script) >= SURVIVE ? moving[seed / IN_TURN % MOVING]
                                            : techniques[seed / IN_TURN % TECHNIQUES];
}

static struct run_options options_of(const struct plan *p, uint64_t seed)
{
    unsigned in_turn = p->deadline_ns ? SCRIPTS : IN_TURN;
    const char *script = p->script ? p->script : script_names[seed % in_turn];
    return (struct run_options){.seed = seed,
                                .nodes = p->nodes,
                                .script = script,
                                .technique = p->technique ? *p->technique
                                                          : technique_for(script, seed)};
}

static void run_seed(const struct plan *p, uint64_t seed)
{
    progress->now = options_of(p, seed);
    struct test *t = &progress->test[script_number(progress->now.script)];
    alarm(SECONDS_MAX);
    struct run_result r = run_once(&progress->now);
    alarm(0);
    t->operations += r.operations;
    t->keys += r.keys;
    t->relocations += r.relocations;
    t->replicas += r.replicas;
    t->steps += r.fiber_steps;
    t->entries += r.entries;
    t->undecided += r.undecided;
    t->lost_nodes += r.lost_nodes;
    t->lost_meanwhile += r.lost_meanwhile;
    t->lost_rows += r.lost_rows;
    t->doubtful += r.doubtful;
    t->left += r.left;
    t->joined += r.joined;
    t->seeds += r.is_good;
    t->has_failed |= !r.is_good;
}

static bool is_over(const struct plan *p)
{
    if (p->seeds) return progress->next >= p->first + p->seeds;
    return time_now_ns() >= p->deadline_ns;
}

/* The seeds of the plan that are left, in a process of their own, to the end or the first
 * failure. */
static bool run_in_child(const struct plan *p)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (; !is_over(p); progress->next++) {
            run_seed(p, progress->next);
            if (report_has_failed()) break;
        }
        fflush(stdout);
        _exit(report_has_failed());
    }
    if (child < 0 || waitpid(child, &status, 0) != child) exit(2);
    if (WIFSIGNALED(status))
        printf("violation: the process ended by signal %d (%s)\n", WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    return status == 0;
}

static void explain(struct run_options o)
{
    static bool is_dropped[SCRIPT_STEPS_MAX];
    char replay[4096];
    unsigned left = shrink(&o, is_dropped, SHRINK_SECONDS);
    printf("shrunk to %u steps:\n", left);
    shrink_fails(&o, false);
    printf("replay: %s\n", run_command(&o, replay, sizeof replay));
}

/* False: something failed. After a failure the seeds behind it are left out. */
static bool run_plan(const struct plan *p)
{
    progress->next = p->first;
    if (run_in_child(p)) return true;
    progress->test[script_number(progress->now.script)].has_failed = true;
    char replay[4096];
    printf("seed %" PRIu64 " failed\nreplay: %s\n", progress->now.seed,
           run_command(&progress->now, replay, sizeof replay));
    if (!getenv("LOCUS_SIM_BRIEF")) explain(progress->now);
    return false;
}

static int closing_lines(bool stopped)
{
    struct test sum = {0};
    unsigned failures = 0;
    for (unsigned i = 0; i < SCRIPTS; i++) {
        const struct test *t = &progress->test[i];
        failures += t->has_failed;
        printf("%-7s %-8s %6" PRIu64 " seeds, %8" PRIu64 " operations, %8" PRIu64 " keys, %7" PRIu64
               " relocations, %7" PRIu64 " replicas, %8" PRIu64 " messages, %9" PRIu64 " steps\n",
               t->has_failed ? "FAILED" : "ok", script_names[i], t->seeds, t->operations, t->keys,
               t->relocations, t->replicas, t->entries, t->steps);
        sum.seeds += t->seeds;
        sum.operations += t->operations;
        sum.undecided += t->undecided;
    }
    printf("%" PRIu64 " seeds, %" PRIu64 " operations, %" PRIu64 " histories undecided%s\n",
           sum.seeds, sum.operations, sum.undecided,
           stopped ? "; stopped at the first failure" : "");
    for (const struct test *t = &progress->test[SURVIVE]; t < &progress->test[SCRIPTS]; t++)
        printf("%s: %" PRIu64 " nodes lost, %" PRIu64 " while a change was repaired, with %" PRIu64
               " rows; %" PRIu64 " rows in doubt; %" PRIu64 " left, %" PRIu64 " came back\n",
               script_names[t - progress->test], t->lost_nodes, t->lost_meanwhile, t->lost_rows,
               t->doubtful, t->left, t->joined);
    bool vague = sum.undecided > UNDECIDED_MIN + sum.seeds / UNDECIDED_OF;
    if (vague) printf("failed: protocol: too many histories were too wide for a verdict\n");
    printf("%u passed, %u failed, 0 skipped\n", SCRIPTS - failures, failures + vague);
    return failures > 0 || vague;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool run_last_scripts(struct plan p)
{
    p.seeds = 1 + p.seeds / IN_TURN;
    for (unsigned i = IN_TURN; i < SCRIPTS; i++) {
        p.script = script_names[i];
        if (!run_plan(&p)) return false;
    }
    return true;
}

static int run_all(struct plan p, bool goes_on)
{
    bool good = run_plan(&p) && (p.script || run_last_scripts(p));
    p.seeds = 0;
    p.first = (uint64_t)time(NULL) << 24; /* seeds that no earlier run had */
    p.deadline_ns = time_now_ns() + number_of("LOCUS_TEST_SECONDS", 0) * UINT64_C(1000000000);
    if (good && goes_on) good = run_plan(&p);
    return closing_lines(!good);
}

/* "3,7-9": these steps alone are played. */
static bool parse_kept(const char *text, bool is_dropped[SCRIPT_STEPS_MAX])
{
    memset(is_dropped, 1, SCRIPT_STEPS_MAX * sizeof *is_dropped);
    while (*text) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        if (end == text || last >= SCRIPT_STEPS_MAX) return false;
        for (unsigned long i = first; i <= last; i++) is_dropped[i] = false;
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') return false;
    }
    return true;
}

static void print_script(const struct run_options *o)
{
    const struct script *s = run_script(o);
    printf("%u nodes, %u shards, %u workers each, %u keys\n", s->nodes, s->shards, s->workers,
           s->keys);
    for (unsigned i = 0; i < s->count; i++) {
        const struct script_step *step = &s->step[i];
        if (o->is_dropped && o->is_dropped[i]) continue;
        printf("%4u  node %u worker %u  %s%s", i, step->worker / s->workers, step->worker,
               script_kind_name(step->kind), step->async ? "_async" : "");
        for (unsigned k = 0; k < step->n; k++) printf(" %u", step->key[k]);
        if (step->amount && !step->n) printf(" %u", step->amount);
        printf("\n");
    }
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: protocol [--seeds N | --seed N [--schedule K] [--keep STEPS] [--trace] [--print]]\n"
        "                [--nodes M] [--script NAME] [--technique NAME] | --list\n");
    return 2;
}

static bool find_technique(const char *name, enum locus_technique *t)
{
    for (unsigned i = 0; technique_of(i); i++) {
        if (strcmp(technique_of(i)->name, name) != 0) continue;
        *t = (enum locus_technique)i;
        return true;
    }
    return false;
}

static int run_one(const struct run_options *o)
{
    if (o->tracing) print_script(o);
    alarm(SECONDS_MAX);
    struct run_result r = run_once(o);
    printf("%" PRIu64 " operations, %" PRIu64 " relocations, %" PRIu64 " messages, %" PRIu64
           " steps\n",
           r.operations, r.relocations, r.entries, r.fiber_steps);
    printf("%d passed, %d failed, 0 skipped\n", r.is_good, !r.is_good);
    fflush(stdout);
    if (!r.is_good) _exit(1); /* its cluster is left as it was: no leak to report */
    return 0;
}

struct arguments {
    struct run_options one;
    uint64_t seeds;
    unsigned nodes;
    bool has_seed, has_technique, print;
    bool is_dropped[SCRIPT_STEPS_MAX];
};

static bool parse_option(struct arguments *a, const char *name, const char *value)
{
    uint64_t number = value ? strtoull(value, NULL, 10) : 0;
    if (!value) return false;
    if (strcmp(name, "--seeds") == 0)
        a->seeds = number;
    else if (strcmp(name, "--nodes") == 0)
        a->nodes = (unsigned)number;
    else if (strcmp(name, "--schedule") == 0)
        a->one.schedule = number;
    else if (strcmp(name, "--script") == 0)
        a->one.script = value;
    else if (strcmp(name, "--technique") == 0)
        return a->has_technique = find_technique(value, &a->one.technique);
    else if (strcmp(name, "--keep") == 0)
        return a->one.is_dropped = a->is_dropped, parse_kept(value, a->is_dropped);
    else if (strcmp(name, "--seed") == 0)
        a->has_seed = true, a->one.seed = number;
    else
        return false;
    return true;
}

static bool parse(struct arguments *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            a->one.tracing = true;
        else if (strcmp(argv[i], "--print") == 0)
            a->print = true;
        else if (!parse_option(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return false;
        else
            i++;
    }
    return (!a->one.script || script_number(a->one.script) < SCRIPTS) && a->nodes <= 8 &&
           a->nodes != 1;
}

/* What was not said is as in the run of all seeds. */
static void complete(struct arguments *a)
{
    const struct plan p = {.nodes = a->nodes, .script = a->one.script};
    struct run_options drawn = options_of(&p, a->one.seed);
    a->one.nodes = a->nodes;
    a->one.script = drawn.script;
    if (!a->has_technique) a->one.technique = drawn.technique;
}

int main(int argc, char **argv)
{
    static struct arguments a;
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef LOCUS_TSAN
    printf("skipped: protocol: fibers share one thread, which ThreadSanitizer cannot tell apart\n");
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
#endif
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < SCRIPTS; i++) printf("%s\n", script_names[i]);
        return 0;
    }
    a.nodes = (unsigned)number_of("LOCUS_SIM_NODES", 0);
    if (!parse(&a, argc, argv)) return usage();
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) return 2;
    if (!a.has_seed)
        return run_all(
            (struct plan){.technique = a.has_technique ? &a.one.technique : NULL,
                          .first = 1,
                          .seeds = a.seeds ? a.seeds : number_of("LOCUS_SIM_SEEDS", SEEDS),
                          .nodes = a.nodes,
                          .script = a.one.script},
            !a.seeds);
    complete(&a);
    if (a.print) {
        print_script(&a.one);
        return 0;
    }
    return run_one(&a.one);
}
