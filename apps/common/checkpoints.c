#include "checkpoints.h"

#include "digest.h"
#include "fail.h"
#include "json.h"
#include "lines.h"
#include "meter.h"
#include "saving.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double EVERY_MAX = 1e9;
static const double WAIT_S = 10; /* for a node that has come */

bool every_read(struct every *e, const char *text)
{
    size_t length = strspn(text, "0123456789.");
    const char *end = text + length;
    double n, unit = strcmp(end, "k") == 0 ? 1e3 : 1e6;
    bool is_time = strcmp(end, "s") == 0, is_count = *end == '\0',
         is_examples = unit < 1e6 || strcmp(end, "M") == 0;
    *e = (struct every){.epochs = 0};
    if (!lines_number(text, length, &n) || !(is_time || is_count || is_examples) || n > EVERY_MAX ||
        (is_count && n != (double)(uint64_t)n))
        return false;
    if (is_count) e->epochs = (uint64_t)n;
    if (is_time) e->seconds = n;
    if (is_examples) e->examples = unit * n;
    return true;
}

enum { NOTE_VERSION = 3, PATH_BYTES = 4096 };
static const char EVERY[] = "10s";

/* ---- options ---- */

void checkpoints_options(struct checkpoints_wish *w, struct args_list *list)
{
    const struct args_option options[] = {
        OPTION_TEXT("--checkpoint", "DIR", &w->folder, 0,
                    "write checkpoints there: a folder that all nodes see"),
        OPTION_TEXT("--checkpoint-every", "N[s]", &w->every, 0,
                    "every N epochs, or about every N seconds (1);\nalso after the last epoch"),
        OPTION_FLAG(
            "--resume", &w->resumes, 0,
            "go on from the newest checkpoint in DIR, if there\nis one; LOCUS_RESTART (of locus run --restarts) says\nthe same"),
    };
    args_add(list, options, sizeof options / sizeof *options);
}

uint64_t checkpoints_digest(const struct checkpoints_wish *w, uint64_t digest)
{
    const char *every = w->every ? w->every : "";
    double has_folder = w->folder != NULL;
    digest = digest_add(digest, &has_folder, sizeof has_folder);
    return digest_add(digest, every, strlen(every));
}

unsigned long checkpoints_restarts(void)
{
    static const char *const names[] = {"LOCUS_RESTART", "TORCHELASTIC_RESTART_COUNT",
                                        "SLURM_RESTART_COUNT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        unsigned long restarts = text ? strtoul(text, NULL, 10) : 0;
        if (restarts > 0) return restarts;
    }
    return 0;
}

static void parse_every(struct checkpoints *c, const char *text)
{
    const struct every *e = &c->every;
    if (!every_read(&c->every, text) || !every_is_ever(e) || e->examples > 0)
        fail_usage("--checkpoint-every takes a number of epochs, or of seconds like %s, not \"%s\"",
                   EVERY, text);
}

void checkpoints_check(const struct checkpoints_wish *w)
{
    struct checkpoints c;
    if (!w->folder && (w->every || w->resumes))
        fail_usage("%s needs --checkpoint DIR", w->every ? "--checkpoint-every" : "--resume");
    if (w->every) parse_every(&c, w->every);
    if (w->folder) saving_check_folder(w->folder);
}

void checkpoints_init(struct checkpoints *c, const struct checkpoints_wish *w, uint64_t epochs,
                      uint64_t parts_max, bool json)
{
    *c = (struct checkpoints){.folder = w->folder,
                              .parts = 1,
                              .epochs = epochs,
                              .resumes = w->folder && (w->resumes || checkpoints_restarts() > 0),
                              .json = json};
    if (!w->folder) return;
    parse_every(c, w->every ? w->every : "1");
    if (c->every.seconds > 0)
        c->parts = parts_max < CHECKPOINTS_PARTS ? parts_max : CHECKPOINTS_PARTS;
    if (c->parts == 0) c->parts = 1;
}

/* ---- progress ---- */

void progress_next(struct progress *p, uint64_t parts)
{
    if (++p->part < parts) return;
    p->part = 0;
    p->epochs++;
}

/* For who ends the training, or loses a node of it: rank 0, or where that was lost the next one.
 * There are two texts, for a signal may come while one is written. */
static void tell_kept(const struct checkpoints *c, const struct pool_member *m,
                      const struct progress *p)
{
    static char texts[2][PATH_BYTES + 128];
    static unsigned next;
    char *text = texts[next++ % 2];
    const char *what = !m->worker   ? "nothing is written"
                       : !c->folder ? "nothing is written; --checkpoint DIR keeps what is trained"
                                    : "there is no checkpoint yet";
    int n = snprintf(text, sizeof *texts, "%s: ", fail_program());
    if (c->folder && p->epochs + p->part > 0)
        snprintf(text + n, sizeof *texts - (size_t)n,
                 "--checkpoint %s --resume goes on after epoch %g\n", c->folder,
                 (double)p->epochs + (double)p->part / (double)c->parts);
    else
        snprintf(text + n, sizeof *texts - (size_t)n, "%s\n", what);
    fail_keeps(text, m->place == 0 ? NULL : "node 0 (");
}

void checkpoints_begin(struct checkpoints *c, const struct pool_member *m, const struct progress *p)
{
    if (m->index == 0 && m->pool->rank <= 1) tell_kept(c, m, p);
    if (m->place != 0) return;
    c->began_s = meter_now() - p->seconds;
    c->written_s = meter_now();
}

/* ---- the note ---- */

struct note {
    uint64_t version, task, parts; /* of an epoch */
    double time;                   /* when it was written */
    struct progress progress;
};

static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct note note_of(const struct checkpoints *c, const struct pool_member *m,
                           const struct progress *p)
{
    struct note r = {.version = NOTE_VERSION,
                     .task = m->pool->task,
                     .parts = c->parts,
                     .time = wall_clock(),
                     .progress = *p};
    r.progress.seconds = meter_now() - c->began_s;
    return r;
}

/* ---- options that a training has ---- */

static const char OPTIONS[] = "options", HELD_BACK[] = "held back by ";
enum { OPTIONS_BYTES = 1 << 14 };

/* What was given stands before =. */
static void put_option(void *file, const char *name, const char *value)
{
    fprintf(file, "%s%c%s\n", name, args_has(name) ? '=' : ' ', value);
}

/* The first is that which has an effect. */
static void put_first(void *text, const char *name, const char *value)
{
    if (!*(char *)text) snprintf(text, PATH_BYTES, "%s %s", name, value);
}

/* Beside the checkpoints: of other rows, the library says nothing of a note. */
static void write_options(const struct checkpoints *c)
{
    struct saving s;
    char held_back[PATH_BYTES] = "";
    args_each(ARGS_HOLDS_BACK, put_first, held_back);
    saving_open_in(&s, c->folder, OPTIONS);
    if (*held_back) fprintf(s.file, "%s%s\n", HELD_BACK, held_back);
    args_each(ARGS_TASK, put_option, s.file);
    saving_close(&s);
}

struct written {
    const char *folder;
    char text[OPTIONS_BYTES]; /* "": checkpoints from before have none */
};

static void read_options(const struct checkpoints *c, struct written *w)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", c->folder, OPTIONS);
    FILE *file = n < (int)sizeof path ? fopen(path, "re") : NULL;
    *w = (struct written){.folder = c->folder};
    if (!file) return;
    w->text[fread(w->text, 1, sizeof w->text - 1, file)] = '\0';
    fclose(file);
}

static void compare(const struct written *w, const char *name, const char *was, const char *is)
{
    size_t length = strcspn(was, "\n");
    if (strlen(is) != length || strncmp(was, is, length) != 0)
        fail_usage("the checkpoint in %s is of %s%s%.*s, not %s: give the same, or another folder",
                   w->folder, name, *name ? " " : "", (int)length, was, is);
}

/* What nobody gave may follow from other data. */
static void compare_option(void *written, const char *name, const char *value)
{
    const struct written *w = written;
    size_t length = strlen(name);
    const char *at = w->text;
    for (; strncmp(at, name, length) != 0 || (at[length] != '=' && at[length] != ' '); at++)
        if (!(at = strchr(at, '\n'))) return;
    if (at[length] != ' ' || args_has(name)) compare(w, name, at + length + 1, value);
}

static void compare_options(const struct checkpoints *c)
{
    struct written w;
    read_options(c, &w);
    args_each(ARGS_TASK, compare_option, &w);
}

/* Another file to test with may hold the same back: this is asked when the rest is another. */
static void compare_held_back(const struct checkpoints *c)
{
    struct written w;
    char now[PATH_BYTES] = "";
    read_options(c, &w);
    args_each(ARGS_HOLDS_BACK, put_first, now);
    size_t length = sizeof HELD_BACK - 1;
    if (strncmp(w.text, HELD_BACK, length) == 0) compare(&w, "", w.text + length, now);
}

/* ---- the note, read ---- */

/* Parts of another size: the part in which it had stopped is done again. */
static void take_note(const struct checkpoints *c, const struct pool_member *m,
                      const struct note *r, struct progress *p)
{
    if (r->version != NOTE_VERSION)
        fail_usage("the checkpoint in %s was not written by a training program of this release",
                   c->folder);
    if (r->task != m->pool->task) compare_held_back(c);
    if (r->task != m->pool->task)
        fail_usage(
            "the checkpoint in %s is of other data, or of other options than these: only what ends or judges the "
            "training, --workers and --technique may differ",
            c->folder);
    *p = r->progress;
    p->part = p->part * c->parts / r->parts;
    if (p->part == 0) memset(p->sums, 0, sizeof p->sums);
}

/* ---- going on ---- */

static bool has_manifest(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s%s%s/manifest.json", folder, *name ? "/" : "", name);
    return n < (int)sizeof path && access(path, F_OK) == 0;
}

/* One that is whole, or the folder is one. */
static bool has_checkpoint(const char *folder)
{
    static const char prefix[] = "checkpoint-";
    bool found = has_manifest(folder, "");
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && !found && (e = readdir(d));)
        found = strncmp(e->d_name, prefix, sizeof prefix - 1) == 0 &&
                has_manifest(folder, e->d_name);
    if (d) closedir(d);
    return found;
}

/* What rank 0 sees counts for all. All refuse with the status of a wrong command line: who starts a
 * job again when it has failed would go on from another job's checkpoint. */
static bool look(const struct checkpoints *c, struct pool_member *m)
{
    double found = m->place == 0 && has_checkpoint(c->folder);
    if (found > 0 && c->resumes) compare_options(c);
    double sums[] = {found, found > 0 && !c->resumes};
    pool_sum(m, sums, 2);
    if (sums[1] > 0)
        fail_usage(
            "there are checkpoints in %s already: --resume goes on from them, or choose another folder",
            c->folder);
    if (sums[0] == 0 && c->resumes && m->place == 0 && !c->json)
        printf("no checkpoint in %s yet: from the beginning\n", c->folder);
    return sums[0] > 0;
}

/* What a lost node cost, as far as is known: `locus run` says when that was. */
static void report_resumed(const struct checkpoints *c, const struct progress *p, double written)
{
    const char *lost = getenv("LOCUS_LOST"), *restart = getenv("LOCUS_RESTART");
    double lost_s = lost ? strtod(lost, NULL) - written : -1;
    if (c->json) {
        struct json j;
        json_begin(&j, "resume");
        json_count(&j, "epoch", p->epochs);
        json_number(&j, "of_the_next", (double)p->part / (double)c->parts);
        json_number(&j, "seconds", p->seconds);
        if (lost_s >= 0) json_number(&j, "repeated_s", lost_s);
        json_end(&j);
        return;
    }
    printf("goes on after epoch %" PRIu64, p->epochs);
    if (p->part > 0) printf(" and %" PRIu64 "/%" PRIu64 " of the next", p->part, c->parts);
    printf(" (%.1f s of training)", p->seconds);
    if (lost_s >= 0)
        printf("; restart %s repeats the last %.1f s", restart ? restart : "?", lost_s);
    printf("\n");
    fflush(stdout);
}

/* What would fail again has the status of a wrong command line: nobody starts that job again. */
static int restore(const struct checkpoints *c, const struct pool_member *m, struct note *r)
{
    size_t bytes = sizeof *r;
    int rc = locus_restore_with(m->worker, c->folder, r, &bytes);
    if (rc == -EINVAL) compare_held_back(c);
    if (rc == -EBADMSG || rc == -EINVAL)
        fail_usage("going on from a checkpoint: %s; to begin again give another folder",
                   locus_error());
    if (rc == -EAGAIN && m->pool->survives) return rc;
    return must(rc, "going on from a checkpoint");
}

int checkpoints_resume(struct checkpoints *c, struct pool_member *m, struct progress *p)
{
    struct note r = {.version = 0};
    *p = (struct progress){.epochs = 0};
    if (!c->folder && m->worker && m->place == 0 && checkpoints_restarts() > 0)
        fprintf(stderr, "%s: started again without --checkpoint: the training begins anew\n",
                fail_program());
    if (!c->folder || !m->worker || !look(c, m)) return 0;
    if (restore(c, m, &r)) {
        checkpoints_wait(c, m, "going on from a checkpoint", true);
        return -EAGAIN;
    }
    take_note(c, m, &r, p);
    if (m->place == 0) {
        c->waits_s = 0;
        report_resumed(c, p, r.time);
    }
    pool_meet(m);
    return 1;
}

/* ---- writing ---- */

double checkpoints_is_due(const struct checkpoints *c, const struct pool_member *m,
                          const struct progress *p)
{
    if (!c->folder || m->place != 0) return 0;
    if (p->part == 0 && p->epochs == c->epochs) return 1;
    if (c->waits_s > 0) return 1;
    if (c->every.seconds > 0) return meter_now() - c->written_s >= c->every.seconds;
    return p->part == 0 && p->epochs % c->every.epochs == 0;
}

static void report_written(const struct checkpoints *c, const struct progress *p, double seconds)
{
    if (c->json) {
        struct json j;
        json_begin(&j, "checkpoint");
        json_count(&j, "epoch", p->epochs);
        json_number(&j, "of_the_next", (double)p->part / (double)c->parts);
        json_number(&j, "seconds", seconds);
        json_end(&j);
        return;
    }
    printf("checkpoint after epoch %" PRIu64, p->epochs);
    if (p->part > 0) printf(" and %" PRIu64 "/%" PRIu64 " of the next", p->part, c->parts);
    printf("   %.2f s\n", seconds);
    fflush(stdout);
}

bool checkpoints_write(struct checkpoints *c, struct pool_member *m, const struct progress *p)
{
    double began = meter_now();
    const struct note r = note_of(c, m, p);
    int rc = locus_checkpoint_with(m->worker, c->folder, &r, sizeof r);
    if (rc == -EAGAIN && m->pool->survives) return false;
    must(rc, "writing a checkpoint");
    if (m->index == 0 && m->pool->rank <= 1) tell_kept(c, m, p);
    if (m->place != 0) return true;
    c->written_s = meter_now();
    c->waits_s = 0;
    c->has_told_within = false;
    write_options(c);
    report_written(c, p, c->written_s - began);
    return true;
}

/* The library's sentence names the node. */
void checkpoints_leave_out(struct checkpoints *c, const struct pool_member *m)
{
    if (m->place != 0 || c->has_told_within) return;
    c->has_told_within = true;
    fprintf(stderr, "%s: a checkpoint within the epoch is left out: %s\n", fail_program(),
            locus_error());
}

bool checkpoints_wait(struct checkpoints *c, const struct pool_member *m, const char *what,
                      bool must)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    double now = meter_now();
    if (m->place != 0) return true;
    if (c->waits_s == 0) c->waits_s = c->told_s = now;
    bool goes_on = !must && now - c->waits_s >= WAIT_S;
    if (now - c->told_s >= WAIT_S) {
        c->told_s = now;
        fprintf(stderr, "%s: %s %s: %s\n", fail_program(), what, goes_on ? "is left out" : "waits",
                locus_error());
    }
    if (!goes_on) nanosleep(&pause, NULL);
    return !goes_on;
}
