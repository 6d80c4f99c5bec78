#include "cluster/server.h"

#include "base/error.h"
#include "cluster/admission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    uint32_t met_view;        /* how many changes of members there were before the last barrier */
    unsigned lost, repairing; /* members */
    unsigned leaver;     /* who leaves by the last change, which is under way; 0: nobody does */
    unsigned joining;    /* who wants to, and is lost as yet; 0: nobody does */
    unsigned connecting; /* who has yet to connect to it, and itself */

    struct reminder barrier, leave;
    unsigned barrier_rank; /* who came first */
    char barrier_name[MEMBERS_BARRIER_BYTES];
    unsigned barrier_flags;
    struct word fault; /* of those that came to another barrier */
    bool goes_on; /* the last barrier was the first of two: nobody comes back before the second */
};

static bool is_running(const struct server *s)
{
    return s->admission.state == ADMISSION_COMPLETE && s->state == RUNNING;
}

/* ---- members change ---- */

static bool is_member(const struct member *m)
{
    return !m->is_lost;
}

static struct message *lost_message(unsigned rank, const char *reason)
{
    struct message *m = message_new(MESSAGE_LOST);
    message_put_u32(m, rank);
    message_put_text(m, reason);
    return message_done(m);
}

/* None is under way. */
static bool may_change(const struct server *s)
{
    return s->survives && s->is_open && s->repairing == 0 && s->leaving == 0 &&
           s->members.changes < CHANGES_MAX;
}

static void say_change(struct server *s, const char *reason)
{
    const struct change *last = &s->members.change[s->members.changes - 1];
    struct message *m = message_new(MESSAGE_VIEW);
    message_put_u32(m, last->number);
    message_put_u32(m, last->kind);
    message_put_u32(m, last->node);
    message_put_text(m, reason);
    members_send_some(&s->members, NULL, message_done(m));
}

static void change_members(struct server *s, enum change_kind kind, unsigned rank,
                           const char *reason)
{
    uint32_t number = ++s->members.changes;
    s->members.change[number - 1] = (struct change){number, kind, rank};
    say_change(s, reason);
    s->repairing = s->members.size - s->lost;
    for (unsigned i = 0; i < s->members.size; i++)
        s->members.member[i].is_repairing = !s->members.member[i].is_lost;
}

/* ---- one that was lost joins ---- */

/* It is a member when it and all others are connected. Until then it is lost, and if anything comes
 * between, it still is. */
static void tell_joining(struct server *s, const char *address)
{
    struct message *m = message_new(MESSAGE_JOINING);
    message_put_u64(m, s->admission.id);
    message_put_u32(m, s->joining);
    message_put_text(m, address);
    members_send_some(&s->members, is_member, message_done(m));
}

static void begin_joining(struct server *s, unsigned rank)
{
    s->joining = rank;
    s->connecting = s->members.size - s->lost + 1;
    for (unsigned i = 0; i < s->members.size; i++)
        s->members.member[i].is_connecting = i == rank || is_member(&s->members.member[i]);
    tell_joining(s, s->members.member[rank].address);
}

/* Because of what member `rank` did, or it did itself. */
static void call_off(struct server *s, unsigned rank, const char *reason)
{
    char why[MESSAGE_TEXT_MAX];
    struct member *m = &s->members.member[s->joining];
    if (!s->joining) return;
    snprintf(why, sizeof why, "could not join: node %u %.400s", rank, reason);
    members_send_one(m, lost_message(s->joining, rank == s->joining ? reason : why));
    m->channel = NULL;
    tell_joining(s, "");
    s->joining = 0;
    hub_note(&s->hub); /* one may wait to leave */
}

/* Not within a collective that needs all nodes, or has several barriers: it would fail, or repeat. */
static void complete_joining(struct server *s)
{
    unsigned rank = s->joining;
    bool needs_all = s->arrived > 0 && s->barrier_flags & MESSAGE_NEEDS_ALL;
    if (!rank || s->connecting > 0 || s->goes_on || needs_all) return;
    s->members.member[rank].is_lost = false;
    s->members.member[rank].is_newcomer = true;
    s->joining = 0;
    s->lost--;
    s->absent++;
    change_members(s, CHANGE_JOINS, rank, "has joined");
}

static bool on_connected(struct server *s, unsigned rank, struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    char why_not[MESSAGE_TEXT_MAX];
    uint64_t id = message_get_u64(r);
    message_get_text(r, why_not, sizeof why_not);
    if (!message_read_all(r)) return false;
    if (id != s->admission.id) return true; /* of one that was called off */
    if (why_not[0]) call_off(s, rank, why_not);
    s->connecting -= m->is_connecting;
    m->is_connecting = false;
    complete_joining(s);
    return true;
}

/* ---- barriers, leaving ---- */

static bool has_arrived(const struct member *m)
{
    return m->has_arrived;
}

static void set_absent(struct server *s, struct member *m, bool absent)
{
    if (!m->is_newcomer) s->absent += absent - m->is_absent;
    m->is_absent = absent;
    m->is_coming_back = false;
}

static void end_newcomer(struct server *s, struct member *m)
{
    s->absent -= m->is_newcomer && !m->is_absent;
    m->is_newcomer = false;
    m->kept_at[0] = '\0';
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
    const struct member *m = s->members.member;
    if (!(s->barrier_flags & MESSAGE_NEEDS_ALL) || s->absent + s->leaving == 0) return;
    while (!m->is_absent && !m->is_leaving && !m->is_newcomer) m++;
    if (m->is_newcomer) missed.rc = -EAGAIN;
    snprintf(missed.text, sizeof missed.text, "node %u takes no part in %s: %s",
             (unsigned)(m - s->members.member), s->barrier_name,
             m->is_newcomer ? "it has joined this job, and met the others in no locus_meet yet"
                            : "all of its workers have closed");
    word_add(answer, &missed);
}

/* Members changed between two barriers that belong together: whatever was done there is void. */
static bool must_repeat(const struct server *s)
{
    return s->goes_on && s->members.changes != s->met_view;
}

/* Who has come to this barrier; or, if there is nobody who could come to it, to their own. */
static void let_newcomers_in(struct server *s)
{
    for (struct member *m = s->members.member; m < s->members.member + s->members.size; m++) {
        if (!m->kept_at[0]) continue;
        if (s->arrived == 0) memcpy(s->barrier_name, m->kept_at, sizeof s->barrier_name);
        if (s->arrived == 0) s->barrier_flags = MESSAGE_LETS_IN;
        if (strcmp(m->kept_at, s->barrier_name) != 0) continue;
        end_newcomer(s, m);
        m->has_arrived = true;
        s->arrived++;
    }
}

/* Soon it is not missing any more. */
static bool waits_for_who_goes(const struct server *s)
{
    bool goes = false;
    for (unsigned i = 0; i < s->members.size; i++) goes |= s->members.member[i].is_going;
    return goes && s->barrier_flags & MESSAGE_NEEDS_ALL && !s->goes_on;
}

/* A node that leaves, or is absent, counts as arrived at every barrier of the others. */
static void release_if_all_are_there(struct server *s)
{
    unsigned there = s->arrived + s->absent + s->leaving;
    if (there == s->members.size - s->lost) let_newcomers_in(s);
    if (s->arrived == 0 || there < s->members.size - s->lost || waits_for_who_goes(s)) return;
    s->is_open = true;
    struct message *m = message_new(MESSAGE_RELEASE);
    struct word answer = s->fault;
    if (must_repeat(s)) answer = (struct word){MEETING_REPEATS, .text = "the members have changed"};
    for (unsigned rank = 0; rank < s->members.size; rank++)
        if (s->members.member[rank].has_arrived) word_add(&answer, &s->members.member[rank].said);
    miss_who_is_away(s, &answer);
    s->met_view = s->members.changes;
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
    complete_joining(s);
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
    char name[MEMBERS_BARRIER_BYTES];
    unsigned flags = message_get_u32(r), newcomers = m->is_newcomer ? MESSAGE_LETS_IN : 0;
    message_get_text(r, name, sizeof name);
    if (m->has_arrived || m->kept_at[0] || m->is_absent || m->is_leaving ||
        !message_get_word(r, &m->said) || !message_read_all(r) || !name[0] ||
        flags > (MESSAGE_GOES_ON | MESSAGE_NEEDS_ALL | MESSAGE_LETS_IN) ||
        (flags & newcomers) != newcomers)
        return false;
    if (m->is_newcomer) {
        memcpy(m->kept_at, name, sizeof m->kept_at);
    } else {
        compare_name(s, rank, name, flags);
        m->has_arrived = true;
        s->arrived++;
        waiting_begin(&s->barrier);
    }
    release_if_all_are_there(s);
    return true;
}

static bool on_absent(struct server *s, unsigned rank, struct message_reader *r)
{
    unsigned absent = message_get_u32(r);
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || absent > 1 || m->has_arrived || m->kept_at[0] || m->is_leaving)
        return false;
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

static void go_on_without(struct server *s)
{
    if (s->leaving == s->members.size - s->lost)
        let_all_leave(s);
    else
        release_if_all_are_there(s);
}

static void leave(struct server *s, unsigned rank)
{
    struct member *m = &s->members.member[rank];
    call_off(s, rank, "leaves");
    end_newcomer(s, m);
    set_absent(s, m, false);
    m->is_going = false;
    m->is_leaving = true;
    s->leaving++;
    waiting_begin(&s->leave);
    go_on_without(s);
}

static bool may_leave(const struct member *m)
{
    return !m->is_leaving && !m->is_going && !m->has_arrived && !m->kept_at[0];
}

static bool on_leave(struct server *s, unsigned rank, const struct message_reader *r)
{
    if (!message_read_all(r) || !may_leave(&s->members.member[rank])) return false;
    leave(s, rank);
    return true;
}

/* ---- losing a member ---- */

/* Whether it had arrived or not: its word counts only where it was released. */
static void take_back(struct server *s, struct member *m)
{
    s->arrived -= m->has_arrived;
    m->has_arrived = false;
    end_newcomer(s, m);
    set_absent(s, m, false);
    if (s->arrived > 0) return;
    s->fault = (struct word){.rc = 0};
    s->barrier.since_ns = 0;
}

/* Takes over the message, its last one. */
static void let_go(struct server *s, unsigned rank, struct message *last)
{
    struct member *gone = &s->members.member[rank];
    members_send_one(gone, last);
    gone->channel = NULL;
    gone->is_lost = true;
    gone->is_going = false;
    s->lost++;
    verdict_forget(&s->verdict, rank);
    take_back(s, gone);
}

/* Where not all have heard all of it, it is a loss like any other. */
static void lose_leaver(struct server *s, const char *reason)
{
    struct member *m = &s->members.member[s->leaver];
    s->members.change[s->members.changes - 1].kind = CHANGE_LOST;
    s->repairing -= m->is_repairing;
    m->is_repairing = false;
    s->leaver = 0;
    say_change(s, reason);
}

static void survive(struct server *s, unsigned rank, const char *reason)
{
    call_off(s, rank, reason);
    let_go(s, rank, lost_message(rank, reason));
    if (rank == s->leaver)
        lose_leaver(s, reason);
    else
        change_members(s, CHANGE_LOST, rank, reason);
    go_on_without(s);
}

static void lose(struct server *s, unsigned rank, const char *reason)
{
    admission_lose(&s->admission, rank, reason);
    if (!is_running(s) || s->members.member[rank].is_lost) return;
    if (rank != 0 && (may_change(s) || rank == s->leaver)) {
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

/* ---- one leaves, and the others go on ---- */

/* It counts as arrived at all barriers, though it may never have had workers. */
static bool on_go(struct server *s, unsigned rank, const struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || rank == 0 || !s->survives || !may_leave(m)) return false;
    end_newcomer(s, m);
    set_absent(s, m, true);
    m->is_going = true;
    release_if_all_are_there(s);
    hub_note(&s->hub);
    return true;
}

/* One after the other. Where no change of members can come any more, with all others. */
static void let_next_leave(struct server *s)
{
    unsigned rank = 1;
    while (rank < s->members.size && !s->members.member[rank].is_going) rank++;
    if (rank == s->members.size || s->repairing > 0 || s->joining || !s->is_open) return;
    if (!may_change(s)) {
        leave(s, rank);
        return;
    }
    s->leaver = rank;
    change_members(s, CHANGE_LEAVES, rank, "has left");
}

static void end_leave(struct server *s)
{
    unsigned rank = s->leaver;
    s->leaver = 0;
    let_go(s, rank, message_done(message_new(MESSAGE_LEFT)));
    go_on_without(s);
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
    else if (s->joining == (unsigned)c->rank)
        call_off(s, s->joining, reason);
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
    if (s->joining && accuser == s->joining) { /* whose links end, too, where others give it up */
        call_off(s, rank, reason);
        return true;
    }
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
    if (!message_read_all(r) || number != s->members.changes || !m->is_repairing) return false;
    m->is_repairing = false;
    s->repairing--;
    if (s->repairing == 0 && s->leaver) end_leave(s);
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
    case MESSAGE_BARRIER: return on_barrier(s, rank, &r);
    case MESSAGE_ABSENT: return on_absent(s, rank, &r);
    case MESSAGE_LEAVE: return on_leave(s, rank, &r);
    case MESSAGE_GO: return on_go(s, rank, &r);
    case MESSAGE_REPORT: return on_report(s, rank, &r);
    case MESSAGE_REPAIRED: return on_repaired(s, rank, &r);
    case MESSAGE_CONNECTED: return on_connected(s, rank, &r);
    default: return false;
    }
}

static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct server *s = context;
    if (c->rank < 0) {
        s->admission.is_open = is_running(s) && may_change(s) && !s->joining;
        admission_message(&s->admission, c, header, body);
        if (s->admission.is_open && c->rank >= 0 && s->members.member[c->rank].channel == c)
            begin_joining(s, (unsigned)c->rank);
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

static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct server *s = context;
    uint64_t due_ns = acceptor_tick(&s->acceptor, now_ns);
    admission_tick(&s->admission, now_ns, &due_ns);
    if (is_running(s)) {
        report(s, &s->barrier, s->barrier_name, has_arrived, has_not_arrived, now_ns, &due_ns);
        report(s, &s->leave, "leaving the cluster", leaves, does_not_leave, now_ns, &due_ns);
        judge(s, now_ns, &due_ns);
        let_next_leave(s);
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
