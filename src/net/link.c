#include "net/link_private.h"

#include "base/error.h"
#include "locus.h"
#include "net/forked.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE_BYTES_MAX = 4 << 20, /* of send buffers that wait in the pool, but 2 in any case */
    SPARES_MIN = 2,
    LOST_TEXT_MAX = LINK_REASON_BYTES,
};
static_assert(LOST_TEXT_MAX % 8 == 0 && LOST_TEXT_MAX <= 512,
              "a body that wire_check_frame accepts");

/* ---- what all links of a ring share ---------------------------------------------------------- */

void links_init(struct links *all, const struct link_events *events, unsigned nodes,
                size_t entry_bytes_max, double timeout_s)
{
    size_t body_bytes = entry_bytes_max > LINK_FRAME_BYTES ? entry_bytes_max : LINK_FRAME_BYTES;
    uint64_t timeout_ns = (uint64_t)(timeout_s * 1e9);
    *all = (struct links){
        .events = *events,
        .nodes = nodes,
        .queued_max = SIZE_MAX,
        .frame_bytes = sizeof(struct wire_frame) + body_bytes,
        .timeout_ns = timeout_ns,
        /* Peers may have shorter time-outs than ours. */
        .heartbeat_ns = silence_beat_ns(timeout_ns),
    };
    unsigned spares = (unsigned)(SPARE_BYTES_MAX / all->frame_bytes);
    pthread_mutex_init(&all->loading, NULL);
    all->spares_max = spares > SPARES_MIN ? spares : SPARES_MIN;
    all->fallen_end = &all->fallen;
}

void links_fini(struct links *all)
{
    struct outgoing *next;
    pthread_mutex_destroy(&all->loading);
    for (struct outgoing *o = all->spare; o; o = next) {
        next = o->next;
        free(o);
    }
}

/* Written by one thread, read by any. */
static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* The buffer last given back comes first: it is still in the cache. */
static struct outgoing *take_buffer(struct links *all)
{
    struct outgoing *o = all->spare;
    if (o) {
        all->spare = o->next;
        all->spares--;
    } else if (posix_memalign((void **)&o, _Alignof(struct outgoing),
                              sizeof *o + all->frame_bytes) != 0) {
        return NULL;
    } else {
        count(&all->buffers, 1);
    }
    o->next = NULL;
    o->bytes = sizeof(struct wire_frame);
    o->count = 0;
    return o;
}

static void give_buffer(struct links *all, struct outgoing *o)
{
    if (all->spares >= all->spares_max) {
        free(o);
        count(&all->buffers, UINT64_MAX); /* one less */
        return;
    }
    o->next = all->spare;
    all->spare = o;
    all->spares++;
}

/* The same of a number that goes up and down. */
static void set_queued(struct link *l, size_t bytes)
{
    l->all->queued_bytes += bytes - l->queued_bytes;
    __atomic_store_n(&l->queued_bytes, bytes, __ATOMIC_RELAXED);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct link *link_new(struct links *all, unsigned peer, int fd)
{
    struct link *l = aligned_alloc(64, (sizeof *l + 63) & ~(size_t)63);
    if (!l) return NULL;
    *l = (struct link){.all = all, .peer = peer, .fd = fd};
    /* Its pages cost memory only once that many bytes have arrived together. */
    l->buffer = malloc(2 * all->frame_bytes);
    if (!l->buffer || forked_register(fd)) {
        free(l->buffer);
        free(l);
        return NULL;
    }
    tcp_set_options(fd);
    return l;
}

/* What is under way belongs to the kernel and stays. */
static void drop_queue(struct link *l)
{
    struct outgoing **end = &l->first, *last = NULL;
    for (unsigned i = 0; i < l->under_way; i++) {
        last = *end;
        end = &last->next;
    }
    struct outgoing *next;
    for (struct outgoing *o = *end; o; o = next) {
        next = o->next;
        give_buffer(l->all, o);
    }
    *end = NULL;
    l->last = last;
    if (l->building) give_buffer(l->all, l->building);
    l->building = NULL;
    set_queued(l, 0);
}

void link_free(struct link *l)
{
    l->under_way = 0;
    l->receiving = false;
    drop_queue(l);
    link_drop(l);
    free(l);
}

void link_end(struct link *l)
{
    if (l->phase != LINK_OPEN) return;
    l->phase = LINK_ENDED;
    shutdown(l->fd, SHUT_RDWR);
    drop_queue(l);
}

void link_drop(struct link *l)
{
    link_end(l);
    pthread_mutex_lock(&l->all->loading);
    l->is_dropped = true;
    link_end_shm(l);
    pthread_mutex_unlock(&l->all->loading);
    if (l->receiving || l->under_way || !l->buffer) return;
    forked_end(l->fd);
    free(l->buffer);
    l->buffer = NULL;
}

/* The sequence number that the peer expects next, if no frame has gone in part. */
static bool next_sequence(const struct link *l, uint64_t *sequence)
{
    if (l->under_way || l->sent) return false;
    *sequence = l->first ? ((const struct wire_frame *)(const void *)l->first->data)->sequence
                         : l->sequence_out;
    return true;
}

/* If we give a peer up, we tell it, if it can still hear us. Otherwise it would take the end of the
 * connection for our failure, and tell others so. */
static void tell_accused(struct link *l)
{
    struct {
        struct wire_frame header;
        char reason[LOST_TEXT_MAX];
    } last = {.header = {WIRE_MAGIC, WIRE_VERSION, WIRE_LOST, .membership = l->all->membership}};
    size_t length = strnlen(l->reason, LOST_TEXT_MAX);
    if (l->culprit != l->peer || l->said_bye || !next_sequence(l, &last.header.sequence)) return;
    last.header.lost = l->peer;
    last.header.body_bytes = (uint32_t)((length + 7) & ~(size_t)7);
    memcpy(last.reason, l->reason, length);
    size_t bytes = sizeof last.header + last.header.body_bytes;
    if (!l->writes_shm)
        send(l->fd, &last, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (shm_room(l->shm, bytes) >= (ssize_t)bytes)
        shm_write(l->shm, &(struct iovec){&last, bytes}, 1);
}

void link_fail(struct link *l, unsigned culprit, const char *format, ...)
{
    if (l->phase != LINK_OPEN) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(l->reason, sizeof l->reason, format, arguments);
    va_end(arguments);
    l->culprit = culprit;
    tell_accused(l);
    link_end(l);
    l->phase = LINK_FAILED;
    *l->all->fallen_end = l;
    l->all->fallen_end = &l->next_fallen;
}

/* A killed process ends its connections in any of these ways. */
static bool is_plain_end(int error)
{
    return error == 0 || error == ECONNRESET || error == EPIPE;
}

/* The connection has ended; `error` is 0 or an errno value. */
static void end(struct link *l, int error)
{
    if (is_plain_end(error)) error = l->send_error;
    if (l->said_bye || l->heard_bye)
        link_end(l);
    else if (is_plain_end(error))
        link_fail(l, l->peer, "closed the connection");
    else
        link_fail(l, l->peer, "cannot be reached any more: %s", locus_strerror(-error));
}

/* ---- sending --------------------------------------------------------------------------------- */

static void seal(struct link *l, struct outgoing *o, enum wire_kind kind, unsigned lost)
{
    *(struct wire_frame *)(void *)o->data = (struct wire_frame){
        .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .kind = (uint16_t)kind,
        .body_bytes = (uint32_t)(o->bytes - sizeof(struct wire_frame)),
        .count = o->count,
        .membership = l->all->membership,
        .lost = lost,
        .sequence = l->sequence_out++,
    };
    if (l->last)
        l->last->next = o;
    else
        l->first = o;
    l->last = o;
    link_is_ready(l);
}

static void seal_building(struct link *l)
{
    if (l->building) seal(l, l->building, WIRE_ENTRIES, 0);
    l->building = NULL;
    l->flushed = false;
}

static bool is_speaking(const struct link *l)
{
    return l->phase == LINK_OPEN && !l->said_bye;
}

size_t link_queued_max(const struct link *l)
{
    /* Our requests, and answers to the requests of every node, direct or forwarded; the same for
     * rounds. A single entry may be larger than the credit. */
    const struct links *all = l->all;
    size_t credit = LINK_CREDIT_BYTES > all->frame_bytes ? LINK_CREDIT_BYTES : all->frame_bytes,
           max = 2 * (1 + 2 * (size_t)all->nodes) * credit + all->frame_bytes,
           part = all->has_repairs ? all->queued_max / all->nodes : 0;
    return part > max ? part : max;
}

static bool start_building(struct link *l)
{
    l->building = take_buffer(l->all);
    if (!l->building) {
        link_fail(l, l->peer, "cannot be sent to: no memory for another frame of %zu bytes",
                  l->all->frame_bytes);
        return false;
    }
    set_queued(l, l->queued_bytes + l->building->bytes);
    return true;
}

/* A frame under construction that has room for as many bytes. */
static bool make_room(struct link *l, size_t bytes)
{
    INVARIANT(sizeof(struct wire_frame) + bytes <= l->all->frame_bytes,
              "an entry is larger than the largest agreed");
    if (!is_speaking(l)) return false;
    const struct links *all = l->all;
    bool is_much = all->queued_bytes + bytes > all->queued_max;
    if (l->queued_bytes + bytes > (is_much ? all->queued_max / all->nodes : link_queued_max(l))) {
        link_fail(l, l->peer, "takes nothing: %zu bytes wait to be sent to it", l->queued_bytes);
        return false;
    }
    if (l->building && l->building->bytes + bytes > l->all->frame_bytes) seal_building(l);
    return l->building || start_building(l);
}

struct wire_entry *link_entry(struct link *l, uint32_t length)
{
    size_t bytes = wire_entry_bytes(length);
    if (!make_room(l, bytes)) return NULL;
    struct outgoing *o = l->building;
    struct wire_entry *e = (void *)(o->data + o->bytes);
    *e = (struct wire_entry){.length = length};
    if (length % 2 != 0) wire_values(e)[length] = 0;
    o->bytes += bytes;
    o->count++;
    set_queued(l, l->queued_bytes + bytes);
    return e;
}

void link_flush(struct link *l)
{
    if (!l->building) return;
    l->flushed = true;
    link_is_ready(l);
}

void link_notice(struct link *l, enum wire_kind kind, unsigned lost, const char *text)
{
    size_t length = strnlen(text, LOST_TEXT_MAX);
    seal_building(l);
    if (!start_building(l)) return;
    struct outgoing *o = l->building;
    size_t bytes = (length + 7) & ~(size_t)7;
    memset(o->data + o->bytes, 0, bytes);
    memcpy(o->data + o->bytes, text, length);
    o->bytes += bytes;
    set_queued(l, l->queued_bytes + bytes);
    l->building = NULL;
    seal(l, o, kind, lost);
}

void link_bye(struct link *l)
{
    if (!is_speaking(l)) return;
    link_notice(l, WIRE_BYE, 0, "");
    l->said_bye = true;
}

void link_lost(struct link *l, unsigned lost, const char *reason)
{
    if (!is_speaking(l)) return;
    link_notice(l, WIRE_LOST, lost, reason);
    l->said_bye = true;
}

static enum wire_kind kind_of(const struct outgoing *o)
{
    return ((const struct wire_frame *)(const void *)o->data)->kind;
}

unsigned link_gather(struct link *l)
{
    if (l->phase != LINK_OPEN || l->under_way || l->send_error) return 0;
    if (l->flushed) seal_building(l);
    size_t skip = l->sent;
    unsigned n = 0;
    for (struct outgoing *o = l->first; o && n < LINK_GATHER_MAX; o = o->next) {
        l->piece[n++] = (struct iovec){o->data + skip, o->bytes - skip};
        skip = 0;
        if (kind_of(o) == WIRE_THROUGH) break; /* what follows goes another way */
    }
    if (n == 0) return 0;
    l->message = (struct msghdr){.msg_iov = l->piece, .msg_iovlen = n};
    l->under_way = n;
    l->spoke_ns = l->all->now_ns;
    if (l->heard_bye) l->heard_ns = l->all->now_ns;
    return n;
}

static void count_sent(struct link *l, size_t bytes)
{
    count(&l->stats.bytes_sent, bytes);
    set_queued(l, l->queued_bytes - bytes);
    l->sent += bytes;
    while (l->first && l->sent >= l->first->bytes) {
        struct outgoing *o = l->first;
        l->sent -= o->bytes;
        l->first = o->next;
        if (!l->first) l->last = NULL;
        if (kind_of(o) == WIRE_THROUGH) link_begin_to_give(l);
        count(&l->stats.messages_sent, 1);
        give_buffer(l->all, o);
    }
}

void link_sent(struct link *l, int result)
{
    l->under_way = 0;
    if (l->phase != LINK_OPEN) {
        drop_queue(l);
    } else if (result >= 0 || result == -EINTR || result == -EAGAIN) {
        if (result > 0) count_sent(l, (size_t)result);
        if (l->first || l->flushed) link_is_ready(l);
    } else {
        /* The peer's last message may still be under way; it may name the node that the peer lost.
         * The shutdown ends the connection, receiving continues to that end, and finds the
         * reason. */
        l->send_error = -result;
        shutdown(l->fd, SHUT_RDWR);
    }
}

static struct link_load load_of(const struct link *l)
{
    bool is_shm = __atomic_load_n(&l->writes_shm, __ATOMIC_ACQUIRE);
    return (struct link_load){
        .queued_bytes = __atomic_load_n(&l->queued_bytes, __ATOMIC_RELAXED) +
                        (is_shm ? shm_unread(l->shm) : tcp_queued_bytes(l->fd)),
        .round_trip_s = is_shm ? 0 : tcp_round_trip_s(l->fd),
        .is_shm = is_shm,
    };
}

struct link_load link_load(struct link *l)
{
    pthread_mutex_lock(&l->all->loading);
    struct link_load load = {0};
    if (!l->is_dropped) load = load_of(l);
    pthread_mutex_unlock(&l->all->loading);
    return load;
}

bool link_is_drained(const struct link *l)
{
    return l->phase != LINK_OPEN || l->queued_bytes == 0;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Of a body, whatever the peer wrote: one line. */
static void read_text(const struct wire_frame *f, char text[LINK_REASON_BYTES])
{
    const char *body = (const char *)(f + 1);
    size_t n = 0;
    for (; n < f->body_bytes && n < LINK_REASON_BYTES - 1 && body[n]; n++)
        text[n] = body[n] >= ' ' && body[n] <= '~' ? body[n] : '?';
    text[n] = '\0';
}

static void take_lost(struct link *l, const struct wire_frame *f)
{
    char reason[LINK_REASON_BYTES];
    read_text(f, reason);
    uint64_t silent_ns = silence_recent_ns(&l->silence, l->all->now_ns, l->all->timeout_ns);
    if (f->lost != l->peer && silent_ns > 0)
        link_fail(l, l->peer, SILENCE_REASON "%.1f s", (double)silent_ns * 1e-9);
    else if (f->lost >= l->all->nodes)
        link_fail(l, l->peer, "sent a notice of failure about node %u of %u", f->lost,
                  l->all->nodes);
    else
        link_fail(l, f->lost, "%s", *reason ? reason : "failed");
}

static const char *take_shm(struct link *l, const struct wire_frame *f)
{
    char text[LINK_REASON_BYTES];
    read_text(f, text);
    return link_heard_shm(l, text);
}

static void take_frame(struct link *l, const struct wire_frame *f)
{
    const struct links *all = l->all;
    const char *why = NULL;
    if (l->heard_bye)
        why = "a frame after its goodbye";
    else if (f->kind == WIRE_ENTRIES)
        why = all->events.frame(all->events.context, l->peer, f, f + 1);
    else if (f->kind == WIRE_HEARTBEAT && all->events.heartbeat)
        all->events.heartbeat(all->events.context, l->peer);
    else if (f->kind == WIRE_BYE)
        l->heard_bye = true;
    else if (f->kind == WIRE_LOST)
        take_lost(l, f);
    else if (f->kind == WIRE_SHM)
        why = take_shm(l, f);
    else if (f->kind == WIRE_THROUGH)
        why = link_heard_through(l);
    if (why) link_fail(l, l->peer, "sent %s", why);
}

/* Passes complete frames up. Returns the size of the incomplete frame behind them; 0: unknown. */
static size_t take_frames(struct link *l)
{
    while (l->phase == LINK_OPEN && l->tail - l->head >= sizeof(struct wire_frame)) {
        const struct wire_frame *f = (const void *)(l->buffer + l->head);
        const char *why = wire_check_frame(f, l->all->frame_bytes - sizeof *f, l->sequence_in);
        if (why) {
            link_fail(l, l->peer, "sent %s", why);
            return 0;
        }
        size_t bytes = sizeof *f + f->body_bytes;
        if (l->tail - l->head < bytes) return bytes;
        l->head += bytes;
        l->sequence_in++;
        count(&l->stats.messages_received, 1);
        take_frame(l, f);
    }
    return 0;
}

/* The beginning of a frame moves to the front only if the rest would not fit behind it; if its
 * header is incomplete, there is little to move. */
static void move_to_front(struct link *l, size_t frame_bytes)
{
    size_t have = l->tail - l->head;
    if (frame_bytes > 0 && l->head + frame_bytes <= 2 * l->all->frame_bytes) return;
    if (l->head > 0) memmove(l->buffer, l->buffer + l->head, have);
    l->head = 0;
    l->tail = have;
}

void link_take(struct link *l, size_t bytes)
{
    l->tail += bytes;
    silence_note(&l->silence, l->heard_ns, l->all->now_ns, l->all->timeout_ns);
    l->heard_ns = l->all->now_ns;
    count(&l->stats.bytes_received, bytes);
    move_to_front(l, take_frames(l));
}

void link_received(struct link *l, int result, bool more)
{
    if (l->phase != LINK_OPEN) return;
    if (result > 0) {
        l->more = more;
        if (!l->reads_shm) link_take(l, (size_t)result);
    } else if (result != -EINTR && result != -EAGAIN) {
        link_read_rest(l);
        end(l, -result);
    }
    if (l->phase == LINK_OPEN) link_is_ready(l);
}

bool link_peer_is_gone(const struct link *l)
{
    return l->heard_bye || l->phase != LINK_OPEN;
}

/* ---- heartbeats and silence ------------------------------------------------------------------ */

static bool is_idle(const struct link *l)
{
    return !l->first && !l->flushed;
}

/* A peer whose mesh is incomplete does not send yet. One that said goodbye need only receive what
 * is under way. */
static bool is_expecting(const struct link *l)
{
    bool has_started = l->sequence_in > 0 || l->all->all_run;
    return has_started && (!l->heard_bye || l->under_way > 0);
}

/* Entries under construction that nobody has flushed go behind it. */
static void send_heartbeat(struct link *l)
{
    struct outgoing *building = l->building;
    l->building = NULL;
    link_notice(l, WIRE_HEARTBEAT, 0, "");
    l->building = building;
}

uint64_t link_tick(struct link *l, uint64_t now_ns)
{
    const struct links *all = l->all;
    uint64_t silence_ns = is_expecting(l) ? l->heard_ns + silence_limit_ns(all->timeout_ns)
                                          : UINT64_MAX;
    uint64_t speak_ns = UINT64_MAX;
    if (l->phase != LINK_OPEN) return UINT64_MAX;
    if (now_ns >= silence_ns) {
        char reason[SILENCE_REASON_BYTES];
        tcp_describe_silence(l->fd, all->timeout_ns, reason);
        link_fail(l, l->peer, "%s", reason);
        return UINT64_MAX;
    }
    if (is_speaking(l)) {
        bool is_due = now_ns >= l->spoke_ns + all->heartbeat_ns;
        if (is_due && is_idle(l)) send_heartbeat(l);
        speak_ns = (is_due ? now_ns : l->spoke_ns) + all->heartbeat_ns;
    }
    return silence_ns < speak_ns ? silence_ns : speak_ns;
}

void link_add_stats(const struct link *l, struct link_stats *to)
{
#define ADD(to_stats, field, ...) to->field += __atomic_load_n(&l->stats.field, __ATOMIC_RELAXED);
    LINK_FIGURES(ADD)
}
