/* Members that wait for each other, and that leave together. */
#include "cluster/server_private.h"

/* ---- barriers, leaving ---- */

void server_set_absent(struct server *s, struct member *m, bool absent)
{
    if (!m->is_newcomer) s->absent += absent - m->is_absent;
    m->is_absent = absent;
    m->is_coming_back = false;
}

void server_end_newcomer(struct server *s, struct member *m)
{
    s->absent -= m->is_newcomer && !m->is_absent;
    m->is_newcomer = false;
    m->kept_at[0] = '\0';
    m->kept.since_ns = 0;
}

static void let_come_back(struct server *s, struct member *m)
{
    m->is_coming_back = s->goes_on;
    if (s->goes_on) return;
    server_set_absent(s, m, false);
    members_send_one(m, message_done(message_new(MESSAGE_PRESENT)));
}

/* A barrier that needs all fails by a node that is away. */
static void miss_who_is_away(const struct server *s, struct word *answer)
{
    struct word missed = {.rc = -EINVAL};
    const struct member *m = s->members.member;
    if (!(s->barrier_flags & MESSAGE_NEEDS_ALL) || s->absent + s->leaving == 0) return;
    while (!m->is_absent && !m->is_leaving && !m->is_newcomer) m++;
    /* who has closed all workers may be about to leave */
    if (m->is_newcomer || (s->survives && m->is_absent && m > s->members.member))
        missed.rc = -EAGAIN;
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
        server_end_newcomer(s, m);
        m->has_arrived = true;
        s->arrived++;
    }
}

/* Soon it is not missing any more: but it waits for who joins, and that for the end of this barrier. */
static bool waits_for_who_goes(struct server *s)
{
    unsigned goes = 0;
    if (!(s->barrier_flags & MESSAGE_NEEDS_ALL) || s->goes_on) return false;
    for (unsigned i = 0; i < s->members.size; i++)
        if (s->members.member[i].is_going) goes = i;
    if (goes) server_call_off(s, goes, "leaves");
    return goes;
}

/* A node that leaves, or is absent, counts as arrived at every barrier of the others. */
void server_release(struct server *s)
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
    server_complete_joining(s);
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

bool server_on_barrier(struct server *s, unsigned rank, struct message_reader *r)
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
        waiting_begin(&m->kept);
    } else {
        compare_name(s, rank, name, flags);
        m->has_arrived = true;
        s->arrived++;
        waiting_begin(&s->barrier);
    }
    server_release(s);
    return true;
}

bool server_on_absent(struct server *s, unsigned rank, struct message_reader *r)
{
    unsigned absent = message_get_u32(r);
    struct member *m = &s->members.member[rank];
    if (!message_read_all(r) || absent > 1 || m->has_arrived || m->kept_at[0] || m->is_leaving)
        return false;
    if (absent)
        server_set_absent(s, m, true);
    else
        let_come_back(s, m);
    server_release(s);
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

void server_goes_on_without(struct server *s)
{
    if (s->leaving == s->members.size - s->lost)
        let_all_leave(s);
    else
        server_release(s);
}

void server_leaves(struct server *s, unsigned rank)
{
    struct member *m = &s->members.member[rank];
    server_call_off(s, rank, "leaves");
    server_end_newcomer(s, m);
    server_set_absent(s, m, false);
    m->is_going = false;
    m->is_leaving = true;
    s->leaving++;
    waiting_begin(&s->leave);
    server_goes_on_without(s);
}

bool server_may_leave(const struct member *m)
{
    return !m->is_leaving && !m->is_going && !m->has_arrived && !m->kept_at[0];
}

bool server_on_leave(struct server *s, unsigned rank, const struct message_reader *r)
{
    if (!message_read_all(r) || !server_may_leave(&s->members.member[rank])) return false;
    server_leaves(s, rank);
    return true;
}
