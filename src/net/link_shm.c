/* A link through memory: how both ends agree on it, and what moves there. */
#include "net/link_private.h"

#include <string.h>
#include <sys/socket.h>

/* ---- agreeing ---- */

void link_ask_shm(struct link *l)
{
    if (!*l->all->place) return;
    l->agreement = SHM_ASKED;
    link_notice(l, WIRE_SHM, 0, l->all->place);
}

/* A place: of a peer of lower rank. */
static void offer(struct link *l, const char *place)
{
    char name[SHM_TEXT_BYTES];
    bool is_here = *l->all->place && strcmp(place, l->all->place) == 0;
    if (is_here) l->shm = shm_create(shm_ring_bytes(l->all->nodes), name);
    l->agreement = l->shm ? SHM_ASKED : SHM_APART;
    if (l->shm) link_notice(l, WIRE_SHM, 0, name);
}

/* A name: the answer of a peer of higher rank. */
static void accept_offer(struct link *l, const char *name)
{
    l->shm = shm_attach(shm_ring_bytes(l->all->nodes), name);
    l->agreement = l->shm ? SHM_THROUGH : SHM_APART;
    link_notice(l, l->shm ? WIRE_THROUGH : WIRE_SHM, 0, "");
}

/* The peer cannot open it. */
static void drop(struct link *l)
{
    shm_free(l->shm);
    l->shm = NULL;
    l->agreement = SHM_APART;
}

/* Nothing may be said behind a goodbye: then all stays as it is. */
const char *link_heard_shm(struct link *l, const char *text)
{
    if (l->said_bye && l->agreement != SHM_THROUGH) return NULL;
    if (l->agreement == SHM_NONE)
        offer(l, text);
    else if (l->agreement == SHM_ASKED && !l->shm)
        accept_offer(l, text);
    else if (l->agreement == SHM_ASKED && !*text)
        drop(l);
    else
        return "an offer of memory out of turn";
    return NULL;
}

const char *link_heard_through(struct link *l)
{
    if (!l->shm || l->reads_shm) return "a change to memory that was not agreed";
    l->reads_shm = true;
    l->next_shm = l->all->shm;
    l->all->shm = l;
    shm_close(l->shm);
    l->tail = l->head; /* what else has come are bytes that wake */
    if (l->agreement == SHM_ASKED && !l->said_bye) link_notice(l, WIRE_THROUGH, 0, "");
    l->agreement = SHM_THROUGH;
    return NULL;
}

void link_end_shm(struct link *l)
{
    struct link **at = &l->all->shm;
    while (*at && *at != l) at = &(*at)->next_shm;
    if (*at) *at = l->next_shm;
    shm_free(l->shm);
    l->shm = NULL;
}

/* ---- moving ---- */

void link_wake(struct link *l)
{
    static const char bell = 0;
    /* If there is no room for it, others wait there to be read. */
    if (l->writes_shm && shm_must_wake(l->shm))
        send(l->fd, &bell, sizeof bell, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void link_begin_to_give(struct link *l)
{
    __atomic_store_n(&l->writes_shm, true, __ATOMIC_RELEASE);
    link_wake(l); /* for room that the peer was not told of */
}

static void fail(struct link *l)
{
    link_fail(l, l->peer, "wrote nonsense into the memory that it shares with this node");
}

bool link_give(struct link *l)
{
    bool has_moved = false;
    for (unsigned pieces; (pieces = link_gather(l)) > 0;) {
        size_t all = 0;
        for (unsigned i = 0; i < pieces; i++) all += l->piece[i].iov_len;
        ssize_t n = shm_write(l->shm, l->piece, pieces);
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
    if (l->phase != LINK_OPEN || !l->reads_shm) return 0;
    ssize_t n = shm_read(l->shm, l->buffer + l->tail, 2 * l->all->frame_bytes - l->tail);
    if (n < 0) fail(l);
    if (n > 0) link_take(l, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

bool link_move(struct link *l)
{
    bool has_read = take(l) > 0;
    if (l->phase != LINK_OPEN) return has_read;
    if (l->writes_shm && l->first && link_give(l)) return true;
    if (has_read) link_wake(l);
    return has_read;
}

void link_read_rest(struct link *l)
{
    size_t left = shm_ring_bytes(l->all->nodes), n;
    while (left > 0 && (n = take(l)) > 0) left -= n < left ? n : left;
}

/* ---- sleeping ---- */

static bool wants_room(const struct link *l)
{
    return l->writes_shm && l->first;
}

bool links_sleep(struct links *all)
{
    bool has_news = false;
    for (struct link *l = all->shm; l; l = l->next_shm)
        if (l->phase == LINK_OPEN) shm_sleep(l->shm, wants_room(l));
    for (struct link *l = all->shm; l && !has_news; l = l->next_shm)
        has_news = l->phase == LINK_OPEN && shm_has_news(l->shm, wants_room(l));
    if (has_news) links_awake(all);
    return !has_news;
}

void links_awake(struct links *all)
{
    for (struct link *l = all->shm; l; l = l->next_shm) shm_awake(l->shm);
}
