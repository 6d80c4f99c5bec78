#include "observe/metrics.h"

#include "worker/node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND = 200, BAD_REQUEST = 400, NOT_FOUND = 404, UNAVAILABLE = 503 };
enum { DECISIONS_MAX = 32, EVENTS_AT_ONCE = 256 };

/* ---- which key ---- */

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !*end && errno == 0;
}

static void put_tables(struct httpd_reply *r, const struct keyspace *k)
{
    enum { SHOWN = 20 };
    for (unsigned i = 0; i < k->tables && i < SHOWN; i++)
        httpd_put(r, "%s%.100s", i ? ", " : "", k->table[i].name ? k->table[i].name : "");
    if (k->tables > SHOWN) httpd_put(r, " and %u more", k->tables - SHOWN);
}

static const struct keyspace_table *find_table(const struct keyspace *k, const char *name)
{
    for (unsigned i = 0; i < k->tables; i++)
        if (k->table[i].name && strcmp(k->table[i].name, name) == 0) return &k->table[i];
    return NULL;
}

/* False: the reply says why there is none. */
static bool find_key(const struct keyspace *k, const char *table, const char *number,
                     struct httpd_reply *out, locus_key *key)
{
    const struct keyspace_table *t = table ? find_table(k, table) : NULL;
    uint64_t n, rows = t ? t->end - t->first : k->keys;
    out->status = NOT_FOUND;
    if (table && !t) {
        httpd_put(out, "there is no table \"%.100s\"; there are: ", table);
        put_tables(out, k);
        httpd_put(out, "\n");
    } else if (!parse_number(number, &n)) {
        out->status = BAD_REQUEST;
        httpd_put(out, "the key \"%.100s\" is no number: /key?key=7, or /key?table=T&key=7\n",
                  number ? number : "");
    } else if (n < rows) {
        out->status = FOUND;
        *key = t ? t->first + n : n;
    } else if (t) {
        httpd_put(out, "table \"%.100s\" has no row %" PRIu64 ": its rows are 0 to %" PRIu64 "\n",
                  table, n, rows - 1);
    } else {
        httpd_put(out, "there is no key %" PRIu64 ": keys are 0 to %" PRIu64 "\n", n, rows - 1);
    }
    return out->status == FOUND;
}

/* ---- what is known of it ---- */

static void put_clocks(struct httpd_reply *r, const struct key_event *e)
{
    httpd_put(r, " clocks %" PRId64, e->start);
    if (e->end == LOCUS_FOREVER)
        httpd_put(r, " forever");
    else
        httpd_put(r, " %" PRId64, e->end);
}

static void put_decision(struct httpd_reply *r, const struct key_event *e, uint64_t now_ns)
{
    uint64_t ago = now_ns > e->ns ? now_ns - e->ns : 0;
    httpd_put(r, "decision %s %" PRIu64 " node %u why %s", event_name[e->kind], ago / 1000, e->node,
              event_reason[e->why]);
    if (e->kind == EVENT_ASKED)
        put_clocks(r, e);
    else
        httpd_put(r, " term %" PRIu64, e->term);
    httpd_put(r, "\n");
}

/* The last decisions about the key; and, while it is intended, the clocks of the latest intent. */
static void put_events(struct httpd_reply *r, const struct key_events *events, uint64_t index,
                       uint64_t now_ns)
{
    struct key_event e[EVENTS_AT_ONCE], decision[DECISIONS_MAX], intent = {0};
    struct events_reader reader = {.of = events};
    uint64_t decisions = 0;
    for (size_t n; (n = events_read(&reader, e, EVENTS_AT_ONCE)) > 0;) {
        for (size_t i = 0; i < n; i++) {
            if (e[i].index != index) continue;
            if (e[i].kind < EVENT_DECISIONS) decision[decisions++ % DECISIONS_MAX] = e[i];
            if (e[i].kind == EVENT_INTENDED) intent = e[i];
            if (e[i].kind == EVENT_EXPIRED) intent.end = 0;
        }
    }
    if (intent.end > 0) {
        httpd_put(r, "intent");
        put_clocks(r, &intent);
        httpd_put(r, "\n");
    }
    uint64_t i = decisions > DECISIONS_MAX ? decisions - DECISIONS_MAX : 0;
    for (; i < decisions; i++) put_decision(r, &decision[i % DECISIONS_MAX], now_ns);
}

static void put_snapshot(struct httpd_reply *r, const struct key_snapshot *l)
{
    const char *place = l->is_here ? "main" : l->is_replica ? "replica" : "none";
    httpd_put(r, "place %s\nowner %u %" PRIu64 "\n", place, l->owner, l->term);
    if (l->is_replica) httpd_put(r, "heard %" PRIu64 "\n", l->heard_ns / 1000);
    if (l->is_asking) httpd_put(r, "asking\n");
    if (l->parked) httpd_put(r, "parked %" PRIu64 "\n", l->parked);
    httpd_put(r, "intends %u%s\n", l->wanted, l->is_kept ? " forever" : "");
    for (unsigned i = 0; i < l->holders; i++)
        httpd_put(r, "holder %u %" PRIu64 " %s%s\n", l->holder[i].node,
                  l->holder[i].brought_ns / 1000, l->holder[i].is_current ? "current" : "behind",
                  l->holder[i].is_kept ? " forever" : "");
    if (l->more_holders) httpd_put(r, "more-holders %u\n", l->more_holders);
}

static void put_key(struct httpd_reply *r, const locus *n, locus_key key)
{
    const struct keyspace *k = &n->store.keyspace;
    const struct keyspace_table *t = &k->table[keyspace_table_of(k, key)];
    httpd_put(r, "locus-key 1\nnode %d %d %s\n", n->rank, n->size, n->plan.technique->name);
    httpd_put(r, "key %" PRIu64 " %" PRIu64 " %.100s\n", key, key - t->first,
              t->name ? t->name : "");
    struct row_ref ref = store_row_ref(&n->store, key);
    httpd_put(r, "home %u\n", row_ref_is_home(ref) ? (unsigned)n->rank : row_ref_home(ref));
}

void explain_key(void *node, const struct httpd_request *request, struct httpd_reply *out)
{
    const locus *n = node;
    const struct keyspace *k = &n->store.keyspace;
    locus_key key = 0;
    struct key_snapshot l;
    if (!find_key(k, httpd_argument(request, "table"), httpd_argument(request, "key"), out, &key))
        return;
    unsigned shard = keyspace_shard(k, key);
    uint64_t index = keyspace_index(k, key);
    if (!n->cluster) { /* it has all rows, and nothing to decide */
        l = (struct key_snapshot){.owner = (unsigned)n->rank, .is_here = true};
    } else if (reactor_snapshot(node_reactor(n, shard), index, &l)) {
        httpd_put(out,
                  "shard %u of node %d has not answered within %d s: it has too much to do, or its "
                  "thread does not run\n",
                  shard, n->rank, REACTOR_SNAPSHOT_S);
        out->status = UNAVAILABLE;
        return;
    }
    put_key(out, n, key);
    put_snapshot(out, &l);
    if (n->cluster) put_events(out, node_shard(n, shard)->events, index, l.now_ns);
    httpd_put(out, "end\n");
}
