#include "options.h"

#include "locus.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: locus run -n N [options] [--] program [arguments]\n"
    "       locus run --hosts FILE [options] [--] program [arguments]\n"
    "\n"
    "Starts a cluster of N nodes: N processes of the program, which learn rank, size and rendezvous from LOCUS_RANK,\n"
    "LOCUS_SIZE and LOCUS_RENDEZVOUS. When one fails, all others are ended, and its exit status is ours. A program's name\n"
    "without a / is that of one that comes with locus (kge is locus-kge), or of one in the folders of PATH.\n"
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

void options_print_help(void)
{
    fputs(help, stdout);
}

static int refuse(const char *option, const char *what, const char *value)
{
    return say_and(STATUS_USAGE, "%s %s, not \"%s\"; --help lists the options", option, what,
                   value);
}

static int set_count(unsigned *out, const char *option, const char *value, unsigned max)
{
    char what[64], *end;
    unsigned long n = strtoul(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && n >= 1 && n <= max) {
        *out = (unsigned)n;
        return 0;
    }
    snprintf(what, sizeof what, "takes a number from 1 to %u", max);
    return refuse(option, what, value);
}

static int set_nodes(struct options *o, const char *option, const char *value)
{
    return set_count(&o->nodes, option, value, OPTIONS_NODES_MAX);
}

static int set_workers(struct options *o, const char *option, const char *value)
{
    return set_count(&o->workers, option, value, LOCUS_WORKERS_MAX);
}

static int set_port(struct options *o, const char *option, const char *value)
{
    return set_count(&o->port, option, value, 65535);
}

static int set_restarts(struct options *o, const char *option, const char *value)
{
    return set_count(&o->restarts, option, value, OPTIONS_RESTARTS_MAX);
}

static int set_min_nodes(struct options *o, const char *option, const char *value)
{
    return set_count(&o->min_nodes, option, value, OPTIONS_NODES_MAX);
}

static int set_prefix(struct options *o, const char *option, const char *value)
{
    static const char *const words[] = {
        [PREFIX_ON_TERMINALS] = "auto", [PREFIX_ALWAYS] = "always", [PREFIX_NEVER] = "never"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i]) != 0) continue;
        o->prefix = (enum prefix)i;
        return 0;
    }
    return refuse(option, "takes auto, always or never", value);
}

static int set_grace(struct options *o, const char *option, const char *value)
{
    char *end;
    o->grace_s = strtod(value, &end);
    if (end != value && !*end && o->grace_s >= 0 && o->grace_s <= 3600) return 0;
    return refuse(option, "takes seconds from 0 to 3600", value);
}

static int set_hosts(struct options *o, const char *option, const char *value)
{
    (void)option;
    o->hosts = value;
    return 0;
}

static int set_directory(struct options *o, const char *option, const char *value)
{
    (void)option;
    o->directory = value;
    return 0;
}

static int set_ssh(struct options *o, const char *option, const char *value)
{
    (void)option;
    o->ssh = value;
    return 0;
}

static int set_keeper(struct options *o, const char *option, const char *value)
{
    (void)option;
    o->keeper = value;
    return 0;
}

static int add_export(struct options *o, const char *option, const char *value)
{
    if (strchr(value, '=')) return refuse(option, "takes the name of a variable", value);
    if (o->exports == OPTIONS_EXPORTS_MAX)
        return refuse(option, "is given more than 64 times", value);
    o->export[o->exports++] = value;
    return 0;
}

static const struct option {
    const char *name, *brief;
    int (*set)(struct options *, const char *option, const char *value);
} all[] = {
    {"--nodes", "-n", set_nodes},         {"--workers", "-w", set_workers},
    {"--prefix", NULL, set_prefix},       {"--grace", NULL, set_grace},
    {"--port", NULL, set_port},           {"--hosts", NULL, set_hosts},
    {"--directory", NULL, set_directory}, {"--ssh", NULL, set_ssh},
    {"--keeper", NULL, set_keeper},       {"--export", NULL, add_export},
    {"--restarts", NULL, set_restarts},   {"--min-nodes", NULL, set_min_nodes},
};

/* `length`: of the name, without what may stand behind "=". */
static const struct option *find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strlen(all[i].name) == length && memcmp(all[i].name, word, length) == 0) return &all[i];
        if (all[i].brief && strcmp(all[i].brief, word) == 0) return &all[i];
    }
    return NULL;
}

/* Returns how many words were used, 0 when something is wrong. */
static int take(struct options *o, char **words)
{
    const char *equals = strchr(words[0], '=');
    const struct option *known =
        find(words[0], equals ? (size_t)(equals - words[0]) : strlen(words[0]));
    if (!known) {
        say("there is no option %s; --help lists them", words[0]);
        return 0;
    }
    const char *value = equals ? equals + 1 : words[1];
    if (!value || !*value) {
        say("%s needs a value; --help lists the options", known->name);
        return 0;
    }
    if (known->set(o, known->name, value)) return 0;
    return equals ? 1 : 2;
}

static int check(const struct options *o)
{
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
    if (o->hosts || (!o->exports && !o->ssh && !o->keeper)) return 0;
    return say_and(STATUS_USAGE,
                   "--export, --ssh and --keeper are for --hosts, which is not given");
}

int options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.grace_s = 5};
    int i = 1;
    while (i < argc && argv[i][0] == '-') {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            o->wants_help = true;
            return 0;
        }
        int used = take(o, argv + i);
        if (!used) return STATUS_USAGE;
        i += used;
    }
    o->argv = argv + i;
    return check(o);
}
