#include "options.h"

#include "args.h"
#include "fail.h"
#include "locus.h"
#include "say.h"

#include <string.h>

static const char help[] =
    "usage: locus run -n N [options] [--] program [arguments]\n"
    "       locus run --hosts FILE [options] [--] program [arguments]\n"
    "\n"
    "Starts a cluster of N nodes: N processes of the program, which learn rank, size and rendezvous from LOCUS_RANK,\n"
    "LOCUS_SIZE and LOCUS_RENDEZVOUS. When one fails, all others are ended, and its exit status is ours. A program's name\n"
    "without a / is that of one that comes with locus (kge is locus-kge), or of one in the folders of PATH. On a host\n"
    "of several sockets that get as many nodes each, every node keeps to its socket.\n"
    "\n"
    "  -n, --nodes N        how many, 1 to 4096; with --hosts all slots unless told\n"
    "  -w, --workers W      sets LOCUS_WORKERS, for programs that ask there how many workers to open\n"
    "      --prefix WHEN    the rank before each line of output: auto (on a terminal), always, never\n"
    "      --grace SECONDS  from SIGTERM to SIGKILL when nodes are ended (5)\n"
    "      --directory DIR  where the program runs (here)\n"
    "      --restarts N     when a node fails, start all again, so often at most; programs that write checkpoints go on\n"
    "                       from the newest one (LOCUS_RESTART says which restart it is)\n"
    "      --port P         of rank 0's rendezvous (a free one; with --hosts 7777)\n"
    "\n"
    "      --hosts FILE     start them over ssh, on these hosts: lines of `host [address] [slots]`\n"
    "      --min-nodes M    restart without hosts that do not answer any more, with at least so many nodes (all)\n"
    "      --export NAME    give this variable to the hosts, too; those that begin with LOCUS_ are always given\n"
    "      --ssh COMMAND    ssh and its options (ssh)\n"
    "      --keeper PATH    this program on the hosts (the same path as here)\n"
    "\n"
    "  -h, --help           this text\n";

static int check(const struct options *o)
{
    for (size_t i = 0; i < o->exports.count; i++)
        if (strchr(o->exports.list[i], '='))
            return say_and(STATUS_USAGE, "--export takes the name of a variable, not \"%s\"",
                           o->exports.list[i]);
    if (!o->argv[0] || !*o->argv[0])
        return say_and(STATUS_USAGE,
                       "which program? locus run -n 4 -- program arguments; --help says more");
    if (!o->nodes && !o->hosts)
        return say_and(STATUS_USAGE, "how many nodes? -n N, or --hosts FILE; --help says more");
    if (o->min_nodes && (!o->restarts || !o->hosts))
        return say_and(STATUS_USAGE, "--min-nodes is for --restarts with --hosts");
    if (o->min_nodes > o->nodes && o->nodes)
        return say_and(STATUS_USAGE, "--min-nodes %u is more than the %u nodes of -n", o->min_nodes,
                       o->nodes);
    if (o->hosts || (!o->exports.count && !o->ssh && !o->keeper)) return 0;
    return say_and(STATUS_USAGE,
                   "--export, --ssh and --keeper are for --hosts, which is not given");
}

int options_parse(struct options *o, int argc, char **argv)
{
    static const char *const prefixes[] = {[PREFIX_ON_TERMINALS] = "auto",
                                           [PREFIX_ALWAYS] = "always",
                                           [PREFIX_NEVER] = "never",
                                           [PREFIX_NEVER + 1] = NULL};
    const struct args_option options[] = {
        OPTION_SMALL("--nodes", "N", &o->nodes, 1, OPTIONS_NODES_MAX, 0, ""),
        OPTION_SMALL("-n", "N", &o->nodes, 1, OPTIONS_NODES_MAX, 0, ""),
        OPTION_SMALL("--workers", "W", &o->workers, 1, LOCUS_WORKERS_MAX, 0, ""),
        OPTION_SMALL("-w", "W", &o->workers, 1, LOCUS_WORKERS_MAX, 0, ""),
        OPTION_CHOICE("--prefix", "WHEN", &o->prefix, prefixes, 0, ""),
        OPTION_REAL("--grace", "SECONDS", &o->grace_s, 0, 3600, 0, ""),
        OPTION_TEXT("--directory", "DIR", &o->directory, 0, ""),
        OPTION_SMALL("--restarts", "N", &o->restarts, 1, OPTIONS_RESTARTS_MAX, 0, ""),
        OPTION_SMALL("--port", "P", &o->port, 1, 65535, 0, ""),
        OPTION_TEXT("--hosts", "FILE", &o->hosts, 0, ""),
        OPTION_SMALL("--min-nodes", "M", &o->min_nodes, 1, OPTIONS_NODES_MAX, 0, ""),
        OPTION_MANY("--export", "NAME", &o->exports, 0, ""),
        OPTION_TEXT("--ssh", "COMMAND", &o->ssh, 0, ""),
        OPTION_TEXT("--keeper", "PATH", &o->keeper, 0, ""),
    };
    fail_set_program("locus run");
    *o = (struct options){.grace_s = 5};
    args_parse(&(struct args_program){.help = help,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
                                      .words = &o->argv},
               argc, argv);
    return check(o);
}
