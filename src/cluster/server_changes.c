/* Who is a member: one is lost, leaves, or joins, and the others go on. */
#include "cluster/server_private.h"

static const uint64_t LAST_WORD_TIMEOUT_NS = 1000000000; /* for a member to hear why it must go */

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

/* Whatever change is under way. */
static bool may_lose(const struct server *s)
{
    return s->survives && s->is_open && s->leaving == 0 && s->members.changes < CHANGES_MAX;
}

bool server_may_change(const struct server *s)
{
    return may_lose(s) && s->repairing == 0;
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

void server_begin_joining(struct server *s, unsigned rank)
{
    s->joining = rank;
    s->connecting = s->members.size - s->lost + 1;
    for (unsigned i = 0; i < s->members.size; i++)
        s->members.member[i].is_connecting = i == rank || is_member(&s->members.member[i]);
    tell_joining(s, s->members.member[rank].address);
}

/* Because of what member `rank` did, or it did itself. */
void server_call_off(struct server *s, unsigned rank, const char *reason)
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
void server_complete_joining(struct server *s)
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

bool server_on_connected(struct server *s, unsigned rank, struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    char why_not[MESSAGE_TEXT_MAX];
    uint64_t id = message_get_u64(r);
    message_get_text(r, why_not, sizeof why_not);
    if (!message_read_all(r)) return false;
    if (id != s->admission.id) return true; /* of one that was called off */
    if (why_not[0]) server_call_off(s, rank, why_not);
    s->connecting -= m->is_connecting;
    m->is_connecting = false;
    server_complete_joining(s);
    return true;
}

/* ---- losing a member ---- */

/* Whether it had arrived or not: its word counts only where it was released. */
static void take_back(struct server *s, struct member *m)
{
    s->arrived -= m->has_arrived;
    m->has_arrived = false;
    server_end_newcomer(s, m);
    server_set_absent(s, m, false);
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

/* What it has given away may have been to that node. */
static void lose_other_leaver(struct server *s, unsigned rank, const char *reason)
{
    char why[MESSAGE_TEXT_MAX];
    snprintf(why, sizeof why, "was about to leave when node %u %.400s", rank, reason);
    let_go(s, s->leaver, lost_message(s->leaver, why));
    lose_leaver(s, why);
}

static void survive(struct server *s, unsigned rank, const char *reason)
{
    server_call_off(s, rank, reason);
    let_go(s, rank, lost_message(rank, reason));
    if (rank == s->leaver) {
        lose_leaver(s, reason);
    } else {
        if (s->leaver) lose_other_leaver(s, rank, reason);
        change_members(s, CHANGE_LOST, rank, reason);
    }
    server_goes_on_without(s);
}

/* Why the loss of a node that is not rank 0 ends the job all the same; "" where it always does. */
static void say_why(const struct server *s, unsigned rank, char *text, size_t room)
{
    text[0] = '\0';
    if (rank == 0 || !s->survives) return;
    if (!s->is_open)
        snprintf(text, room, ", before all nodes had opened");
    else if (s->leaving > 0)
        snprintf(text, room, ", after others had begun to close");
    else
        snprintf(text, room, ", after %u changes of nodes, with which no more can be survived",
                 s->members.changes);
}

void server_lose(struct server *s, unsigned rank, const char *reason)
{
    char why[128], whole[MESSAGE_TEXT_MAX];
    admission_lose(&s->admission, rank, reason);
    if (!is_running(s) || s->members.member[rank].is_lost) return;
    if (rank != 0 && (may_lose(s) || rank == s->leaver)) {
        survive(s, rank, reason);
        return;
    }
    s->state = LOST;
    say_why(s, rank, why, sizeof why);
    snprintf(whole, sizeof whole, "%.300s%s", reason, why);
    members_send_some(&s->members, NULL, lost_message(rank, whole));
    /* The lost node may be stopped: it finds the message when it runs again; the server does not
     * wait for that. */
    s->members.member[rank].channel = NULL;
    members_dismiss(&s->members, LAST_WORD_TIMEOUT_NS);
}

/* ---- one leaves, and the others go on ---- */

/* It counts as arrived at all barriers, though it may never have had workers. */
bool server_on_go(struct server *s, unsigned rank, const struct message_reader *r)
{
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || rank == 0 || !s->survives || !server_may_leave(m)) return false;
    server_end_newcomer(s, m);
    server_set_absent(s, m, true);
    m->is_going = true;
    server_release(s);
    hub_note(&s->hub);
    return true;
}

/* One after the other. Where no change of members can come any more, with all others. */
void server_let_next_leave(struct server *s)
{
    unsigned rank = 1;
    while (rank < s->members.size && !s->members.member[rank].is_going) rank++;
    if (rank == s->members.size || s->repairing > 0 || s->joining || !s->is_open) return;
    if (!server_may_change(s)) {
        server_leaves(s, rank);
        return;
    }
    s->leaver = rank;
    change_members(s, CHANGE_LEAVES, rank, "has left");
}

void server_end_leave(struct server *s)
{
    unsigned rank = s->leaver;
    s->leaver = 0;
    let_go(s, rank, message_done(message_new(MESSAGE_LEFT)));
    server_goes_on_without(s);
}
