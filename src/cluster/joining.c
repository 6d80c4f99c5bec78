#include "cluster/member.h"

#include "base/clock.h"
#include "base/error.h"
#include "cluster/message.h"
#include "cluster/streams.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PACKET_BYTES = 1200 }; /* who sends less needs no large packets */
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t DIAL_TIMEOUT_NS = 2 * SECOND_NS; /* for one attempt to connect */
/* after which a missing answer is worth mentioning */
static const uint64_t ANSWER_NS = SECOND_NS / 4;
/* What a RESPONSE has beyond the HELLO that it repeats. */
enum { RESPONSE_BYTES = SECRET_NONCE_BYTES + SECRET_PROOF_BYTES };
static const uint64_t PAUSE_MIN_NS = 1000000, PAUSE_MAX_NS = 200000000; /* between attempts */

/* Returns what joining returns if that is the last word. */
static int describe_delay(const struct rendezvous *r, double seconds,
                          char sentence[2 * MESSAGE_TEXT_MAX])
{
    const char *obstacle = r->obstacle;
    bool had_time = clock_now_ns() >= r->greeted_ns + ANSWER_NS;
    if (r->phase == GREETED && (had_time || !r->obstacle[0]))
        obstacle = r->hello->bytes > PACKET_BYTES
                       ? "what listens there takes the connection, but does not answer: another "
                         "program, or large packets are dropped (ping -M do -s 1472)"
                       : "what listens there takes the connection, but does not answer";
    if (r->phase == WELCOMED) obstacle = "rank 0 has let us join, but does not go on";
    snprintf(sentence, 2 * MESSAGE_TEXT_MAX,
             "rank %u of %u could not join for %g s; rendezvous %s: %s", r->rank, r->size, seconds,
             r->address.shown, obstacle);
    return obstacle == r->obstacle ? r->obstacle_rc : -ETIMEDOUT;
}

/* Rank 0 tells the members that it has accepted who is missing; the others report themselves what
 * they wait for. */
static void report_delay(struct rendezvous *r)
{
    bool is_ours = r->phase == AWAY || r->phase == GREETED;
    unsigned seconds = is_ours ? reminder_due(&r->joining, clock_now_ns()) : 0;
    if (seconds) describe_delay(r, seconds, r->notice);
    member_print_notice(r);
}

static uint64_t left_ns(const struct rendezvous *r)
{
    uint64_t now_ns = clock_now_ns();
    return r->deadline_ns > now_ns ? r->deadline_ns - now_ns : 0;
}

static void pause_before_retry(struct rendezvous *r, uint64_t *pause_ns)
{
    hub_lock(&r->hub);
    report_delay(r);
    hub_unlock(&r->hub);
    const struct timespec pause = clock_timespec(clock_earlier(*pause_ns, left_ns(r)));
    nanosleep(&pause, NULL);
    *pause_ns = clock_earlier(*pause_ns * 3 / 2, PAUSE_MAX_NS);
}

static void greet(struct rendezvous *r, const struct rendezvous_config *c, nng_stream *stream)
{
    struct message *hello =
        hello_write(c, (unsigned)clock_earlier(left_ns(r) / 1000000, INT32_MAX));
    hub_lock(&r->hub);
    struct channel *channel = channel_open(&r->hub, stream, 0);
    if (channel) {
        r->channel = channel;
        r->phase = GREETED;
        r->greeted_ns = clock_now_ns();
        message_let_go(r->hello);
        r->hello = message_hold(hello);
        channel_send(channel, hello);
    }
    hub_unlock(&r->hub);
    if (channel) return;
    snprintf(r->obstacle, sizeof r->obstacle, "there is no memory for a connection");
    message_let_go(hello);
    nng_stream_close(stream);
    nng_stream_free(stream);
}

/* When to stop waiting for rank 0's answer. Rank 0 knows our deadline and who is missing then; if
 * it has accepted us, it gets a moment more to say so. */
static uint64_t answer_due_ns(const struct rendezvous *r)
{
    if (r->phase == WELCOMED) return r->deadline_ns + VERDICT_TIMEOUT_NS;
    return clock_earlier(r->deadline_ns, reminder_next_ns(&r->joining));
}

/* Returns when the attempt has succeeded or failed. */
static enum member_phase await_verdict(struct rendezvous *r)
{
    hub_lock(&r->hub);
    while (r->phase == GREETED || r->phase == WELCOMED) {
        bool is_late = !hub_wait(&r->hub, answer_due_ns(r));
        report_delay(r);
        if (is_late && left_ns(r) == 0) break;
    }
    member_print_notice(r); /* that came right before the last word */
    enum member_phase phase = r->phase;
    hub_unlock(&r->hub);
    return phase;
}

static void describe_obstacle(struct rendezvous *r, int result)
{
    r->obstacle_rc = -ETIMEDOUT;
    if (result == NNG_ENOFILES)
        snprintf(r->obstacle, sizeof r->obstacle,
                 "this process has no descriptors left: raise `ulimit -n`");
    else
        snprintf(r->obstacle, sizeof r->obstacle, "nobody answers there (%s)",
                 nng_strerror(result));
}

static enum member_phase attempt(struct rendezvous *r, const struct rendezvous_config *c,
                                 const char *url)
{
    nng_stream *stream = NULL;
    uint64_t timeout_ns = clock_earlier(DIAL_TIMEOUT_NS, left_ns(r));
    int result = streams_dial(url, timeout_ns, &stream);
    if (result == 0) {
        greet(r, c, stream);
        return await_verdict(r);
    }
    /* The earlier reason says more than a last attempt that had no time. */
    bool was_hurried = result == NNG_ETIMEDOUT && timeout_ns < DIAL_TIMEOUT_NS;
    if (!was_hurried || !r->obstacle[0]) describe_obstacle(r, result);
    return AWAY;
}

static int give_up(struct rendezvous *r, double seconds)
{
    char sentence[2 * MESSAGE_TEXT_MAX];
    hub_lock(&r->hub);
    int rc = describe_delay(r, seconds, sentence);
    member_hang_up(r);
    hub_unlock(&r->hub);
    return error_set(rc, "%s", sentence);
}

int joining_reach_rank_0(struct rendezvous *r, const struct rendezvous_config *c)
{
    uint64_t pause_ns = PAUSE_MIN_NS;
    for (unsigned i = 0;; i = (i + 1) % r->address.urls) {
        enum member_phase phase = attempt(r, c, r->address.url[i]);
        if (phase == RUNNING || phase == LEAVING || phase == LOST) return 0;
        if (phase == FAILED) return error_set(r->failure, "%s", r->sentence);
        if (left_ns(r) == 0) return give_up(r, c->node.join_timeout_s);
        if (i + 1 == r->address.urls) pause_before_retry(r, &pause_ns);
    }
}

int joining_check(const struct rendezvous_config *c)
{
    if (!c->data_address || !c->data_address[0] || strlen(c->data_address) >= ADDRESS_MAX)
        return error_set(-EINVAL,
                         "the address \"%.100s\" of the data port must have 1 to %d characters",
                         c->data_address ? c->data_address : "", ADDRESS_MAX - 1);
    struct message *hello = hello_write(c, 0);
    if (!hello) return error_set(-ENOMEM, "no memory to join the cluster");
    bool fits = hello->bytes + RESPONSE_BYTES <= MESSAGE_MAX;
    message_let_go(hello);
    if (fits) return 0;
    return error_set(-EINVAL, "the tables' names have more than %d bytes together",
                     MESSAGE_MAX - RESPONSE_BYTES);
}
