#include "orders.h"

#include "say.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

static const double SILENCE_S = 120; /* of keepers on other hosts */

static void put_number(struct control_text *t, enum control_kind kind, const char *format,
                       double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    control_put(t, kind, text);
}

static void put_variable(struct control_text *t, const char *name, const char *value)
{
    char text[HOST_NAME_BYTES + 64];
    snprintf(text, sizeof text, "%s=%s", name, value);
    control_put(t, CONTROL_VARIABLE, text);
}

static void put_count(struct control_text *t, const char *name, unsigned value)
{
    char number[16];
    snprintf(number, sizeof number, "%u", value);
    put_variable(t, name, number);
}

static void put_place(const struct orders *o, const struct node *n, struct control_text *t)
{
    put_count(t, "LOCUS_RANK", n->rank);
    put_count(t, "LOCUS_SIZE", o->nodes);
    put_variable(t, "LOCUS_RENDEZVOUS", o->rendezvous);
    if (o->options->workers) put_count(t, "LOCUS_WORKERS", o->options->workers);
    if (*o->secret) put_variable(t, "LOCUS_SECRET", o->secret);
}

/* For programs: that there is a checkpoint to go on from, and how old it had become. */
static void put_restart(const struct orders *o, struct control_text *t)
{
    char lost[32];
    if (o->restart == 0) return;
    put_count(t, "LOCUS_RESTART", o->restart);
    snprintf(lost, sizeof lost, "%.3f", o->lost_s);
    put_variable(t, "LOCUS_LOST", lost);
}

static bool is_name_of(const char *name, size_t length, const char *variable)
{
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* Those of locus, but for an address to listen at: that belongs to this machine. */
static bool goes_to_hosts(const struct options *o, const char *variable)
{
    for (size_t i = 0; i < o->exports.count; i++)
        if (is_name_of(o->exports.list[i], strlen(o->exports.list[i]), variable)) return true;
    return strncmp(variable, "LOCUS_", 6) == 0 && !is_name_of("LOCUS_LISTEN", 12, variable);
}

/* Over the stream, not on ssh's command line: there every user of both hosts could read a
 * secret. */
static void put_host(const struct orders *o, const struct node *n, struct control_text *t)
{
    for (char **v = environ; *v; v++)
        if (goes_to_hosts(o->options, *v)) control_put(t, CONTROL_VARIABLE, *v);
    if (n->host->has_address) put_variable(t, "LOCUS_LISTEN", n->host->address);
    control_put(t, CONTROL_DIRECTORY, o->options->directory ? o->options->directory : o->directory);
    put_number(t, CONTROL_SILENCE, "%g", SILENCE_S);
}

int orders_write(const struct orders *o, const struct node *n, struct control_text *t)
{
    control_put(t, CONTROL_HELLO, CONTROL_VERSION);
    put_number(t, CONTROL_RANK, "%g", n->rank); /* first: it is in all sentences */
    if (n->host) put_host(o, n, t);
    put_place(o, n, t);
    put_restart(o, t);
    put_number(t, CONTROL_GRACE, "%g", o->options->grace_s);
    for (char **a = o->options->argv; *a; a++) control_put(t, CONTROL_ARGUMENT, *a);
    if (n->rank == 0 && o->carries_input) control_put(t, CONTROL_PIPE, "");
    control_put(t, CONTROL_START, "");
    return t->failed ? say_and(STATUS_FAILED,
                               "arguments and variables are too long: at most 1 MiB together")
                     : 0;
}
