/*
 * papers.c - the training programs on a cluster of modelled machines, on virtual time: what the
 * papers measured on eight and sixteen machines, on one core.
 *
 * The programs are the ones that ship, from their command line on; so is the library. Read
 * apps/common/world.h first (the interface between program and world), then papers/world.c (the
 * world here), papers/machine.h (what the machines are like) and scale/platform.h (how time
 * passes).
 */
#include "papers/cluster.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sample a clock: a worker has LOCUS_SAMPLES_MAX open at most. */
enum { AHEAD_MAX = 4000 };

static const char usage[] =
    "usage: papers [OPTIONS] ctr|gnn|kge|lasso|lda|mf|wv [THE PROGRAM'S OPTIONS]\n\n"
    "Trains on a cluster of modelled machines, on virtual time: the real program on the real library,\n"
    "all nodes in one process. What it prints is what it would print there; its seconds are those of\n"
    "the model. The same command gives the same output, to the bit.\n\n"
    "  --nodes N          machines, 1 to 64 (8)\n"
    "  --machine NAME     nups, lapse, strads, today: which machines and network (nups)\n"
    "  --model CHANGES    other constants, like latency=20000,step=850,prepare=200\n"
    "  --list             the constants of the machine, and where they come from\n"
    "  --immediate        act on intents at once (AdaPM, Section 5.8)\n"
    "  --ahead N          kge, mf and wv signal intents N clocks ahead, 1 to 4000, each clock's by\n"
    "                     itself; otherwise as far ahead as they do\n"
    "  --unsynchronized   replicas never hear of changes (NuPS, Section 5.7); with --technique nups\n\n"
    "A program's step takes the time that --model step= says, in ns an example; measure it with the\n"
    "program's --baseline and one worker. At the end a line {\"event\":\"machine\",...} says what the\n"
    "workers' time went into. lasso's example is a value of the matrix; --model compare= is what its\n"
    "schedulers take for one, and look= what it takes to look into a mailbox again.\n"
    "Each thread has a core of its own.\n";

static _Noreturn void refuse(const char *why, const char *what)
{
    fprintf(stderr, "papers: %s%s: see papers --help\n", why, what);
    exit(2);
}

static const char *value_of(int argc, char **argv, int *at)
{
    if (*at + 1 >= argc) refuse(argv[*at], " needs a value");
    return argv[++*at];
}

/* A number from 1 to `most`; else it ends with the complaint. */
static unsigned number_of(const char *text, unsigned long most, const char *complaint)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || number < 1 || number > most)
        refuse(complaint, text);
    return (unsigned)number;
}

/* Returns where the program's name is. */
static int parse(struct papers *p, int argc, char **argv, bool *lists)
{
    const char *changes = NULL, *wrong = NULL;
    int at = 1;
    *p = (struct papers){.nodes = 8};
    machine_init(&p->machine, "nups");
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        } else if (strcmp(argv[at], "--nodes") == 0) {
            p->nodes = number_of(value_of(argc, argv, &at), PAPERS_NODES_MAX,
                                 "--nodes must be 1 to 64, not ");
        } else if (strcmp(argv[at], "--ahead") == 0) {
            p->ahead = number_of(value_of(argc, argv, &at), AHEAD_MAX,
                                 "--ahead must be 1 to 4000 clocks, not ");
        } else if (strcmp(argv[at], "--machine") == 0) {
            const char *name = value_of(argc, argv, &at);
            if (!machine_init(&p->machine, name)) refuse("there is no machine ", name);
        } else if (strcmp(argv[at], "--model") == 0) {
            changes = value_of(argc, argv, &at);
        } else if (strcmp(argv[at], "--list") == 0) {
            *lists = true;
        } else if (strcmp(argv[at], "--immediate") == 0) {
            p->acts_immediately = true;
        } else if (strcmp(argv[at], "--unsynchronized") == 0) {
            p->never_synchronizes = true;
        } else {
            refuse("there is no option ", argv[at]);
        }
    }
    if (!machine_change(&p->machine, changes, &wrong))
        refuse("this is no constant with a number: ", wrong);
    return at;
}

int main(int argc, char **argv)
{
    static struct papers papers;
    bool lists = false;
    int at = parse(&papers, argc, argv, &lists);
    if (lists) {
        machine_show(&papers.machine);
        return 0;
    }
    if (at == argc) refuse("no program is named", "");
    papers.program = cluster_program(argv[at]);
    if (!papers.program) refuse("there is no program ", argv[at]);
    if (papers.ahead > 0 && !papers.program->heeds_ahead)
        refuse("--ahead is for kge, mf and wv, not for ", argv[at]);
    papers.argc = argc - at;
    papers.argv = argv + at;
    return cluster_run(&papers);
}
