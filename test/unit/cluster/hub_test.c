/* hub: messages come whole and in order, and whatever ends a connection is told once, with its
 * reason. The peer is a bare socket. */
#include "cluster/hub.h"

#include "cluster/message.h"
#include "cluster/peers.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES_MAX = 1000 };
#define LONG_S 1000.0

/* What the owner was told; under the hub's lock. */
struct scene {
    struct hub hub;
    struct channel *channel;
    int listener, fd;
    char url[64];
    unsigned heard, ends, ticks;
    int rc;
    char reason[MESSAGE_TEXT_MAX];
};

static struct message *numbered(uint32_t number, size_t more)
{
    static const unsigned char zeros[10000];
    struct message *m = message_new(MESSAGE_REPORT);
    message_put_u32(m, number);
    message_put_u32(m, (uint32_t)more);
    message_put_bytes(m, zeros, more);
    return m;
}

/* They are numbered, and say how long they are. */
static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct scene *s = context;
    struct message_reader r = message_reader(body, header->length);
    CHECK(c == s->channel);
    CHECK_EQ(header->type, MESSAGE_REPORT);
    CHECK_EQ(message_get_u32(&r), s->heard);
    CHECK_EQ(header->length, 8 + message_get_u32(&r));
    s->heard++;
    hub_announce(&s->hub);
}

static void on_ended(void *context, struct channel *c, int rc, const char *reason)
{
    struct scene *s = context;
    CHECK(c == s->channel);
    s->ends++;
    s->rc = rc;
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    hub_announce(&s->hub);
}

static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct scene *s = context;
    (void)now_ns;
    s->ticks++;
    hub_announce(&s->hub);
    return HUB_NEVER;
}

static const struct hub_events events = {.message = on_message, .ended = on_ended, .tick = on_tick};

static void begin(struct scene *s, double timeout_s)
{
    nng_stream *stream;
    *s = (struct scene){.listener = loopback_listen(NULL)};
    snprintf(s->url, sizeof s->url, "tcp://127.0.0.1:%u", loopback_port(s->listener));
    CHECK_EQ(streams_prepare(), 0);
    CHECK_EQ(hub_start(&s->hub, timeout_s, &events, s), 0);
    CHECK_EQ(streams_dial(s->url, 60 * SECOND, &stream), 0);
    s->fd = accept(s->listener, NULL, NULL);
    CHECK(s->fd >= 0);
    hub_lock(&s->hub);
    s->channel = channel_open(&s->hub, stream, 0);
    CHECK(s->channel != NULL);
    hub_unlock(&s->hub);
}

static void scene_begin(struct scene *s)
{
    begin(s, LONG_S);
}

/* Has been told of so many ends by then, in which nothing more may come. */
static void end(struct scene *s, unsigned ends)
{
    hub_stop(&s->hub);
    CHECK_EQ(s->hub.channels, 0);
    CHECK_EQ(s->ends, ends);
    hub_fini(&s->hub);
    close(s->fd);
    close(s->listener);
}

static void scene_end(struct scene *s)
{
    end(s, s->ends);
}

#define HUB_TEST(name) TEST_WITH(hub, name, scene, s)

/* With the lock. */
static void await(struct scene *s, const unsigned *count, unsigned value)
{
    while (*count < value) hub_wait(&s->hub, HUB_NEVER);
    CHECK_EQ(*count, value);
}

static void expect_messages(struct scene *s, unsigned heard)
{
    hub_lock(&s->hub);
    await(s, &s->heard, heard);
    CHECK_EQ(s->ends, 0);
    hub_unlock(&s->hub);
}

/* Of which it is told once. */
static void expect_end(struct scene *s, int rc, const char *reason)
{
    hub_lock(&s->hub);
    await(s, &s->ends, 1);
    CHECK_EQ(s->rc, rc);
    CHECK_STR(s->reason, reason);
    hub_unlock(&s->hub);
}

/* ---- receiving ---- */

/* Some longer than the room that there is at first, between short ones: byte by byte or as much as
 * can be. */
TEST(hub, messages_come_whole_and_in_order_however_they_are_cut)
{
    enum { MESSAGES = 30 };
    static unsigned char all[MESSAGES * 11000];
    for (size_t piece = 1; piece <= sizeof all; piece *= sizeof all) {
        CLOSED_BY(scene_end) struct scene s;
        scene_begin(&s);
        uint32_t count = piece == 1 ? 2 : MESSAGES;
        size_t bytes = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct message *m = message_done(numbered(i, i % 3 * 5000));
            memcpy(all + bytes, m->data, m->bytes);
            bytes += m->bytes;
            message_let_go(m);
        }
        for (size_t at = 0; at < bytes; at += piece)
            peer_say(s.fd, all + at, bytes - at < piece ? bytes - at : piece);
        expect_messages(&s, count);
    }
}

/* Until it has a rank, a peer may say less; the owner gives one when it knows whom it speaks
 * with. */
HUB_TEST(message_longer_than_its_sender_may_say_ends_its_channel)
{
    size_t most = BYTES_MAX - MESSAGE_HEADER_BYTES - 8;
    for (int is_known = 1; is_known >= 0; is_known--) {
        hub_lock(&s->hub);
        s->hub.unauthenticated_bytes_max = BYTES_MAX;
        s->channel->rank = is_known ? 3 : -1;
        hub_unlock(&s->hub);
        peer_say_message(s->fd, numbered(!is_known, is_known ? 2 * most : most));
        expect_messages(s, is_known ? 1 : 2);
    }
    peer_say_message(s->fd, numbered(2, most + 1));
    expect_end(s, -EPROTO, "sent what is no message of a rendezvous");
    CHECK_EQ(s->heard, 2);
}

/* ---- sending ---- */

/* While the lock is held nothing leaves the queue; and the owner may be in the middle of sending to
 * many. */
static void check_send_fails(unsigned good, bool is_made, int rc, const char *reason)
{
    CLOSED_BY(scene_end) struct scene s;
    scene_begin(&s);
    hub_lock(&s.hub);
    for (uint32_t i = 0; i < good; i++) channel_send(s.channel, message_done(numbered(i, 0)));
    channel_send(s.channel, is_made ? message_done(numbered(good, 0)) : NULL);
    CHECK_EQ(s.ends, 0);
    hub_unlock(&s.hub);
    expect_end(&s, rc, reason);
}

TEST(hub, message_that_cannot_be_sent_ends_its_channel)
{
    check_send_fails(HUB_QUEUE_MAX, true, -ENOBUFS, "does not read what it is sent");
    check_send_fails(0, false, -ENOMEM, "could not be sent a message: no memory");
}

/* ---- time ---- */

HUB_TEST(silence_of_the_shorter_time_out_ends_a_watched_channel)
{
    hub_lock(&s->hub);
    channel_watch(s->channel, 1000000);
    CHECK_EQ(s->channel->beat_ns, SILENCE_BEAT_NS_MAX);
    hub_agree(&s->hub, 400);
    CHECK_EQ(s->channel->beat_ns, 100000000);
    hub_unlock(&s->hub);
    expect_end(s, -ETIMEDOUT, "was silent for 0.4 s");
}

/* What the thread would find when it wakes so late; it cannot while the lock is held. */
TEST(hub, absence_is_time_in_which_this_process_did_not_run)
{
    CLOSED_BY(scene_end) struct scene s;
    scene_begin(&s);
    hub_lock(&s.hub);
    const uint64_t now = time_now_ns(),
                   timeout = s.hub.timeout_ns = now; /* the machine may not have run for longer */
    s.hub.due_ns = now + SECOND;
    CHECK_EQ(hub_absence(&s.hub), 0);
    s.hub.due_ns = now - timeout / 2;
    CHECK(hub_absence(&s.hub) >= timeout / 2);
    s.hub.due_ns = HUB_NEVER;
    s.hub.absence_ns = timeout / 3 * 2;
    s.hub.absence_end_ns = now;
    CHECK_EQ(hub_absence(&s.hub), timeout / 3 * 2);
    s.hub.absence_ns = timeout / 3;
    CHECK_EQ(hub_absence(&s.hub), 0);
    hub_note(&s.hub); /* the thread is to run at once: from now on it is late */
    CHECK(s.hub.due_ns <= time_now_ns());
    hub_unlock(&s.hub);
}

/* A process that was stopped goes on: a message may be read before the thread finds that it is
 * late. It says nothing of its sender. */
TEST(hub, peer_that_was_not_heard_while_we_did_not_run_was_not_silent)
{
    for (int was_stopped = 0; was_stopped < 2; was_stopped++) {
        CLOSED_BY(scene_end) struct scene s;
        scene_begin(&s);
        hub_lock(&s.hub);
        channel_watch(s.channel, (unsigned)(1e3 * LONG_S));
        await(&s, &s.ticks, s.ticks + 1); /* the thread sleeps until the next heartbeat */
        s.hub.timeout_ns = time_now_ns(); /* the machine may not have run for longer */
        const uint64_t then_ns = s.hub.timeout_ns / 4;
        s.channel->heard_ns = then_ns;
        if (was_stopped) s.hub.due_ns = then_ns;
        peer_say_message(s.fd, numbered(0, 0));
        await(&s, &s.heard, 1);
        CHECK_EQ(channel_silence(s.channel) == 0, was_stopped);
        CHECK_EQ(hub_absence(&s.hub) > 0, was_stopped);
        hub_unlock(&s.hub);
    }
}

/* ---- ends ---- */

/* The end of the connection is the acknowledgement, for which the hub waits; no longer than said,
 * if the peer says nothing and stays. */
TEST(hub, last_message_arrives_and_its_end_is_no_failure)
{
    for (int is_read = 0; is_read < 2; is_read++) {
        unsigned char data[64];
        struct scene s;
        scene_begin(&s);
        hub_lock(&s.hub);
        s.channel->rank = 1;
        channel_send(s.channel, message_done(numbered(5, 0)));
        channel_finish(s.channel, is_read ? 1000 * SECOND : 1000000);
        channel_send(s.channel, message_done(numbered(6, 0))); /* too late */
        hub_unlock(&s.hub);
        if (is_read) {
            peer_say_message(s.fd, numbered(9, 0)); /* nobody listens any more */
            CHECK_EQ(peer_hear(s.fd, MESSAGE_REPORT, data, sizeof data), MESSAGE_HEADER_BYTES + 8);
            CHECK_EQ(data[MESSAGE_HEADER_BYTES], 5);
            shutdown(s.fd, SHUT_RDWR);
        }
        hub_drain(&s.hub);
        CHECK_EQ(s.heard, 0);
        end(&s, 0);
    }
}

/* The owner may hold on to its channels until then; it looks once more when all have gone, and its
 * lock goes on working. */
TEST(hub, stop_ends_all_channels_without_a_word_and_takes_none)
{
    nng_stream *stream;
    struct scene s;
    scene_begin(&s);
    hub_lock(&s.hub);
    unsigned ticks = s.ticks;
    hub_unlock(&s.hub);
    hub_stop(&s.hub);
    CHECK(s.ticks > ticks);
    CHECK(loopback_is_ended(s.fd, 60000));
    CHECK_EQ(streams_dial(s.url, 60 * SECOND, &stream), 0);
    hub_lock(&s.hub);
    CHECK(channel_open(&s.hub, stream, 0) == NULL);
    CHECK_EQ(s.ends + s.hub.channels, 0);
    hub_unlock(&s.hub);
    nng_stream_free(stream); /* it is still ours */
    hub_fini(&s.hub);
    close(s.fd);
    close(s.listener);
}
