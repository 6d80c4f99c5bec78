#include "look.h"

#include "clock.h"

#include <ctype.h>
#include <dirent.h>
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

static void add_base(struct bases *b, const char *text)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->text[i], text) == 0) return;
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

static double placed(const char *text, const char *place)
{
    char pulled[64], pushed[64];
    snprintf(pulled, sizeof pulled, "locus_pulled_keys_total{place=\"%s\"}", place);
    snprintf(pushed, sizeof pushed, "locus_pushed_keys_total{place=\"%s\"}", place);
    return scrape_sum(text, pulled) + scrape_sum(text, pushed);
}

static struct look_sums sums_of(const char *text)
{
    return (struct look_sums){
        .local = placed(text, "local"),
        .replica = placed(text, "replica"),
        .remote = placed(text, "remote"),
        .relocated = scrape_sum(text, "locus_relocated_rows_total{direction=\"in\"}"),
        .sent = scrape_sum(text, "locus_sent_bytes_total"),
        .late = scrape_sum(text, "locus_late_keys_total"),
        .too_old = scrape_sum(text, "locus_too_old_keys_total"),
        .cpu_s = scrape_sum(text, "process_cpu_seconds_total"),
        .shard_cpu_s = scrape_sum(text, "locus_shard_cpu_seconds_total"),
        .blocked_s = scrape_sum(text, "locus_blocked_seconds_sum"),
    };
}

/* A node that was started anew counts from zero. */
static double rate(double now, double before, double seconds)
{
    return seconds > 0 && now > before ? (now - before) / seconds : 0;
}

static void set_rates(struct look_row *r, const struct look_sums *s, double seconds)
{
    const struct look_sums *b = &r->sums;
    r->rate = (struct look_sums){
        .local = rate(s->local, b->local, seconds),
        .replica = rate(s->replica, b->replica, seconds),
        .remote = rate(s->remote, b->remote, seconds),
        .relocated = rate(s->relocated, b->relocated, seconds),
        .sent = rate(s->sent, b->sent, seconds),
        .late = rate(s->late, b->late, seconds),
        .too_old = rate(s->too_old, b->too_old, seconds),
        .cpu_s = rate(s->cpu_s, b->cpu_s, seconds),
        .shard_cpu_s = rate(s->shard_cpu_s, b->shard_cpu_s, seconds),
        .blocked_s = rate(s->blocked_s, b->blocked_s, seconds),
    };
    r->sums = *s;
}

static void set_ages(struct look_row *r, const char *text)
{
    static const double percent[LOOK_PARTS] = {[LOOK_P50] = 50, [LOOK_P99] = 99};
    const struct quantile before = r->ages;
    quantile_read(&r->ages, text, "locus_staleness_seconds_bucket");
    for (int i = 0; i < LOOK_PARTS; i++)
        r->age_s[i] = quantile_between(&before, &r->ages, percent[i]);
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
           share = workers > 0 ? r->rate.blocked_s / workers : 0;
    r->waits = share < 1 ? share : 1;
}

static void forget(struct look_row *r)
{
    free(r->text);
    free(r->before);
    r->text = r->before = NULL;
}

/* Takes the text over. */
static void keep(struct look_row *r, char *text)
{
    if (!r->is_chosen) {
        free(text);
        return;
    }
    free(r->before);
    r->before = r->text;
    r->text = text;
}

void look_choose(struct look *l, size_t row)
{
    for (size_t i = 0; i < l->count; i++) {
        l->row[i].is_chosen = i == row;
        if (i != row) forget(&l->row[i]);
    }
}

static void look_at(struct look_row *r)
{
    struct scrape_answer a;
    r->answers = scrape_read(r->address, r->port_more, &a);
    double now_s = clock_s();
    char *text = a.text;
    snprintf(r->why, sizeof r->why, "%s", a.why);
    if (!text) return;
    struct look_sums s = sums_of(text);
    r->seconds = r->looks ? now_s - r->at_s : 0;
    set_rates(r, &s, r->seconds);
    set_waits(r, text);
    set_ages(r, text);
    r->at_s = now_s;
    r->looks++;
    r->rank = rank_of(text);
    r->nodes = (unsigned)scrape_sum(text, "locus_nodes");
    r->replicas = scrape_sum(text, "locus_replicas");
    r->owned = scrape_sum(text, "locus_owned_rows");
    r->staleness_s = scrape_sum(text, "locus_replica_staleness_seconds");
    r->clock = scrape_max(text, "locus_worker_clock");
    r->resident = scrape_sum(text, "process_resident_memory_bytes");
    keep(r, text);
}

void look_again(struct look *l)
{
    for (size_t i = 0; i < l->count; i++) look_at(&l->row[i]);
}

/* Each job has a rank 0, but where it was not asked for. */
size_t look_missing(const struct look *l)
{
    size_t nodes = 0, most = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->row[i].rank == 0) nodes += l->row[i].nodes;
        if (l->row[i].nodes > most) most = l->row[i].nodes;
    }
    if (nodes == 0) nodes = most;
    return nodes > l->count ? nodes - l->count : 0;
}

void look_free(struct look *l)
{
    for (size_t i = 0; i < l->count; i++) forget(&l->row[i]);
    free(l->row);
    *l = (struct look){0};
}
