#include "cluster/hub.h"

#include "base/error.h"
#include "cluster/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECEIVE_BYTES = 1024 }; /* room for all but a hello or a start with many tables or nodes */
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t BEAT_MIN_NS = 5000000; /* however short a timeout a peer tells */

/* ---- the lock ---- */

void hub_lock(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
}

void hub_unlock(struct hub *h)
{
    pthread_mutex_unlock(&h->mutex);
}

bool hub_wait(struct hub *h, uint64_t until_ns)
{
    return condition_wait(&h->changed, &h->mutex, until_ns);
}

void hub_announce(struct hub *h)
{
    pthread_cond_broadcast(&h->changed);
}

void hub_note(struct hub *h)
{
    uint64_t now_ns = time_now_ns();
    h->is_noted = true;
    if (now_ns < h->due_ns) h->due_ns = now_ns;
    pthread_cond_broadcast(&h->changed);
    pthread_cond_signal(&h->wake);
}

/* ---- the end of a channel ---- */

static void drop_queue(struct channel *c)
{
    for (; c->queued > 0; c->queued--) {
        message_let_go(c->queue[c->queue_first]);
        c->queue_first = (c->queue_first + 1) % HUB_QUEUE_MAX;
    }
}

/* nng ends its operations under way, and their callbacks follow. After these the thread frees the
 * memory. */
void channel_close(struct channel *c)
{
    if (c->is_closed) return;
    c->is_closed = true;
    nng_stream_close(c->stream);
    hub_note(c->hub);
}

void channel_finish(struct channel *c, uint64_t timeout_ns)
{
    if (c->is_closed) return;
    c->is_finished = true;
    c->deadline_ns = time_now_ns() + timeout_ns;
    hub_note(c->hub);
}

static void fail(struct channel *c, int rc, const char *reason)
{
    if (c->is_closed) return;
    channel_close(c);
    if (!c->is_finished) c->hub->events->ended(c->hub->context, c, rc, reason);
}

static void fail_by_nng(struct channel *c, int result)
{
    char reason[MESSAGE_TEXT_MAX];
    bool closed = result == NNG_ECLOSED || result == NNG_ECONNSHUT || result == NNG_ECONNRESET;
    snprintf(reason, sizeof reason, "lost its connection: %s", nng_strerror(result));
    fail(c, result == NNG_ENOMEM ? -ENOMEM : -ECONNRESET,
         closed ? "closed the connection" : reason);
}

static void fail_by_silence(struct channel *c)
{
    char reason[MESSAGE_TEXT_MAX];
    snprintf(reason, sizeof reason, SILENCE_REASON "%g s", (double)c->hub->timeout_ns / 1e9);
    fail(c, -ETIMEDOUT, reason);
}

static void free_channel(struct channel *c)
{
    nng_aio_free(c->receiving);
    nng_aio_free(c->sending);
    nng_stream_free(c->stream);
    free(c->received);
    free(c);
}

static bool is_over(const struct channel *c)
{
    return c->is_closed && !c->is_receiving && !c->is_sending;
}

static void unlink_channel(struct channel *c)
{
    struct hub *h = c->hub;
    *(c->previous ? &c->previous->next : &h->first) = c->next;
    *(c->next ? &c->next->previous : &h->last) = c->previous;
}

/* Waits for callbacks that are about to return, and so releases the lock. true: the lock was
 * released. */
static bool free_what_is_over(struct hub *h)
{
    struct channel *over = NULL;
    unsigned count = 0;
    for (struct channel *c = h->first, *next; c; c = next) {
        next = c->next;
        if (!is_over(c)) continue;
        unlink_channel(c);
        drop_queue(c);
        c->next = over;
        over = c;
        count++;
    }
    if (!over) return false;
    hub_unlock(h);
    while (over) {
        struct channel *c = over;
        over = c->next;
        free_channel(c);
    }
    hub_lock(h);
    h->channels -= count;
    pthread_cond_broadcast(&h->changed);
    return true;
}

/* ---- receiving ---- */

static void receive(struct channel *c)
{
    nng_iov rest = {.iov_buf = c->received + c->have, .iov_len = c->capacity - c->have};
    nng_aio_set_iov(c->receiving, 1, &rest); /* cannot fail with one piece */
    c->is_receiving = true;
    nng_stream_recv(c->stream, c->receiving);
}

static bool resize(struct channel *c, size_t capacity)
{
    unsigned char *received = realloc(c->received, capacity);
    if (!received) return false;
    c->received = received;
    c->capacity = capacity;
    return true;
}

/* Room for the rest of a long message; back to little when it is done. */
static void adapt_capacity(struct channel *c, size_t wanted)
{
    if (c->is_closed || (wanted <= c->capacity && (c->capacity == RECEIVE_BYTES || c->have > 0)))
        return;
    if (!resize(c, wanted > RECEIVE_BYTES ? wanted : RECEIVE_BYTES))
        fail(c, -ENOMEM, "sent more than there is memory for");
}

static bool is_heartbeat(const struct message_header *h)
{
    return h->version == MESSAGE_VERSION && h->type == MESSAGE_HEARTBEAT && h->length == 0;
}

/* Until heartbeats are expected they count like other messages, so an unauthenticated peer gains no
 * time by sending them. */
static void deliver(struct channel *c, const struct message_header *header, const void *body)
{
    if (!c->beat_ns || !is_heartbeat(header))
        c->hub->events->message(c->hub->context, c, header, body);
}

static size_t message_max(const struct channel *c)
{
    return c->rank < 0 ? c->hub->unauthenticated_bytes_max : MESSAGE_MAX;
}

/* Hands up the messages that are whole. Returns the bytes of the next one, as far as known. */
static size_t take_messages(struct channel *c)
{
    size_t at = 0, wanted = MESSAGE_HEADER_BYTES;
    while (!c->is_closed && !c->is_finished && c->have - at >= MESSAGE_HEADER_BYTES) {
        struct message_header header = message_header(c->received + at);
        bool sound = header.magic == MESSAGE_MAGIC &&
                     header.length <= message_max(c) - MESSAGE_HEADER_BYTES;
        if (!sound) {
            fail(c, -EPROTO, "sent what is no message of a rendezvous");
            break;
        }
        wanted = MESSAGE_HEADER_BYTES + header.length;
        if (c->have - at < wanted) break;
        deliver(c, &header, c->received + at + MESSAGE_HEADER_BYTES);
        at += wanted;
        wanted = MESSAGE_HEADER_BYTES;
    }
    if (c->is_finished) at = c->have;
    c->have -= at;
    memmove(c->received, c->received + at, c->have);
    return wanted;
}

/* By whoever runs first: what we did not hear while we did not run was no silence. */
static void notice_absence(struct hub *h, uint64_t now_ns)
{
    uint64_t late_ns = now_ns > h->due_ns ? now_ns - h->due_ns : 0;
    if (late_ns < h->timeout_ns / 4) return;
    for (struct channel *c = h->first; c; c = c->next) c->heard_ns = now_ns;
    h->absence_ns = late_ns;
    h->absence_end_ns = now_ns;
}

static void on_received(void *argument)
{
    struct channel *c = argument;
    struct hub *h = c->hub;
    hub_lock(h);
    c->is_receiving = false;
    int result = nng_aio_result(c->receiving);
    if (!c->is_closed && result == 0) {
        uint64_t now_ns = time_now_ns();
        notice_absence(h, now_ns);
        if (c->beat_ns) silence_note(&c->silence, c->heard_ns, now_ns, h->timeout_ns);
        c->heard_ns = now_ns;
        c->have += nng_aio_count(c->receiving);
        adapt_capacity(c, take_messages(c));
    } else {
        fail_by_nng(c, result);
    }
    if (c->is_closed)
        hub_note(h);
    else
        receive(c);
    hub_unlock(h);
}

/* ---- sending ---- */

static void send_next(struct channel *c)
{
    const struct message *m = c->queue[c->queue_first];
    nng_iov rest = {.iov_buf = m->data + c->sent, .iov_len = m->bytes - c->sent};
    nng_aio_set_iov(c->sending, 1, &rest);
    c->is_sending = true;
    nng_stream_send(c->stream, c->sending);
}

static void count_sent(struct channel *c, size_t bytes)
{
    c->sent += bytes;
    if (c->sent < c->queue[c->queue_first]->bytes) return;
    message_let_go(c->queue[c->queue_first]);
    c->queue_first = (c->queue_first + 1) % HUB_QUEUE_MAX;
    c->queued--;
    c->sent = 0;
}

static void on_sent(void *argument)
{
    struct channel *c = argument;
    struct hub *h = c->hub;
    hub_lock(h);
    c->is_sending = false;
    int result = nng_aio_result(c->sending);
    if (!c->is_closed && result == 0) {
        count_sent(c, nng_aio_count(c->sending));
        if (c->queued > 0) send_next(c);
    } else {
        fail_by_nng(c, result);
    }
    if (c->is_closed) hub_note(h);
    hub_unlock(h);
}

/* Told by the thread: the owner may be in the middle of sending to many. */
static void fail_later(struct channel *c, int rc, const char *reason)
{
    c->failure = rc;
    c->failure_reason = reason;
    hub_note(c->hub);
}

void channel_send(struct channel *c, struct message *m)
{
    if (c->is_closed || c->is_finished || c->failure) {
        message_let_go(m);
    } else if (!m) {
        fail_later(c, -ENOMEM, "could not be sent a message: no memory");
    } else if (c->queued == HUB_QUEUE_MAX) {
        message_let_go(m);
        fail_later(c, -ENOBUFS, "does not read what it is sent");
    } else {
        c->queue[(c->queue_first + c->queued++) % HUB_QUEUE_MAX] = m;
        c->spoke_ns = time_now_ns();
        if (!c->is_sending) send_next(c);
    }
}

/* ---- a new channel ---- */

struct channel *channel_open(struct hub *h, nng_stream *stream, uint64_t deadline_ns)
{
    struct channel *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    bool ok = resize(c, RECEIVE_BYTES) && nng_aio_alloc(&c->receiving, on_received, c) == 0 &&
              nng_aio_alloc(&c->sending, on_sent, c) == 0;
    if (!ok || h->stopping) {
        nng_aio_free(c->receiving);
        nng_aio_free(c->sending);
        free(c->received);
        free(c);
        return NULL;
    }
    c->hub = h;
    c->stream = stream;
    c->rank = -1;
    c->deadline_ns = deadline_ns;
    c->heard_ns = c->spoke_ns = time_now_ns();
    c->previous = h->last;
    *(h->last ? &h->last->next : &h->first) = c;
    h->last = c;
    h->channels++;
    hub_note(h);
    receive(c);
    return c;
}

uint64_t channel_silence(const struct channel *c)
{
    return silence_recent_ns(&c->silence, time_now_ns(), c->hub->timeout_ns);
}

static uint64_t beat_for(uint64_t timeout_ns)
{
    uint64_t beat_ns = silence_beat_ns(timeout_ns);
    return beat_ns < BEAT_MIN_NS ? BEAT_MIN_NS : beat_ns;
}

void channel_watch(struct channel *c, unsigned peer_timeout_ms)
{
    uint64_t timeout_ns = (uint64_t)peer_timeout_ms * 1000000;
    c->beat_ns = beat_for(timeout_ns < c->hub->timeout_ns ? timeout_ns : c->hub->timeout_ns);
    c->deadline_ns = 0;
    tcp_bound_retries(streams_descriptor(c->stream)); /* none is found: none is bounded */
    hub_note(c->hub);
}

void hub_agree(struct hub *h, unsigned peer_timeout_ms)
{
    uint64_t now_ns = time_now_ns();
    h->timeout_ns = (uint64_t)peer_timeout_ms * 1000000;
    for (struct channel *c = h->first; c; c = c->next) {
        if (!c->beat_ns) continue;
        c->beat_ns = beat_for(h->timeout_ns);
        c->heard_ns = now_ns; /* until now the peer did not know that it has to speak so often */
    }
    hub_note(h);
}

/* ---- the thread ---- */

uint64_t hub_absence(const struct hub *h)
{
    uint64_t now_ns = time_now_ns(), long_ns = h->timeout_ns / 2;
    /* The thread may not have noticed yet. */
    if (now_ns > h->due_ns && now_ns - h->due_ns >= long_ns) return now_ns - h->due_ns;
    bool is_recent = h->absence_ns >= long_ns && now_ns - h->absence_end_ns < h->timeout_ns;
    return is_recent ? h->absence_ns : 0;
}

static void say_something(struct channel *c, uint64_t now_ns)
{
    c->spoke_ns = now_ns;
    /* What is queued already says that we live, once the peer reads on. */
    if (c->queued == 0) channel_send(c, message_done(message_new(MESSAGE_HEARTBEAT)));
}

/* Returns when to look again. */
static uint64_t look_after(struct channel *c, uint64_t now_ns)
{
    uint64_t due_ns = HUB_NEVER;
    if (c->failure) fail(c, c->failure, c->failure_reason);
    if (c->deadline_ns) {
        if (now_ns >= c->deadline_ns) fail(c, -ETIMEDOUT, "was too slow");
        due_ns = c->deadline_ns;
    }
    if (c->beat_ns && !c->is_finished) {
        uint64_t silent_at_ns = c->heard_ns + silence_limit_ns(c->hub->timeout_ns);
        if (now_ns >= silent_at_ns) fail_by_silence(c);
        if (now_ns >= c->spoke_ns + c->beat_ns) say_something(c, now_ns);
        due_ns = time_earlier(due_ns, time_earlier(c->spoke_ns + c->beat_ns, silent_at_ns));
    }
    return c->is_closed ? HUB_NEVER : due_ns;
}

static uint64_t look_after_all(struct hub *h, uint64_t now_ns)
{
    uint64_t due_ns = now_ns + 60 * SECOND_NS;
    for (struct channel *c = h->first; c; c = c->next)
        if (!c->is_closed) due_ns = time_earlier(due_ns, look_after(c, now_ns));
    return due_ns;
}

static void *run(void *argument)
{
    struct hub *h = argument;
    hub_lock(h);
    for (;;) {
        h->is_noted = false;
        uint64_t now_ns = time_now_ns();
        notice_absence(h, now_ns);
        uint64_t due_ns = look_after_all(h, now_ns);
        due_ns = time_earlier(due_ns, h->events->tick(h->context, now_ns));
        h->due_ns = h->is_noted ? now_ns : due_ns;
        if (free_what_is_over(h)) continue;
        if (h->stopping && h->channels == 0) break;
        if (!h->is_noted) condition_wait(&h->wake, &h->mutex, due_ns);
    }
    hub_unlock(h);
    return NULL;
}

/* ---- life ---- */

static int start_thread(struct hub *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = pthread_create(&h->thread, NULL, run, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) pthread_setname_np(h->thread, "locus:control");
    return rc;
}

void hub_fini(struct hub *h)
{
    pthread_mutex_destroy(&h->mutex);
    pthread_cond_destroy(&h->changed);
    pthread_cond_destroy(&h->wake);
}

int hub_start(struct hub *h, double peer_timeout_s, const struct hub_events *events, void *context)
{
    *h = (struct hub){.events = events, .context = context, .due_ns = HUB_NEVER};
    h->timeout_ns = (uint64_t)(peer_timeout_s * 1e9);
    h->unauthenticated_bytes_max = MESSAGE_MAX;
    pthread_mutex_init(&h->mutex, NULL);
    condition_init(&h->changed);
    condition_init(&h->wake);
    int rc = start_thread(h);
    if (rc == 0) return 0;
    hub_fini(h);
    return error_set(-rc, "the thread of the rendezvous could not be started: %s (ulimit -u)",
                     strerror(rc));
}

static bool anybody_reads(const struct hub *h)
{
    for (const struct channel *c = h->first; c; c = c->next)
        if (c->rank >= 0 && c->is_finished && !c->is_closed) return true;
    return false;
}

void hub_drain(struct hub *h)
{
    hub_lock(h);
    while (anybody_reads(h)) hub_wait(h, HUB_NEVER);
    hub_unlock(h);
}

void hub_stop(struct hub *h)
{
    hub_lock(h);
    h->stopping = true;
    for (struct channel *c = h->first; c; c = c->next) channel_close(c);
    hub_note(h);
    hub_unlock(h);
    pthread_join(h->thread, NULL);
}
