#include "cluster/server_private.h"

#include "base/error.h"

#include <stdlib.h>

/* If others find it silent, too, they say so within little more than a heartbeat. */
static void accuse(struct server *s, unsigned accuser, unsigned rank, const char *reason)
{
    uint64_t wait_ns = silence_beat_ns(s->hub.timeout_ns) * 6 / 5;
    if (s->members.member[rank].is_lost) return;
    verdict_accuse(&s->verdict, accuser, rank, reason, time_now_ns() + wait_ns);
    hub_note(&s->hub);
}

static void on_ended(void *context, struct channel *c, int rc, const char *reason)
{
    struct server *s = context;
    (void)rc;
    if (c->rank < 0 || s->members.member[c->rank].channel != c) return;
    s->members.member[c->rank].channel = NULL;
    /* Members that end their connections after we did not run gave us up, and rightly so. */
    uint64_t absence_ns = hub_absence(&s->hub);
    char absence[MESSAGE_TEXT_MAX];
    snprintf(absence, sizeof absence, "did not run for %.1f s", (double)absence_ns / 1e9);
    if (s->joining && s->joining == (unsigned)c->rank)
        server_call_off(s, s->joining, reason);
    else if (absence_ns)
        server_lose(s, 0, absence);
    else if (is_running(s) && silence_is_reason(reason))
        accuse(s, 0, (unsigned)c->rank, reason); /* or was it rank 0 that was cut off? */
    else
        server_lose(s, (unsigned)c->rank, reason);
}

/* It sent what a node of locus does not send. */
static void reject(struct server *s, struct channel *c)
{
    on_ended(s, c, -EPROTO, "sent a message that makes no sense");
    channel_close(c);
}

/* ---- what members say ---- */

/* A node that was not heard for long was cut off itself, and found all others silent. */
static bool is_credible(struct server *s, unsigned accuser)
{
    uint64_t silent_ns = channel_silence(s->members.member[accuser].channel);
    char reason[MESSAGE_TEXT_MAX];
    if (silent_ns == 0) return true;
    snprintf(reason, sizeof reason, SILENCE_REASON "%.1f s", (double)silent_ns / 1e9);
    server_lose(s, accuser, reason);
    return false;
}

static void judge(struct server *s, uint64_t now_ns, uint64_t *due_ns)
{
    char reason[VERDICT_REASON_BYTES];
    uint64_t at_ns = verdict_due_ns(&s->verdict);
    if (now_ns < at_ns) {
        if (at_ns < *due_ns) *due_ns = at_ns;
        return;
    }
    unsigned rank = verdict_pick(&s->verdict, s->members.size - s->lost, reason);
    server_lose(s, rank, reason);
    hub_note(&s->hub); /* others may still be accused */
}

static bool on_report(struct server *s, unsigned accuser, struct message_reader *r)
{
    char reason[MESSAGE_TEXT_MAX];
    unsigned rank = message_get_u32(r);
    message_get_text(r, reason, sizeof reason);
    if (!message_read_all(r) || rank >= s->members.size) return false;
    if (s->joining && accuser == s->joining) { /* whose links end, too, where others give it up */
        server_call_off(s, rank, reason);
        return true;
    }
    if (rank != accuser && !is_credible(s, accuser)) return true;
    if (rank != accuser && silence_is_reason(reason))
        accuse(s, accuser, rank, reason);
    else
        server_lose(s, rank, reason);
    return true;
}

static bool on_repaired(struct server *s, unsigned rank, struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    uint32_t number = message_get_u32(r);
    if (!message_read_all(r)) return false;
    if (number < s->members.changes) return number > 0; /* another change has overtaken it */
    if (number > s->members.changes || !m->is_repairing) return false;
    m->is_repairing = false;
    s->repairing--;
    if (s->repairing == 0 && s->leaver) server_end_leave(s);
    hub_note(&s->hub); /* one may wait to leave */
    return true;
}

static bool on_message_of_member(struct server *s, unsigned rank,
                                 const struct message_header *header, const void *body)
{
    struct message_reader r = message_reader(body, header->length);
    if (header->version != MESSAGE_VERSION || !is_running(s)) return false;
    bool is_lost = s->members.member[rank].is_lost; /* it is joining */
    if (is_lost && header->type != MESSAGE_REPORT && header->type != MESSAGE_CONNECTED)
        return false;
    switch (header->type) {
    case MESSAGE_BARRIER: return server_on_barrier(s, rank, &r);
    case MESSAGE_ABSENT: return server_on_absent(s, rank, &r);
    case MESSAGE_LEAVE: return server_on_leave(s, rank, &r);
    case MESSAGE_GO: return server_on_go(s, rank, &r);
    case MESSAGE_REPORT: return on_report(s, rank, &r);
    case MESSAGE_REPAIRED: return on_repaired(s, rank, &r);
    case MESSAGE_CONNECTED: return server_on_connected(s, rank, &r);
    default: return false;
    }
}

static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct server *s = context;
    if (c->rank < 0) {
        s->admission.is_open = is_running(s) && server_may_change(s) && !s->joining;
        admission_message(&s->admission, c, header, body);
        if (s->admission.is_open && c->rank >= 0 && s->members.member[c->rank].channel == c)
            server_begin_joining(s, (unsigned)c->rank);
        return;
    }
    /* One that we gave up has come back: it has yet to read that it is lost. */
    if (s->members.member[c->rank].channel != c) return;
    if (!on_message_of_member(s, (unsigned)c->rank, header, body)) reject(s, c);
}

/* ---- time ---- */

static bool has_not_arrived(const struct member *m)
{
    return !m->has_arrived && !m->is_absent && !m->is_leaving && !m->is_lost && !m->is_newcomer;
}

static bool leaves(const struct member *m)
{
    return m->is_leaving;
}

static bool does_not_leave(const struct member *m)
{
    return !m->is_leaving && !m->is_lost;
}

/* To those who wait. */
static void report(struct server *s, struct reminder *w, const char *what,
                   bool (*waits)(const struct member *), bool (*is_missing)(const struct member *),
                   uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[MESSAGE_TEXT_MAX], list[MEMBERS_LIST_BYTES];
    unsigned seconds = waiting_report(w, now_ns, due_ns);
    if (seconds == 0) return;
    members_list(&s->members, is_missing, list);
    snprintf(sentence, sizeof sentence, "%s has waited %u s for %s", what, seconds, list);
    members_send_some(&s->members, waits, waiting_message(sentence));
}

static bool lets_in(const struct member *m)
{
    return !m->is_newcomer && !m->is_lost;
}

static void report_newcomers(struct server *s, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[MESSAGE_TEXT_MAX], list[MEMBERS_LIST_BYTES];
    for (struct member *m = s->members.member; m < s->members.member + s->members.size; m++) {
        unsigned seconds = waiting_report(&m->kept, now_ns, due_ns);
        if (seconds == 0) continue;
        members_list(&s->members, lets_in, list);
        snprintf(sentence, sizeof sentence, "%s has waited %u s for %s to call it, too", m->kept_at,
                 seconds, list);
        members_send_one(m, waiting_message(sentence));
    }
}

static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct server *s = context;
    uint64_t due_ns = acceptor_tick(&s->acceptor, now_ns);
    admission_tick(&s->admission, now_ns, &due_ns);
    if (is_running(s)) {
        report(s, &s->barrier, s->barrier_name, has_arrived, has_not_arrived, now_ns, &due_ns);
        report(s, &s->leave, "leaving the cluster", leaves, does_not_leave, now_ns, &due_ns);
        report_newcomers(s, now_ns, &due_ns);
        judge(s, now_ns, &due_ns);
        server_let_next_leave(s);
    }
    return due_ns;
}

static const struct hub_events events = {.message = on_message, .ended = on_ended, .tick = on_tick};

/* ---- life ---- */

static void free_server(struct server *s)
{
    acceptor_fini(&s->acceptor);
    admission_fini(&s->admission);
    free(s->members.member);
    free(s->members.change);
    free(s);
}

static struct server *new_server(const struct rendezvous_config *c,
                                 const struct rendezvous_address *a, uint64_t deadline_ns)
{
    struct server *s = calloc(1, sizeof *s);
    unsigned size = (unsigned)c->node.size;
    if (!s) return NULL;
    s->admission.hub = &s->hub;
    s->admission.members = &s->members;
    s->admission.acceptor = &s->acceptor;
    s->members.size = size;
    s->survives = c->node.survives;
    s->members.member = calloc(size, sizeof *s->members.member);
    s->members.change = calloc(CHANGES_MAX, sizeof *s->members.change);
    int rc = s->members.member && s->members.change ? acceptor_init(&s->acceptor, &s->hub, size)
                                                    : -ENOMEM;
    if (rc == 0) rc = admission_init(&s->admission, c, a, deadline_ns);
    if (rc == 0) return s;
    free_server(s);
    return NULL;
}

int server_start(struct server **out, const struct rendezvous_config *c,
                 const struct rendezvous_address *a, uint64_t deadline_ns)
{
    struct server *s = new_server(c, a, deadline_ns);
    if (!s) return error_set(-ENOMEM, "no memory for a rendezvous of %d nodes", c->node.size);
    int rc = acceptor_open(&s->acceptor, a, c->loopback_only, deadline_ns);
    if (rc == 0) rc = hub_start(&s->hub, c->node.peer_timeout_s, &events, s);
    if (rc) {
        acceptor_close(&s->acceptor);
        free_server(s);
        return rc;
    }
    hub_lock(&s->hub);
    admission_begin(&s->admission);
    hub_unlock(&s->hub);
    *out = s;
    return 0;
}

void server_stop(struct server *s)
{
    hub_lock(&s->hub);
    acceptor_close(&s->acceptor);
    hub_unlock(&s->hub);
    hub_drain(&s->hub);
    acceptor_stop(&s->acceptor);
    hub_stop(&s->hub);
    hub_fini(&s->hub);
    free_server(s);
}
