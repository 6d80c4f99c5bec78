#include "base/error.h"
#include "scheduling/mail.h"
#include "scheduling/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A worker's end of the mailboxes: it takes rounds, and sums up with the other workers.
 *
 *     --schedule--> scheduled --push--> pushed --pull--> pulled --sync-->
 *
 * Each of these calls counts rounds; the number under way is the first count minus the last, at
 * most the window. With each push, while the worker waits for sums, it also asks for rounds that
 * schedulers have written ahead, and intends their variables at once: so the manager knows what
 * this worker will write.
 */

/* Rounds asked for at a time: one is needed as each round ends; a second one catches up. */
enum { ASKED_MAX = 2 };

struct push {
    locus_key key;
    locus_ticket ticket;
};

struct locus_port {
    struct mail mail;
    locus_worker *worker;
    unsigned number, workers;
    locus_key variable_key;
    uint64_t scheduled, pushed, pulled, synced; /* rounds of which each call has been made */
    uint64_t known;                             /* rounds before it have been read */
    locus_clock clock;                          /* of round 0 */
    unsigned slots_all;                         /* of all schedulers */
    struct locus_part *parts;                   /* of all slots */
    size_t *counts;
    locus_key *keys; /* of intents */
    /* Rounds that are asked for, from `known` on; 0: none are. */
    unsigned asked;
    locus_key asked_keys[ASKED_MAX];
    locus_ticket asked_ticket;
    struct push *pushes;                             /* of each round of the window */
    float *asked_rows, *sums, *push_rows, *sync_row; /* one memory */
    locus_key sync_key;
    locus_ticket sync;
    struct locus_port_stats stats;
    double began_s;
    bool is_closed;
};

/* ---- life ---- */

static bool allocate(struct locus_port *p)
{
    const struct mail *m = &p->mail;
    size_t asked = (size_t)ASKED_MAX * m->round_length, pushes = (size_t)m->window * m->sums_length;
    p->parts = calloc((size_t)p->slots_all * m->width, sizeof *p->parts);
    p->counts = calloc(p->slots_all, sizeof *p->counts);
    p->keys = calloc(m->width, sizeof *p->keys);
    p->pushes = calloc(m->window, sizeof *p->pushes);
    p->asked_rows = calloc(asked + m->sums_length + pushes + m->changes_length, sizeof(float));
    if (!p->parts || !p->counts || !p->keys || !p->pushes || !p->asked_rows) return false;
    p->sums = p->asked_rows + asked;
    p->push_rows = p->sums + m->sums_length;
    p->sync_row = p->push_rows + pushes;
    return true;
}

static void drop(struct locus_port *p)
{
    free(p->parts);
    free(p->counts);
    free(p->keys);
    free(p->pushes);
    free(p->asked_rows);
    p->is_closed = true;
    closed_keep(p, NULL, sizeof *p);
}

static int check_variables(const struct locus_scheduler_config *c, const locus *node)
{
    locus_key last = c->variable_key + c->schedule.variables - 1;
    if (c->variable_key == UINT64_MAX || (last >= c->variable_key && last < locus_keys(node)))
        return 0;
    return error_set(-EINVAL,
                     "locus_port_open: variables have keys %llu to %llu: valid keys are 0 to %llu",
                     (unsigned long long)c->variable_key, (unsigned long long)last,
                     (unsigned long long)locus_keys(node) - 1);
}

static int check(struct mail *m, locus *node, locus_worker *worker,
                 const struct locus_scheduler_config *config, unsigned number)
{
    static const char call[] = "locus_port_open";
    int rc = mail_open(m, call, node, config), id = rc ? 0 : locus_worker_id(worker);
    if (id < 0) rc = error_set(id, "%s: %s", call, locus_error());
    if (rc == 0) rc = check_variables(config, node);
    return rc ? rc : schedule_range(call, "number", number, 0, config->schedule.workers - 1);
}

int locus_port_open(locus *node, locus_worker *worker, const struct locus_scheduler_config *config,
                    unsigned number, locus_port **out)
{
    struct mail m = {0};
    if (!out) return error_set(-EINVAL, "locus_port_open: an argument is NULL");
    *out = NULL;
    int rc = check(&m, node, worker, config, number);
    if (rc) return rc;
    struct locus_port *p = calloc(1, sizeof *p);
    if (p)
        *p = (struct locus_port){.mail = m,
                                 .worker = worker,
                                 .number = number,
                                 .workers = config->schedule.workers,
                                 .variable_key = config->variable_key,
                                 .clock = locus_current_clock(worker) + 1,
                                 .slots_all = m.schedulers * m.slots};
    if (!p || !allocate(p)) {
        if (p) drop(p);
        return error_set(-ENOMEM, "locus_port_open: no memory for %u rounds of %u parts",
                         m.schedulers * m.slots, m.width);
    }
    *out = p;
    return 0;
}

static int check_handle(const char *call, const struct locus_port *p)
{
    if (p && !p->is_closed) return 0;
    return error_set(-EINVAL, "%s: the port is %s", call, p ? "closed" : "NULL");
}

/* What is under way has its values here. */
int locus_port_close(locus_port *p)
{
    int rc = p ? check_handle("locus_port_close", p) : 0;
    if (!p || rc) return rc;
    rc = locus_wait(p->worker, p->asked_ticket);
    for (unsigned i = 0; i < p->mail.window; i++) {
        int push = locus_wait(p->worker, p->pushes[i].ticket);
        if (rc == 0) rc = push;
    }
    int sync = locus_wait(p->worker, p->sync);
    drop(p);
    return rc ? rc : sync;
}

/* ---- the order of the calls ---- */

enum port_call { SCHEDULE, PUSH, PULL, SYNC };
static const char *const call_names[] = {"locus_port_schedule", "locus_port_push",
                                         "locus_port_pull", "locus_port_sync"};

/* A round is pushed before the next one is taken, and ends before the next one is pulled. */
static bool may_call(const struct locus_port *p, enum port_call call)
{
    bool is_between = p->scheduled > p->pushed || p->pulled > p->synced;
    switch (call) {
    case SCHEDULE: return !is_between && p->scheduled - p->synced < p->mail.window;
    case PUSH: return p->scheduled > p->pushed;
    case PULL: return !is_between && p->pushed > p->pulled;
    default: return p->pulled > p->synced;
    }
}

static int check_call(const struct locus_port *p, enum port_call call, const void *argument)
{
    int rc = check_handle(call_names[call], p);
    if (rc) return rc;
    if (!argument) return error_set(-EINVAL, "%s: an argument is NULL", call_names[call]);
    if (may_call(p, call)) return 0;
    const uint64_t rounds[] = {p->scheduled, p->pushed, p->pulled, p->synced};
    enum port_call next = SYNC;
    while (!may_call(p, next)) next--;
    return error_set(-EINVAL, "%s: in round %llu %s() is next", call_names[call],
                     (unsigned long long)rounds[next], call_names[next]);
}

/* ---- schedule ---- */

static struct locus_part *parts_of(const struct locus_port *p, uint64_t round)
{
    return p->parts + round % p->slots_all * p->mail.width;
}

static size_t count_of(const struct locus_port *p, uint64_t round)
{
    return p->counts[round % p->slots_all];
}

/* The round ends before the clock of one that is a window later. */
static int intend(struct locus_port *p, uint64_t round)
{
    const struct locus_part *parts = parts_of(p, round);
    size_t own = 0;
    if (p->variable_key == UINT64_MAX) return 0;
    for (size_t i = 0; i < count_of(p, round); i++)
        if (parts[i].worker == p->number) p->keys[own++] = p->variable_key + parts[i].variable;
    locus_clock clock = p->clock + (locus_clock)round;
    int rc = locus_intent(p->worker, p->keys, own, clock, clock + (locus_clock)p->mail.window);
    return rc == -ENOBUFS ? 0 : rc; /* accesses work all the same */
}

/* Asks for the next rounds that may be written. */
static int ask(struct locus_port *p)
{
    uint64_t end = p->synced + p->slots_all;
    if (p->asked > 0) return 0;
    while (p->asked < ASKED_MAX && p->known + p->asked < end) {
        p->asked_keys[p->asked] = p->mail.rounds + mail_slot(&p->mail, p->known + p->asked);
        p->asked++;
    }
    if (p->asked == 0) return 0;
    int rc = locus_pull_async(p->worker, p->asked_keys, p->asked, p->asked_rows, &p->asked_ticket);
    if (rc) p->asked = 0;
    return rc;
}

/* Reads what was asked for, as far as it is written. */
static int read_rounds(struct locus_port *p)
{
    const struct mail *m = &p->mail;
    const float *row = p->asked_rows;
    unsigned count = p->asked;
    if (count == 0) return 0;
    int rc = locus_wait(p->worker, p->asked_ticket);
    if (rc == -EDEADLK) return rc; /* in a read section: it is still under way */
    p->asked = 0;
    for (; rc == 0 && count > 0; count--, row += m->round_length) {
        size_t *parts = &p->counts[p->known % p->slots_all];
        if (!mail_read(m, p->known, row, parts_of(p, p->known), parts)) break;
        rc = intend(p, p->known++);
    }
    return rc;
}

static int await_round(struct locus_port *p)
{
    struct mail_wait wait = {0};
    int rc = read_rounds(p);
    while (rc == 0 && p->known == p->scheduled) {
        rc = ask(p);
        if (rc == 0) rc = read_rounds(p);
        if (rc || p->known > p->scheduled) break;
        rc = mail_check(&p->mail, "locus_port_schedule", p->known, p->asked_rows);
        if (rc) break;
        unsigned seconds = mail_nap(&wait);
        if (seconds)
            fprintf(stderr,
                    "locus: worker %u has waited for %u s for round %llu of scheduler %llu\n",
                    p->number, seconds, (unsigned long long)p->scheduled,
                    (unsigned long long)(p->scheduled % p->mail.schedulers));
    }
    return rc;
}

int locus_port_schedule(locus_port *p, const struct locus_part **parts, size_t *count)
{
    if (!parts || !count) return error_set(-EINVAL, "locus_port_schedule: an argument is NULL");
    int rc = check_call(p, SCHEDULE, parts);
    if (rc) return rc;
    double began = mail_now();
    if (p->scheduled == 0) p->began_s = began;
    rc = await_round(p);
    if (rc) return rc;
    p->stats.schedule_wait_s += mail_now() - began;
    locus_advance_clock(p->worker);
    *parts = parts_of(p, p->scheduled);
    *count = count_of(p, p->scheduled);
    p->scheduled++;
    return 0;
}

/* ---- push, pull, sync ---- */

static size_t floats_of(const struct locus_port *p, uint64_t round)
{
    return count_of(p, round) * p->mail.figures;
}

static struct push *push_of(const struct locus_port *p, uint64_t round)
{
    return &p->pushes[round % p->mail.window];
}

int locus_port_push(locus_port *p, const float *partial)
{
    int rc = check_call(p, PUSH, partial);
    if (rc) return rc;
    const struct mail *m = &p->mail;
    struct push *push = push_of(p, p->pushed);
    size_t floats = floats_of(p, p->pushed);
    float *row = p->push_rows + (size_t)(push - p->pushes) * m->sums_length;
    memset(row, 0, m->sums_length * sizeof *row);
    row[0] = 1;
    memcpy(row + 1, partial, floats * sizeof *partial);
    memcpy(row + m->sums_length - m->extra, partial + floats, m->extra * sizeof *partial);
    push->key = m->sums + mail_slot(m, p->pushed);
    rc = locus_push_async(p->worker, &push->key, 1, row, &push->ticket);
    if (rc) return rc;
    p->pushed++;
    ask(p); /* ahead: who needs the round asks again, and hears what is wrong */
    return 0;
}

static int await_sums(struct locus_port *p)
{
    struct mail_wait wait = {0};
    locus_key key = p->mail.sums + mail_slot(&p->mail, p->pulled);
    struct push *push = push_of(p, p->pulled);
    int rc = locus_wait(p->worker, push->ticket);
    for (unsigned seconds = 0;; seconds = mail_nap(&wait)) {
        if (rc == 0) rc = locus_pull(p->worker, &key, 1, p->sums);
        if (rc == 0) rc = mail_check(&p->mail, "locus_port_pull", p->pulled, p->sums);
        if (rc || p->sums[0] >= (float)p->workers) return rc;
        if (seconds)
            fprintf(stderr,
                    "locus: worker %u has waited for %u s in round %llu: %.0f of %u workers have "
                    "pushed\n",
                    p->number, seconds, (unsigned long long)p->pulled, (double)p->sums[0],
                    p->workers);
    }
}

int locus_port_pull(locus_port *p, float *sums)
{
    int rc = check_call(p, PULL, sums);
    if (rc) return rc;
    const struct mail *m = &p->mail;
    size_t floats = floats_of(p, p->pulled);
    double began = mail_now();
    rc = await_sums(p);
    if (rc) return rc;
    p->stats.pull_wait_s += mail_now() - began;
    memcpy(sums, p->sums + 1, floats * sizeof *sums);
    memcpy(sums + floats, p->sums + m->sums_length - m->extra, m->extra * sizeof *sums);
    p->pulled++;
    return 0;
}

int locus_port_sync(locus_port *p, const float *changes)
{
    int rc = check_call(p, SYNC, changes);
    if (rc == 0) rc = locus_wait(p->worker, p->sync);
    if (rc) return rc;
    const struct locus_part *parts = parts_of(p, p->synced);
    size_t count = count_of(p, p->synced);
    p->sync_key = p->mail.changes + mail_slot(&p->mail, p->synced);
    memset(p->sync_row, 0, p->mail.changes_length * sizeof *p->sync_row);
    p->sync_row[0] = 1;
    for (size_t i = 0; i < count; i++)
        if (parts[i].worker == p->number) p->sync_row[1 + i] = changes[i];
    rc = locus_push_async(p->worker, &p->sync_key, 1, p->sync_row, &p->sync);
    if (rc) return rc;
    p->stats.rounds++;
    p->stats.parts += count;
    p->stats.seconds = mail_now() - p->began_s;
    p->synced++;
    read_rounds(p); /* likewise */
    return 0;
}

void locus_port_stats_sized(const locus_port *p, struct locus_port_stats *stats, size_t size)
{
    if (!stats) return;
    memset(stats, 0, size);
    if (check_handle("locus_port_stats", p)) return;
    memcpy(stats, &p->stats, size < sizeof p->stats ? size : sizeof p->stats);
}
