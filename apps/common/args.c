#include "args.h"

#include "digest.h"
#include "fail.h"
#include "lines.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELP_COLUMN = 26, WORDS_MAX = 256 };

/* The second one would be out of reach. */
static void refuse_double(const struct args_option *options, size_t count,
                          const struct args_option *o)
{
    for (size_t i = 0; i < count; i++)
        if (options[i].kind != ARGS_SECTION && o->kind != ARGS_SECTION &&
            strcmp(options[i].name, o->name) == 0)
            fail("the program has the option %s twice", o->name);
}

void args_add(struct args_list *l, const struct args_option *options, size_t count)
{
    if (count > ARGS_LIST_MAX - l->count) fail("there are more than %d options", ARGS_LIST_MAX);
    for (size_t i = 0; i < count; i++) {
        refuse_double(l->options, l->count, &options[i]);
        refuse_double(options, i, &options[i]);
    }
    if (count > 0) memcpy(l->options + l->count, options, count * sizeof *options);
    l->count += count;
}

/* ---- help ---- */

static void print_default(const struct args_option *o)
{
    switch (o->kind) {
    case ARGS_COUNT: printf(" (default %" PRIu64 ")", *(const uint64_t *)o->target); break;
    case ARGS_SMALL:
        if (*(const unsigned *)o->target) printf(" (default %u)", *(const unsigned *)o->target);
        break;
    case ARGS_REAL: printf(" (default %g)", *(const double *)o->target); break;
    case ARGS_CHOICE: printf(" (default %s)", o->choices[*(const int *)o->target]); break;
    case ARGS_TEXT:
        if (*(const char *const *)o->target)
            printf(" (default %s)", *(const char *const *)o->target);
        break;
    case ARGS_FLAG:
    case ARGS_SECTION: break;
    }
}

static void print_option(const struct args_option *o)
{
    if (o->kind == ARGS_SECTION) {
        printf("\n%s\n", o->help);
        return;
    }
    int column =
        printf("  %s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    for (const char *c = o->help; *c; c++) {
        putchar(*c);
        if (*c == '\n') printf("%*s", HELP_COLUMN, "");
    }
    print_default(o);
    putchar('\n');
}

static _Noreturn void print_help(const struct args_program *p)
{
    if (p->help) {
        fputs(p->help, stdout);
    } else {
        printf("usage: %s [options]%s%s\n\n%s\n", p->name, p->arguments ? " " : "",
               p->arguments ? p->arguments : "", p->about);
        for (size_t i = 0; i < p->option_count; i++) print_option(&p->options[i]);
        printf("  %-*s%s\n", HELP_COLUMN - 2, "--help", "this text");
        if (p->more) printf("\n%s\n", p->more);
    }
    exit(fflush(stdout) ? FAIL_STATUS : 0);
}

/* ---- values ---- */

static uint64_t count_of(const struct args_option *o, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || (double)value < o->min || (double)value > o->max)
        fail_usage("%s takes a whole number from %.0f to %.0f, not \"%s\"", o->name, o->min, o->max,
                   text);
    return value;
}

static void set_real(const struct args_option *o, const char *text)
{
    double value;
    if (!lines_number(text, strlen(text), &value) || value < o->min || value > o->max)
        fail_usage("%s takes a number from %g to %g, not \"%s\"", o->name, o->min, o->max, text);
    *(double *)o->target = value;
}

static void set_choice(const struct args_option *o, const char *text)
{
    char words[WORDS_MAX] = "";
    for (int i = 0; o->choices[i]; i++) {
        if (!*o->choices[i]) continue;
        if (strcmp(o->choices[i], text) == 0) {
            *(int *)o->target = i;
            return;
        }
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "", o->choices[i]);
    }
    fail_usage("%s takes one of %s, not \"%s\"", o->name, words, text);
}

static void set_value(const struct args_option *o, const char *text)
{
    if (*text == '\0') fail_usage("%s needs a value that is not empty", o->name);
    if (o->kind == ARGS_COUNT) *(uint64_t *)o->target = count_of(o, text);
    if (o->kind == ARGS_SMALL) *(unsigned *)o->target = (unsigned)count_of(o, text);
    if (o->kind == ARGS_REAL) set_real(o, text);
    if (o->kind == ARGS_CHOICE) set_choice(o, text);
    if (o->kind == ARGS_TEXT) *(const char **)o->target = text;
}

/* ---- parsing ---- */

size_t args_misspelt(const char *typed, size_t length, const char *name)
{
    size_t bytes = strlen(name), less = length < bytes ? length : bytes,
           more = length < bytes ? bytes : length, head = 0, tail = 0;
    while (head < less && typed[head] == name[head]) head++;
    while (tail < less - head && typed[length - 1 - tail] == name[bytes - 1 - tail]) tail++;
    size_t differ = more - head - tail, dashes = *name == '-' ? 2 : 0;
    bool are_swapped = length == bytes && differ == 2 && typed[head] == name[head + 1] &&
                       typed[head + 1] == name[head];
    return differ <= 2 && head + tail > dashes + (are_swapped ? 2 : 2 * differ) ? differ : 0;
}

static _Noreturn void refuse_option(const struct args_program *p, const char *name, size_t length)
{
    const char *meant = NULL;
    size_t least = 3;
    for (size_t i = 0; i < p->option_count; i++) {
        const struct args_option *o = &p->options[i];
        size_t differ = o->kind == ARGS_SECTION ? 0 : args_misspelt(name, length, o->name);
        if (differ == 0 || differ >= least) continue;
        least = differ;
        meant = o->name;
    }
    if (meant)
        fail_usage("there is no option \"%.*s\": is it meant to be %s? --help lists all",
                   (int)length, name, meant);
    fail_usage("there is no option \"%.*s\"; --help lists them", (int)length, name);
}

static const struct args_option *option_of(const struct args_program *p, const char *name,
                                           size_t length)
{
    for (size_t i = 0; i < p->option_count; i++) {
        const struct args_option *o = &p->options[i];
        if (o->kind != ARGS_SECTION && strlen(o->name) == length &&
            memcmp(o->name, name, length) == 0)
            return o;
    }
    refuse_option(p, name, length);
}

/* What is printed goes to stderr from here on: stdout is for results. */
void args_usage(const struct args_program *p, const char *required)
{
    const struct args_option *o = option_of(p, required, strlen(required));
    const char *example = strchr(p->more, '\n') + 1;
    dup2(STDERR_FILENO, STDOUT_FILENO);
    printf("usage: %s %s %s [options]\n\n%s\n\n", p->name, o->name, o->argument, p->about);
    print_option(o);
    printf("\nfor example:\n%.*s\n", (int)strcspn(example, "\n"), example);
    printf("\n%s --help lists all options.\n", p->name);
    exit(FAIL_STATUS_USAGE);
}

static struct args_list parsed;
static bool is_given[ARGS_LIST_MAX];

bool args_has(const char *name)
{
    for (size_t i = 0; i < parsed.count; i++)
        if (is_given[i] && strcmp(parsed.options[i].name, name) == 0) return true;
    return false;
}

void args_excludes(const char *name, const char *other)
{
    if (args_has(name) && args_has(other))
        fail_usage("%s has no effect beside %s: leave one of them away", name, other);
}

/* Which of two values counts nobody could know. -n and --nodes have one target. */
static void refuse_twice(const struct args_program *p, const struct args_option *o)
{
    bool is_file = strcmp(o->name, "--data") == 0 && strcmp(o->argument, "FOLDER") != 0;
    const char *more = is_file ? " (cat A B > ALL makes one)" : "";
    for (size_t i = 0; i < p->option_count && o->kind != ARGS_FLAG; i++)
        if (is_given[i] && p->options[i].target == o->target)
            fail_usage("%s is given twice, and has one value%s: leave one out", o->name, more);
}

/* Returns how many arguments were used. */
static int parse_one(const struct args_program *p, char **rest)
{
    if (strcmp(rest[0], "--help") == 0 || strcmp(rest[0], "-h") == 0) print_help(p);
    if (strncmp(rest[0], "--", 2) != 0 && !p->words)
        fail_usage("\"%s\" is not an option; --help lists them, and each begins with --", rest[0]);
    bool is_short = rest[0][1] > ' ' && isdigit((unsigned char)rest[0][2]); /* -n2 */
    size_t length = is_short ? 2 : strcspn(rest[0], "=");
    const struct args_option *o = option_of(p, rest[0], length);
    bool has_value = rest[0][length] != '\0';
    refuse_twice(p, o);
    is_given[o - p->options] = true;
    if (o->kind == ARGS_FLAG) {
        if (has_value) fail_usage("%s takes no value", o->name);
        *(bool *)o->target = true;
        return 1;
    }
    if (!has_value && !rest[1]) fail_usage("%s needs a value: %s", o->name, o->argument);
    set_value(o, has_value ? rest[0] + length + !is_short : rest[1]);
    return has_value ? 1 : 2;
}

/* ---- all of them ---- */

void args_parse(const struct args_program *p, int argc, char **argv)
{
    parsed.count = 0;
    memset(is_given, 0, sizeof is_given);
    args_add(&parsed, p->options, p->option_count);
    int i = 1;
    while (i < argc && !(p->words && (argv[i][0] != '-' || strcmp(argv[i], "--") == 0)))
        i += parse_one(p, argv + i);
    if (p->words) *p->words = argv + i + (i < argc && strcmp(argv[i], "--") == 0);
}

static const char *value_text(const struct args_option *o, char *text, size_t capacity)
{
    *text = '\0';
    if (o->kind == ARGS_FLAG) return *(const bool *)o->target ? "yes" : "no";
    if (o->kind == ARGS_TEXT) return *(const char *const *)o->target;
    if (o->kind == ARGS_CHOICE) return o->choices[*(const int *)o->target];
    if (o->kind == ARGS_COUNT) snprintf(text, capacity, "%" PRIu64, *(const uint64_t *)o->target);
    if (o->kind == ARGS_SMALL) snprintf(text, capacity, "%u", *(const unsigned *)o->target);
    if (o->kind == ARGS_REAL) snprintf(text, capacity, "%g", *(const double *)o->target);
    return text;
}

void args_each(unsigned trait, void (*visit)(void *context, const char *name, const char *value),
               void *context)
{
    for (size_t i = 0; i < parsed.count; i++) {
        const struct args_option *o = &parsed.options[i];
        char text[32];
        const char *value = o->kind == ARGS_SECTION ? NULL : value_text(o, text, sizeof text);
        if (value && (o->traits & trait) == trait) visit(context, o->name, value);
    }
}

uint64_t args_digest(const struct args_list *l, unsigned trait)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct args_option *o = &l->options[i];
        char text[32];
        if (o->kind == ARGS_SECTION || (o->traits & trait) != trait) continue;
        const char *value = o->kind == ARGS_REAL ? NULL : value_text(o, text, sizeof text);
        uint64_t digest = digest_add(DIGEST_FIRST, o->name, strlen(o->name));
        if (value) digest = digest_add(digest, value, strlen(value));
        if (o->kind == ARGS_REAL) digest = digest_add(digest, o->target, sizeof(double));
        sum += digest;
    }
    return sum;
}

size_t args_files(const struct args_list *l, enum args_trait trait, const char **files)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct args_option *o = &l->options[i];
        if (o->traits & trait && *(const char *const *)o->target)
            files[count++] = *(const char *const *)o->target;
    }
    return count;
}
