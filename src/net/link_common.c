/* A link through memory: how both ends agree on it, and what moves there. */
#include "net/link_private.h"

#include <string.h>
#include <sys/socket.h>

/* ---- agreeing ---- */

void link_ask_common(struct link *l)
{
    if (!*l->all->place) return;
    l->agreement = COMMON_ASKED;
    link_notice(l, WIRE_COMMON, 0, l->all->place);
}

/* A place: of a peer of lower rank. */
static void offer(struct link *l, const char *place)
{
    char name[COMMON_TEXT_BYTES];
    bool is_here = *l->all->place && strcmp(place, l->all->place) == 0;
    if (is_here) l->common = common_create(common_ring_bytes(l->all->nodes), name);
    l->agreement = l->common ? COMMON_ASKED : COMMON_APART;
    if (l->common) link_notice(l, WIRE_COMMON, 0, name);
}

/* A name: the answer of a peer of higher rank. */
static void accept_offer(struct link *l, const char *name)
{
    l->common = common_open(common_ring_bytes(l->all->nodes), name);
    l->agreement = l->common ? COMMON_THROUGH : COMMON_APART;
    link_notice(l, l->common ? WIRE_THROUGH : WIRE_COMMON, 0, "");
}

/* The peer cannot open it. */
static void drop(struct link *l)
{
    common_free(l->common);
    l->common = NULL;
    l->agreement = COMMON_APART;
}

/* Nothing may be said behind a goodbye: then all stays as it is. */
const char *link_heard_common(struct link *l, const char *text)
{
    if (l->said_bye && l->agreement != COMMON_THROUGH) return NULL;
    if (l->agreement == COMMON_NONE)
        offer(l, text);
    else if (l->agreement == COMMON_ASKED && !l->common)
        accept_offer(l, text);
    else if (l->agreement == COMMON_ASKED && !*text)
        drop(l);
    else
        return "an offer of memory out of turn";
    return NULL;
}

const char *link_heard_through(struct link *l)
{
    if (!l->common || l->reads_common) return "a change to memory that was not agreed";
    l->reads_common = true;
    l->next_common = l->all->common;
    l->all->common = l;
    common_close(l->common);
    l->tail = l->head; /* what else has come are bytes that wake */
    if (l->agreement == COMMON_ASKED && !l->said_bye) link_notice(l, WIRE_THROUGH, 0, "");
    l->agreement = COMMON_THROUGH;
    return NULL;
}

/* ---- moving ---- */

void link_wake(struct link *l)
{
    static const char bell = 0;
    /* If there is no room for it, others wait there to be read. */
    if (l->writes_common && common_must_wake(l->common))
        send(l->fd, &bell, sizeof bell, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void link_begin_to_give(struct link *l)
{
    __atomic_store_n(&l->writes_common, true, __ATOMIC_RELEASE);
    link_wake(l); /* for room that the peer was not told of */
}

static void fail(struct link *l)
{
    link_fail(l, l->peer, "wrote nonsense into the memory that it has in common with this node");
}

bool link_give(struct link *l)
{
    bool has_moved = false;
    for (unsigned pieces; (pieces = link_gather(l)) > 0;) {
        size_t all = 0;
        for (unsigned i = 0; i < pieces; i++) all += l->piece[i].iov_len;
        ssize_t n = common_write(l->common, l->piece, pieces);
        link_sent(l, n > 0 ? (int)n : 0);
        if (n < 0) fail(l);
        has_moved = has_moved || n > 0;
        if (n < (ssize_t)all) break; /* there is no more room */
    }
    if (has_moved) link_wake(l);
    return has_moved;
}

/* Returns how many bytes there were; what came of them may be the end of the link. */
static size_t take(struct link *l)
{
    if (l->phase != LINK_OPEN || !l->reads_common) return 0;
    ssize_t n = common_read(l->common, l->buffer + l->tail, 2 * l->all->frame_bytes - l->tail);
    if (n < 0) fail(l);
    if (n > 0) link_take(l, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

bool link_move(struct link *l)
{
    bool has_read = take(l) > 0;
    if (l->phase != LINK_OPEN) return has_read;
    if (l->writes_common && l->first && link_give(l)) return true;
    if (has_read) link_wake(l);
    return has_read;
}

void link_read_rest(struct link *l)
{
    size_t left = common_ring_bytes(l->all->nodes), n;
    while (left > 0 && (n = take(l)) > 0) left -= n < left ? n : left;
}

/* ---- sleeping ---- */

static bool wants_room(const struct link *l)
{
    return l->writes_common && l->first;
}

bool links_sleep(struct links *all)
{
    bool has_news = false;
    for (struct link *l = all->common; l; l = l->next_common)
        if (l->phase == LINK_OPEN) common_sleep(l->common, wants_room(l));
    for (struct link *l = all->common; l && !has_news; l = l->next_common)
        has_news = l->phase == LINK_OPEN && common_has_news(l->common, wants_room(l));
    if (has_news) links_awake(all);
    return !has_news;
}

void links_awake(struct links *all)
{
    for (struct link *l = all->common; l; l = l->next_common) common_awake(l->common);
}
