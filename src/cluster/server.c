#include "cluster/server.h"

#include "base/error.h"
#include "cluster/admission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };
static const uint64_t LAST_WORD_TIMEOUT_NS = 1000000000; /* for a member to hear why it must go */

/*
 *   the admission is complete       all leave
 *   -------------------------> RUNNING ----------> LEFT
 *                                 | one is lost
 *                                 v
 *                               LOST
 */
enum state { RUNNING, LOST, LEFT };

struct server {
    struct hub hub; /* its lock is ours */
    struct members members;
    struct acceptor acceptor;
    struct admission admission;
    struct verdict verdict;
    enum state state; /* once the admission is complete */
    unsigned arrived, absent, leaving;
    bool survives, is_open;   /* a barrier was released: the first is that all have opened */
    uint32_t view, met_view;  /* counts the losses survived; those before the last barrier */
    unsigned lost, repairing; /* members */

    struct reminder barrier, leave;
    unsigned barrier_rank; /* who came first */
    char barrier_name[NAME_MAX_BYTES];
    unsigned barrier_flags;
    struct word fault; /* of those that came to another barrier */
    bool goes_on; /* the last barrier was the first of two: nobody comes back before the second */
};

static bool is_running(const struct server *s)
{
    return s->admission.state == ADMISSION_COMPLETE && s->state == RUNNING;
}

/* ---- the verdict ---- */

enum { ANYBODY = -1 };

/* How often `accuser` has accused `accused`. */
static unsigned count(const struct verdict *v, int accuser, int accused)
{
    unsigned n = 0;
    for (unsigned i = 0; i < v->count; i++)
        n += (accuser == ANYBODY || v->said[i].accuser == (unsigned)accuser) &&
             (accused == ANYBODY || v->said[i].accused == (unsigned)accused);
    return n;
}

static unsigned accusers_of(const struct verdict *v, unsigned rank)
{
    return count(v, ANYBODY, (int)rank);
}

void verdict_accuse(struct verdict *v, unsigned accuser, unsigned accused, const char *reason,
                    uint64_t due_ns)
{
    /* a link each shard says so */
    if (v->count == VERDICT_MAX || count(v, (int)accuser, (int)accused)) return;
    if (v->count == 0) v->due_ns = due_ns;
    struct accusation *a = &v->said[v->count++];
    a->accuser = accuser;
    a->accused = accused;
    snprintf(a->reason, sizeof a->reason, "%s", reason);
}

void verdict_forget(struct verdict *v, unsigned rank)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < v->count; i++)
        if (v->said[i].accuser != rank && v->said[i].accused != rank) v->said[kept++] = v->said[i];
    v->count = kept;
}

/* The first accusation of the node that most accuse; of several, of the one with the highest rank.
 */
static const struct accusation *gravest(const struct verdict *v)
{
    const struct accusation *most = &v->said[0];
    unsigned accusers = accusers_of(v, most->accused);
    for (unsigned i = 1; i < v->count; i++) {
        unsigned n = accusers_of(v, v->said[i].accused);
        if (n < accusers || (n == accusers && v->said[i].accused <= most->accused)) continue;
        most = &v->said[i];
        accusers = n;
    }
    return most;
}

unsigned verdict_pick(struct verdict *v, unsigned nodes, char reason[VERDICT_REASON_BYTES])
{
    const struct accusation *a = gravest(v);
    unsigned accusers = accusers_of(v, a->accused), accused = a->accused;
    /* Rank 0, which judges; it hears the accusations of all others. */
    if (accusers == 1 && nodes > 2 && count(v, 0, ANYBODY) == nodes - 1) {
        accused = 0;
        snprintf(reason, VERDICT_REASON_BYTES, VERDICT_CUT_OFF);
    } else if (accusers > 1)
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s, as %u nodes say", a->reason, accusers);
    else if (count(v, (int)accused, (int)a->accuser))
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s to node %u, and that one to it", a->reason,
                 a->accuser);
    else
        snprintf(reason, VERDICT_REASON_BYTES, "%.150s, as node %u says", a->reason, a->accuser);
    verdict_forget(v, accused);
    return accused;
}

/* ---- barriers, leaving ---- */

static bool has_arrived(const struct member *m)
{
    return m->has_arrived;
}

static void set_absent(struct server *s, struct member *m, bool absent)
{
    s->absent += absent - m->is_absent;
    m->is_absent = absent;
    m->is_coming_back = false;
}

static void let_come_back(struct server *s, struct member *m)
{
    m->is_coming_back = s->goes_on;
    if (s->goes_on) return;
    set_absent(s, m, false);
    members_send_one(m, message_done(message_new(MESSAGE_PRESENT)));
}

/* A barrier that needs all fails by a node that is away. */
static void miss_who_is_away(const struct server *s, struct word *answer)
{
    struct word missed = {.rc = -EINVAL};
    unsigned rank = 0;
    if (!(s->barrier_flags & MESSAGE_NEEDS_ALL) || s->absent + s->leaving == 0) return;
    while (!s->members.member[rank].is_absent && !s->members.member[rank].is_leaving) rank++;
    snprintf(missed.text, sizeof missed.text,
             "node %u takes no part in %s: all of its workers have closed", rank, s->barrier_name);
    word_add(answer, &missed);
}

/* A member was lost between two barriers that belong together: whatever was done there is void. */
static bool must_repeat(const struct server *s)
{
    return s->goes_on && s->view != s->met_view;
}

/* A node that leaves, or is absent, counts as arrived at every barrier of the others. */
static void release_if_all_are_there(struct server *s)
{
    unsigned there = s->arrived + s->absent + s->leaving;
    if (s->arrived == 0 || there < s->members.size - s->lost) return;
    s->is_open = true;
    struct message *m = message_new(MESSAGE_RELEASE);
    struct word answer = s->fault;
    if (must_repeat(s)) answer = (struct word){MEETING_REPEATS, .text = "a node was lost"};
    for (unsigned rank = 0; rank < s->members.size; rank++)
        if (s->members.member[rank].has_arrived) word_add(&answer, &s->members.member[rank].said);
    miss_who_is_away(s, &answer);
    s->met_view = s->view;
    message_put_word(m, &answer);
    members_send_some(&s->members, has_arrived, message_done(m));
    for (unsigned rank = 0; rank < s->members.size; rank++)
        s->members.member[rank].has_arrived = false;
    s->goes_on = meeting_goes_on(s->barrier_flags & MESSAGE_GOES_ON, answer.rc);
    s->arrived = 0;
    s->fault = (struct word){.rc = 0};
    s->barrier.since_ns = 0;
    for (unsigned rank = 0; rank < s->members.size; rank++)
        if (s->members.member[rank].is_coming_back) let_come_back(s, &s->members.member[rank]);
}

static void compare_name(struct server *s, unsigned rank, const char *name, unsigned flags)
{
    struct word differs = {.rc = -EINVAL};
    if (s->arrived == 0) {
        s->barrier_rank = rank;
        s->barrier_flags = flags;
        memcpy(s->barrier_name, name, sizeof s->barrier_name);
    } else if (strcmp(s->barrier_name, name) != 0 || s->barrier_flags != flags) {
        snprintf(differs.text, sizeof differs.text, "rank %u called %s, while rank %u waits in %s",
                 rank, name, s->barrier_rank, s->barrier_name);
        word_add(&s->fault, &differs);
    }
}

static bool on_barrier(struct server *s, unsigned rank, struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    char name[NAME_MAX_BYTES];
    unsigned flags = message_get_u32(r);
    message_get_text(r, name, sizeof name);
    if (m->has_arrived || m->is_absent || m->is_leaving || !message_get_word(r, &m->said) ||
        !message_read_all(r) || flags > (MESSAGE_GOES_ON | MESSAGE_NEEDS_ALL))
        return false;
    compare_name(s, rank, name, flags);
    m->has_arrived = true;
    s->arrived++;
    waiting_begin(&s->barrier);
    release_if_all_are_there(s);
    return true;
}

static bool on_absent(struct server *s, unsigned rank, struct message_reader *r)
{
    unsigned absent = message_get_u32(r);
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || absent > 1 || m->has_arrived || m->is_leaving) return false;
    if (absent)
        set_absent(s, m, true);
    else
        let_come_back(s, m);
    release_if_all_are_there(s);
    return true;
}

/* The port is released before any member hears that all leave, so that the next cluster finds it
 * free. Nodes that have already come for that cluster are cut off, and try again. */
static void let_all_leave(struct server *s)
{
    acceptor_close(&s->acceptor);
    for (struct channel *c = s->hub.first; c; c = c->next)
        if (c->rank < 0) channel_close(c);
    s->state = LEFT;
    members_send_some(&s->members, NULL, message_done(message_new(MESSAGE_LEFT)));
    members_dismiss(&s->members, s->hub.timeout_ns);
}

static bool on_leave(struct server *s, unsigned rank, const struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || m->is_leaving || m->has_arrived) return false;
    set_absent(s, m, false);
    m->is_leaving = true;
    s->leaving++;
    waiting_begin(&s->leave);
    if (s->leaving == s->members.size - s->lost)
        let_all_leave(s);
    else
        release_if_all_are_there(s);
    return true;
}

/* ---- losing a member ---- */

static struct message *lost_message(unsigned rank, const char *reason)
{
    struct message *m = message_new(MESSAGE_LOST);
    message_put_u32(m, rank);
    message_put_text(m, reason);
    return message_done(m);
}

/* Rank 0 judges: a part of the cluster without it never goes on, so there is one at most. */
static bool may_survive(const struct server *s, unsigned rank)
{
    return s->survives && s->is_open && rank != 0 && s->repairing == 0 && s->leaving == 0;
}

/* Whether it had arrived or not: its word counts only where it was released. */
static void take_back(struct server *s, struct member *m)
{
    s->arrived -= m->has_arrived;
    m->has_arrived = false;
    set_absent(s, m, false);
    if (s->arrived > 0) return;
    s->fault = (struct word){.rc = 0};
    s->barrier.since_ns = 0;
}

static void survive(struct server *s, unsigned rank, const char *reason)
{
    struct member *lost = &s->members.member[rank];
    members_send_one(lost, lost_message(rank, reason));
    lost->channel = NULL;
    lost->is_lost = true;
    s->lost++;
    verdict_forget(&s->verdict, rank);
    take_back(s, lost);
    struct message *m = message_new(MESSAGE_VIEW);
    message_put_u32(m, ++s->view);
    message_put_u32(m, CHANGE_LOST);
    message_put_u32(m, rank);
    message_put_text(m, reason);
    members_send_some(&s->members, NULL, message_done(m));
    s->repairing = s->members.size - s->lost;
    for (unsigned i = 0; i < s->members.size; i++)
        s->members.member[i].is_repairing = !s->members.member[i].is_lost;
    release_if_all_are_there(s);
}

static void lose(struct server *s, unsigned rank, const char *reason)
{
    admission_lose(&s->admission, rank, reason);
    if (!is_running(s) || s->members.member[rank].is_lost) return;
    if (may_survive(s, rank)) {
        survive(s, rank, reason);
        return;
    }
    s->state = LOST;
    members_send_some(&s->members, NULL, lost_message(rank, reason));
    /* The lost node may be stopped: it finds the message when it runs again; the server does not
     * wait for that. */
    s->members.member[rank].channel = NULL;
    members_dismiss(&s->members, LAST_WORD_TIMEOUT_NS);
}

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
    if (absence_ns)
        lose(s, 0, absence);
    else if (is_running(s) && silence_is_reason(reason))
        accuse(s, 0, (unsigned)c->rank, reason); /* or was it rank 0 that was cut off? */
    else
        lose(s, (unsigned)c->rank, reason);
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
    lose(s, accuser, reason);
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
    lose(s, rank, reason);
    hub_note(&s->hub); /* others may still be accused */
}

static bool on_report(struct server *s, unsigned accuser, struct message_reader *r)
{
    char reason[MESSAGE_TEXT_MAX];
    unsigned rank = message_get_u32(r);
    message_get_text(r, reason, sizeof reason);
    if (!message_read_all(r) || rank >= s->members.size) return false;
    if (rank != accuser && !is_credible(s, accuser)) return true;
    if (rank != accuser && silence_is_reason(reason))
        accuse(s, accuser, rank, reason);
    else
        lose(s, rank, reason);
    return true;
}

static bool on_repaired(struct server *s, unsigned rank, struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    uint32_t number = message_get_u32(r);
    if (!message_read_all(r) || number != s->view || !m->is_repairing) return false;
    m->is_repairing = false;
    s->repairing--;
    return true;
}

static bool on_message_of_member(struct server *s, unsigned rank,
                                 const struct message_header *header, const void *body)
{
    struct message_reader r = message_reader(body, header->length);
    if (header->version != MESSAGE_VERSION || !is_running(s)) return false;
    switch (header->type) {
    case MESSAGE_BARRIER: return on_barrier(s, rank, &r);
    case MESSAGE_ABSENT: return on_absent(s, rank, &r);
    case MESSAGE_LEAVE: return on_leave(s, rank, &r);
    case MESSAGE_REPORT: return on_report(s, rank, &r);
    case MESSAGE_REPAIRED: return on_repaired(s, rank, &r);
    default: return false;
    }
}

static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct server *s = context;
    if (c->rank < 0) {
        admission_message(&s->admission, c, header, body);
        return;
    }
    /* One that we gave up has come back: it has yet to read that it is lost. */
    if (s->members.member[c->rank].channel != c) return;
    if (!on_message_of_member(s, (unsigned)c->rank, header, body)) reject(s, c);
}

/* ---- time ---- */

static bool has_not_arrived(const struct member *m)
{
    return !m->has_arrived && !m->is_absent && !m->is_leaving && !m->is_lost;
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

static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct server *s = context;
    uint64_t due_ns = acceptor_tick(&s->acceptor, now_ns);
    admission_tick(&s->admission, now_ns, &due_ns);
    if (is_running(s)) {
        report(s, &s->barrier, s->barrier_name, has_arrived, has_not_arrived, now_ns, &due_ns);
        report(s, &s->leave, "leaving the cluster", leaves, does_not_leave, now_ns, &due_ns);
        judge(s, now_ns, &due_ns);
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
    int rc = s->members.member ? acceptor_init(&s->acceptor, &s->hub, size) : -ENOMEM;
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
