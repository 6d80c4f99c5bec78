#include "known.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

/* ---- reading ---- */

static void read_intent(struct known *k, const char *line)
{
    struct known_intent i;
    char state[KNOWN_WORD_MAX];
    long long now;
    if (k->intents == KNOWN_INTENTS_MAX ||
        sscanf(line, "intent %31s worker %u now %lld clocks %31s %31s", state, &i.worker, &now,
               i.start, i.end) != 5)
        return;
    i.now = now;
    i.is_active = strcmp(state, "active") == 0;
    k->intent[k->intents++] = i;
}

static void read_holder(struct known *k, const char *line)
{
    char state[KNOWN_WORD_MAX], kept[KNOWN_WORD_MAX];
    unsigned node;
    double us;
    int n = sscanf(line, "holder %u %lf %31s %31s", &node, &us, state, kept);
    if (k->holders == KNOWN_HOLDERS_MAX || n < 3) return;
    k->holder[k->holders++] = (struct known_holder){.node = node,
                                                    .brought_s = 1e-6 * us,
                                                    .is_current = strcmp(state, "current") == 0,
                                                    .is_kept = n == 4};
}

static void read_decision(struct known *k, const char *line, double now_s)
{
    struct known_decision d = {0};
    unsigned long long term = 0;
    double us;
    int used = 0;
    if (k->decisions == KNOWN_DECISIONS_MAX || sscanf(line, "decision %31s %lf node %u why %31s%n",
                                                      d.what, &us, &d.node, d.why, &used) != 4)
        return;
    if (sscanf(line + used, " clocks %31s %31s", d.start, d.end) != 2)
        sscanf(line + used, " term %llu", &term);
    d.term = term;
    d.at_s = now_s - 1e-6 * us;
    k->decision[k->decisions++] = d;
}

static void read_numbers(struct known *k, const char *line)
{
    unsigned long long a, b;
    char word[KNOWN_WORD_MAX];
    double us;
    if (sscanf(line, "key %llu %llu %127[^\n]", &a, &b, k->table) == 3) {
        k->key = a;
        k->row = b;
    } else if (sscanf(line, "owner %u %llu", &k->owner, &a) == 2) {
        k->term = a;
    } else if (sscanf(line, "heard %lf", &us) == 1) {
        k->has_heard = true;
        k->heard_s = 1e-6 * us;
    } else if (sscanf(line, "parked %llu", &a) == 1) {
        k->parked = a;
    } else if (sscanf(line, "intends %u %31s", &k->wanted, word) == 2) {
        k->is_kept = true;
    }
    sscanf(line, "node %u %u %31s", &k->node, &k->nodes, k->technique);
    sscanf(line, "home %u", &k->home);
    sscanf(line, "place %31s", k->place);
    sscanf(line, "more-holders %u", &k->more_holders);
}

static void read_line(struct known *k, const char *line, double now_s)
{
    if (strncmp(line, "intent ", 7) == 0)
        read_intent(k, line);
    else if (strncmp(line, "holder ", 7) == 0)
        read_holder(k, line);
    else if (strncmp(line, "decision ", 9) == 0)
        read_decision(k, line, now_s);
    else if (strcmp(line, "asking") == 0)
        k->is_asking = true;
    else if (strcmp(line, "more-intents") == 0)
        k->has_more_intents = true;
    else
        read_numbers(k, line);
}

bool known_read(struct known *k, const char *text, double now_s)
{
    *k = (struct known){0};
    if (strncmp(text, "locus-key 1\n", 12) != 0) return false;
    for (const char *line = text; *line;) {
        char alone[LINE_BYTES];
        const char *end = strchr(line, '\n');
        if (!end || end - line >= LINE_BYTES) return false;
        snprintf(alone, sizeof alone, "%.*s", (int)(end - line), line);
        if (strcmp(alone, "end") == 0)
            return k->nodes > 0 && k->node < k->nodes && *k->place && *k->table;
        read_line(k, alone, now_s);
        line = end + 1;
    }
    return false;
}

/* ---- history ---- */

static bool is(const struct known_decision *d, const char *what)
{
    return strcmp(d->what, what) == 0;
}

static struct known *of_node(struct known *all, size_t count, unsigned node)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].node == node) return &all[i];
    return NULL;
}

/* What came of a decision at the node that it was for: the row by its term; of replicas, which have
 * none, the one that came at about the same time. */
static struct known_decision *counterpart(struct known *at, unsigned from,
                                          const struct known_decision *d)
{
    struct known_decision *best = NULL;
    bool is_move = is(d, "gave");
    for (unsigned i = 0; at && i < at->decisions; i++) {
        struct known_decision *c = &at->decision[i];
        if (c->is_told || c->node != from || !is(c, is_move ? "came" : "copied")) continue;
        if (is_move ? c->term != d->term : fabs(c->at_s - d->at_s) > 1) continue;
        if (!best || fabs(c->at_s - d->at_s) < fabs(best->at_s - d->at_s)) best = c;
    }
    return best;
}

/* The intent that a row or a replica came for: what was asked last before. */
static const struct known_decision *intent_of(struct known *at, const struct known_decision *came)
{
    const struct known_decision *asked = NULL;
    for (struct known_decision *d = at->decision; d < came; d++) {
        if (is(d, "came")) asked = NULL; /* that was for this one */
        if (!is(d, "asked")) continue;
        d->is_told = true;
        asked = d;
    }
    return asked;
}

/* For whom the reason is, `to`; at whom it was decided, `by`. */
static void reason(const struct known_decision *d, unsigned by, unsigned to, char *text,
                   size_t capacity)
{
    const char *why = d->why;
    if (strcmp(why, "only-intent") == 0)
        snprintf(text, capacity, "only node %u intends it", to);
    else if (strcmp(why, "last-intent") == 0)
        snprintf(text, capacity, "only node %u still intends it", to);
    else if (strcmp(why, "localized") == 0)
        snprintf(text, capacity,
                 "a worker of node %u asked for it by locus_localize, and no intent is "
                 "against it",
                 to);
    else if (strcmp(why, "follows") == 0)
        snprintf(text, capacity, "node %u intends it, and rows follow the last intent", to);
    else if (strcmp(why, "owner") == 0)
        snprintf(text, capacity, "node %u intends it, too", by);
    else if (strcmp(why, "others") == 0)
        snprintf(text, capacity, "other nodes intend it, too");
    else if (strcmp(why, "for-ever") == 0)
        snprintf(text, capacity, "node %u keeps it for ever", to);
    else if (strcmp(why, "never-moves") == 0)
        snprintf(text, capacity, "with this technique rows are copied, and do not move");
    else
        snprintf(text, capacity, "the reason is not known");
}

static void clocks(const struct known_decision *asked, char *text, size_t capacity)
{
    *text = '\0';
    if (!asked) return;
    if (strcmp(asked->end, "forever") == 0)
        snprintf(text, capacity, ", from clock %s on", asked->start);
    else
        snprintf(text, capacity, ", clocks %s to %s", asked->start, asked->end);
}

/* A row left, or was copied: one sentence of what both nodes know. */
static void tell_transfer(struct known *all, size_t count, const struct known *by,
                          struct known_decision *d, struct known_event *e)
{
    char why[128], when[96];
    struct known *to = of_node(all, count, d->node);
    struct known_decision *came = counterpart(to, by->node, d);
    reason(d, by->node, d->node, why, sizeof why);
    clocks(to && came ? intent_of(to, came) : NULL, when, sizeof when);
    if (came) came->is_told = true;
    e->what = is(d, "gave") ? "moved" : "copied";
    snprintf(e->text, sizeof e->text, "%s %u -> %u: %s%s", e->what, by->node, d->node, why, when);
}

/* What only the other side told: it has forgotten, or was not asked. */
static void tell_arrival(struct known *k, struct known_decision *d, struct known_event *e)
{
    char when[96];
    clocks(intent_of(k, d), when, sizeof when);
    e->what = is(d, "came") ? "moved" : "copied";
    e->from = d->node;
    e->to = k->node;
    snprintf(e->text, sizeof e->text, "%s %u -> %u: the reason is not remembered%s", e->what,
             d->node, k->node, when);
}

static void tell_other(const struct known *by, const struct known_decision *d,
                       struct known_event *e)
{
    char why[128];
    reason(d, by->node, d->node, why, sizeof why);
    e->what = d->what;
    if (is(d, "unshared"))
        snprintf(e->text, sizeof e->text, "the replica of node %u ended: it has no intent any more",
                 d->node);
    else if (is(d, "recalled"))
        snprintf(e->text, sizeof e->text, "node %u is asked to take it: %s", d->node, why);
    else if (is(d, "stayed"))
        snprintf(e->text, sizeof e->text, "stays at %u when node %u asks by locus_localize: %s",
                 by->node, d->node, why);
    else
        snprintf(e->text, sizeof e->text, "%s by node %u", d->what, d->node);
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct known_event *)a)->at_s, y = ((const struct known_event *)b)->at_s;
    return (x > y) - (x < y);
}

/* The last ones stay. */
static void add_event(struct known_event *list, size_t *n, size_t max, const struct known_event *e)
{
    if (*n < max) {
        list[(*n)++] = *e;
        return;
    }
    size_t oldest = 0;
    for (size_t i = 1; i < *n; i++)
        if (list[i].at_s < list[oldest].at_s) oldest = i;
    if (list[oldest].at_s < e->at_s) list[oldest] = *e;
}

enum pass { TRANSFERS, ARRIVALS, INTENTS, PASSES };

static bool tell(struct known *all, size_t count, struct known *k, struct known_decision *d,
                 enum pass pass, struct known_event *e)
{
    bool is_asked = is(d, "asked"), has_arrived = is(d, "came") || is(d, "copied");
    *e = (struct known_event){.at_s = d->at_s, .from = k->node, .to = d->node};
    if (d->is_told) return false;
    if (pass == TRANSFERS && (is(d, "gave") || is(d, "shared")))
        tell_transfer(all, count, k, d, e);
    else if (pass == TRANSFERS && !is_asked && !has_arrived)
        tell_other(k, d, e);
    else if (pass == ARRIVALS && has_arrived)
        tell_arrival(k, d, e);
    else if (pass == INTENTS && is_asked) {
        char when[96];
        clocks(d, when, sizeof when);
        e->what = "asked";
        snprintf(e->text, sizeof e->text, "node %u asked node %u for it%s", k->node, d->node, when);
    } else {
        return false;
    }
    return true;
}

size_t known_history(struct known *all, size_t count, struct known_event *list, size_t max)
{
    size_t n = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t i = 0; i < count; i++) {
            for (unsigned j = 0; j < all[i].decisions; j++) {
                struct known_event e;
                if (tell(all, count, &all[i], &all[i].decision[j], (enum pass)pass, &e))
                    add_event(list, &n, max, &e);
            }
        }
    }
    qsort(list, n, sizeof *list, by_time);
    return n;
}
