/* locus - the command: starts clusters, examines machines, shows what was traced, reads
 * checkpoints. */
#include "args.h"
#include "commands.h"
#include "locus.h"
#include "program.h"
#include "say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: locus COMMAND ...\n"
    "\n"
    "Starts training jobs and shows what they do.\n"
    "\n"
    "  run         start the nodes of a cluster on this host: locus run -n 4 -- program arguments\n"
    "  doctor      will this machine carry a job? locus doctor\n"
    "  top         what the nodes of a running job do: locus top; locus top HOST:PORT\n"
    "  explain     why a key of a running job is where it is: locus explain TABLE:7\n"
    "  trace       what nodes have traced, for Perfetto or speedscope: locus trace FILE... > trace.json\n"
    "  checkpoint  list, verify, show, export checkpoints: locus checkpoint list DIR\n"
    "  prepare     data of other forms as programs read it: locus prepare mf ratings.csv data\n"
    "  predict     what a model says of each line: locus predict MODEL FILE\n"
    "  export      a model for NumPy and other tools: locus export MODEL model.npz\n"
    "  report      the page of a run: locus report PREFIX --out page.html\n"
    "  NAME        whatever else: locus-NAME, beside this command or in PATH; such as those that train models:\n"
    "              ctr, gnn, kge, lasso, lda, mf, wv: locus mf --data data --out model\n"
    "\n"
    "  --help      this text; locus run --help for more\n"
    "  --version\n";

static int print(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) ? STATUS_FAILED : 0;
}

static const struct command {
    const char *name;
    int (*main)(int argc, char **argv); /* NULL: a program of its own */
} commands[] = {
    {"run", run_main},         {"doctor", doctor_main}, {"top", top_main},
    {"explain", explain_main}, {"trace", trace_main},   {"checkpoint", checkpoint_main},
    {"prepare", NULL},         {"predict", NULL},       {"export", NULL},
    {"report", NULL},          {"keep", keeper_main}, /* what run starts; not for people */
};

/* Becomes the program locus-NAME. Returns when there is none. */
static void run_other(char **argv)
{
    char path[PATH_MAX], *word = argv[0];
    if (*word == '-' || strchr(word, '/') || !program_find_ours(word, path)) return;
    argv[0] = path;
    execv(path, argv);
    argv[0] = word;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].main && strcmp(word, commands[i].name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print(help);
    if (strcmp(word, "--version") == 0) return print("locus " LOCUS_VERSION_TEXT "\n");
    say_as("locus");
    run_other(argv + 1);
    for (const struct command *c = commands; strcmp(c->name, "keep") != 0; c++)
        if (args_misspelt(word, strlen(word), c->name))
            return say_and(STATUS_USAGE, "there is no command \"%s\": is it meant to be %s?", word,
                           c->name);
    return say_and(STATUS_USAGE, "there is no command \"%s\"; locus --help lists them", word);
}
