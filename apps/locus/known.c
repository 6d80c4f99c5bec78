#include "known.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512 };

/* ---- reading ---- */

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
        k->heard_s = 1e-6 * us;
    } else if (sscanf(line, "parked %llu", &a) == 1) {
        k->parked = a;
    }
    if (sscanf(line, "intends %u %31s", &k->intents, word) == 2) k->is_kept = true;
    sscanf(line, "intent clocks %31s %31s", k->start, k->end);
    sscanf(line, "node %u %u %31s", &k->node, &k->nodes, k->technique);
    sscanf(line, "home %u", &k->home);
    sscanf(line, "place %31s", k->place);
    sscanf(line, "more-holders %u", &k->more_holders);
}

static void read_line(struct known *k, const char *line, double now_s)
{
    if (strncmp(line, "holder ", 7) == 0)
        read_holder(k, line);
    else if (strncmp(line, "decision ", 9) == 0)
        read_decision(k, line, now_s);
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

/* That a row or replica came is told where it was decided, too, if that node has answered and still
 * knows: of a row with its term, of a replica, which has none, at about the same time. */
static bool is_told_by_giver(const struct known *all, size_t count, const struct known *k,
                             const struct known_decision *d)
{
    bool is_move = is(d, "came");
    for (size_t i = 0; i < count; i++) {
        for (unsigned j = 0; all[i].node == d->node && j < all[i].decisions; j++) {
            const struct known_decision *g = &all[i].decision[j];
            if (g->node == k->node && is(g, is_move ? "gave" : "shared") &&
                (is_move ? g->term == d->term : fabs(g->at_s - d->at_s) <= 1))
                return true;
        }
    }
    return false;
}

/* For whom the reason is, `to`; at whom it was decided, `by`. */
static void reason(const struct known_decision *d, unsigned by, char text[KNOWN_SENTENCE_MAX / 2])
{
    enum { TO, BY, NOBODY };
    static const struct {
        const char *word, *sentence;
        int who;
    } all[] = {
        {"only-intent", "alone intends it", TO},
        {"last-intent", "alone still intends it", TO},
        {"localized", "asked for it by locus_localize, and no intent is against it", TO},
        {"follows", "intends it, and rows follow the last intent", TO},
        {"owner", "intends it, too", BY},
        {"others", "other nodes intend it, too", NOBODY},
        {"for-ever", "keeps it for ever", TO},
        {"never-moves", "with this technique rows are copied, and do not move", NOBODY},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(d->why, all[i].word) != 0) continue;
        if (all[i].who == NOBODY)
            snprintf(text, KNOWN_SENTENCE_MAX / 2, ": %s", all[i].sentence);
        else
            snprintf(text, KNOWN_SENTENCE_MAX / 2, ": node %u %s", all[i].who == TO ? d->node : by,
                     all[i].sentence);
        return;
    }
    *text = '\0';
}

/* False: another node tells of it. */
static bool tell(const struct known *all, size_t count, const struct known *k,
                 const struct known_decision *d, struct known_event *e)
{
    char why[KNOWN_SENTENCE_MAX / 2];
    bool is_arrival = is(d, "came") || is(d, "copied");
    const char *verb = is(d, "came") || is(d, "gave") ? "moved" : "copied";
    if (is_arrival && is_told_by_giver(all, count, k, d)) return false;
    reason(d, k->node, why);
    e->at_s = d->at_s;
    if (is_arrival)
        snprintf(e->text, sizeof e->text, "%s %u -> %u", verb, d->node, k->node);
    else if (is(d, "gave") || is(d, "shared"))
        snprintf(e->text, sizeof e->text, "%s %u -> %u%s", verb, k->node, d->node, why);
    else if (is(d, "asked") && strcmp(d->end, "forever") == 0)
        snprintf(e->text, sizeof e->text, "node %u asked node %u for it, from clock %s on", k->node,
                 d->node, d->start);
    else if (is(d, "asked"))
        snprintf(e->text, sizeof e->text, "node %u asked node %u for it, clocks %s to %s", k->node,
                 d->node, d->start, d->end);
    else if (is(d, "unshared"))
        snprintf(e->text, sizeof e->text, "the replica of node %u ended: it has no intent any more",
                 d->node);
    else if (is(d, "recalled"))
        snprintf(e->text, sizeof e->text, "node %u is asked to take it%s", d->node, why);
    else
        snprintf(e->text, sizeof e->text, "%s at %u when node %u asked%s", d->what, k->node,
                 d->node, why);
    return true;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct known_event *)a)->at_s, y = ((const struct known_event *)b)->at_s;
    return (x > y) - (x < y);
}

size_t known_history(const struct known *all, size_t count, struct known_event *list)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned j = 0; j < all[i].decisions; j++)
            n += tell(all, count, &all[i], &all[i].decision[j], &list[n]);
    qsort(list, n, sizeof *list, by_time);
    return n;
}
