#include "commands.h"

#include "args.h"
#include "clock.h"
#include "fail.h"
#include "json.h"
#include "known.h"
#include "look.h"
#include "plain.h"
#include "say.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what is said ---- */

struct explained {
    struct known *known; /* [count] by those nodes that have answered, at least one */
    size_t count;
    double now_s;
};

/* Of each kind so many lines at most: a hot key has more of each than anybody reads. */
enum { LINES_MAX = 3, DECISIONS_MAX = 5, EVENTS_MAX = 32, TEXT_MAX = 32 };
#define INDENT "            "

static bool has_main(const struct known *k)
{
    return strcmp(k->place, "main") == 0;
}

static bool has_replica(const struct known *k)
{
    return strcmp(k->place, "replica") == 0;
}

static const struct known *of_node(const struct explained *x, unsigned node)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->known[i].node == node) return &x->known[i];
    return NULL;
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

/* ---- for people ---- */

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

static int by_age(const void *a, const void *b)
{
    const struct known_holder *x = a, *y = b;
    if (x->brought_s != y->brought_s) return x->brought_s < y->brought_s ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static void show_holder(const struct explained *x, const struct known_holder *h)
{
    char text[TEXT_MAX];
    const struct known *k = of_node(x, h->node);
    plain_print("node %u: ", h->node);
    if (k && has_replica(k))
        plain_print("its owner was heard %s ago, ", duration(k->heard_s, text));
    plain_print("row brought %s ago, %s%s\n", duration(h->brought_s, text),
                h->is_current ? "all updates sent" : "updates are waiting to be sent",
                h->is_kept ? ", kept for ever" : "");
}

/* Those of full replication are not counted one by one: who answers says that it has one. */
static unsigned show_uncounted(const struct explained *x)
{
    char text[TEXT_MAX];
    unsigned n = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct known *k = &x->known[i];
        if (!has_replica(k) || n++ >= LINES_MAX) continue;
        plain_print("%snode %u: its owner was heard %s ago\n", n > 1 ? INDENT : "", k->node,
                    duration(k->heard_s, text));
    }
    if (n > LINES_MAX) plain_print(INDENT "and %u more; %u in all\n", n - LINES_MAX, n);
    return n;
}

/* The oldest first. */
static void show_replicas(const struct explained *x, struct known *b)
{
    unsigned all = b->holders + b->more_holders, behind = 0,
             shown = b->holders < LINES_MAX ? b->holders : LINES_MAX;
    qsort(b->holder, b->holders, sizeof *b->holder, by_age);
    for (unsigned i = 0; i < b->holders; i++) behind += !b->holder[i].is_current;
    plain_print("replicas    ");
    for (unsigned i = 0; i < shown; i++) {
        if (i) plain_print(INDENT);
        show_holder(x, &b->holder[i]);
    }
    if (all > shown)
        plain_print(INDENT "and %u more; %u in all, updates are waiting to be sent to %u%s\n",
                    all - shown, all, behind, b->more_holders ? " or more" : "");
    if (all == 0 && show_uncounted(x) == 0) plain_print("none\n");
}

/* Who intends it. */
struct wish {
    unsigned node;
    const struct known_intent *intent;
};

static int by_node(const void *a, const void *b)
{
    const struct wish *x = a, *y = b;
    if (x->node != y->node) return x->node > y->node ? 1 : -1;
    return (x->intent->worker > y->intent->worker) - (x->intent->worker < y->intent->worker);
}

static bool is_forever(const char *clock)
{
    return strcmp(clock, "forever") == 0;
}

static bool is_earlier(const char *a, const char *b)
{
    return strtoll(a, NULL, 10) < strtoll(b, NULL, 10);
}

/* Those of one worker, in a line; returns how many. */
static size_t show_worker(const struct wish *w, size_t n)
{
    const struct known_intent *first = w->intent;
    const char *start = first->start, *end = first->end;
    size_t count = 0, active = 0;
    for (; count < n && by_node(w, w + count) == 0; count++) {
        const struct known_intent *t = w[count].intent;
        active += t->is_active;
        if (is_earlier(t->start, start)) start = t->start;
        if (is_forever(t->end) || (!is_forever(end) && is_earlier(end, t->end))) end = t->end;
    }
    plain_print("node %u, worker %u: ", w->node, first->worker);
    if (count > 1) plain_print("%zu intents, ", count);
    if (is_forever(end))
        plain_print("from clock %s on", start);
    else
        plain_print("clocks %s to %s", start, end);
    if (count > 1)
        plain_print(", %zu active", active);
    else
        plain_print(", %s", active ? "active" : "not yet acted on");
    plain_print("; its clock is %" PRId64 "\n", first->now);
    return count;
}

/* Returns how many lines there were. */
static size_t show_wishes(const struct explained *x)
{
    size_t n = 0, active = 0, shown = 0, lines = 0;
    struct wish *w = malloc((x->count * KNOWN_INTENTS_MAX + 1) * sizeof *w);
    for (size_t i = 0; w && i < x->count; i++) {
        const struct known *k = &x->known[i];
        for (unsigned j = 0; j < k->intents; j++) {
            w[n++] = (struct wish){k->node, &k->intent[j]};
            active += k->intent[j].is_active;
        }
    }
    if (n) qsort(w, n, sizeof *w, by_node);
    for (; shown < n && lines < LINES_MAX; lines++) {
        if (lines) plain_print(INDENT);
        shown += show_worker(w + shown, n - shown);
    }
    if (n > shown)
        plain_print(INDENT "and %zu more; %zu in all, %zu of them active\n", n - shown, n, active);
    free(w);
    return shown;
}

/* What is so of some nodes: "nodes 1, 3, 4 and 5 more". Returns how many there are. */
static unsigned show_nodes(const struct explained *x, bool (*is_so)(const struct known *),
                           bool goes_on, const char *what)
{
    unsigned n = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (!is_so(&x->known[i])) continue;
        if (n == 0) plain_print("%snode ", goes_on ? INDENT : "");
        if (n < LINES_MAX) plain_print(n ? ", %u" : "%u", x->known[i].node);
        n++;
    }
    if (n > LINES_MAX) plain_print(" and %u more", n - LINES_MAX);
    if (n) plain_print(": %s\n", what);
    return n;
}

static bool is_kept(const struct known *k)
{
    return k->is_kept;
}

static bool has_more(const struct known *k)
{
    return k->has_more_intents;
}

static void show_intents(const struct explained *x)
{
    plain_print("intended    ");
    bool goes_on = show_wishes(x) > 0;
    goes_on |= show_nodes(x, is_kept, goes_on, "for ever") > 0;
    goes_on |= show_nodes(x, has_more, goes_on, "there may be more") > 0;
    if (!goes_on) plain_print("by nobody\n");
}

static void show_decisions(struct explained *x)
{
    static struct known_event event[EVENTS_MAX];
    char text[TEXT_MAX];
    size_t n = known_history(x->known, x->count, event, EVENTS_MAX);
    plain_print("decisions   %s\n", n ? ""
                                      : "none is remembered; asked again within a minute, and "
                                        "more are");
    size_t from = n > DECISIONS_MAX ? n - DECISIONS_MAX : 0;
    if (from) plain_print(INDENT "%zu earlier ones\n", from);
    for (size_t i = from; i < n; i++) {
        double ago = x->now_s - event[i].at_s;
        plain_print("%10s ago  %s\n", duration(ago > 0 ? ago : 0, text), event[i].text);
    }
}

static void explained_show(struct explained *x)
{
    struct known *b = best(x);
    plain_print("table %s, row %" PRIu64 " (key %" PRIu64 "), %s\n", b->table, b->row, b->key,
                b->technique);
    show_main(b);
    show_replicas(x, b);
    show_intents(x);
    show_decisions(x);
    if (x->count < b->nodes)
        plain_print("%zu of %u nodes have answered: give HOST:PORT of the others, too\n", x->count,
                    b->nodes);
}

/* ---- JSON ---- */

static void json_key(const struct explained *x, const struct known *b)
{
    struct json j;
    json_begin(&j, "key");
    json_text(&j, "table", b->table);
    json_count(&j, "row", b->row);
    json_count(&j, "key", b->key);
    json_text(&j, "technique", b->technique);
    json_count(&j, "owner", b->owner);
    json_count(&j, "is_there", has_main(b));
    json_count(&j, "home", b->home);
    json_count(&j, "moves", b->term);
    json_count(&j, "parked", b->parked);
    json_count(&j, "nodes", b->nodes);
    json_count(&j, "answers", x->count);
    json_end(&j);
}

static void json_replicas(const struct explained *x, const struct known *b)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct known *k = &x->known[i];
        const struct known_holder *h = NULL;
        struct json j;
        for (unsigned n = 0; n < b->holders; n++)
            if (b->holder[n].node == k->node) h = &b->holder[n];
        if (!h && !has_replica(k)) continue;
        json_begin(&j, "replica");
        json_count(&j, "node", k->node);
        if (k->has_heard) json_number(&j, "heard_seconds_ago", k->heard_s);
        if (h) {
            json_number(&j, "brought_seconds_ago", h->brought_s);
            json_count(&j, "is_current", h->is_current);
            json_count(&j, "is_kept", h->is_kept);
        }
        json_end(&j);
    }
}

static void json_intents(const struct known *k)
{
    for (unsigned i = 0; i < k->intents; i++) {
        const struct known_intent *t = &k->intent[i];
        struct json j;
        json_begin(&j, "intent");
        json_count(&j, "node", k->node);
        json_count(&j, "worker", t->worker);
        json_count(&j, "is_active", t->is_active);
        json_text(&j, "start", t->start);
        json_text(&j, "end", t->end);
        json_number(&j, "clock", (double)t->now);
        json_end(&j);
    }
}

/* An object for the key, for each replica, for each intent, for each decision. */
static void explained_json(struct explained *x)
{
    static struct known_event event[EVENTS_MAX];
    const struct known *b = best(x);
    json_key(x, b);
    json_replicas(x, b);
    for (size_t i = 0; i < x->count; i++) json_intents(&x->known[i]);
    size_t n = known_history(x->known, x->count, event, EVENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        struct json j;
        json_begin(&j, "decision");
        json_text(&j, "what", event[i].what);
        json_number(&j, "seconds_ago", x->now_s - event[i].at_s);
        json_text(&j, "reason", event[i].text);
        json_end(&j);
    }
}

static const char usage[] =
    "usage: locus explain [options] [TABLE:]KEY [HOST:PORT ...]\n"
    "\n"
    "Says why a row of a running job is where it is: its main copy, its replicas and their age, the intents for it, and\n"
    "the last decisions with their reasons. KEY is a key, or the row of TABLE. The nodes must serve metrics\n"
    "(LOCUS_METRICS). HOST:PORT is rank 0's, which stands for all nodes at the ports after it, or another node's. Without\n"
    "one it asks the job of this user on this host.\n"
    "\n"
    "  --wait SECONDS  ask twice, with this pause; decisions of the pause are always remembered (0)\n"
    "  --json          the same as JSON objects\n"
    "  -h, --help      this text\n";

struct explain {
    double wait_s;
    bool json;
    const char *what;
    char **address;
    size_t count;
};

/* ---- the command line ---- */

static int parse(struct explain *e, int argc, char **argv)
{
    const struct args_option options[] = {
        OPTION_REAL("--wait", "SECONDS", &e->wait_s, 0, 60, 0, ""),
        OPTION_FLAG("--json", &e->json, 0, ""),
    };
    char **words;
    args_parse(&(struct args_program){.help = usage,
                                      .options = options,
                                      .option_count = sizeof options / sizeof *options,
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

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

static int explain(const struct explain *e, const struct look *l, const char *path)
{
    struct explained x = {.known = calloc(l->count, sizeof(struct known))};
    if (!x.known) return say_and(STATUS_FAILED, "no memory");
    int rc = ask_all(l, path, &x);
    if (rc == 0 && e->wait_s > 0) {
        pause_for(e->wait_s);
        rc = ask_all(l, path, &x);
    }
    if (rc == 0) {
        x.now_s = clock_s();
        if (e->json)
            explained_json(&x);
        else
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
    if (rc == 0) rc = explain(&e, &l, path);
    look_free(&l);
    return rc;
}
