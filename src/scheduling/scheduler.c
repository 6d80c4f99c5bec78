#include "base/error.h"
#include "base/sync.h"
#include "scheduling/mail.h"
#include "scheduling/schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * An actor that makes rounds: a thread with a schedule and a worker of its own.
 *
 *     write the next round, if a slot is free --> look for the changes of the oldest --> again
 *
 * A failed call ends it: workers are told, and closing returns the reason.
 */
struct locus_scheduler {
    struct mail mail;
    unsigned number, workers;
    locus_schedule *schedule;
    locus_worker *worker;
    pthread_t thread;
    bool is_closing; /* atomic */
    bool has_ended;  /* of a simulation */
    bool is_closed;
    int rc; /* of the thread */
    char sentence[512];

    uint64_t given, done;     /* rounds of this scheduler */
    uint64_t tried;           /* there was none when so many were done, and 1 */
    struct locus_part *parts; /* of all slots */
    size_t *counts;
    float *row, *clear; /* one memory: as long as the longest; zeros for sums and changes */
};

static struct locus_part *parts_of(const struct locus_scheduler *s, uint64_t own)
{
    return s->parts + own % s->mail.slots * s->mail.width;
}

/* The round's number among those of all schedulers. */
static uint64_t round_of(const struct locus_scheduler *s, uint64_t own)
{
    return own * s->mail.schedulers + s->number;
}

/* ---- the thread ---- */

/* Returns 1 when a round was written, 0 when there is none. Workers with a round under way take the
 * next one before they end it: if nothing fits beside it, they get a round without parts. */
static int write_round(struct locus_scheduler *s)
{
    struct locus_part *parts = parts_of(s, s->given);
    int count = locus_schedule_next(s->schedule, parts);
    bool is_awaited = s->done < s->given && s->given - s->done < s->mail.own_window;
    if (count < 0 || (count == 0 && !is_awaited)) return count;
    uint64_t round = round_of(s, s->given), slot = mail_slot(&s->mail, round);
    locus_key key = s->mail.rounds + slot, others[] = {s->mail.sums + slot, s->mail.changes + slot};
    int rc = locus_set(s->worker, others, 2, s->clear);
    if (rc) return rc;
    mail_write(&s->mail, round, parts, (size_t)count, s->row);
    rc = locus_set(s->worker, &key, 1, s->row);
    if (rc) return rc;
    s->counts[s->given++ % s->mail.slots] = (size_t)count;
    return 1;
}

/* Returns 1 when all workers are through with the oldest round. */
static int read_changes(struct locus_scheduler *s)
{
    locus_key key = s->mail.changes + mail_slot(&s->mail, round_of(s, s->done));
    int rc = locus_pull(s->worker, &key, 1, s->row);
    if (rc || s->row[0] < (float)s->workers) return rc;
    const struct locus_part *parts = parts_of(s, s->done);
    size_t count = s->counts[s->done % s->mail.slots];
    for (size_t i = 0; i < count; i++)
        locus_schedule_changed(s->schedule, parts[i].variable, (double)s->row[1 + i]);
    if (count > 0) locus_schedule_done(s->schedule);
    s->done++;
    return 1;
}

/* Rounds ahead first: workers wait for them. Where there was none, there is none until the oldest
 * is done: to try again would draw other candidates, as often as there is time. */
static int write_or_read(struct locus_scheduler *s)
{
    bool is_under_way = s->done < s->given, has_tried = is_under_way && s->tried == s->done + 1;
    int rc = 0;
    if (!has_tried && s->given - s->done < s->mail.slots) rc = write_round(s);
    s->tried = rc == 0 ? s->done + 1 : 0;
    return rc == 0 && is_under_way ? read_changes(s) : rc;
}

/* The scheduler reads these rows again and again, so they should be here. A hint: techniques that
 * do not relocate leave them where they are. */
static int localize(const struct locus_scheduler *s)
{
    int rc = 0;
    for (unsigned own = 0; own < s->mail.slots && rc == 0; own++) {
        uint64_t slot = mail_slot(&s->mail, round_of(s, own));
        locus_key keys[] = {s->mail.rounds + slot, s->mail.sums + slot, s->mail.changes + slot};
        rc = locus_localize(s->worker, keys, LOCUS_SCHEDULER_TABLES);
    }
    return rc;
}

/* No more rounds come, and workers would wait for ever. If the cluster itself has failed, they know
 * that, and this fails, too. */
static void say_failure(struct locus_scheduler *s)
{
    int rc = 0;
    mail_write_failure(&s->mail, s->row);
    for (uint64_t own = 0; own < s->mail.slots && rc == 0; own++) {
        uint64_t slot = mail_slot(&s->mail, round_of(s, own));
        locus_key keys[] = {s->mail.rounds + slot, s->mail.sums + slot};
        rc = locus_set(s->worker, keys, 2, s->row);
    }
}

void *scheduler_run(void *scheduler)
{
    struct locus_scheduler *s = scheduler;
    struct mail_wait wait = {0};
    int rc = localize(s);
    while (rc >= 0 && !__atomic_load_n(&s->is_closing, __ATOMIC_RELAXED)) {
        rc = write_or_read(s);
        if (rc > 0) wait = (struct mail_wait){0};
        if (rc == 0) mail_nap(&wait);
    }
    if (rc < 0) {
        s->rc = rc;
        snprintf(s->sentence, sizeof s->sentence, "%s", locus_error());
        say_failure(s);
    }
    s->has_ended = true;
    return NULL;
}

#ifdef LOCUS_FIBERS
static bool has_ended(const void *scheduler)
{
    return ((const struct locus_scheduler *)scheduler)->has_ended;
}
#endif

/* ---- life ---- */

static bool allocate(struct locus_scheduler *s)
{
    const struct mail *m = &s->mail;
    size_t both = (size_t)m->sums_length + m->changes_length;
    size_t longest = m->round_length > both ? m->round_length : both;
    s->parts = calloc((size_t)m->slots * m->width, sizeof *s->parts);
    s->counts = calloc(m->slots, sizeof *s->counts);
    s->row = calloc(longest + both, sizeof *s->row);
    if (!s->parts || !s->counts || !s->row) return false;
    s->clear = s->row + longest;
    return true;
}

static void drop(struct locus_scheduler *s)
{
    locus_schedule_free(s->schedule);
    free(s->parts);
    free(s->counts);
    free(s->row);
    s->is_closed = true;
    closed_keep(s, NULL, sizeof *s);
}

static int start(struct locus_scheduler *s, locus *node,
                 const struct locus_scheduler_config *config)
{
    struct locus_schedule_config c = config->schedule;
    c.share = s->number;
    c.shares = s->mail.schedulers;
    c.window = s->mail.own_window;
    s->workers = c.workers;
    if (!allocate(s)) return error_set(-ENOMEM, "locus_scheduler_open: no memory for mailboxes");
    int rc = locus_schedule_new(&c, &s->schedule);
    if (rc == 0) rc = locus_worker_open(node, &s->worker);
    if (rc) return rc;
#ifndef LOCUS_FIBERS
    rc = pthread_create(&s->thread, NULL, scheduler_run, s);
    if (rc == 0) pthread_setname_np(s->thread, "scheduler");
#endif
    if (rc == 0) return 0;
    locus_worker_close(s->worker);
    return error_set(-EAGAIN, "locus_scheduler_open: no thread could be started: %s",
                     locus_strerror(-rc));
}

int locus_scheduler_open(locus *node, const struct locus_scheduler_config *config, unsigned number,
                         locus_scheduler **out)
{
    struct mail m = {0};
    if (!out) return error_set(-EINVAL, "locus_scheduler_open: `out` is NULL");
    *out = NULL;
    int rc = mail_open(&m, "locus_scheduler_open", node, config);
    if (rc == 0) rc = schedule_range("locus_scheduler_open", "number", number, 0, m.schedulers - 1);
    if (rc) return rc;
    struct locus_scheduler *s = calloc(1, sizeof *s);
    if (!s) return error_set(-ENOMEM, "locus_scheduler_open: no memory");
    s->mail = m;
    s->number = number;
    rc = start(s, node, config);
    if (rc) {
        drop(s);
        return rc;
    }
    *out = s;
    return 0;
}

int locus_scheduler_close(locus_scheduler *s)
{
    if (!s) return 0;
    if (s->is_closed) return error_set(-EINVAL, "locus_scheduler_close: the scheduler is closed");
    int rc = locus_worker_id(s->worker); /* another process's has no such thread here */
    if (rc < 0) return rc;
    __atomic_store_n(&s->is_closing, true, __ATOMIC_RELAXED);
#ifdef LOCUS_FIBERS
    locus_fiber_wait(has_ended, s);
#else
    pthread_join(s->thread, NULL);
#endif
    int closed = locus_worker_close(s->worker);
    rc = s->rc ? error_set(s->rc, "%s", s->sentence) : closed;
    drop(s);
    return rc;
}
