#include "observe/journal.h"

#include "base/error.h"
#include "base/notation.h"
#include "base/process.h"
#include "base/time.h"
#include "worker/node.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 500 };

struct journal {
    const locus *node;
    FILE *file;
    uint64_t began_ns;
    pthread_t thread;
    bool runs;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool ends; /* under the mutex */
};

/* ---- lines ---- */

static long long wall_us(void)
{
    return ((int64_t)time_now_ns() + time_epoch_ns()) / 1000;
}

/* What would need quoting is replaced. */
static void write_name(FILE *to, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *c = slash ? slash + 1 : path; *c; c++)
        fputc(*c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '_' : *c, to);
}

/* The program's name, and behind Python's the script's or module's. No other words: they may be
 * secrets, and people send reports around. */
static void write_command(FILE *to)
{
    char words[COMMAND_BYTES + 2] = "";
    FILE *from = fopen("/proc/self/cmdline", "re");
    size_t n = from ? fread(words, 1, COMMAND_BYTES, from) : 0;
    if (from) fclose(from);
    const char *slash = strrchr(words, '/'), *word = words;
    write_name(to, words);
    if (strncmp(slash ? slash + 1 : words, "python", 6) != 0) return;
    do word += strlen(word) + 1;
    while (word < words + n && *word == '-' && strcmp(word, "-c") != 0);
    if (word >= words + n || *word == '-') return;
    fputc(' ', to);
    write_name(to, word);
}

static void write_head(const struct journal *j)
{
    const locus *n = j->node;
    const struct keyspace *k = &n->store.keyspace;
    FILE *f = j->file;
    fprintf(f,
            "{\"node\":%d,\"nodes\":%d,\"technique\":\"%s\",\"workers\":%u,\"shards\":%u,"
            "\"keys\":%" PRIu64 ",\"t\":%lld,\"tables\":\"",
            n->rank, n->size, n->plan.technique->name, n->workers, k->shards, k->keys, wall_us());
    for (unsigned i = 0; i < k->tables; i++) {
        fputs(i ? ", " : "", f);
        notation_name(f, k->table[i].name);
        fprintf(f, " %" PRIu64 " x %u", k->table[i].end - k->table[i].first, k->table[i].length);
    }
    fputs("\",\"command\":\"", f);
    write_command(f);
    fputs("\"}\n", f);
}

/* Rows of the same name are added. */
static void write_figures(FILE *out, const struct figures *f)
{
    for (size_t i = 0; i < figure_rows; i++) {
        const struct figure *row = &figure_table[i];
        double sum = 0;
        size_t first = figure_rows;
        for (size_t k = 0; row->report && k < figure_rows; k++) {
            if (!figure_table[k].report || strcmp(row->report, figure_table[k].report) != 0)
                continue;
            if (k < first) first = k;
            sum += figure_value(&figure_table[k], f);
        }
        if (first == i)
            notation_print(out, row->is_real ? ",\"%s\":%.6f" : ",\"%s\":%.0f", row->report, sum);
    }
}

/* Sums, so that the difference of two lines describes the time between them: replica-microseconds,
 * and ages weighted by them. */
static void write_shards(FILE *f, const locus *n, const struct shard_counters *c)
{
    unsigned shards = cluster_shards(n->cluster);
    double cpu_s = 0, busiest_s = 0;
    for (unsigned s = 0; s < shards; s++) {
        double one_s = reactor_figures(node_reactor(n, s)).cpu_s;
        cpu_s += one_s;
        if (one_s > busiest_s) busiest_s = one_s;
    }
    notation_print(f, ",\"aged\":%.9g,\"shards_s\":%.6f,\"busiest_s\":%.6f", shard_aged_us(c),
                   cpu_s, busiest_s);
}

/* A change of members is drawn where it was. */
static void write_members(FILE *f, const locus *n)
{
    struct locus_losses l;
    cluster_losses(n->cluster, &l);
    if (!l.survives) return;
    fprintf(f, ",\"members\":%u,\"lost\":%u,\"left\":%u,\"joined\":%u", l.members, l.lost, l.left,
            l.joined);
    if (l.last >= 0) notation_print(f, ",\"last\":%d,\"last_t\":%.0f", l.last, 1e6 * l.last_at_s);
}

static void write_process(FILE *f, const locus *n)
{
    locus_clock first = INT64_MAX;
    for (unsigned w = 0; w < n->workers; w++) {
        locus_clock clock = locus_current_clock(&n->worker[w]);
        if (clock < first) first = clock;
    }
    notation_print(f, ",\"cpu_s\":%.6f,\"resident\":%.0f,\"clock\":%" PRId64, footprint_cpu_s(),
                   footprint_resident_bytes(), first);
}

/* False: the disk is full, say. Then nothing more is written. */
static bool write_line(const struct journal *j, bool is_last)
{
    const locus *n = j->node;
    struct figures f;
    figures_read(n, &f);
    flockfile(j->file); /* values come between lines */
    fprintf(j->file, "{\"t\":%lld", wall_us());
    write_figures(j->file, &f);
    if (n->cluster) write_shards(j->file, n, &f.shards);
    if (n->cluster) write_members(j->file, n);
    write_process(j->file, n);
    fputs(is_last ? ",\"end\":1}\n" : "}\n", j->file);
    funlockfile(j->file);
    return fflush(j->file) == 0 && !ferror(j->file);
}

/* ---- the thread ---- */

/* True: it is time for a line. False: it ends. */
static bool wait_for_line(struct journal *j)
{
    uint64_t now_ns = time_now_ns(), pause_ns = (now_ns - j->began_ns) / JOURNAL_FRACTION;
    uint64_t until_ns = now_ns + (pause_ns > JOURNAL_FIRST_NS ? pause_ns : JOURNAL_FIRST_NS);
    pthread_mutex_lock(&j->mutex);
    while (!j->ends && condition_wait(&j->changed, &j->mutex, until_ns)) continue;
    bool ends = j->ends;
    pthread_mutex_unlock(&j->mutex);
    return !ends;
}

static void *run(void *journal)
{
    struct journal *j = journal;
    oversize_begin();
    bool can_write = write_line(j, false);
    while (wait_for_line(j)) can_write = can_write && write_line(j, false);
    if (can_write) write_line(j, true);
    return NULL;
}

/* ---- life ---- */

int journal_create(const char *variable, const char *prefix, unsigned rank, const char *end,
                   FILE **out)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s.%u.%s", prefix, rank, end);
    if (n >= (int)sizeof path)
        return error_set(-EINVAL, "%s is longer than a path can be", variable);
    *out = fopen(path, "we");
    return *out ? 0
                : error_set(-errno, "%s: cannot write %s: %s", variable, path,
                            locus_strerror(-errno));
}

int journal_open(unsigned rank, struct journal **out)
{
    const char *prefix = getenv("LOCUS_REPORT");
    FILE *file = NULL;
    *out = NULL;
    if (!prefix || !*prefix) return 0;
    int rc = journal_create("LOCUS_REPORT", prefix, rank, "report.jsonl", &file);
    if (rc) return rc;
    struct journal *j = *out = malloc(sizeof *j);
    if (!j) {
        fclose(file);
        return error_set(-ENOMEM, "no memory for a report");
    }
    *j = (struct journal){.file = file, .began_ns = time_now_ns()};
    condition_init(&j->changed);
    pthread_mutex_init(&j->mutex, NULL);
    return 0;
}

int journal_start(struct journal *j, const locus *n)
{
    if (!j) return 0;
    j->node = n;
    write_head(j);
    int rc = pthread_create(&j->thread, NULL, run, j);
    j->runs = rc == 0;
    return rc ? error_set(-rc, "no thread for the report (ulimit -u)") : 0;
}

bool journal_may_name(const char *curve)
{
    size_t n = strnlen(curve, JOURNAL_CURVE_BYTES);
    for (size_t i = 0; i < n; i++)
        if (curve[i] < ' ' || curve[i] > '~' || curve[i] == '"' || curve[i] == '\\') return false;
    return n > 0 && n < JOURNAL_CURVE_BYTES;
}

void journal_value(struct journal *j, const char *curve, double value)
{
    if (ferror(j->file)) return; /* it ended in the middle of a line, perhaps */
    sigset_t before = oversize_begin();
    notation_print(j->file, "{\"t\":%lld,\"curve\":\"%s\",\"y\":%.9g}\n", wall_us(), curve, value);
    fflush(j->file); /* else a child that was forked, and exits, would write it once more */
    oversize_end(before);
}

void journal_close(struct journal *j)
{
    if (!j) return;
    pthread_mutex_lock(&j->mutex);
    j->ends = true;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->mutex);
    if (j->runs) pthread_join(j->thread, NULL);
    fclose(j->file);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->mutex);
    free(j);
}
