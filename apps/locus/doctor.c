#include "commands.h"

#include "args.h"
#include "fail.h"
#include "findings.h"
#include "locus.h"
#include "machine.h"
#include "options.h"
#include "say.h"
#include "surroundings.h"
#include "trial.h"

#include <stdint.h>
#include <stdlib.h>

struct doctor {
    uint64_t nodes, workers;
    bool json;
};

static void parse(struct doctor *d, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_COUNT("--nodes", "N", &d->nodes, 1, OPTIONS_NODES_MAX, 0,
                     "nodes that are to run on this host"),
        OPTION_COUNT("--workers", "W", &d->workers, 1, LOCUS_WORKERS_MAX, 0,
                     "workers of each; LOCUS_WORKERS counts, too"),
        OPTION_FLAG("--json", &d->json, 0, "a JSON object for each line"),
    };
    const struct args_program program = {
        .name = "locus doctor",
        .about =
            "Checks whether this machine can run a job: kernel, io_uring, limits, memory, cores, network, the\n"
            "launcher's variables, the secret, and a trial of two nodes. Start it where and how the program would\n"
            "be started. It prints a line for each check: ok, warn, fail or skip, and what to do. The exit status\n"
            "is 1 when something fails.\n",
        .options = options,
        .option_count = sizeof options / sizeof *options,
    };
    args_parse(&program, argc, argv);
}

static void look_here(struct findings *all, const struct doctor *d)
{
    find(all, FIND_OK, "version", "locus " LOCUS_VERSION_TEXT);
    unsigned spoken = surroundings_check(all);
    unsigned here = (unsigned)d->nodes, least = here > 2 ? here : 2;
    const struct machine_plan plan = {
        .nodes = spoken > least ? spoken : least, .here = here, .workers = (unsigned)d->workers};
    machine_check(all, &plan);
    if (all->count[FIND_FAIL] == 0)
        trial_check(all);
    else
        find(all, FIND_SKIP, "trial", "two nodes are not tried where something else fails");
}

/* What locus run --workers would have told; nonsense there is the program's to refuse. */
static uint64_t workers_of_environment(void)
{
    const char *text = getenv("LOCUS_WORKERS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n >= 1 && n <= LOCUS_WORKERS_MAX ? n : 1;
}

int doctor_main(int argc, char **argv)
{
    struct findings all;
    struct doctor d = {.nodes = 1, .workers = workers_of_environment()};
    say_as("locus doctor");
    fail_set_program("locus doctor");
    parse(&d, argc, argv);
    findings_init(&all, d.json);
    surroundings_check_variables(&all);
    look_here(&all, &d);
    return findings_end(&all);
}
