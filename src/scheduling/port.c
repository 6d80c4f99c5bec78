#include "scheduling/port.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static int take_room(struct locus_port *p)
{
    const struct mail *m = &p->mail;
    size_t rounds = (size_t)p->slots_all * m->round_length;
    p->parts = calloc((size_t)p->slots_all * m->width, sizeof *p->parts);
    p->counts = calloc(p->slots_all, sizeof *p->counts);
    p->keys = calloc(p->slots_all > m->width ? p->slots_all : m->width, sizeof *p->keys);
    p->rows = calloc(rounds > m->sums_length ? rounds : m->sums_length, sizeof *p->rows);
    p->pushed = calloc(m->sums_length, sizeof *p->pushed);
    p->synced = calloc(m->changes_length, sizeof *p->synced);
    return p->parts && p->counts && p->keys && p->rows && p->pushed && p->synced ? 0 : -ENOMEM;
}

static void drop(struct locus_port *p)
{
    free(p->parts);
    free(p->counts);
    free(p->keys);
    free(p->rows);
    free(p->pushed);
    free(p->synced);
    free(p);
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
    if (!node || !worker) {
        error_set(-EINVAL, "locus_port_open: an argument is NULL");
        return -EINVAL;
    }
    int rc = mail_init(m, "locus_port_open", config);
    if (rc == 0) rc = mail_check_tables(m, "locus_port_open", node);
    if (rc == 0) rc = check_variables(config, node);
    if (rc || number < config->schedule.workers) return rc;
    return error_set(-EINVAL, "locus_port_open: `number` is %u: must be below `workers`, %u",
                     number, config->schedule.workers);
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
    if (!p || take_room(p)) {
        if (p) drop(p);
        return error_set(-ENOMEM, "locus_port_open: no memory for %u rounds of %u parts",
                         m.schedulers * m.slots, m.width);
    }
    *out = p;
    return 0;
}

/* What is under way has its values here. */
int locus_port_close(locus_port *p)
{
    if (!p) return 0;
    int push = locus_wait(p->worker, p->push), sync = locus_wait(p->worker, p->sync);
    drop(p);
    return push ? push : sync;
}

/* ---- the order of the calls ---- */

static int check_state(const struct locus_port *p, const char *call, enum port_state wanted,
                       const void *argument)
{
    static const char *const next[] = {"locus_port_schedule", "locus_port_push", "locus_port_pull",
                                       "locus_port_sync"};
    if (!p || !argument) return error_set(-EINVAL, "%s: an argument is NULL", call);
    if (p->state == wanted) return 0;
    return error_set(-EINVAL, "%s: in round %llu %s() is next", call, (unsigned long long)p->round,
                     next[p->state]);
}

/* ---- schedule ---- */

static struct locus_part *parts_of(const struct locus_port *p, uint64_t round)
{
    return p->parts + round % p->slots_all * p->mail.width;
}

static int intend(struct locus_port *p, uint64_t round)
{
    const struct locus_part *parts = parts_of(p, round);
    size_t count = p->counts[round % p->slots_all], own = 0;
    if (p->variable_key == UINT64_MAX) return 0;
    for (size_t i = 0; i < count; i++)
        if (parts[i].worker == p->number) p->keys[own++] = p->variable_key + parts[i].variable;
    locus_clock clock = p->clock + (locus_clock)round;
    int rc = locus_intent(p->worker, p->keys, own, clock, clock + 1, LOCUS_READ_WRITE);
    return rc == -ENOBUFS ? 0 : rc; /* accesses work all the same */
}

/* Reads the next rounds as far as they are written. */
static int look(struct locus_port *p)
{
    const struct mail *m = &p->mail;
    uint64_t end = p->round + p->slots_all;
    size_t n = 0;
    for (uint64_t r = p->known; r < end; r++) p->keys[n++] = m->rounds + mail_slot(m, r);
    int rc = locus_pull(p->worker, p->keys, n, p->rows);
    const float *row = p->rows;
    if (rc == 0) rc = mail_check(m, "locus_port_schedule", p->known, row);
    for (; rc == 0 && p->known < end; p->known++, row += m->round_length) {
        size_t count = mail_read(m, p->known, row, parts_of(p, p->known));
        if (count == 0) break;
        p->counts[p->known % p->slots_all] = count;
        rc = intend(p, p->known);
    }
    return rc;
}

int locus_port_schedule(locus_port *p, const struct locus_part **parts, size_t *count)
{
    struct mail_wait wait = {0};
    if (!parts || !count) return error_set(-EINVAL, "locus_port_schedule: an argument is NULL");
    int rc = check_state(p, "locus_port_schedule", PORT_IDLE, parts);
    if (rc) return rc;
    double began = mail_now();
    if (p->stats.rounds == 0) p->began_s = began;
    while (p->known == p->round) {
        rc = look(p);
        if (rc) return rc;
        if (p->known > p->round) break;
        mail_nap(&wait);
        if (mail_is_long(&wait))
            fprintf(stderr,
                    "locus: worker %u has waited for 10 s for round %llu of scheduler %llu\n",
                    p->number, (unsigned long long)p->round,
                    (unsigned long long)(p->round % p->mail.schedulers));
    }
    p->stats.schedule_wait_s += mail_now() - began;
    locus_advance_clock(p->worker);
    *parts = parts_of(p, p->round);
    *count = p->counts[p->round % p->slots_all];
    p->state = PORT_SCHEDULED;
    return 0;
}

/* ---- push, pull, sync ---- */

static size_t floats_of(const struct locus_port *p)
{
    return p->counts[p->round % p->slots_all] * p->mail.figures;
}

int locus_port_push(locus_port *p, const float *partial)
{
    int rc = check_state(p, "locus_port_push", PORT_SCHEDULED, partial);
    if (rc == 0) rc = locus_wait(p->worker, p->push);
    if (rc) return rc;
    const struct mail *m = &p->mail;
    size_t floats = floats_of(p);
    memset(p->pushed, 0, m->sums_length * sizeof *p->pushed);
    p->pushed[0] = 1;
    memcpy(p->pushed + 1, partial, floats * sizeof *partial);
    memcpy(p->pushed + m->sums_length - m->extra, partial + floats, m->extra * sizeof *partial);
    p->push_key = m->sums + mail_slot(m, p->round);
    rc = locus_push_async(p->worker, &p->push_key, 1, p->pushed, &p->push);
    if (rc == 0) p->state = PORT_PUSHED;
    return rc;
}

static int await_sums(struct locus_port *p)
{
    struct mail_wait wait = {0};
    locus_key key = p->mail.sums + mail_slot(&p->mail, p->round);
    int rc = locus_wait(p->worker, p->push);
    p->push = 0;
    for (;; mail_nap(&wait)) {
        if (rc == 0) rc = locus_pull(p->worker, &key, 1, p->rows);
        if (rc == 0) rc = mail_check(&p->mail, "locus_port_pull", p->round, p->rows);
        if (rc || p->rows[0] >= (float)p->workers) return rc;
        if (mail_is_long(&wait))
            fprintf(stderr,
                    "locus: worker %u has waited for 10 s in round %llu: %.0f of %u workers have "
                    "pushed\n",
                    p->number, (unsigned long long)p->round, (double)p->rows[0], p->workers);
    }
}

int locus_port_pull(locus_port *p, float *sums)
{
    int rc = check_state(p, "locus_port_pull", PORT_PUSHED, sums);
    if (rc) return rc;
    const struct mail *m = &p->mail;
    size_t floats = floats_of(p);
    double began = mail_now();
    rc = await_sums(p);
    if (rc) return rc;
    p->stats.pull_wait_s += mail_now() - began;
    memcpy(sums, p->rows + 1, floats * sizeof *sums);
    memcpy(sums + floats, p->rows + m->sums_length - m->extra, m->extra * sizeof *sums);
    p->state = PORT_PULLED;
    return 0;
}

int locus_port_sync(locus_port *p, const float *changes)
{
    int rc = check_state(p, "locus_port_sync", PORT_PULLED, changes);
    if (rc == 0) rc = locus_wait(p->worker, p->sync);
    if (rc) return rc;
    const struct locus_part *parts = parts_of(p, p->round);
    size_t count = p->counts[p->round % p->slots_all];
    p->sync_key = p->mail.changes + mail_slot(&p->mail, p->round);
    memset(p->synced, 0, p->mail.changes_length * sizeof *p->synced);
    p->synced[0] = 1;
    for (size_t i = 0; i < count; i++)
        if (parts[i].worker == p->number) p->synced[1 + i] = changes[i];
    rc = locus_push_async(p->worker, &p->sync_key, 1, p->synced, &p->sync);
    if (rc) return rc;
    p->state = PORT_IDLE;
    p->stats.rounds++;
    p->stats.parts += count;
    p->stats.seconds = mail_now() - p->began_s;
    p->round++;
    return 0;
}

void locus_port_stats_sized(const locus_port *p, struct locus_port_stats *stats, size_t size)
{
    memcpy(stats, &p->stats, size < sizeof p->stats ? size : sizeof p->stats);
}
