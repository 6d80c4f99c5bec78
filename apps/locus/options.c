#include "options.h"

#include "args.h"
#include "fail.h"
#include "locus.h"
#include "say.h"

#include <stddef.h>

static const char about[] =
    "Starts a cluster of N nodes here: N processes of the program, which learn rank, size and rendezvous from\n"
    "LOCUS_RANK, LOCUS_SIZE and LOCUS_RENDEZVOUS. When one fails, all others are ended, and its exit status is ours. A\n"
    "program's name without a / is that of one that comes with locus (kge is locus-kge), or of one in the folders of\n"
    "PATH. On a host of several sockets that get as many nodes each, every node keeps to its socket.\n";

int options_parse(struct options *o, int argc, char **argv)
{
    static const char *const prefixes[] = {[PREFIX_ON_TERMINALS] = "auto",
                                           [PREFIX_ALWAYS] = "always",
                                           [PREFIX_NEVER] = "never",
                                           [PREFIX_NEVER + 1] = NULL};
    const struct args_option options[] = {
        OPTION_SMALL("-n", "N", &o->nodes, 1, OPTIONS_NODES_MAX, 0, "how many nodes, 1 to 4096"),
        OPTION_SMALL("--nodes", "N", &o->nodes, 1, OPTIONS_NODES_MAX, 0, "the same"),
        OPTION_SMALL("-w", "W", &o->workers, 1, LOCUS_WORKERS_MAX, 0,
                     "sets LOCUS_WORKERS, for programs that ask there how many workers to open"),
        OPTION_SMALL("--workers", "W", &o->workers, 1, LOCUS_WORKERS_MAX, 0, "the same"),
        OPTION_CHOICE("--prefix", "WHEN", &o->prefix, prefixes, 0,
                      "the rank before each line of output: auto (on a terminal), always, never"),
        OPTION_REAL("--grace", "SECONDS", &o->grace_s, 0, 3600, 0,
                    "from SIGTERM to SIGKILL when nodes are ended"),
        OPTION_TEXT("--directory", "DIR", &o->directory, 0, "where the program runs (here)"),
        OPTION_SMALL("--restarts", "N", &o->restarts, 1, OPTIONS_RESTARTS_MAX, 0,
                     "when a node fails, start all again, so often at most; programs that\n"
                     "write checkpoints go on from the newest one (LOCUS_RESTART says\n"
                     "which restart it is). With --survives that node alone, unless it is\n"
                     "rank 0"),
        OPTION_FLAG("--survives", &o->survives, 0,
                    "sets LOCUS_SURVIVES=1: a node but rank 0 that fails does not end the others"),
        OPTION_SMALL("--port", "P", &o->port, 1, 65535, 0, "of rank 0's rendezvous (a free one)"),
    };
    fail_set_program("locus run");
    *o = (struct options){.grace_s = 5};
    args_parse(&(struct args_program){.name = "locus run",
                                      .about = about,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .arguments = "[--] PROGRAM [arguments]",
                                      .words = &o->argv},
               argc, argv);
    if (!o->argv[0] || !*o->argv[0])
        return say_and(STATUS_USAGE,
                       "which program? locus run -n 4 -- program arguments; --help says more");
    if (!o->nodes) return say_and(STATUS_USAGE, "how many nodes? -n N; --help says more");
    return 0;
}
