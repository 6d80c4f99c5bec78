#include "quick.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTITIES = 300, FACTS = 2000, WORDS = 8000, NODES = 4, ARGUMENTS_MAX = 24 };
enum { CONTENT_MAX = 1 << 20 };

/* What mkdtemp() replaces, in parts: together they would be a mark of something unfinished. */
#define DRAWN \
    "XX" \
    "XX" \
    "XX"
static char folder[] = P_tmpdir "/papers-" DRAWN;

static const char *const files[] = {
    "train.txt", "valid.txt", "test.txt", "text.txt", "first", "second", "third",
    /* traces of nodes */
    "first.0.jsonl", "first.1.jsonl", "first.2.jsonl", "first.3.jsonl", "second.0.jsonl",
    "second.1.jsonl", "second.2.jsonl", "second.3.jsonl"};
enum {
    TRAIN,
    VALID,
    TEST,
    TEXT,
    FIRST,
    SECOND,
    THIRD,
    FIRST_TRACE,
    SECOND_TRACE = FIRST_TRACE + NODES,
    FILES = SECOND_TRACE + NODES
};

static const char *path_of(int file)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, files[file]);
    return path;
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "papers: %s: %s\n", what, strerror(errno));
    exit(1);
}

static FILE *open_file(int file, const char *mode)
{
    FILE *f = fopen(path_of(file), mode);
    if (!f) give_up(path_of(file));
    return f;
}

/* ---- data ---- */

static unsigned draw(unsigned below)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % below);
}

/* Few are frequent. */
static unsigned draw_skewed(unsigned below)
{
    return draw(1 + draw(1 + draw(below)));
}

static void write_facts(int file, unsigned count)
{
    FILE *f = open_file(file, "w");
    for (unsigned i = 0; i < count; i++) {
        unsigned subject = draw_skewed(ENTITIES), relation = draw(5);
        fprintf(f, "e%u\tr%u\te%u\n", subject, relation, (subject * 7 + relation) % ENTITIES);
    }
    fclose(f);
}

static void write_text(void)
{
    FILE *f = open_file(TEXT, "w");
    for (unsigned i = 0; i < WORDS; i++) fprintf(f, "w%u%c", draw_skewed(200), i % 20 ? ' ' : '\n');
    fclose(f);
}

/* ---- runs ---- */

struct task {
    const char *program;
    const char *arguments[ARGUMENTS_MAX];
};

/* Of the runs that follow: */
static size_t ahead; /* --ahead */
static bool traces;  /* into files named as the output */

static const struct task tasks[] = {
    {"ctr", {"--zipf", "4x400x4000", "--batch", "32", "--hidden", "8", "--epochs", "2"}},
    {"gnn", {"--planted", "500x8x4", "--dim", "8", "--hidden", "8", "--epochs", "2"}},
    {"kge",
     {"--data", folder, "--dim", "20", "--batch", "4", "--negatives", "4", "--eval-every", "1",
      "--epochs", "2"}},
    {"lasso",
     {"--generate", "300x600x20", "--width", "32", "--schedulers", "2", "--staleness", "1",
      "--passes", "4"}},
    {"mf", {"--zipf", "1000x200x20000", "--rank", "10", "--epochs", "3", "--eval-every", "1"}},
    {"wv",
     {"--data", "TEXT", "--dim", "20", "--min-count", "1", "--batch", "8", "--negatives", "4",
      "--epochs", "2"}},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

static _Noreturn void be_run(const struct machine *machine, const struct task *t, int out,
                             const char *seed)
{
    static char *argv[ARGUMENTS_MAX + 8];
    struct papers p = {.machine = *machine,
                       .nodes = NODES,
                       .ahead = ahead,
                       .program = cluster_program(t->program)};
    const char *more[] = {"--seed", seed, "--workers", "2", "--json"};
    argv[p.argc++] = strdup(t->program);
    for (unsigned i = 0; t->arguments[i]; i++)
        argv[p.argc++] =
            strdup(strcmp(t->arguments[i], "TEXT") == 0 ? path_of(TEXT) : t->arguments[i]);
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++) argv[p.argc++] = strdup(more[i]);
    p.argv = argv;
    if (traces) {
        setenv("LOCUS_TRACE", path_of(out), 1);
        setenv("LOCUS_TRACE_KEYS", "sample:50", 1);
    }
    if (!freopen(path_of(out), "w", stdout)) give_up(path_of(out));
    exit(cluster_run(&p));
}

static bool run(const struct machine *machine, const struct task *t, int out, const char *seed)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) be_run(machine, t, out, seed);
    return waitpid(child, &status, 0) == child && status == 0;
}

/* ---- comparing ---- */

static char *content(int file, size_t *bytes)
{
    FILE *f = open_file(file, "r");
    char *text = malloc(CONTENT_MAX);
    if (!text) give_up("memory");
    *bytes = fread(text, 1, CONTENT_MAX, f);
    fclose(f);
    return text;
}

static bool are_equal(int a, int b)
{
    size_t x, y;
    char *first = content(a, &x), *second = content(b, &y);
    bool equal = x == y && x > 0 && memcmp(first, second, x) == 0;
    free(first);
    free(second);
    return equal;
}

static bool check(const struct machine *machine, const struct task *t)
{
    if (!run(machine, t, FIRST, "1") || !run(machine, t, SECOND, "1") ||
        !run(machine, t, THIRD, "2")) {
        printf("FAILED  %s: a run did not end well\n", t->program);
        return false;
    }
    bool repeats = are_equal(FIRST, SECOND), varies = !are_equal(FIRST, THIRD);
    printf("%-7s %s on %d modelled nodes of 2 workers: two runs %s, another seed's %s\n",
           repeats && varies ? "ok" : "FAILED", t->program, NODES,
           repeats ? "are the same to the bit" : "differ", varies ? "differs" : "is the same");
    return repeats && varies;
}

/* NuPS' mix of which no key is hot is relocation: in every byte and count. */
static bool check_nothing_kept(const struct machine *machine)
{
    static const struct task relocates = {"mf",
                                          {"--zipf", "1000x200x20000", "--rank", "10", "--epochs",
                                           "2", "--technique", "relocate"}},
                             keeps_none = {"mf",
                                           {"--zipf", "1000x200x20000", "--rank", "10", "--epochs",
                                            "2", "--technique", "nups", "--hot", "1000000x"}};
    bool good = run(machine, &relocates, FIRST, "1") && run(machine, &keeps_none, SECOND, "1") &&
                are_equal(FIRST, SECOND);
    printf("%-7s mf, nups with no hot key: %s relocate\n", good ? "ok" : "FAILED",
           good ? "the same as" : "differs from");
    return good;
}

/* The figure behind the word in what a run has said. */
static double figure(int file, const char *word)
{
    size_t bytes;
    char *text = content(file, &bytes);
    text[bytes < CONTENT_MAX ? bytes : CONTENT_MAX - 1] = '\0';
    const char *at = strstr(text, word);
    double number = at ? atof(at + strlen(word)) : -1;
    free(text);
    return number;
}

/* Signals that come a clock ahead come too late; those of a hundred clocks do not. */
static bool check_ahead(const struct machine *machine)
{
    static const struct task t = {"kge",
                                  {"--planted", "400x8x4000", "--dim", "8", "--batch", "1",
                                   "--negatives", "2", "--epochs", "1"}};
    static const char waited[] = "\"pull_s\":";
    ahead = 1;
    bool good = run(machine, &t, FIRST, "1") && run(machine, &t, SECOND, "1") &&
                are_equal(FIRST, SECOND);
    ahead = 100;
    good = good && run(machine, &t, THIRD, "1");
    ahead = 0;
    good = good && figure(THIRD, waited) >= 0 && figure(FIRST, waited) > 2 * figure(THIRD, waited);
    printf(
        "%-7s kge, signals one clock ahead: two runs are the same to the bit, and wait longer for "
        "rows than with a hundred\n",
        good ? "ok" : "FAILED");
    return good;
}

/* What is traced has the times of the model. */
static bool check_traces(const struct machine *machine)
{
    static const struct task t = {"mf",
                                  {"--zipf", "1000x200x20000", "--rank", "10", "--epochs", "1"}};
    traces = true;
    bool good = run(machine, &t, FIRST, "1") && run(machine, &t, SECOND, "1");
    traces = false;
    for (int i = 0; i < NODES && good; i++) good = are_equal(FIRST_TRACE + i, SECOND_TRACE + i);
    printf("%-7s mf, traced: the files of two runs are the same to the bit\n",
           good ? "ok" : "FAILED");
    return good;
}

int quick_run(const struct machine *machine)
{
    unsigned failed = 0;
    if (!mkdtemp(folder)) give_up(folder);
    write_facts(TRAIN, FACTS);
    write_facts(VALID, 100);
    write_facts(TEST, 100);
    write_text();
    for (unsigned i = 0; i < TASKS; i++) failed += !check(machine, &tasks[i]);
    failed += !check_nothing_kept(machine);
    failed += !check_ahead(machine);
    failed += !check_traces(machine);
    for (int i = 0; i < FILES; i++) unlink(path_of(i));
    rmdir(folder);
    return failed > 0;
}
