#include "look.h"

#include "clock.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BASES_MAX = 64, ENVIRONMENT_BYTES = 1 << 18 };

static bool add_row(struct look *l, const char *address, unsigned more)
{
    struct look_row *rows =
        l->count < LOOK_NODES_MAX ? realloc(l->row, (l->count + 1) * sizeof *rows) : NULL;
    if (!rows) return false;
    l->row = rows;
    rows[l->count] = (struct look_row){.port_more = more, .rank = more};
    snprintf(rows[l->count++].address, SCRAPE_ADDRESS_MAX, "%s", address);
    return true;
}

static unsigned rank_of(const char *text)
{
    const char *label = strstr(text, "\nlocus_nodes{rank=\"");
    return label ? (unsigned)strtoul(label + 19, NULL, 10) : 0;
}

/* Of rank 0, all that are behind it; of another, that one. */
static bool add_nodes(struct look *l, const char *address)
{
    struct scrape_answer a;
    if (!scrape_read(address, 0, &a)) return add_row(l, address, 0);
    unsigned nodes = rank_of(a.text) == 0 ? (unsigned)scrape_sum(a.text, "locus_nodes") : 1;
    free(a.text);
    bool ok = add_row(l, address, 0);
    for (unsigned i = 1; i < nodes && ok; i++) {
        if (scrape_read(address, i, &a)) ok = add_row(l, address, i);
        free(a.text);
    }
    return ok;
}

/* ---- this user's jobs ---- */

struct bases {
    char text[BASES_MAX][SCRAPE_ADDRESS_MAX];
    size_t count;
};

/* Each once, in whatever form. */
static void add_base(struct bases *b, const char *text)
{
    char name[SCRAPE_NAME_MAX], other[SCRAPE_NAME_MAX];
    scrape_name(text, 0, name);
    for (size_t i = 0; i < b->count; i++) {
        scrape_name(b->text[i], 0, other);
        if (strcmp(other, name) == 0) return;
    }
    if (*text && b->count < BASES_MAX)
        snprintf(b->text[b->count++], SCRAPE_ADDRESS_MAX, "%s", text);
}

static void read_environment(struct bases *b, const char *pid, char *environment)
{
    static const char name[] = "LOCUS_METRICS=";
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *f = stat(path, &status) == 0 && status.st_uid == geteuid() ? fopen(path, "re") : NULL;
    if (!f) return;
    size_t n = fread(environment, 1, ENVIRONMENT_BYTES - 1, f);
    fclose(f);
    environment[n] = '\0';
    for (const char *word = environment; word < environment + n; word += strlen(word) + 1)
        if (strncmp(word, name, sizeof name - 1) == 0) add_base(b, word + sizeof name - 1);
}

static bool find_jobs(struct look *l)
{
    struct bases *b = calloc(1, sizeof *b);
    char *environment = malloc(ENVIRONMENT_BYTES);
    const char *ours = getenv("LOCUS_METRICS");
    DIR *all = b && environment ? opendir("/proc") : NULL;
    bool ok = all != NULL;
    if (ok && ours) add_base(b, ours);
    for (const struct dirent *e; all && (e = readdir(all));)
        if (isdigit((unsigned char)*e->d_name)) read_environment(b, e->d_name, environment);
    if (all) closedir(all);
    for (size_t i = 0; ok && i < b->count; i++) {
        struct scrape_answer a;
        if (scrape_read(b->text[i], 0, &a)) ok = add_nodes(l, b->text[i]);
        free(a.text);
    }
    free(environment);
    free(b);
    return ok;
}

bool look_find(struct look *l, char *const *address, size_t count)
{
    bool ok = true;
    *l = (struct look){0};
    if (count == 0) return find_jobs(l);
    for (size_t i = 0; i < count && ok; i++) ok = add_nodes(l, address[i]);
    return ok;
}

/* ---- looking ---- */

/* A node that was started anew counts from zero. */
static double rate(double now, double before, double seconds)
{
    return seconds > 0 && now > before ? (now - before) / seconds : 0;
}

/* Each is the sum of these samples. */
static const char *const counted[LOOK_SUMS][2] = {
    [LOOK_LOCAL] = {"locus_pulled_keys_total{place=\"local\"}",
                    "locus_pushed_keys_total{place=\"local\"}"},
    [LOOK_REPLICA] = {"locus_pulled_keys_total{place=\"replica\"}",
                      "locus_pushed_keys_total{place=\"replica\"}"},
    [LOOK_REMOTE] = {"locus_pulled_keys_total{place=\"remote\"}",
                     "locus_pushed_keys_total{place=\"remote\"}"},
    [LOOK_RELOCATED] = {"locus_relocated_rows_total{direction=\"in\"}"},
    [LOOK_LATE] = {"locus_late_keys_total"},
    [LOOK_SENT] = {"locus_sent_bytes_total"},
    [LOOK_CORES] = {"process_cpu_seconds_total"},
    [LOOK_SHARD_CORES] = {"locus_shard_cpu_seconds_total"},
    [LOOK_BLOCKED] = {"locus_blocked_seconds_sum"},
};

static void set_rates(struct look_row *r, const char *text, double seconds)
{
    for (int i = 0; i < LOOK_SUMS; i++) {
        double sum = 0;
        for (int j = 0; j < 2 && counted[i][j]; j++) sum += scrape_sum(text, counted[i][j]);
        r->rate[i] = rate(sum, r->sum[i], seconds);
        r->sum[i] = sum;
    }
}

/* `name` with "_bucket". Without it there are no buckets. */
static void read_histogram(struct look_histogram *q, const char *text, const char *name)
{
    struct scrape_sample s;
    q->buckets = 0;
    while ((text = scrape_next(text, name, &s)) && q->buckets < LOOK_BUCKETS_MAX) {
        const char *end = strstr(s.labels, "le=\"");
        if (!end) continue;
        q->end[q->buckets] = strtod(end + 4, NULL); /* that of the last is infinity */
        q->count[q->buckets++] = s.value;
    }
}

static double came(const struct look_histogram *before, const struct look_histogram *now,
                   unsigned bucket)
{
    bool is_new = before->buckets != now->buckets;
    double n = now->count[bucket] - (is_new ? 0 : before->count[bucket]);
    return n > 0 ? n : 0;
}

/* Below it are so many of a hundred of what came between the looks; 0: nothing came. Within a bucket
 * it is as if all were as far apart as any others. */
static double quantile(const struct look_histogram *before, const struct look_histogram *now,
                       double percent)
{
    double all = now->buckets ? came(before, now, now->buckets - 1) : 0, below = 0, begin = 0;
    double wanted = all * percent / 100;
    for (unsigned i = 0; i < now->buckets && all > 0; i++) {
        double up_to = came(before, now, i);
        if (isinf(now->end[i])) return begin;
        if (up_to >= wanted && up_to > below)
            return begin + (now->end[i] - begin) * (wanted - below) / (up_to - below);
        below = up_to;
        begin = now->end[i];
    }
    return 0;
}

static void set_ages(struct look_row *r, const char *text)
{
    static const double percent[LOOK_PARTS] = {[LOOK_P50] = 50, [LOOK_P99] = 99};
    const struct look_histogram before = r->ages;
    read_histogram(&r->ages, text, "locus_staleness_seconds_bucket");
    for (int i = 0; i < LOOK_PARTS; i++) r->age_s[i] = quantile(&before, &r->ages, percent[i]);
}

static double count(const char *text, const char *name)
{
    struct scrape_sample s;
    double n = 0;
    while ((text = scrape_next(text, name, &s))) n++;
    return n;
}

/* A wait is counted when it is over, so that more can be over than there was time. */
static void set_waits(struct look_row *r, const char *text)
{
    double workers = count(text, "locus_worker_clock"),
           share = workers > 0 ? r->rate[LOOK_BLOCKED] / workers : 0;
    r->waits = share < 1 ? share : 1;
}

/* Where no loss is survived all nodes are. */
static void set_members(struct look_row *r, const char *text)
{
    unsigned members = (unsigned)scrape_sum(text, "locus_members");
    r->members = members ? members : r->nodes;
    r->lost = (unsigned)scrape_sum(text, "locus_member_changes_total{change=\"lost\"}");
    r->left = (unsigned)scrape_sum(text, "locus_member_changes_total{change=\"left\"}");
    r->joined = (unsigned)scrape_sum(text, "locus_member_changes_total{change=\"joined\"}");
}

static void look_at(struct look_row *r)
{
    struct scrape_answer a;
    r->answers = scrape_read(r->address, r->port_more, &a);
    double now_s = clock_s();
    char *text = a.text;
    snprintf(r->why, sizeof r->why, "%s", a.why);
    if (!text) return;
    set_rates(r, text, r->looks ? now_s - r->at_s : 0);
    set_waits(r, text);
    set_ages(r, text);
    r->at_s = now_s;
    r->looks++;
    r->rank = rank_of(text);
    r->nodes = (unsigned)scrape_sum(text, "locus_nodes");
    set_members(r, text);
    r->replicas = scrape_sum(text, "locus_replicas");
    r->owned = scrape_sum(text, "locus_owned_rows");
    r->staleness_s = scrape_sum(text, "locus_replica_staleness_seconds");
    r->clock = scrape_max(text, "locus_worker_clock");
    r->resident = scrape_sum(text, "process_resident_memory_bytes");
    free(text);
}

void look_again(struct look *l)
{
    for (size_t i = 0; i < l->count; i++) look_at(&l->row[i]);
}

/* Each job has a rank 0, but where it was not asked for. */
size_t look_members(const struct look *l)
{
    size_t members = 0, most = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->row[i].rank == 0) members += l->row[i].members;
        if (l->row[i].members > most) most = l->row[i].members;
    }
    return members ? members : most;
}

void look_free(struct look *l)
{
    free(l->row);
    *l = (struct look){0};
}
