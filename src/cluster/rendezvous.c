/* What a node calls, and its way into the cluster; its side of the connection is in member.c, rank
 * 0's in server.c. */
#include "cluster/rendezvous.h"

#include "base/error.h"
#include "base/time.h"
#include "cluster/member.h"
#include "cluster/server.h"
#include "cluster/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the way in ---- */

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
    bool had_time = time_now_ns() >= r->greeted_ns + ANSWER_NS;
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
    unsigned seconds = is_ours ? reminder_due(&r->joining, time_now_ns()) : 0;
    if (seconds) describe_delay(r, seconds, r->notice);
    member_print_notice(r);
}

static uint64_t left_ns(const struct rendezvous *r)
{
    uint64_t now_ns = time_now_ns();
    return r->deadline_ns > now_ns ? r->deadline_ns - now_ns : 0;
}

static void pause_before_retry(struct rendezvous *r, uint64_t *pause_ns)
{
    hub_lock(&r->hub);
    report_delay(r);
    hub_unlock(&r->hub);
    const struct timespec pause = time_timespec(time_earlier(*pause_ns, left_ns(r)));
    nanosleep(&pause, NULL);
    *pause_ns = time_earlier(*pause_ns * 3 / 2, PAUSE_MAX_NS);
}

static void greet(struct rendezvous *r, const struct rendezvous_config *c, nng_stream *stream)
{
    struct message *hello = hello_write(c, (unsigned)time_earlier(left_ns(r) / 1000000, INT32_MAX));
    hub_lock(&r->hub);
    struct channel *channel = channel_open(&r->hub, stream, 0);
    if (channel) {
        r->channel = channel;
        r->phase = GREETED;
        r->greeted_ns = time_now_ns();
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
    return time_earlier(r->deadline_ns, reminder_next_ns(&r->joining));
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
    uint64_t timeout_ns = time_earlier(DIAL_TIMEOUT_NS, left_ns(r));
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

static int reach_rank_0(struct rendezvous *r, const struct rendezvous_config *c)
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

static int check_config(const struct rendezvous_config *c)
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

static struct rendezvous *new_rendezvous(const struct rendezvous_config *c)
{
    struct rendezvous *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->rank = (unsigned)c->node.rank;
    r->size = (unsigned)c->node.size;
    r->living = r->size;
    r->lost = c->lost;
    r->seen = c->node.survives ? c->view : NULL;
    r->joins = c->joining;
    r->context = c->context;
    r->cluster.address = calloc(r->size, sizeof *r->cluster.address);
    r->cluster.workers = calloc(r->size, sizeof *r->cluster.workers);
    r->is_lost = calloc(r->size, sizeof *r->is_lost);
    if (r->cluster.address && r->cluster.workers && r->is_lost &&
        secret_copy(&r->secret, c->secret) == 0)
        return r;
    rendezvous_free(r);
    return NULL;
}

static int join(struct rendezvous *r, const struct rendezvous_config *c)
{
    r->joining.since_ns = time_now_ns();
    r->obstacle_rc = -ETIMEDOUT;
    r->deadline_ns = r->joining.since_ns + (uint64_t)(c->node.join_timeout_s * 1e9);
    int rc = rendezvous_address_parse(&r->address, c->node.rendezvous);
    if (rc == 0) rc = streams_prepare();
    if (rc == 0) rc = hub_start(&r->hub, c->node.peer_timeout_s, &member_events, r);
    r->has_hub = rc == 0;
    if (rc == 0) rc = rendezvous_address_resolve(&r->address, r->deadline_ns);
    if (rc == 0 && !c->loopback_only) rendezvous_address_prefer(&r->address, c->data_address);
    if (rc == 0 && r->rank == 0) rc = server_start(&r->server, c, &r->address, r->deadline_ns);
    return rc ? rc : reach_rank_0(r, c);
}

int rendezvous_join(const struct rendezvous_config *c, struct rendezvous **out,
                    struct rendezvous_cluster *cluster)
{
    *out = NULL;
    int rc = check_config(c);
    if (rc) return rc;
    struct rendezvous *r = new_rendezvous(c);
    if (!r) return error_set(-ENOMEM, "no memory for a rendezvous of %d nodes", c->node.size);
    rc = join(r, c);
    if (rc) {
        rendezvous_free(r);
        return rc;
    }
    *out = r;
    *cluster = r->cluster;
    hub_lock(&r->hub);
    r->may_tell = r->lost != NULL;
    hub_note(&r->hub);
    hub_unlock(&r->hub);
    return 0;
}

/* ---- in the cluster ---- */

static int lost_error(const struct rendezvous *r)
{
    return error_set(-ECONNRESET, "node %u (%s) %s", r->lost_rank, r->cluster.address[r->lost_rank],
                     r->lost_reason);
}

static struct message *barrier_message(const struct meeting *meeting, const struct word *w)
{
    struct message *m = message_new(MESSAGE_BARRIER);
    message_put_u32(m, (meeting->goes_on ? MESSAGE_GOES_ON : 0) |
                           (meeting->needs_all ? MESSAGE_NEEDS_ALL : 0) |
                           (meeting->lets_in ? MESSAGE_LETS_IN : 0));
    message_put_text(m, meeting->name);
    message_put_word(m, w);
    return message_done(m);
}

static int meet(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    r->barrier = ARRIVED;
    member_send(r, barrier_message(meeting, w));
    while (r->phase == RUNNING && r->barrier == ARRIVED) member_wait(r);
    bool was_released = r->barrier == RELEASED;
    *w = r->answer;
    r->barrier = OUTSIDE;
    hub_announce(&r->hub);
    if (!was_released) return lost_error(r);
    return w->rc ? error_set(w->rc, "%s", w->text) : 0;
}

static void say_absent(struct rendezvous *r, bool absent)
{
    struct message *m = message_new(MESSAGE_ABSENT);
    message_put_u32(m, absent);
    member_send(r, message_done(m));
}

void rendezvous_absent(struct rendezvous *r)
{
    hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, true);
    hub_unlock(&r->hub);
}

int rendezvous_present(struct rendezvous *r)
{
    hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, false);
    r->is_known_present = false;
    while (r->phase == RUNNING && !r->is_known_present) member_wait(r);
    int rc = r->is_known_present ? 0 : lost_error(r);
    hub_unlock(&r->hub);
    return rc;
}

int rendezvous_agree(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) member_wait(r); /* another thread's */
    INVARIANT(r->phase == RUNNING || r->phase == LOST,
              "a barrier was called while or after leaving the cluster");
    int rc = r->phase == LOST ? lost_error(r) : meet(r, meeting, w);
    hub_unlock(&r->hub);
    return rc;
}

/* A link of each shard says so, to each node that does not speak: more than a channel keeps. Rank 0
 * needs to hear it once of each, and of few: who has so many was itself cut off. */
static bool is_news(struct rendezvous *r, unsigned rank, const char *reason)
{
    struct reported *of = silence_is_reason(reason) ? &r->silent : &r->failed;
    for (unsigned i = 0; i < of->count; i++)
        if (of->rank[i] == rank) return false;
    if (of->count == MEMBER_SILENT_MAX) return false;
    of->rank[of->count++] = rank;
    return true;
}

bool rendezvous_report_lost(struct rendezvous *r, int rank, const char *reason)
{
    INVARIANT(rank >= 0 && (unsigned)rank < r->size,
              "a node was reported as lost whose rank does not exist");
    hub_lock(&r->hub);
    bool is_heard = !r->is_stopped && (r->phase == RUNNING || r->phase == LEAVING);
    bool is_lost = r->is_lost[rank] && (unsigned)rank != r->rank; /* who joins is as yet */
    if (is_heard && !is_lost && is_news(r, (unsigned)rank, reason)) {
        struct message *m = message_new(MESSAGE_REPORT);
        message_put_u32(m, (uint32_t)rank);
        message_put_text(m, reason);
        member_send(r, message_done(m));
        r->has_reported = true;
    }
    bool is_known = !r->is_stopped && r->phase == LOST; /* `lost` was called, or is about to be */
    hub_unlock(&r->hub);
    return is_heard || is_known;
}

/* Takes over the message. */
static void say(struct rendezvous *r, struct message *m)
{
    if (r->is_stopped)
        message_let_go(m);
    else
        member_send(r, message_done(m));
}

void rendezvous_repaired(struct rendezvous *r, uint32_t view)
{
    struct message *m = message_new(MESSAGE_REPAIRED);
    message_put_u32(m, view);
    hub_lock(&r->hub);
    r->view.repaired = view;
    unsigned node = r->view.change.node;
    if (r->view.change.kind == CHANGE_LEAVES && node != r->rank && !r->is_lost[node]) {
        r->is_lost[node] = true;
        r->living--;
    }
    say(r, m);
    hub_unlock(&r->hub);
}

void rendezvous_connected(struct rendezvous *r, uint64_t id, const char *why_not)
{
    struct message *m = message_new(MESSAGE_CONNECTED);
    message_put_u64(m, id);
    message_put_text(m, why_not);
    hub_lock(&r->hub);
    say(r, m);
    hub_unlock(&r->hub);
}

void rendezvous_address(struct rendezvous *r, unsigned rank, char address[ADDRESS_MAX])
{
    hub_lock(&r->hub);
    memcpy(address, r->cluster.address[rank], ADDRESS_MAX);
    hub_unlock(&r->hub);
}

uint32_t rendezvous_view(struct rendezvous *r)
{
    hub_lock(&r->hub);
    uint32_t view = r->view.change.number;
    hub_unlock(&r->hub);
    return view;
}

bool rendezvous_has_lost(struct rendezvous *r, unsigned rank)
{
    hub_lock(&r->hub);
    bool is_lost = r->is_lost[rank];
    hub_unlock(&r->hub);
    return is_lost;
}

/* ---- leaving ---- */

/* A node that has reported a loss knows that the cluster has failed, but not yet who failed first.
 * If it left before rank 0 has read the report, it would itself be taken for lost. */
static void await_loss(struct rendezvous *r)
{
    uint64_t until_ns = time_now_ns() + VERDICT_TIMEOUT_NS;
    if (!r->has_reported) return;
    while (r->phase == RUNNING && hub_wait(&r->hub, until_ns)) continue;
}

void rendezvous_await_verdict(struct rendezvous *r)
{
    hub_lock(&r->hub);
    await_loss(r);
    hub_unlock(&r->hub);
}

static void stop(struct rendezvous *r)
{
    if (r->has_hub && !r->is_stopped) {
        hub_lock(&r->hub);
        r->is_stopped = true; /* from now on there may be no channel */
        hub_unlock(&r->hub);
        hub_stop(&r->hub);
    }
    if (r->server) server_stop(r->server);
    r->server = NULL;
}

static void await_others(struct rendezvous *r, bool alone)
{
    r->phase = LEAVING;
    member_send(r, message_done(message_new(alone ? MESSAGE_GO : MESSAGE_LEAVE)));
    while (r->phase == LEAVING) member_wait(r);
}

int rendezvous_leave(struct rendezvous *r, bool alone)
{
    hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) member_wait(r); /* another thread's */
    await_loss(r);
    if (r->phase == RUNNING) await_others(r, alone);
    int rc = r->phase == LOST ? lost_error(r) : 0;
    hub_unlock(&r->hub);
    stop(r);
    return rc;
}

void rendezvous_stop(struct rendezvous *r)
{
    if (!r) return;
    if (r->has_hub && !r->is_stopped) rendezvous_await_verdict(r);
    stop(r);
}

void rendezvous_free(struct rendezvous *r)
{
    if (!r) return;
    rendezvous_stop(r);
    if (r->has_hub) hub_fini(&r->hub);
    message_let_go(r->hello);
    secret_forget(&r->secret);
    free(r->cluster.address);
    free(r->cluster.workers);
    free(r->cluster.history);
    free(r->is_lost);
    while (r->view.first) {
        struct news *n = r->view.first;
        r->view.first = n->next;
        free(n);
    }
    free(r);
}
