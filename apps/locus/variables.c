#include "variables.h"

#include "protocol/plan.h"

#include "say.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BEGIN "LOCUS_"
enum { BEGIN_BYTES = sizeof BEGIN - 1, WARNINGS_MAX = 32 };

/* Those beside the fields' (protocol/plan.h). docs/reference/variables.md has a line for each. */
static const char *const others[] = {
    "LOCUS_CHECKPOINTS", "LOCUS_LIBRARY",    "LOCUS_LOST",    "LOCUS_METRICS",     "LOCUS_RANK",
    "LOCUS_REPORT",      "LOCUS_RESTART",    "LOCUS_SECRET",  "LOCUS_SECRET_FILE", "LOCUS_SIZE",
    "LOCUS_TRACE",       "LOCUS_TRACE_KEYS", "LOCUS_WORKERS",
};
enum { OTHERS = sizeof others / sizeof *others };

/* NULL after the last one. */
static const char *known(size_t i)
{
    return i < OTHERS ? others[i] : config_variable(i - OTHERS);
}

static bool is_known(const char *name)
{
    size_t i = 0;
    while (known(i) && strcmp(known(i), name) != 0) i++;
    return known(i) != NULL;
}

/* How many letters must be put in, taken out or replaced. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[VARIABLES_NAME_MAX];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++) row[j] = (unsigned)j;
    for (size_t i = 1; *a; i++, a++) {
        unsigned before = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned put = before + (*a != b[j - 1]);
            before = row[j];
            if (row[j - 1] + 1 < put) put = row[j - 1] + 1;
            if (row[j] + 1 < put) put = row[j] + 1;
            row[j] = put;
        }
    }
    return row[n];
}

/* A letter of three, two at most. LOCUS_LOST and LOCUS_RESTART are set by nobody who could misspell
 * them. */
static unsigned errors_max(const char *rest, const char *typed)
{
    size_t length = strlen(typed) < strlen(rest) ? strlen(typed) : strlen(rest);
    if (strcmp(rest, "LOST") == 0 || strcmp(rest, "RESTART") == 0) return 0;
    return length >= 6 ? 2 : length >= 3;
}

static const char *nearest(const char *name)
{
    const char *best = NULL, *typed = name + BEGIN_BYTES;
    unsigned least = 3;
    for (size_t i = 0; known(i); i++) {
        const char *rest = known(i) + BEGIN_BYTES;
        unsigned d = distance(typed, rest);
        if (d >= least || d > errors_max(rest, typed)) continue;
        least = d;
        best = known(i);
    }
    return best;
}

size_t variables_unread(struct variable *v, size_t max)
{
    size_t count = 0;
    for (char **e = environ; e && *e; e++) {
        char name[VARIABLES_NAME_MAX];
        size_t length = strcspn(*e, "=");
        if (strncmp(*e, BEGIN, BEGIN_BYTES) != 0 || length >= sizeof name) continue;
        memcpy(name, *e, length);
        name[length] = '\0';
        if (is_known(name)) continue;
        if (count < max) {
            memcpy(v[count].name, name, length + 1);
            v[count].meant = nearest(name);
        }
        count++;
    }
    return count;
}

void variables_warn(void)
{
    struct variable v[WARNINGS_MAX];
    size_t count = variables_unread(v, WARNINGS_MAX);
    for (size_t i = 0; i < count && i < WARNINGS_MAX; i++)
        if (v[i].meant)
            say("nobody reads the variable %s: is it meant to be %s?", v[i].name, v[i].meant);
}
