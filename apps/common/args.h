/*
 * args.h - the command line of a program: one table that parses it, checks it, and writes
 * --help.
 *
 *     --name VALUE, --name=VALUE; a flag takes no value. What the target holds before parsing is
 *     the default. Words may follow where the program takes some: they begin with the first that
 *     does not begin with -, or behind --.
 *
 * Callers   main(), once, before there are threads
 * Memory    the caller's; texts belong to argv
 * Waiting   never
 */
#ifndef APPS_ARGS_H
#define APPS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum args_kind {
    ARGS_SECTION, /* no option: `help` is a heading of --help */
    ARGS_FLAG,    /* target: bool, set to true */
    ARGS_COUNT,   /* uint64_t from min to max */
    ARGS_SMALL,   /* unsigned from min to max; 0 before parsing is no default to show */
    ARGS_REAL,    /* double from min to max */
    ARGS_TEXT,    /* const char *, not empty */
    /* int, the index of the word in `choices`, which ends with NULL; "" is not offered */
    ARGS_CHOICE,
};

/* What the system is to do about an option, besides. */
enum args_trait {
    ARGS_NODES = 1,             /* all nodes must be given the same */
    ARGS_TASK = 2 | ARGS_NODES, /* and so must who goes on from a checkpoint */
    ARGS_INPUT = 4,             /* a file that is read */
    ARGS_OUTPUT = 8,            /* a file that is written */
    /* It says what is tested with, and so not trained with; of several the first that is given. */
    ARGS_HOLDS_BACK = 16,
};

struct args_option {
    const char *name;     /* "--dim" */
    const char *argument; /* as --help shows it: "N"; NULL for a flag */
    const char *help;     /* further lines after "\n" */
    enum args_kind kind;
    void *target;
    double min, max;
    const char *const *choices;
    unsigned traits; /* of enum args_trait; 0: none */
};

/* An option in a line. The target must have the type of its kind. */
#define ARGS_OPTION(...) \
    { \
        __VA_ARGS__ \
    }
#define ARGS_TARGET(type, pointer) .target = 1 ? (pointer) : (type *)NULL
#define ARGS_NUMBER(n, a, k, type, to, least, most, t, h) \
    ARGS_OPTION(.name = (n), .argument = (a), .kind = (k), ARGS_TARGET(type, to), .min = (least), \
                .max = (most), .traits = (t), .help = (h))
#define OPTION_SECTION(heading) ARGS_OPTION(.kind = ARGS_SECTION, .help = (heading))
#define OPTION_FLAG(n, to, t, h) \
    ARGS_OPTION(.name = (n), .kind = ARGS_FLAG, ARGS_TARGET(bool, to), .traits = (t), .help = (h))
#define OPTION_COUNT(n, a, to, least, most, t, h) \
    ARGS_NUMBER(n, a, ARGS_COUNT, uint64_t, to, least, most, t, h)
#define OPTION_SMALL(n, a, to, least, most, t, h) \
    ARGS_NUMBER(n, a, ARGS_SMALL, unsigned, to, least, most, t, h)
#define OPTION_REAL(n, a, to, least, most, t, h) \
    ARGS_NUMBER(n, a, ARGS_REAL, double, to, least, most, t, h)
#define OPTION_TEXT(n, a, to, t, h) \
    ARGS_OPTION(.name = (n), .argument = (a), .kind = ARGS_TEXT, ARGS_TARGET(const char *, to), \
                .traits = (t), .help = (h))
#define OPTION_CHOICE(n, a, to, words, t, h) \
    ARGS_OPTION(.name = (n), .argument = (a), .kind = ARGS_CHOICE, ARGS_TARGET(int, to), \
                .choices = (words), .traits = (t), .help = (h))

enum { ARGS_LIST_MAX = 48 };

/* Options put together from several arrays. */
struct args_list {
    struct args_option options[ARGS_LIST_MAX];
    size_t count;
};

struct args_program {
    const char *name;
    const char *about; /* for --help, above the options */
    const char *more;  /* below them, or NULL */
    const struct args_option *options;
    size_t option_count;
    const char *arguments; /* behind the options, for --help: "MODEL [FILE]"; NULL: none */
    const char *help;      /* all of --help, instead of what is made of the options; NULL: that */
    char ***words;         /* those behind the options, NULL after the last; NULL: it takes none */
};

/* Appends copies; more than ARGS_LIST_MAX, and two of one name, end the program. */
void args_add(struct args_list *, const struct args_option *options, size_t count);

/* Sets the targets. Ends the process: after --help (status 0, text on stdout) and, with one
 * sentence on stderr that names the value and what would be right, on a wrong option (status 2). */
void args_parse(const struct args_program *, int argc, char **argv);
/* A short --help, for who gives no argument: what the program does, the option that it cannot do
 * without, the first line below the heading that `more` begins with. On stderr; ends the process
 * (status 2). */
_Noreturn void args_usage(const struct args_program *, const char *required);
/* Of the two words, how many letters differ between what they begin and what they end with alike; 0:
 * too many for one to be meant by the other. */
size_t args_misspelt(const char *typed, size_t length, const char *name);
/* Was it given when options were last parsed? */
bool args_has(const char *name);
/* Beside `other` an option has no effect: ends the process, if it was given so. */
void args_excludes(const char *name, const char *other);
/* A number for the options with all bits of `trait`, and their values as they are now; their order
 * does not matter. */
uint64_t args_digest(const struct args_list *, unsigned trait);
/* The files of the options with the trait that were given, into `files`, of ARGS_LIST_MAX. Returns
 * how many. */
size_t args_files(const struct args_list *, enum args_trait, const char **files);
/* Each option that was last parsed and has all bits of `trait`, with its value as it is now; a text
 * that nobody gave is left out. The targets must still be there. */
void args_each(unsigned trait, void (*visit)(void *context, const char *name, const char *value),
               void *context);

#endif
