#include "membership/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPORT_AFTER_S = 10 };
static const uint64_t SECOND_NS = 1000000000;

int rendezvous_members_init(struct rendezvous_members *all, unsigned size)
{
    all->size = size;
    all->member = calloc(size, sizeof *all->member);
    return all->member ? 0 : -ENOMEM;
}

void rendezvous_members_fini(struct rendezvous_members *all)
{
    free(all->member);
}

/* ---- telling them ---- */

void rendezvous_member_send(struct rendezvous_member *m, struct rendezvous_message *message)
{
    if (m->channel)
        rendezvous_channel_send(m->channel, message);
    else
        rendezvous_message_let_go(message);
}

void rendezvous_members_send(struct rendezvous_members *all, struct rendezvous_message *message)
{
    for (unsigned rank = 0; rank < all->size; rank++)
        rendezvous_member_send(&all->member[rank], rendezvous_message_hold(message));
    rendezvous_message_let_go(message);
}

void rendezvous_members_send_some(struct rendezvous_members *all,
                                  bool (*is_meant)(const struct rendezvous_member *),
                                  struct rendezvous_message *message)
{
    for (unsigned rank = 0; rank < all->size; rank++)
        if (is_meant(&all->member[rank]))
            rendezvous_member_send(&all->member[rank], rendezvous_message_hold(message));
    rendezvous_message_let_go(message);
}

static void dismiss(struct rendezvous_member *m, uint64_t timeout_ns)
{
    if (m->channel) rendezvous_channel_finish(m->channel, timeout_ns);
    m->channel = NULL;
}

void rendezvous_members_dismiss(struct rendezvous_members *all, uint64_t timeout_ns)
{
    for (unsigned rank = 0; rank < all->size; rank++) dismiss(&all->member[rank], timeout_ns);
}

/* ---- who is missing ---- */

bool rendezvous_members_list(const struct rendezvous_members *all,
                             bool (*is_missing)(const struct rendezvous_member *),
                             char list[RENDEZVOUS_LIST_BYTES])
{
    char ranks[RENDEZVOUS_LIST_BYTES - 32] = "";
    unsigned count = 0, more = 0;
    size_t length = 0;
    for (unsigned first = 0, last; first < all->size; first = last + 1) {
        last = first;
        if (!is_missing(&all->member[first])) continue;
        while (last + 1 < all->size && is_missing(&all->member[last + 1])) last++;
        if (last == first + 1) last = first; /* two are no row */
        count += last - first + 1;
        if (length + 24 > sizeof ranks)
            more += last - first + 1;
        else if (first == last)
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u",
                                       length ? ", " : "", first);
        else
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u to %u",
                                       length ? ", " : "", first, last);
    }
    int end = snprintf(list, RENDEZVOUS_LIST_BYTES, "rank%s %s", count == 1 ? "" : "s", ranks);
    if (more) snprintf(list + end, RENDEZVOUS_LIST_BYTES - (size_t)end, " and %u more", more);
    return count != 1;
}

void rendezvous_waiting_begin(struct rendezvous_waiting *w)
{
    if (w->since_ns == 0) *w = (struct rendezvous_waiting){.since_ns = clock_now_ns()};
}

unsigned rendezvous_waiting_report(struct rendezvous_waiting *w, uint64_t now_ns, uint64_t *due_ns)
{
    if (w->since_ns == 0) return 0;
    unsigned seconds = (w->reports + 1) * REPORT_AFTER_S;
    uint64_t at_ns = w->since_ns + seconds * SECOND_NS;
    if (now_ns < at_ns) {
        if (at_ns < *due_ns) *due_ns = at_ns;
        return 0;
    }
    w->reports++;
    return seconds;
}

struct rendezvous_message *rendezvous_waiting_message(const char *sentence)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_WAITING);
    rendezvous_put_text(m, sentence);
    return rendezvous_message_done(m);
}
