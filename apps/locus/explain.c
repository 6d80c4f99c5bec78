#include "commands.h"

#include "args.h"
#include "clock.h"
#include "fail.h"
#include "known.h"
#include "look.h"
#include "plain.h"
#include "say.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is said ---- */

struct explained {
    struct known *known; /* [count] by those nodes that have answered, at least one */
    size_t count;
    double now_s;
};

/* Of each kind so many lines at most: a hot key has more of each than anybody reads. */
enum { LINES_MAX = 3, DECISIONS_MAX = 8, TEXT_MAX = 32 };
#define INDENT "            "

static bool has_main(const struct known *k)
{
    return strcmp(k->place, "main") == 0;
}

static bool has_replica(const struct known *k)
{
    return strcmp(k->place, "replica") == 0;
}

/* Who has the main copy; else who knows the latest owner. They were asked one after the other, and
 * the row may have moved meanwhile. */
static struct known *best(const struct explained *x)
{
    struct known *b = &x->known[0];
    for (size_t i = 0; i < x->count; i++) {
        struct known *k = &x->known[i];
        if (k->term > b->term || (k->term == b->term && has_main(k))) b = k;
    }
    return b;
}

static const char *duration(double s, char text[TEXT_MAX])
{
    if (s < 1e-3)
        snprintf(text, TEXT_MAX, "%.0f us", 1e6 * s);
    else if (s < 1)
        snprintf(text, TEXT_MAX, "%.1f ms", 1e3 * s);
    else
        snprintf(text, TEXT_MAX, "%.1f s", s);
    return text;
}

static void show_main(const struct known *b)
{
    plain_print("main copy   ");
    if (has_main(b))
        plain_print("node %u", b->owner);
    else if (b->owner == b->node)
        plain_print("on its way to node %u", b->owner);
    else
        plain_print("node %u, as node %u knows: it is just moving, or node %u was not asked",
                    b->owner, b->node, b->owner);
    if (b->term)
        plain_print("; moved %" PRIu64 " time%s", b->term, plain_s(b->term));
    else
        plain_print("; it has never moved");
    plain_print(b->owner == b->home ? ", its home\n" : "; home is node %u\n", b->home);
    if (b->parked)
        plain_print(INDENT "requests that wait there for the row: %" PRIu64 "\n", b->parked);
}

/* What is known by those who have one; those of full replication are counted by nobody else. */
static unsigned show_replicas_there(const struct explained *x)
{
    char text[TEXT_MAX];
    unsigned n = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct known *k = &x->known[i];
        if (!has_replica(k) || n++ >= LINES_MAX) continue;
        plain_print("%snode %u: its owner was heard %s ago\n", n > 1 ? INDENT : "", k->node,
                    duration(k->heard_s, text));
    }
    if (n > LINES_MAX) plain_print(INDENT "and %u more\n", n - LINES_MAX);
    return n;
}

static int by_age(const void *a, const void *b)
{
    const struct known_holder *x = a, *y = b;
    if (x->brought_s != y->brought_s) return x->brought_s < y->brought_s ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* What the owner knows of them, of the oldest first. */
static void show_holders(struct known *b)
{
    char text[TEXT_MAX];
    unsigned behind = 0, all = b->holders + b->more_holders;
    qsort(b->holder, b->holders, sizeof *b->holder, by_age);
    for (unsigned i = 0; i < b->holders; i++) {
        const struct known_holder *h = &b->holder[i];
        behind += !h->is_current;
        if (i >= LINES_MAX) continue;
        plain_print(INDENT "node %u: row brought %s ago, %s%s\n", h->node,
                    duration(h->brought_s, text),
                    h->is_current ? "all updates sent" : "updates are waiting to be sent",
                    h->is_kept ? ", kept for ever" : "");
    }
    if (all > LINES_MAX)
        plain_print(INDENT "and %u more; %u in all, updates are waiting to be sent to %u%s\n",
                    all - LINES_MAX, all, behind, b->more_holders ? " or more" : "");
}

/* Those of a node in a line. */
static void show_intent(const struct known *k)
{
    plain_print("node %u: ", k->node);
    if (k->is_kept) plain_print("for ever%s", k->intents ? "; " : "");
    if (k->intents) plain_print("%u active intent%s", k->intents, plain_s(k->intents));
    if (k->intents && *k->end)
        plain_print(", %sclocks %s to %s", k->intents > 1 ? "the latest of " : "", k->start,
                    k->end);
    plain_print("\n");
}

static void show_intents(const struct explained *x)
{
    unsigned n = 0;
    plain_print("intended    ");
    for (size_t i = 0; i < x->count; i++) {
        const struct known *k = &x->known[i];
        if (!k->is_kept && !k->intents) continue;
        if (n > 0 && n < LINES_MAX) plain_print(INDENT);
        if (n++ < LINES_MAX) show_intent(k);
    }
    if (n > LINES_MAX) plain_print(INDENT "and by %u more\n", n - LINES_MAX);
    if (n == 0) plain_print("by nobody\n");
}

static void show_decisions(const struct explained *x)
{
    char text[TEXT_MAX];
    struct known_event *event = malloc((x->count * KNOWN_DECISIONS_MAX + 1) * sizeof *event);
    size_t n = event ? known_history(x->known, x->count, event) : 0;
    plain_print("decisions%s\n", n ? "" : "   none is remembered");
    size_t from = n > DECISIONS_MAX ? n - DECISIONS_MAX : 0;
    if (from) plain_print(INDENT "%zu earlier ones\n", from);
    for (size_t i = from; i < n; i++) {
        double ago = x->now_s - event[i].at_s;
        plain_print("%10s ago  %s\n", duration(ago > 0 ? ago : 0, text), event[i].text);
    }
    free(event);
}

static void explained_show(const struct explained *x)
{
    struct known *b = best(x);
    plain_print("table %s, row %" PRIu64 " (key %" PRIu64 "), %s\n", b->table, b->row, b->key,
                b->technique);
    show_main(b);
    plain_print("replicas    ");
    if (show_replicas_there(x) == 0) plain_print(b->holders ? "\n" : "none\n");
    show_holders(b);
    show_intents(x);
    show_decisions(x);
    if (x->count < b->nodes)
        plain_print("%zu of %u nodes have answered: give HOST:PORT of the others, too\n", x->count,
                    b->nodes);
}

/* ---- the command line ---- */

struct explain {
    const char *what;
    char **address;
    size_t count;
};

static int parse(struct explain *e, int argc, char **argv)
{
    static const char about[] =
        "Says why a row of a running job is where it is: its main copy, its replicas and their age, the intents for it, and\n"
        "the last decisions with their reasons. KEY is a key, or the row of TABLE. The nodes must serve metrics\n"
        "(LOCUS_METRICS). HOST:PORT is rank 0's, which stands for all nodes at the ports after it, or another node's. Without\n"
        "one it asks the job of this user on this host.\n";
    char **words;
    args_parse(&(struct args_program){.name = "locus explain",
                                      .about = about,
                                      .arguments = "[TABLE:]KEY [HOST:PORT ...]",
                                      .words = &words},
               argc, argv);
    if (words == argv + argc)
        return say_and(STATUS_USAGE, "which key? locus explain 7, or entities:7");
    e->what = words[0];
    e->address = words + 1;
    e->count = (size_t)(argv + argc - e->address);
    return 0;
}

/* "7", "entities:7"; names of tables may have colons, numbers have none. Returns false for what can
 * be neither. */
static bool make_path(const char *what, char path[SCRAPE_PATH_MAX])
{
    const char *colon = strrchr(what, ':'), *number = colon ? colon + 1 : what;
    size_t digits = strspn(number, "0123456789");
    if (digits < 1 || digits > 19 || number[digits]) return false;
    size_t at = (size_t)snprintf(path, SCRAPE_PATH_MAX, "/key?key=%s", number);
    if (!colon) return true;
    at += (size_t)snprintf(path + at, SCRAPE_PATH_MAX - at, "&table=");
    for (const char *c = what; c < colon; c++) {
        if (at + 4 > SCRAPE_PATH_MAX) return false;
        at += (size_t)snprintf(path + at, SCRAPE_PATH_MAX - at,
                               isalnum((unsigned char)*c) ? "%c" : "%%%02X", (unsigned char)*c);
    }
    return true;
}

/* ---- asking ---- */

static int refused(const struct scrape_answer *a)
{
    /* A job of another version has no such path. */
    if (strncmp(a->why, "no such path", 12) == 0)
        return say_and(STATUS_FAILED,
                       "the job's library is older than this command: it cannot tell");
    return say_and(a->status == 400 ? STATUS_USAGE : STATUS_FAILED, "%s", a->why);
}

/* Nodes that do not answer are left out, if any does; one that refuses ends it. */
static int ask_all(const struct look *l, const char *path, struct explained *out)
{
    struct scrape_answer a = {0};
    int rc = 0;
    out->count = 0;
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct look_row *r = &l->row[i];
        bool answers = scrape_path(r->address, r->port_more, path, &a);
        if (!answers && a.status)
            rc = refused(&a);
        else if (answers && known_read(&out->known[out->count], a.text, clock_s()))
            out->count++;
        else if (answers)
            rc = say_and(STATUS_FAILED, "what %s + %u says of the key is not to be understood",
                         r->address, r->port_more);
        free(a.text);
    }
    if (rc == 0 && out->count == 0) rc = say_and(STATUS_FAILED, "%s: has the job ended?", a.why);
    return rc;
}

static int check_jobs(const struct explain *e, const struct look *l)
{
    if (l->count == 0)
        return say_and(STATUS_FAILED, "no job of yours on this host serves metrics: start it with "
                                      "LOCUS_METRICS=127.0.0.1:9400, or give HOST:PORT");
    for (size_t i = 1; i < l->count && e->count == 0; i++)
        if (strcmp(l->row[i].address, l->row[0].address) != 0)
            return say_and(STATUS_USAGE, "several jobs of yours run here: give HOST:PORT, %s or %s",
                           l->row[0].address, l->row[i].address);
    return 0;
}

static int explain(const struct look *l, const char *path)
{
    struct explained x = {.known = calloc(l->count, sizeof(struct known))};
    if (!x.known) return say_and(STATUS_FAILED, "no memory");
    int rc = ask_all(l, path, &x);
    if (rc == 0) {
        x.now_s = clock_s();
        explained_show(&x);
        if (fflush(stdout) || ferror(stdout))
            rc = say_and(STATUS_FAILED, "stdout cannot be written");
        else if (x.count < x.known[0].nodes)
            rc = STATUS_FAILED;
    }
    free(x.known);
    return rc;
}

int explain_main(int argc, char **argv)
{
    struct explain e = {.what = ""};
    struct look l = {0};
    char path[SCRAPE_PATH_MAX];
    say_as("locus explain");
    fail_set_program("locus explain");
    int rc = parse(&e, argc, argv);
    if (rc) return rc;
    if (!make_path(e.what, path))
        return say_and(STATUS_USAGE, "\"%s\" is no key: write a number, or TABLE:ROW", e.what);
    if (!look_find(&l, e.address, e.count)) rc = say_and(STATUS_FAILED, "no memory");
    if (rc == 0) rc = check_jobs(&e, &l);
    if (rc == 0) rc = explain(&l, path);
    look_free(&l);
    return rc;
}
