#include "explained.h"

#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS_MAX = 32, TEXT_MAX = 32 };

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
static const struct known *best(const struct explained *x)
{
    const struct known *b = &x->known[0];
    for (size_t i = 0; i < x->count; i++) {
        const struct known *k = &x->known[i];
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
    printf("main copy   ");
    if (has_main(b))
        printf("node %u", b->owner);
    else if (b->owner == b->node)
        printf("on its way to node %u", b->owner);
    else
        printf("node %u, as node %u knows: it is just moving, or node %u was not asked", b->owner,
               b->node, b->owner);
    if (b->term)
        printf("; moved %" PRIu64 " time%s", b->term, b->term == 1 ? "" : "s");
    else
        printf("; it has never moved");
    printf(b->owner == b->home ? ", its home\n" : "; home is node %u\n", b->home);
    if (b->parked) printf("            %" PRIu64 " requests wait there for the row\n", b->parked);
}

static void show_replicas(const struct explained *x, const struct known *b)
{
    char text[TEXT_MAX];
    const char *begin = "replicas    ";
    for (unsigned i = 0; i < b->holders; i++) {
        const struct known_holder *h = &b->holder[i];
        const struct known *k = of_node(x, h->node);
        printf("%snode %u: ", begin, h->node);
        if (k && has_replica(k)) printf("its owner was heard %s ago, ", duration(k->heard_s, text));
        printf("row brought %s ago, %s%s\n", duration(h->brought_s, text),
               h->is_current ? "all updates sent" : "updates are waiting to be sent",
               h->is_kept ? ", kept for ever" : "");
        begin = "            ";
    }
    /* Those of full replication are not counted one by one. */
    for (size_t i = 0; i < x->count && b->holders == 0; i++) {
        const struct known *k = &x->known[i];
        if (!has_replica(k)) continue;
        printf("%snode %u: its owner was heard %s ago\n", begin, k->node,
               duration(k->heard_s, text));
        begin = "            ";
    }
    if (b->more_holders) printf("%sand %u more\n", begin, b->more_holders);
    if (*begin == 'r') printf("%snone\n", begin);
}

static const char *show_intents_of(const struct known *k, const char *begin)
{
    static const char no_words[] = "            ";
    for (unsigned i = 0; i < k->intents; i++) {
        const struct known_intent *t = &k->intent[i];
        bool is_endless = strcmp(t->end, "forever") == 0;
        printf("%snode %u, worker %u: ", begin, k->node, t->worker);
        if (is_endless)
            printf("from clock %s on", t->start);
        else
            printf("clocks %s to %s", t->start, t->end);
        printf(", %s; its clock is %" PRId64 "\n", t->is_active ? "active" : "not yet acted on",
               t->now);
        begin = no_words;
    }
    if (k->is_kept) {
        printf("%snode %u: for ever\n", begin, k->node);
        begin = no_words;
    }
    if (k->has_more_intents) {
        printf("%snode %u: there may be more\n", begin, k->node);
        begin = no_words;
    }
    return begin;
}

static void show_intents(const struct explained *x)
{
    const char *begin = "intended    ";
    for (size_t i = 0; i < x->count; i++) begin = show_intents_of(&x->known[i], begin);
    if (*begin == 'i') printf("%sby nobody\n", begin);
}

static void show_decisions(struct explained *x)
{
    static struct known_event event[EVENTS_MAX];
    char text[TEXT_MAX];
    size_t n = known_history(x->known, x->count, event, EVENTS_MAX);
    printf("decisions   %s\n", n ? ""
                                 : "none is remembered; asked again within a minute, and "
                                   "more are");
    for (size_t i = 0; i < n; i++) {
        double ago = x->now_s - event[i].at_s;
        printf("%10s ago  %s\n", duration(ago > 0 ? ago : 0, text), event[i].text);
    }
}

void explained_show(struct explained *x)
{
    const struct known *b = best(x);
    printf("table %s, row %" PRIu64 " (key %" PRIu64 "), %s\n", b->table, b->row, b->key,
           b->technique);
    show_main(b);
    show_replicas(x, b);
    show_intents(x);
    show_decisions(x);
    if (x->count < b->nodes)
        printf("%zu of %u nodes have answered: give HOST:PORT of the others, too\n", x->count,
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

void explained_json(struct explained *x)
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
