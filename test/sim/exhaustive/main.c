/*
 * exhaustive - the shards' code as it ships, one key, three nodes and a few operations: every order
 * of messages and every interleaving of workers and shards, the invariants of the protocol in each
 * state.
 *
 *   exhaustive                    the scenarios below, then all of few operations, of every
 *                                 technique, then of more in no particular order until the time is
 *                                 over: 25 s, or LOCUS_TEST_SECONDS if longer. If that is 1, 8 s,
 *                                 and of each scenario the first 25,000 states
 *   exhaustive --known            the scenarios below alone
 *   exhaustive [--technique NAME] --calls N
 *                                 all of N operations
 *   exhaustive --scenario TEXT    one, such as "0:localize,push* 1:pull": the workers with their
 *                                 nodes, and their operations; * is asynchronous; or
 *                                 "adaptive lose=1 0:begin 1:push": node 1 is lost at any time,
 *                                 or leaves at any (leave=1) at which it may, or joins at any (join=1);
 *                                 with lose=1,2 node 2 is lost in any state in which the others have
 *                                 not repaired that, likewise leave=1,2 and join=1,2, or leave=1,1
 */
#include "base/time.h"
#include "protocol/plan.h"
#include "search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* All memory of a course is one block to a sanitizer, which takes five times as long. */
#ifdef LOCUS_ASAN
enum { STATES_MAX = 20000 };
#else
enum { STATES_MAX = 8000000 };
#endif
enum { SECONDS_SHORT = 8, SECONDS = 25, SECONDS_LONG = 60, STATES_SHORT = 25000 };

/* Courses that had to be thought of. */
static const char *const known[] = {
    "0:localize 1:localize 2:localize",            /* all want it */
    "0:localize,localize 1:localize,localize",     /* to and fro */
    "0:localize 0:localize 1:localize 2:push",     /* two workers of a node */
    "0:localize 1:push*,pull 2:push",              /* requests race the hand-over */
    "0:localize 1:localize,push 2:pull*,push",     /* forwarded to and fro, and overtaken */
    "1:localize 2:localize,localize 0:pull*,push", /* the same, by way of the home */
    "0:localize,push 1:localize,push",             /* the row must follow */
    "0:localize* 0:push 1:localize 2:pull",        /* who waits behind a localize */
    "0:localize,push*,localize 1:localize 2:set",  /* again while something is under way */
    "0:push,localize 1:set,localize 2:pull",       /* sets among updates */
    "1:begin 0:begin 2:localize",                  /* under relocate: asked once for each intent */
    "adaptive 0:begin 1:begin,push,pull",     /* a replica on its way in which a push has to show */
    "adaptive 0:begin 1:begin,set,pull",      /* or a set */
    "adaptive 0:begin 1:begin,push,push",     /* one more while the first is under way */
    "adaptive 0:begin 1:begin,push,set",      /* a set takes along what the node added before */
    "adaptive 0:begin 1:begin,push,end",      /* the last updates leave with the replica */
    "adaptive 0:begin,end 1:begin,push,push", /* the row moves to a holder that goes on adding */
    "adaptive 0:begin,push 1:begin,push,pull",              /* refreshes meet updates */
    "adaptive 0:begin,push,end 1:begin,push,end",           /* replicas come and go with updates */
    "adaptive 0:begin,end 1:begin,end,localize 2:localize", /* back before the answer to its end */
    "adaptive 1:begin,push*,end 2:push,pull",               /* remote accesses meanwhile */
    "adaptive 1:begin,push,end 2:localize,push",            /* localize of a row that is wanted */
    "adaptive 1:begin,set,pull 0:begin,push",               /* a set among updates */
    "adaptive 0:begin 1:begin,push 2:localize",             /* localize of a row with holders */
    "adaptive 1:begin,end,begin 0:begin",                   /* again at once */
    "adaptive 1:begin 2:begin 0:push", /* shared by two that are not the home */
    "replicate 1:begin,push,end 0:push", "full_replication 1:push,pull 0:push",
    "full_replication 0:push 1:push,pull 1:set", /* a refresh meets a set with an update */
    /* ---- kept ---- */
    "1:keep,push 2:begin,push",           /* under relocate: who does not keep it, goes to it */
    "1:keep,push 2:localize,push 0:pull", /* it does not move */
    "1:keep,push,unkeep 2:localize",      /* and then it does */
    "1:localize 1:keep 2:keep,push",      /* kept while it is on its way */
    "0:keep 1:keep,push,pull", "1:begin,keep,unkeep 2:localize", /* an intent besides */
    "adaptive 0:keep 1:keep,push", "adaptive 1:keep 2:begin,push",
    "adaptive 1:keep,push,unkeep 2:push",
    "adaptive 1:begin,keep,end,push 0:begin,end", /* it does not move for what is left */
    "adaptive 1:keep,begin,unkeep,push 0:begin",  /* and does when that ends */
    "adaptive 1:begin,push,keep 0:begin,push",    /* a replica that has updates is kept */
    "adaptive 1:keep,set,pull 2:localize", "adaptive 1:keep,unkeep,keep 0:begin,push",
    "replicate 1:keep,push,unkeep 0:push",
    /* ---- clocks ---- */
    "static 0:push,clock,bound,pull 1:push,clock",            /* accesses of rows elsewhere */
    "static 1:push*,clock 0:clock,bound,pull",                /* one that nobody has taken on */
    "static 1:push*,clock,push*,clock 0:clock,clock,bound",   /* one more while one is under way */
    "1:localize,push,clock,bound,pull 0:localize,push,clock", /* the row moves */
    "1:push*,clock,push* 0:localize,clock,bound,pull",        /* and a push goes after it */
    "replicate 1:keep,push,clock,bound,pull 0:push,clock", /* a refresh meets an update under way */
    "replicate 1:keep,push,push,clock 0:clock,bound,pull", /* one waits behind one under way */
    "replicate 1:keep,clock,push 0:push,clock,bound", /* a refresh is ignored: one is under way */
    "replicate 1:keep,clock,bound,pull 0:push,push,clock",     /* refreshes go before the clock */
    "1:keep,push,clock,bound,unkeep 0:push,clock",             /* the replica ends */
    "adaptive 1:begin,push,clock,end 0:push,clock,bound,pull", /* and its updates leave with it */
    "adaptive 1:begin,push,clock,bound 0:begin,clock",
    "full_replication 1:push,clock,bound,pull 0:push,clock",
    /* ---- a node is lost ---- */
    "lose=1 1:localize,push 2:pull",                 /* with the row */
    "lose=0 1:localize,push 2:pull",                 /* the home of a row that lives */
    "lose=1 0:localize 1:localize 2:localize",       /* while all want it */
    "lose=2 0:localize,push* 1:localize,set",        /* one that passes requests on */
    "lose=0 1:keep,push 2:localize",                 /* a replica becomes the row */
    "adaptive lose=1 0:begin,push 2:begin",          /* one that has nothing */
    "adaptive lose=0 1:begin,push 2:begin",          /* one that knows holders */
    "adaptive lose=1 0:begin,set 1:begin,push",      /* a holder */
    "adaptive lose=1 0:begin,end 1:begin,push,push", /* to which the row moves */
    "replicate lose=0 1:begin,push 2:begin",
    "lose=0 1:push 2:localize", /* a push that was done, and moves on */
    "replicate lose=0 1:push 2:begin",
    /* ---- a node joins ---- */
    "join=0 2:push",        /* the home of what nobody has written */
    "join=0 0:push,pull",   /* and it asks */
    "join=0 1:localize",    /* the home of a row */
    "join=0 2:keep 0:push", /* of one with a replica */
    "join=1 0:push",        /* another one */
    "adaptive join=0 1:begin",
    /* ---- a node leaves ---- */
    "leave=1 1:localize,push 2:push", /* with the row */
    "leave=0 1:localize,push 2:push", /* the home of a row that is elsewhere */
    "adaptive leave=1 0:begin,push,end 1:push",
    /* ---- a node is lost while that is repaired ---- */
    "lose=1,2 1:push",                        /* whose home stays */
    "lose=0,1 0:push 2:push",                 /* the home, and its heir */
    "lose=1,0 1:localize,push 2:push",        /* with the row, and its home */
    "adaptive lose=1,0 0:begin 1:begin,push", /* a holder, and who knows holders */
    "leave=1,1 0:push",                       /* who leaves */
    "leave=0,0 1:localize,push",              /* likewise, the home of a row that is elsewhere */
    "leave=0,1 1:localize,push",              /* with the row whose home leaves */
    "join=0,0 0:push",                        /* who joins, and asks */
    "join=0,0 1:localize",                    /* the home of a row, once more */
    "join=0,1 0:push",                        /* another one */
    "join=0,1 1:localize",                    /* with the row */
    /* ---- */
    "1:push*,pull 1:localize 2:localize 0:localize", /* back before the request that followed it */
};
/* The same, with so many states that there is time for them in long runs only. */
static const char *const known_large[] = {
    "0:localize 1:localize 2:localize 0:pull 1:pull",
    "1:begin,localize 0:begin 2:begin",
    "adaptive 0:begin,localize 1:begin,push 2:localize",
    "adaptive 1:begin,push,pull 2:begin,push",
    "adaptive 1:begin,push,end 2:begin,push,end",
    "adaptive 1:begin,set,pull 2:begin,push",
    "adaptive 1:begin,end,begin 2:begin,push",
    "adaptive 0:begin,end 1:begin,push,end 2:begin",
    "replicate 1:begin,push,end 2:begin,push,pull",
    "adaptive 0:keep,push 1:keep,push 2:begin",
    "full_replication 1:push,pull 2:push,set",
    "adaptive lose=1 0:begin,push 2:begin,push",
    "adaptive lose=0 0:begin,push,end 1:begin,push,end",
    "adaptive lose=2 0:begin,push 1:begin,set,pull",
    "join=0 1:push 2:push",
    "join=0 0:push,pull 2:localize",
    "join=0 1:localize,push 2:pull*",
    "join=1 0:push 2:localize",
    "adaptive join=0 1:begin,push",
    "adaptive join=0 1:begin,push 2:begin",
    "replicate join=0 1:begin,push 0:begin",
    "leave=0 1:localize,push 2:localize",
    "leave=2 0:localize,push* 1:localize,set",    /* one that passes requests on */
    "leave=0 1:keep,push 2:push",                 /* one whose row has a replica */
    "adaptive leave=0 1:begin,push 2:begin,push", /* one that knows holders */
    "replicate leave=0 1:begin,push 2:begin",
    "lose=1,2 0:push 1:localize,push",
    "adaptive lose=0,1 1:begin,push 2:begin",
    "leave=1,2 1:localize,push 0:push",
    "join=0,1 1:localize,push",
    "join=0,1 2:push",
    "adaptive join=0,1 1:begin",
    "adaptive 1:begin,push,clock,bound,pull 0:begin,push,clock",
    "adaptive 0:begin,push,end,clock 1:begin,push,clock,bound",
    "1:push*,clock 2:localize,clock,bound", /* the clock overtakes a push that is sent on */
    "1:keep,push,push,clock 0:push,clock,bound,pull",
    "replicate 1:keep,push,clock,push 0:push,clock,bound",
    "replicate 1:keep,push,clock 1:push,clock,bound 0:clock", /* two workers at different clocks */
};
enum {
    KNOWN = sizeof known / sizeof *known,
    KNOWN_LARGE = sizeof known_large / sizeof *known_large
};

static struct {
    uint64_t scenarios, states, steps, ends, too_large;
    unsigned longest;
    bool has_failed;
} sum;

static uint64_t states_max = STATES_MAX; /* of a scenario */

static bool explore(const struct scenario *s, bool talks)
{
    char text[200];
    struct search_result r = search_all(s, states_max);
    sum.scenarios++;
    sum.states += r.states;
    sum.steps += r.steps;
    sum.ends += r.ends;
    sum.too_large += r.end == SEARCH_TOO_LARGE;
    if (r.longest > sum.longest) sum.longest = r.longest;
    if (r.end == SEARCH_VIOLATION) sum.has_failed = true;
    if (talks)
        printf("%-60s %9" PRIu64 " states, %8" PRIu64 " ends, %3u steps deep%s\n",
               scenario_text(s, text, sizeof text), r.states, r.ends, r.longest,
               r.end == SEARCH_TOO_LARGE ? ", not to its end" : "");
    return r.end != SEARCH_VIOLATION;
}

static bool explore_these(const char *const text[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct scenario s;
        if (!scenario_parse(&s, text[i])) abort();
        if (!explore(&s, true)) return false;
    }
    return true;
}

/* All of so many calls, in an order that is none; to the deadline. */
static bool explore_all(enum locus_technique t, unsigned calls, uint64_t deadline_ns,
                        uint64_t *left)
{
    uint64_t count = scenario_count(t, calls), stride = 7919 * 104729;
    *left = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct scenario s;
        if (!scenario_number(&s, t, calls, i * stride % count)) continue;
        if (time_now_ns() >= deadline_ns) {
            ++*left;
            continue;
        }
        if (!explore(&s, false)) return false;
    }
    return true;
}

static int closing_lines(const char *what)
{
    printf("%-7s %s: %" PRIu64 " scenarios, %" PRIu64 " states, %" PRIu64 " steps, %" PRIu64
           " ends, at most %u steps deep\n",
           sum.has_failed ? "FAILED" : "ok", what, sum.scenarios, sum.states, sum.steps, sum.ends,
           sum.longest);
    if (sum.too_large)
        printf("%" PRIu64 " scenarios were not explored to their end\n", sum.too_large);
    printf("%d passed, %d failed, 0 skipped\n", !sum.has_failed, sum.has_failed);
    fflush(stdout);
    return sum.has_failed;
}

static uint64_t seconds(void)
{
    const char *text = getenv("LOCUS_TEST_SECONDS");
    uint64_t s = text ? strtoull(text, NULL, 10) : 0;
    if (s == 1) return SECONDS_SHORT;
    return s < SECONDS ? SECONDS : s;
}

/* In this order; the last ones as far as the time goes. */
static const struct {
    enum locus_technique technique;
    unsigned calls, share; /* of the time that is left, in percent */
} program[] = {
    {LOCUS_RELOCATE, 1, 100},  {LOCUS_RELOCATE, 2, 100},         {LOCUS_RELOCATE, 3, 100},
    {LOCUS_ADAPTIVE, 1, 100},  {LOCUS_ADAPTIVE, 2, 100},         {LOCUS_ADAPTIVE, 3, 60},
    {LOCUS_REPLICATE, 2, 100}, {LOCUS_FULL_REPLICATION, 2, 100}, {LOCUS_FULL_REPLICATION, 3, 30},
    {LOCUS_REPLICATE, 3, 30},  {LOCUS_ADAPTIVE, 4, 60},          {LOCUS_RELOCATE, 4, 60},
    {LOCUS_RELOCATE, 5, 100},
};

static int run_all(void)
{
    uint64_t end = time_now_ns() + seconds() * UINT64_C(1000000000), left;
    if (seconds() == SECONDS_SHORT && states_max > STATES_SHORT) states_max = STATES_SHORT;
    bool good = explore_these(known, KNOWN);
    if (good && seconds() >= SECONDS_LONG) good = explore_these(known_large, KNOWN_LARGE);
    for (unsigned i = 0; i < sizeof program / sizeof *program && good; i++) {
        uint64_t now = time_now_ns(), rest = end > now ? end - now : 0;
        good = explore_all(program[i].technique, program[i].calls,
                           now + rest / 100 * program[i].share, &left);
        printf("%s, %u operations: %s\n", technique_of(program[i].technique)->name,
               program[i].calls,
               !good  ? "failed"
               : left ? "some"
                      : "all");
    }
    return closing_lines("every course");
}

/* In a process of its own, which may end in any way. */
static int watched(int (*run)(void))
{
    int status;
    char text[200];
    struct search_way *way =
        mmap(NULL, sizeof *way, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (way == MAP_FAILED) return 2;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        search_keep_way(way);
        _exit(run());
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    printf("violation: the process ended by signal %d\n  replay: exhaustive --scenario \"%s\"\n",
           WTERMSIG(status), scenario_text(&way->scenario, text, sizeof text));
    search_print_way(way);
    printf("0 passed, 1 failed, 0 skipped\n");
    fflush(stdout);
    _exit(1);
}

static struct scenario given;
static unsigned given_calls;

static int run_scenario(void)
{
    explore(&given, true);
    return closing_lines("one scenario");
}

static int run_known(void)
{
    explore_these(known, KNOWN);
    return closing_lines("known scenarios");
}

static int run_calls(void)
{
    uint64_t left;
    explore_all(given.technique, given_calls, UINT64_MAX, &left);
    return closing_lines("all scenarios");
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: exhaustive [--known | [--technique NAME] --calls 1...%d | --scenario \"NODE:CALL,CALL* NODE:CALL ...\"]\n",
        SCENARIO_CALLS_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef LOCUS_TSAN
    printf("skipped: exhaustive: it has one thread\n0 passed, 0 failed, 1 skipped\n");
    return 0;
#endif
    if (argc == 1) return watched(run_all);
    if (argc == 2 && strcmp(argv[1], "--known") == 0) return watched(run_known);
    if (argc == 3 && strcmp(argv[1], "--scenario") == 0 && scenario_parse(&given, argv[2]))
        return watched(run_scenario);
    if (argc == 3 && strcmp(argv[1], "--calls") == 0) {
        given.technique = LOCUS_RELOCATE;
        given_calls = (unsigned)strtoul(argv[2], NULL, 10);
        if (given_calls >= 1 && given_calls <= SCENARIO_CALLS_MAX) return watched(run_calls);
    }
    if (argc == 5 && strcmp(argv[1], "--technique") == 0 && strcmp(argv[3], "--calls") == 0) {
        given_calls = (unsigned)strtoul(argv[4], NULL, 10);
        bool known_name = scenario_technique(argv[2], &given.technique) > 0;
        if (known_name && given_calls >= 1 && given_calls <= SCENARIO_CALLS_MAX)
            return watched(run_calls);
    }
    return usage();
}
