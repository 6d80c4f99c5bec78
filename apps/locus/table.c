#include "table.h"

#include "json.h"
#include "plain.h"

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

bool table_changes(const struct look *l, char line[TABLE_LINE_MAX])
{
    size_t i = 0;
    while (i < l->count && !l->row[i].answers) i++;
    if (i == l->count) return false;
    const struct look_row *r = &l->row[i];
    if (r->lost + r->left + r->joined == 0) return false;
    snprintf(line, TABLE_LINE_MAX, "%u of %u nodes are members: %u lost, %u left, %u joined",
             r->members, r->nodes, r->lost, r->left, r->joined);
    return true;
}

/* ---- JSON ---- */

void table_json(const struct look *l)
{
    static const char *const names[LOOK_SUMS] = {"local_keys_per_second",
                                                 "replica_keys_per_second",
                                                 "remote_keys_per_second",
                                                 "relocated_rows_per_second",
                                                 "late_keys_per_second",
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
        json_count(&j, "members", r->members);
        json_count(&j, "lost_nodes", r->lost);
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
