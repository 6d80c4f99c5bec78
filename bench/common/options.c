#include "options.h"

#include "spread.h"
#include "team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COMMON = 7 };

static size_t common_count(const struct program *p)
{
    return p->has_no_demo ? COMMON - 1 : COMMON;
}

static _Noreturn void refuse(const struct program *p, const char *what, const char *option)
{
    fprintf(stderr, "%s: %s: %s; --help lists the options\n", p->name, what, option);
    exit(2);
}

static void print_option(const struct option_spec *s)
{
    char left[40];
    snprintf(left, sizeof left, "%s%s%s", s->name, s->argument ? " " : "",
             s->argument ? s->argument : "");
    printf("  %-18s %s\n", left, s->help);
}

static _Noreturn void help(const struct program *p, const struct option_spec *common)
{
    printf("usage: %s [options]\n\n%s\n\n", p->name, p->about);
    for (size_t i = 0; i < common_count(p); i++) print_option(&common[i]);
    for (size_t i = 0; i < p->more_count; i++) print_option(&p->more[i]);
    print_option(&(struct option_spec){.name = "--help", .help = "this text"});
    exit(0);
}

static const struct option_spec *find_in(const struct option_spec *specs, size_t count,
                                         const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(specs[i].name) == length && memcmp(specs[i].name, name, length) == 0)
            return &specs[i];
    }
    return NULL;
}

static void set_count(const struct program *p, const struct option_spec *s, const char *text)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < 1 ||
        value > s->max) {
        char what[80];
        snprintf(what, sizeof what, "%s takes a number from 1 to %u, not", s->name, s->max);
        refuse(p, what, text);
    }
    *(unsigned *)s->target = (unsigned)value;
}

/* `inline_value` is what stands behind "=", or NULL. Returns how many arguments were used. */
static int apply(const struct program *p, const struct option_spec *s, const char *inline_value,
                 char **rest)
{
    if (s->kind == OPTION_FLAG) {
        if (inline_value != NULL) refuse(p, "this option takes no value", s->name);
        *(bool *)s->target = true;
        return 1;
    }
    const char *value = inline_value ? inline_value : rest[1];
    if (value == NULL || *value == '\0') refuse(p, "this option needs a value", s->name);
    if (s->kind == OPTION_COUNT) set_count(p, s, value);
    if (s->kind == OPTION_TEXT) *(const char **)s->target = value;
    return inline_value ? 1 : 2;
}

void options_parse(struct options *o, const struct program *p, int argc, char **argv)
{
    *o = (struct options){.threads = team_processors()};
    const struct option_spec common[COMMON] = {
        {"--quick", NULL, "small sizes, a few seconds: shows that it runs, not how fast",
         OPTION_FLAG, &o->quick, 0},
        {"--threads", "N", "the largest number of threads (default: one a processor)", OPTION_COUNT,
         &o->threads, TEAM_MAX},
        {"--repetitions", "N", "how often each cell is measured", OPTION_COUNT, &o->repetitions,
         SPREAD_MAX},
        {"--only", "WORDS",
         "only cells with all these words in their name, such as: pull,length=128", OPTION_TEXT,
         &o->only, 0},
        {"--json", "FILE", "one JSON line for each cell; - is stdout, and tables then go to stderr",
         OPTION_TEXT, &o->json, 0},
        {"--svg", "FILE", "draw the result (needs gnuplot)", OPTION_TEXT, &o->svg, 0},
        {"--demo", NULL, "10 to 20 seconds and one short table", OPTION_FLAG, &o->demo,
         0}, /* the last: common_count() */
    };
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) help(p, common);
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const struct option_spec *s = find_in(common, common_count(p), argv[i], length);
        if (s == NULL) s = find_in(p->more, p->more_count, argv[i], length);
        if (s == NULL) refuse(p, "unknown option", argv[i]);
        i += apply(p, s, equals ? equals + 1 : NULL, argv + i);
    }
    if (o->quick && o->demo) refuse(p, "choose one of", "--quick, --demo");
}

static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; *at != '\0';) {
        size_t word_length = strcspn(at, " ");
        if (word_length == length && memcmp(at, word, length) == 0) return true;
        at += word_length + (at[word_length] == ' ');
    }
    return false;
}

bool options_select(const struct options *o, const char *cell)
{
    if (o->only == NULL) return true;
    for (const char *word = o->only; *word != '\0';) {
        size_t length = strcspn(word, ",");
        if (length > 0 && !has_word(cell, word, length)) return false;
        word += length + (word[length] == ',');
    }
    return true;
}

_Noreturn void options_refuse_selection(const struct options *o)
{
    fprintf(stderr, "%s: --only %s chooses no cell; --help tells the words\n",
            program_invocation_short_name, o->only);
    exit(2);
}

FILE *options_report(const struct options *o)
{
    return o->json != NULL && strcmp(o->json, "-") == 0 ? stderr : stdout;
}
