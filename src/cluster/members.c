#include "cluster/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int members_init(struct members *all, unsigned size)
{
    all->size = size;
    all->member = calloc(size, sizeof *all->member);
    return all->member ? 0 : -ENOMEM;
}

void members_fini(struct members *all)
{
    free(all->member);
}

/* ---- telling them ---- */

void members_send_one(struct member *m, struct message *message)
{
    if (m->channel)
        channel_send(m->channel, message);
    else
        message_let_go(message);
}

void members_send_some(struct members *all, bool (*is_meant)(const struct member *),
                       struct message *message)
{
    for (unsigned rank = 0; rank < all->size; rank++)
        if (!is_meant || is_meant(&all->member[rank]))
            members_send_one(&all->member[rank], message_hold(message));
    message_let_go(message);
}

void members_send(struct members *all, struct message *message)
{
    members_send_some(all, NULL, message);
}

void members_dismiss(struct members *all, uint64_t timeout_ns)
{
    for (struct member *m = all->member; m < all->member + all->size; m++) {
        if (m->channel) channel_finish(m->channel, timeout_ns);
        m->channel = NULL;
    }
}

/* ---- who is missing ---- */

bool members_list(const struct members *all, bool (*is_missing)(const struct member *),
                  char list[MEMBERS_LIST_BYTES])
{
    char ranks[MEMBERS_LIST_BYTES - 32] = "";
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
    int end = snprintf(list, MEMBERS_LIST_BYTES, "rank%s %s", count == 1 ? "" : "s", ranks);
    if (more) snprintf(list + end, MEMBERS_LIST_BYTES - (size_t)end, " and %u more", more);
    return count != 1;
}

void waiting_begin(struct reminder *w)
{
    if (w->since_ns == 0) *w = (struct reminder){.since_ns = time_now_ns()};
}

unsigned waiting_report(struct reminder *w, uint64_t now_ns, uint64_t *due_ns)
{
    if (w->since_ns == 0) return 0;
    unsigned seconds = reminder_due(w, now_ns);
    *due_ns = time_earlier(*due_ns, reminder_next_ns(w));
    return seconds;
}

struct message *waiting_message(const char *sentence)
{
    struct message *m = message_new(MESSAGE_WAITING);
    message_put_text(m, sentence);
    return message_done(m);
}
