/* hub: messages come whole and in order, and whatever ends a connection is told once, with its
 * reason. The peer is a bare socket; it is closed when the hub has stopped. */
#include "membership/hub.h"

#include "membership/agreement.h"
#include "membership/peers.h"
#include "membership/streams.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEARD_MAX = 256 };
#define LONG_S 1000.0

/* What the owner was told; under the hub's lock. */
struct scene {
    struct hub hub;
    struct channel *channel;
    int listener, fd;
    unsigned heard, ends, ticks;
    unsigned type[HEARD_MAX];
    uint32_t length[HEARD_MAX], first[HEARD_MAX]; /* number of the body */
    int rc;
    char reason[MESSAGE_TEXT_MAX];
};

static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct scene *s = context;
    struct message_reader r = message_reader(body, header->length);
    CHECK(c == s->channel);
    CHECK(s->heard < HEARD_MAX);
    s->type[s->heard] = header->type;
    s->length[s->heard] = header->length;
    s->first[s->heard++] = header->length >= 4 ? message_get_u32(&r) : 0;
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
    char url[64];
    nng_stream *stream;
    const char *address = nodes_address();
    *s = (struct scene){.listener = peer_listen(address)};
    snprintf(url, sizeof url, "tcp://%s", address);
    CHECK_EQ(streams_prepare(), 0);
    CHECK_EQ(hub_start(&s->hub, timeout_s, &events, s), 0);
    CHECK_EQ(streams_dial(url, UINT64_C(60000000000), &stream), 0);
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

static void scene_end(struct scene *s)
{
    hub_stop(&s->hub);
    hub_fini(&s->hub);
    close(s->fd);
    close(s->listener);
}

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

static void expect_end(struct scene *s, int rc, const char *reason)
{
    hub_lock(&s->hub);
    await(s, &s->ends, 1);
    CHECK_EQ(s->rc, rc);
    CHECK_STR(s->reason, reason);
    hub_unlock(&s->hub);
}

static struct message *numbered(uint32_t number, size_t more)
{
    static const unsigned char zeros[10000];
    struct message *m = message_new(MESSAGE_REPORT);
    message_put_u32(m, number);
    message_put_bytes(m, zeros, more);
    return m;
}

/* ---- receiving ---- */

TEST_WITH(hub, messages_come_whole_however_they_are_cut, scene, s)
{
    struct message *m = message_done(numbered(7, 20));
    for (size_t i = 0; i < m->bytes; i++) peer_say(s->fd, m->data + i, 1);
    message_let_go(m);
    expect_messages(s, 1);
    CHECK_EQ(s->type[0], MESSAGE_REPORT);
    CHECK_EQ(s->length[0], 24);
    CHECK_EQ(s->first[0], 7);
}

/* Some longer than the room that there is at first, between short ones; in one write. */
TEST_WITH(hub, messages_come_in_order_whatever_their_length, scene, s)
{
    enum { MESSAGES = 30 };
    static unsigned char all[MESSAGES * 11000];
    size_t bytes = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct message *m = message_done(numbered(i, i % 3 * 5000));
        memcpy(all + bytes, m->data, m->bytes);
        bytes += m->bytes;
        message_let_go(m);
    }
    peer_say(s->fd, all, bytes);
    expect_messages(s, MESSAGES);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        CHECK_EQ(s->first[i], i);
        CHECK_EQ(s->length[i], 4 + i % 3 * 5000);
    }
}

TEST_WITH(hub, heartbeats_are_messages_until_the_channel_is_watched, scene, s)
{
    peer_say_message(s->fd, message_new(MESSAGE_HEARTBEAT));
    expect_messages(s, 1);
    CHECK_EQ(s->type[0], MESSAGE_HEARTBEAT);
    hub_lock(&s->hub);
    channel_watch(s->channel, 1000000);
    hub_unlock(&s->hub);
    peer_say_message(s->fd, message_new(MESSAGE_HEARTBEAT));
    peer_say_message(s->fd, numbered(1, 0));
    expect_messages(s, 2);
    CHECK_EQ(s->type[1], MESSAGE_REPORT);
}

TEST_WITH(hub, what_is_no_message_ends_its_channel, scene, s)
{
    peer_say(s->fd, "GET / HTTP/1.1\r\n\r\n", 18);
    expect_end(s, -EPROTO, "sent what is no message of a rendezvous");
    CHECK_EQ(s->heard, 0);
}

/* Until it has a rank; the owner gives one when it knows whom it speaks with. */
TEST_WITH(hub, an_unauthenticated_peer_may_say_less, scene, s)
{
    hub_lock(&s->hub);
    s->hub.unauthenticated_bytes_max = 1000;
    s->channel->rank = 3;
    hub_unlock(&s->hub);
    peer_say_message(s->fd, numbered(1, 2000));
    expect_messages(s, 1);
    hub_lock(&s->hub);
    s->channel->rank = -1;
    hub_unlock(&s->hub);
    peer_say_message(s->fd, numbered(2, 1000 - MESSAGE_HEADER_BYTES - 4));
    expect_messages(s, 2);
    peer_say_message(s->fd, numbered(3, 1000 - MESSAGE_HEADER_BYTES - 3));
    expect_end(s, -EPROTO, "sent what is no message of a rendezvous");
    CHECK_EQ(s->heard, 2);
}

/* ---- sending ---- */

TEST_WITH(hub, what_is_sent_arrives_in_order, scene, s)
{
    unsigned char data[11000];
    hub_lock(&s->hub);
    for (uint32_t i = 0; i < HUB_QUEUE_MAX; i++)
        channel_send(s->channel, message_done(numbered(i, i % 2 * 10000)));
    hub_unlock(&s->hub);
    for (uint32_t i = 0; i < HUB_QUEUE_MAX; i++) {
        size_t bytes = peer_hear(s->fd, MESSAGE_REPORT, data, sizeof data);
        CHECK_EQ(bytes, MESSAGE_HEADER_BYTES + 4 + i % 2 * 10000);
        struct message_reader r = message_reader(data + MESSAGE_HEADER_BYTES, 4);
        CHECK_EQ(message_get_u32(&r), i);
    }
}

/* While the lock is held nothing leaves the queue. */
TEST_WITH(hub, who_does_not_read_is_given_up, scene, s)
{
    hub_lock(&s->hub);
    for (uint32_t i = 0; i <= HUB_QUEUE_MAX; i++)
        channel_send(s->channel, message_done(numbered(i, 0)));
    CHECK_EQ(s->ends, 0); /* the owner may be in the middle of sending to many */
    hub_unlock(&s->hub);
    expect_end(s, -ENOBUFS, "does not read what it is sent");
}

TEST_WITH(hub, a_message_that_could_not_be_made_ends_its_channel, scene, s)
{
    hub_lock(&s->hub);
    channel_send(s->channel, NULL);
    hub_unlock(&s->hub);
    expect_end(s, -ENOMEM, "could not be sent a message: no memory");
}

/* ---- time ---- */

TEST_WITH(hub, a_watched_channel_says_something_when_there_is_nothing_to_say, scene, s)
{
    unsigned char data[64];
    hub_lock(&s->hub);
    channel_watch(s->channel, 40); /* often enough for the peer */
    hub_unlock(&s->hub);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(peer_hear(s->fd, MESSAGE_HEARTBEAT, data, sizeof data), MESSAGE_HEADER_BYTES);
}

TEST(hub, silence_ends_a_watched_channel)
{
    CLOSED_BY(scene_end) struct scene s;
    begin(&s, 0.3);
    hub_lock(&s.hub);
    channel_watch(s.channel, 300);
    hub_unlock(&s.hub);
    expect_end(&s, -ETIMEDOUT, "was silent for 0.3 s");
}

TEST_WITH(hub, a_deadline_ends_what_is_not_watched_by_then, scene, s)
{
    hub_lock(&s->hub);
    s->channel->deadline_ns = clock_now_ns() + 1000000;
    hub_note(&s->hub);
    hub_unlock(&s->hub);
    expect_end(s, -ETIMEDOUT, "was too slow");
}

/* What the thread would find when it wakes so late; it cannot while the lock is held. */
TEST(hub, time_in_which_this_process_did_not_run_is_known)
{
    CLOSED_BY(scene_end) struct scene s;
    begin(&s, 100);
    hub_lock(&s.hub);
    uint64_t now_ns = clock_now_ns();
    s.hub.due_ns = now_ns + UINT64_C(1000000000);
    CHECK_EQ(hub_absence(&s.hub), 0);
    s.hub.due_ns = now_ns - UINT64_C(60000000000);
    CHECK(hub_absence(&s.hub) >= UINT64_C(60000000000));
    s.hub.due_ns = HUB_NEVER;
    s.hub.absence_ns = UINT64_C(70000000000);
    s.hub.absence_end_ns = now_ns;
    CHECK_EQ(hub_absence(&s.hub), UINT64_C(70000000000));
    s.hub.absence_ns = UINT64_C(40000000000); /* less than half of the time-out */
    CHECK_EQ(hub_absence(&s.hub), 0);
    hub_note(&s.hub); /* the thread is to run at once: from now on it is late */
    CHECK(s.hub.due_ns <= clock_now_ns());
    hub_unlock(&s.hub);
}

TEST_WITH(hub, the_shorter_time_out_is_that_of_all_channels, scene, s)
{
    hub_lock(&s->hub);
    channel_watch(s->channel, 1000000);
    CHECK_EQ(s->channel->beat_ns, SILENCE_BEAT_NS_MAX);
    hub_agree(&s->hub, 400);
    CHECK_EQ(s->channel->beat_ns, 100000000);
    hub_unlock(&s->hub);
    expect_end(s, -ETIMEDOUT, "was silent for 0.4 s");
}

/* ---- ends ---- */

TEST(hub, a_peer_that_goes_is_told_once)
{
    struct scene s;
    begin(&s, LONG_S);
    peer_say_message(s.fd, numbered(1, 0));
    shutdown(s.fd, SHUT_RDWR);
    expect_end(&s, -ECONNRESET, "closed the connection");
    CHECK_EQ(s.heard, 1); /* what it said before has come */
    scene_end(&s);
    CHECK_EQ(s.ends, 1);
}

TEST(hub, what_the_owner_ends_is_not_told)
{
    struct scene s;
    begin(&s, LONG_S);
    hub_lock(&s.hub);
    channel_close(s.channel);
    channel_close(s.channel); /* again does no harm */
    channel_send(s.channel, message_done(numbered(1, 0)));
    while (s.hub.channels > 0) hub_wait(&s.hub, HUB_NEVER);
    CHECK(s.hub.first == NULL && s.hub.last == NULL);
    hub_unlock(&s.hub);
    unsigned char byte;
    CHECK_EQ(recv(s.fd, &byte, 1, 0), 0);
    scene_end(&s);
    CHECK_EQ(s.ends, 0);
}

/* The end of the connection is the acknowledgement, for which the hub waits. */
TEST(hub, a_last_word_arrives_and_its_end_is_no_failure)
{
    unsigned char data[64];
    struct scene s;
    begin(&s, LONG_S);
    hub_lock(&s.hub);
    s.channel->rank = 1;
    channel_send(s.channel, message_done(numbered(5, 0)));
    channel_finish(s.channel, UINT64_C(1000000000000));
    channel_send(s.channel, message_done(numbered(6, 0))); /* too late */
    hub_unlock(&s.hub);
    peer_say_message(s.fd, numbered(9, 0)); /* nobody listens any more */
    CHECK_EQ(peer_hear(s.fd, MESSAGE_REPORT, data, sizeof data), MESSAGE_HEADER_BYTES + 4);
    CHECK_EQ(data[MESSAGE_HEADER_BYTES], 5);
    shutdown(s.fd, SHUT_RDWR);
    hub_drain(&s.hub);
    scene_end(&s);
    CHECK_EQ(s.heard, 0);
    CHECK_EQ(s.ends, 0);
}

TEST(hub, a_last_word_waits_for_its_reader_no_longer_than_said)
{
    struct scene s;
    begin(&s, LONG_S);
    hub_lock(&s.hub);
    s.channel->rank = 1;
    channel_finish(s.channel, 1000000);
    hub_unlock(&s.hub);
    hub_drain(&s.hub); /* the peer says nothing, and stays */
    scene_end(&s);
    CHECK_EQ(s.ends, 0);
}

/* The owner may hold on to its channels until then; it looks once more when all have gone. */
TEST(hub, stopping_ends_all_channels_without_a_word)
{
    unsigned char byte;
    struct scene s;
    begin(&s, LONG_S);
    hub_lock(&s.hub);
    unsigned ticks = s.ticks;
    hub_unlock(&s.hub);
    hub_stop(&s.hub);
    CHECK(s.ticks > ticks);
    CHECK_EQ(s.hub.channels, 0);
    CHECK_EQ(recv(s.fd, &byte, 1, 0), 0);
    hub_lock(&s.hub); /* which goes on working */
    CHECK_EQ(s.ends, 0);
    hub_unlock(&s.hub);
    hub_fini(&s.hub);
    close(s.fd);
    close(s.listener);
}

TEST(hub, a_hub_that_stops_takes_no_channel)
{
    char url[64];
    nng_stream *stream;
    struct scene s;
    begin(&s, LONG_S);
    hub_stop(&s.hub);
    const char *address = nodes_address();
    int listener = peer_listen(address);
    snprintf(url, sizeof url, "tcp://%s", address);
    CHECK_EQ(streams_dial(url, UINT64_C(60000000000), &stream), 0);
    hub_lock(&s.hub);
    CHECK(channel_open(&s.hub, stream, 0) == NULL);
    hub_unlock(&s.hub);
    nng_stream_free(stream); /* it is still ours */
    hub_fini(&s.hub);
    close(listener);
    close(s.fd);
    close(s.listener);
}

TEST_WITH(hub, a_peer_is_shown_by_its_address, scene, s)
{
    char text[CHANNEL_PEER_BYTES], wanted[CHANNEL_PEER_BYTES];
    struct sockaddr_in a;
    socklen_t bytes = sizeof a;
    CHECK_EQ(getsockname(s->fd, (struct sockaddr *)&a, &bytes), 0);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%u", ntohs(a.sin_port));
    hub_lock(&s->hub);
    channel_show_peer(s->channel, text);
    hub_unlock(&s->hub);
    CHECK_EQ(strcmp(text, wanted), 0);
}

/* A process that was stopped goes on: a message may be read before the thread finds that it is
 * late. It says nothing of its sender. */
TEST(hub, what_was_not_heard_while_we_did_not_run_is_no_silence)
{
    struct scene s;
    for (int was_stopped = 0; was_stopped < 2; was_stopped++) {
        begin(&s, LONG_S);
        hub_lock(&s.hub);
        channel_watch(s.channel, (unsigned)(1e3 * LONG_S));
        await(&s, &s.ticks, s.ticks + 1); /* the thread sleeps until the next heartbeat */
        const uint64_t then_ns = clock_now_ns() - UINT64_C(600000000000);
        s.channel->heard_ns = then_ns;
        if (was_stopped) s.hub.due_ns = then_ns;
        struct message *m = message_done(numbered(7, 0));
        peer_say(s.fd, m->data, m->bytes);
        message_let_go(m);
        await(&s, &s.heard, 1);
        CHECK_EQ(channel_silence(s.channel) == 0, was_stopped);
        CHECK_EQ(hub_absence(&s.hub) > 0, was_stopped);
        hub_unlock(&s.hub);
        scene_end(&s);
    }
}
