#include "table.h"

#include "json.h"
#include "plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double accesses(const struct look_row *r)
{
    return r->rate[LOOK_LOCAL] + r->rate[LOOK_REPLICA] + r->rate[LOOK_REMOTE];
}

static double percent(double part, const struct look_row *r)
{
    double all = accesses(r);
    return all > 0 ? 100 * part / all : 0;
}

/* ---- order ---- */

static double weight(const struct look_row *r, enum table_order order)
{
    switch (order) {
    case TABLE_ACCESSES: return accesses(r);
    case TABLE_REMOTE: return percent(r->rate[LOOK_REMOTE], r);
    case TABLE_SENT: return r->rate[LOOK_SENT];
    case TABLE_SHARDS: return r->rate[LOOK_SHARD_CORES];
    case TABLE_STALENESS: return r->age_s[LOOK_P99];
    case TABLE_LATE: return r->rate[LOOK_LATE];
    default: return 0;
    }
}

static enum table_order sorted_by;

/* The most first; where that is equal, by rank. */
static int compare(const void *a, const void *b)
{
    const struct look_row *x = a, *y = b;
    double wx = weight(x, sorted_by), wy = weight(y, sorted_by);
    if (wx != wy) return wx < wy ? 1 : -1;
    if (x->rank != y->rank) return x->rank > y->rank ? 1 : -1;
    return strcmp(x->address, y->address);
}

void table_sort(struct look *l, enum table_order order)
{
    sorted_by = order;
    if (l->count) qsort(l->row, l->count, sizeof *l->row, compare);
}

const char *table_order_name(enum table_order order)
{
    static const char *const names[TABLE_ORDERS] = {
        [TABLE_RANK] = "rank",      [TABLE_ACCESSES] = "accesses", [TABLE_REMOTE] = "remote share",
        [TABLE_SENT] = "bytes",     [TABLE_SHARDS] = "shards",     [TABLE_STALENESS] = "staleness",
        [TABLE_LATE] = "late keys",
    };
    return names[order];
}

/* ---- text ---- */

void table_shorten(double value, char text[16])
{
    static const char units[] = " kMGTP";
    unsigned u = 0;
    while (value >= 1000 && u + 2 < sizeof units) {
        value /= 1000;
        u++;
    }
    snprintf(text, 16, "%.*f%c", u == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2, value, units[u]);
}

void table_head(char line[TABLE_LINE_MAX])
{
    snprintf(line, TABLE_LINE_MAX, "%4s %7s %6s %7s %6s %7s %7s %8s %6s %6s %7s %6s %6s %6s %7s",
             "node", "keys/s", "local", "replica", "remote", "moved/s", "owned", "replicas",
             "age ms", "p99 ms", "sent/s", "shards", "waits", "late/s", "clock");
}

void table_row(const struct look_row *r, char line[TABLE_LINE_MAX])
{
    char keys[16], moved[16], owned[16], replicas[16], sent[16], late[16], clock[16];
    if (!r->answers) {
        char shown[TABLE_LINE_MAX - 16];
        plain_copy(shown, sizeof shown, r->why);
        snprintf(line, TABLE_LINE_MAX, "%4u %s", r->rank, shown);
        return;
    }
    table_shorten(accesses(r), keys);
    table_shorten(r->rate[LOOK_RELOCATED], moved);
    table_shorten(r->owned, owned);
    table_shorten(r->replicas, replicas);
    table_shorten(r->rate[LOOK_SENT], sent);
    table_shorten(r->rate[LOOK_LATE], late);
    table_shorten(r->clock, clock);
    snprintf(line, TABLE_LINE_MAX,
             "%4u %7s %5.1f%% %6.1f%% %5.1f%% %7s %7s %8s %6.1f %6.1f %7s %5.1f%% %5.1f%% %6s %7s",
             r->rank, keys, percent(r->rate[LOOK_LOCAL], r), percent(r->rate[LOOK_REPLICA], r),
             percent(r->rate[LOOK_REMOTE], r), moved, owned, replicas, 1e3 * r->age_s[LOOK_P50],
             1e3 * r->age_s[LOOK_P99], sent, 100 * r->rate[LOOK_SHARD_CORES], 100 * r->waits, late,
             clock);
}

/* ---- JSON ---- */

void table_json(const struct look *l)
{
    static const char *const names[LOOK_SUMS] = {"local_keys_per_second",
                                                 "replica_keys_per_second",
                                                 "remote_keys_per_second",
                                                 "relocated_rows_per_second",
                                                 "late_keys_per_second",
                                                 "too_old_keys_per_second",
                                                 "sent_bytes_per_second",
                                                 "cores",
                                                 "shard_cores",
                                                 "blocked"};
    for (size_t i = 0; i < l->count; i++) {
        const struct look_row *r = &l->row[i];
        struct json j;
        json_begin(&j, "node");
        json_count(&j, "rank", r->rank);
        json_text(&j, "address", r->address);
        json_count(&j, "port_more", r->port_more);
        json_count(&j, "answers", r->answers);
        if (!r->answers) json_text(&j, "why", r->why);
        for (int n = 0; n < LOOK_SUMS; n++) json_number(&j, names[n], r->rate[n]);
        json_number(&j, "owned_rows", r->owned);
        json_number(&j, "replicas", r->replicas);
        json_number(&j, "replica_staleness_seconds", r->staleness_s);
        json_number(&j, "staleness_p50_seconds", r->age_s[LOOK_P50]);
        json_number(&j, "staleness_p99_seconds", r->age_s[LOOK_P99]);
        json_number(&j, "clock", r->clock);
        json_number(&j, "resident_bytes", r->resident);
        json_end(&j);
    }
}

struct lines {
    char *text;
    size_t length;
};

static void put(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct lines *l, const char *format, ...)
{
    char line[512], shown[2 * sizeof line];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    plain_copy(shown, sizeof shown, line);
    size_t n = strlen(shown);
    if (n >= DETAIL_BYTES_MAX - l->length) return; /* what does not fit is left out */
    memcpy(l->text + l->length, shown, n + 1);
    l->length += n;
}

/* The sample of the metric with these labels; 0: there is none. */
static double value_of(const char *text, const char *name, const char *labels)
{
    char begin[256];
    snprintf(begin, sizeof begin, "%s%s%s%s", name, *labels ? "{" : "", labels, *labels ? "}" : "");
    return scrape_sum(text, begin);
}

/* Of shard="3" it is 3. */
static unsigned number_of(const char *labels)
{
    const char *quote = strchr(labels, '"');
    return quote ? (unsigned)strtoul(quote + 1, NULL, 10) : 0;
}

struct two {
    const struct look_row *row;
    const char *labels;
};

static double rate(const struct two *t, const char *name)
{
    double seconds = t->row->seconds;
    if (!t->row->before || seconds <= 0) return 0;
    double more = value_of(t->row->text, name, t->labels) -
                  value_of(t->row->before, name, t->labels);
    return more > 0 ? more / seconds : 0;
}

static double now(const struct two *t, const char *name)
{
    return value_of(t->row->text, name, t->labels);
}

static void put_shards(struct lines *l, const struct look_row *r)
{
    struct scrape_sample s;
    put(l, "%-6s %7s %9s %9s %9s\n", "shard", "busy", "wakes/s", "rounds/s", "round ms");
    for (const char *at = r->text; (at = scrape_next(at, "locus_shard_cpu_seconds_total", &s));) {
        const struct two t = {r, s.labels};
        double rounds = rate(&t, "locus_shard_round_seconds_count"),
               took = rate(&t, "locus_shard_round_seconds_sum");
        put(l, "%-6u %6.1f%% %9.0f %9.0f %9.2f\n", number_of(s.labels),
            100 * rate(&t, "locus_shard_cpu_seconds_total"), rate(&t, "locus_shard_sleeps_total"),
            rounds, rounds > 0 ? 1e3 * took / rounds : 0);
    }
}

static void put_peers(struct lines *l, const struct look_row *r)
{
    struct scrape_sample s;
    put(l, "%-6s %8s %8s %9s %8s %8s %9s\n", "peer", "sent/s", "recv./s", "frames/s", "queued",
        "credit", "rtt us");
    for (const char *at = r->text; (at = scrape_next(at, "locus_sent_bytes_total", &s));) {
        const struct two t = {r, s.labels};
        char sent[16], received[16], queued[16], trip[16];
        double credit = now(&t, "locus_peer_credit_bytes");
        table_shorten(rate(&t, "locus_sent_bytes_total"), sent);
        table_shorten(rate(&t, "locus_received_bytes_total"), received);
        table_shorten(now(&t, "locus_peer_queued_bytes"), queued);
        if (now(&t, "locus_peer_shares_memory") > 0)
            snprintf(trip, sizeof trip, "memory");
        else
            snprintf(trip, sizeof trip, "%.0f", 1e6 * now(&t, "locus_peer_round_trip_seconds"));
        put(l, "%-6u %8s %8s %9.0f %8s %7.1f%% %9s\n", number_of(s.labels), sent, received,
            rate(&t, "locus_sent_frames_total"), queued,
            credit > 0 ? 100 * now(&t, "locus_peer_asked_bytes") / credit : 0, trip);
    }
}

static void put_memory(struct lines *l, const struct look_row *r)
{
    struct scrape_sample s;
    put(l, "memory");
    for (const char *at = r->text; (at = scrape_next(at, "locus_memory_bytes", &s));) {
        char bytes[16];
        const char *kind = strchr(s.labels, '"');
        table_shorten(s.value, bytes);
        if (kind) put(l, " %.*s %s", (int)strcspn(kind + 1, "\""), kind + 1, bytes);
    }
    put(l, "\n");
}

/* All that the node counts, but for what the tables above show. */
static void put_counters(struct lines *l, const struct look_row *r)
{
    static const char end[] = "_total";
    struct scrape_sample s;
    for (const char *at = r->text; (at = strstr(at, "\n# TYPE locus_")); at++) {
        char name[96];
        if (sscanf(at, "\n# TYPE %95s counter", name) != 1) continue;
        size_t length = strlen(name);
        if (length < sizeof end || strcmp(name + length - (sizeof end - 1), end) != 0) continue;
        for (const char *of = r->text; (of = scrape_next(of, name, &s));) {
            char shown[16];
            if (strstr(s.labels, "peer=") || strstr(s.labels, "shard=")) continue;
            const struct two t = {r, s.labels};
            table_shorten(rate(&t, name), shown);
            put(l, "%8s/s  %.*s %s\n", shown, (int)(length - (sizeof end - 1)), name, s.labels);
        }
    }
}

void detail_node(const struct look_row *r, char text[DETAIL_BYTES_MAX])
{
    struct lines l = {.text = text};
    *text = '\0';
    if (!r->answers || !r->text) {
        put(&l, "node %u: %s\n", r->rank, r->answers ? "at the next look" : r->why);
        return;
    }
    put_shards(&l, r);
    put(&l, "\n");
    put_peers(&l, r);
    put(&l, "\n");
    put_memory(&l, r);
    put(&l, "\n");
    put_counters(&l, r);
}

bool detail_keys(const struct look_row *r, char text[DETAIL_BYTES_MAX])
{
    struct lines l = {.text = text};
    struct scrape_sample s;
    struct scrape_answer a;
    *text = '\0';
    bool answers = scrape_path(r->address, r->port_more, "/keys", &a);
    char *page = a.text;
    double all = page ? scrape_sum(page, "locus_sampled_keys") : 0;
    put(&l, "%20s %8s  %s\n", "key", "of calls", "its row is");
    if (!page) put(&l, "%s\n", a.why);
    if (page && all == 0) put(&l, "  nothing was sampled yet\n");
    for (const char *at = page; all > 0 && (at = scrape_next(at, "locus_hot_keys", &s));) {
        unsigned long long key = 0;
        char place[16] = "";
        if (sscanf(s.labels, "key=\"%llu\",place=\"%15[a-z]\"", &key, place) == 2)
            put(&l, "%20llu %7.2f%%  %s\n", key, 100 * s.value / all, place);
    }
    free(page);
    return answers;
}
