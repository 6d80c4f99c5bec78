/* A link through memory: how both ends agree on it, and what moves there. */
#include "net/link_private.h"
#include "net/carrier.h"

#include <string.h>
#include <sys/socket.h>

/* ---- agreeing ---- */

void link_ask_to_share(struct link *l)
{
    if (!*l->all->place) return;
    l->share = SHARE_ASKED;
    link_notice(l, WIRE_SHARE, 0, l->all->place);
}

static void keep(struct link *l, struct shared *s)
{
    l->shared = s;
    l->next_sharing = l->all->sharing;
    l->all->sharing = l;
}

/* It has not been used. */
static void drop(struct link *l)
{
    struct link **at = &l->all->sharing;
    while (*at != l) at = &(*at)->next_sharing;
    *at = l->next_sharing;
    shared_free(l->shared);
    l->shared = NULL;
    l->share = SHARE_APART;
}

/* A place: of a peer of lower rank. */
static void offer(struct link *l, const char *place)
{
    char name[SHARED_TEXT_BYTES];
    bool is_here = *l->all->place && strcmp(place, l->all->place) == 0;
    struct shared *s = is_here ? shared_create(shared_ring_bytes(l->all->nodes), name) : NULL;
    l->share = s ? SHARE_ASKED : SHARE_APART;
    if (!s) return;
    keep(l, s);
    link_notice(l, WIRE_SHARE, 0, name);
}

/* A name: the answer of a peer of higher rank. */
static void accept_offer(struct link *l, const char *name)
{
    struct shared *s = shared_open(shared_ring_bytes(l->all->nodes), name);
    l->share = s ? SHARE_THROUGH : SHARE_APART;
    if (s) keep(l, s);
    link_notice(l, s ? WIRE_THROUGH : WIRE_SHARE, 0, "");
}

/* Nothing may be said behind a goodbye: then all stays as it is. */
const char *link_heard_share(struct link *l, const char *text)
{
    if (l->said_bye && l->share != SHARE_THROUGH) return NULL;
    if (l->share == SHARE_NONE)
        offer(l, text);
    else if (l->share == SHARE_ASKED && !l->shared)
        accept_offer(l, text);
    else if (l->share == SHARE_ASKED && !*text)
        drop(l);
    else
        return "an offer of memory out of turn";
    return NULL;
}

const char *link_heard_through(struct link *l)
{
    if (!l->shared || l->reads_shared) return "a change to memory that was not agreed";
    l->reads_shared = true;
    l->tail = l->head; /* what else has come are bytes that wake */
    if (l->share == SHARE_ASKED && !l->said_bye) link_notice(l, WIRE_THROUGH, 0, "");
    l->share = SHARE_THROUGH;
    return NULL;
}

/* ---- moving ---- */

void link_wake(struct link *l)
{
    static const char bell = 0;
    /* If there is no room for it, others wait there to be read. */
    if (l->writes_shared && shared_must_wake(l->shared))
        send(l->fd, &bell, sizeof bell, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Of the connection only the end is used, and what wakes. */

static void say_last(const struct link *l, const void *data, size_t bytes)
{
    const struct iovec piece = {(void *)(uintptr_t)data, bytes};
    if (shared_room(l->shared) >= bytes) shared_write(l->shared, &piece, 1);
}

static void shut(const struct link *l)
{
    tcp_carrier.shut(l);
}

static void close_link(const struct link *l)
{
    tcp_carrier.close(l);
}

static void add_load(const struct link *l, struct link_load *to)
{
    to->is_shared = true;
    to->queued_bytes += shared_unread(l->shared);
}

static void describe_silence(const struct link *l, uint64_t timeout_ns, char *reason)
{
    tcp_carrier.describe_silence(l, timeout_ns, reason);
}

static const struct carrier shared_carrier = {.name = "memory",
                                              .say_last = say_last,
                                              .shut = shut,
                                              .close = close_link,
                                              .add_load = add_load,
                                              .describe_silence = describe_silence};

void link_begin_to_give(struct link *l)
{
    l->writes_shared = true;
    __atomic_store_n(&l->carrier, &shared_carrier, __ATOMIC_RELEASE);
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
        ssize_t n = shared_write(l->shared, l->piece, pieces);
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
    if (l->state != LINK_OPEN || !l->reads_shared) return 0;
    ssize_t n = shared_read(l->shared, l->buffer + l->tail, 2 * l->all->frame_bytes - l->tail);
    if (n < 0) fail(l);
    if (n > 0) link_take(l, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

bool link_move(struct link *l)
{
    bool has_read = take(l) > 0;
    if (l->state != LINK_OPEN) return has_read;
    if (l->writes_shared && l->first && link_give(l)) return true;
    if (has_read) link_wake(l);
    return has_read;
}

void link_read_rest(struct link *l)
{
    size_t left = shared_ring_bytes(l->all->nodes), n;
    while (left > 0 && (n = take(l)) > 0) left -= n < left ? n : left;
}

/* ---- sleeping ---- */

static bool wants_room(const struct link *l)
{
    return l->writes_shared && l->first;
}

static bool is_used(const struct link *l)
{
    return l->state == LINK_OPEN && l->reads_shared;
}

bool links_sleep(struct links *all)
{
    bool has_news = false;
    for (struct link *l = all->sharing; l; l = l->next_sharing)
        if (is_used(l)) shared_sleep(l->shared, wants_room(l));
    for (struct link *l = all->sharing; l && !has_news; l = l->next_sharing)
        has_news = is_used(l) && shared_has_news(l->shared, wants_room(l));
    if (has_news) links_awake(all);
    return !has_news;
}

void links_awake(struct links *all)
{
    for (struct link *l = all->sharing; l; l = l->next_sharing)
        if (l->reads_shared) shared_awake(l->shared);
}
