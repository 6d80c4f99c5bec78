/* The member's side; rank 0's is in server.c, the connection in dial.c and hub.c. */
#include "membership/rendezvous.h"

#include "base/error.h"
#include "membership/address.h"
#include "membership/dial.h"
#include "membership/hello.h"
#include "membership/hub.h"
#include "membership/server.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_AFTER_S = 10 };
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t DIAL_PATIENCE_NS = 2 * SECOND_NS; /* for one attempt to connect */
/* launchers publish names while nodes start already */
static const uint64_t RESOLVE_PATIENCE_NS = 10 * SECOND_NS;
/* for rank 0 to say whom it lost first */
static const uint64_t VERDICT_PATIENCE_NS = SECOND_NS;
/* after which a missing answer is worth mentioning */
static const uint64_t ANSWER_NS = SECOND_NS / 4;
/* What a RESPONSE has beyond the HELLO that it repeats. */
enum { RESPONSE_BYTES = SECRET_NONCE_BYTES + SECRET_PROOF_BYTES };
static const uint64_t PAUSE_MIN_NS = 1000000, PAUSE_MAX_NS = 200000000; /* between attempts */

/*
 *   AWAY --HELLO sent--> GREETED --WELCOME--> WELCOMED --START--> RUNNING --LEAVE sent--> LEAVING
 *   --> LEFT
 *                         |   ^
 *                         +---+ CHALLENGE, RESPONSE sent
 *    ^                    |  |                   |                   |                      |
 *    +--ended, AGAIN------+  +-----> FAILED <----+                   +--------> LOST <------+
 */
enum phase { AWAY, GREETED, WELCOMED, FAILED, RUNNING, LEAVING, LEFT, LOST };

struct rendezvous {
    struct rendezvous_hub hub; /* its lock is ours */
    bool has_hub, is_stopped;
    struct rendezvous_server *server; /* on rank 0 */
    enum phase phase;
    unsigned rank, size;
    struct rendezvous_address address;
    struct rendezvous_channel *channel; /* to rank 0; NULL: none */
    struct secret secret;
    struct rendezvous_message *hello; /* the last that was sent */
    bool has_responded;
    unsigned char our_nonce[SECRET_NONCE_BYTES], their_nonce[SECRET_NONCE_BYTES];
    struct rendezvous_cluster cluster;
    char notice[2 * RENDEZVOUS_TEXT_MAX]; /* for stderr, printed by whoever waits */

    uint64_t start_ns, deadline_ns; /* of joining */
    uint64_t greeted_ns;            /* when the last hello was sent */
    unsigned reports;
    char obstacle[RENDEZVOUS_TEXT_MAX]; /* why the last attempt to reach rank 0 failed */
    int failure;
    char sentence[RENDEZVOUS_TEXT_MAX]; /* why joining has failed */

    enum { OUTSIDE, ARRIVED, RELEASED } barrier; /* where a caller is */
    /* rank 0 has answered that somebody here takes part again */
    bool is_known_present;
    struct word answer; /* of the last barrier */

    bool has_reported;
    unsigned lost_rank;
    char lost_reason[RENDEZVOUS_TEXT_MAX];
    bool may_tell, has_told; /* the callback */
    void (*lost)(void *context, int rank, const char *reason);
    void *context;
};

/* ---- what comes from rank 0 ---- */

static void hang_up(struct rendezvous *r)
{
    if (r->channel) rendezvous_channel_close(r->channel);
    r->channel = NULL;
}

static void enter(struct rendezvous *r, enum phase phase)
{
    r->phase = phase;
    rendezvous_hub_note(&r->hub);
}

static void fail_joining(struct rendezvous *r, int rc)
{
    r->failure = rc;
    hang_up(r);
    enter(r, FAILED);
}

static void lose(struct rendezvous *r, unsigned rank, const char *reason)
{
    r->lost_rank = rank;
    snprintf(r->lost_reason, sizeof r->lost_reason, "%s", reason);
    hang_up(r);
    enter(r, LOST);
}

/* The connection to rank 0 has ended while the cluster ran. */
static void lose_rank_0(struct rendezvous *r, const char *reason)
{
    char absence[RENDEZVOUS_TEXT_MAX];
    uint64_t absence_ns = rendezvous_hub_absence(&r->hub);
    snprintf(absence, sizeof absence, "did not run for %.1f s", (double)absence_ns / 1e9);
    if (absence_ns)
        lose(r, r->rank, absence); /* we were given up, not they */
    else
        lose(r, 0, reason);
}

static void on_ended(void *context, struct rendezvous_channel *c, int rc, const char *reason)
{
    struct rendezvous *r = context;
    if (c != r->channel) return;
    r->channel = NULL;
    if (r->phase == GREETED && rc == -EPROTO) {
        snprintf(
            r->sentence, sizeof r->sentence,
            "what answers at %.300s is no rendezvous of locus: give the address and port of rank 0's",
            r->address.shown);
        fail_joining(r, -EPROTO);
    } else if (r->phase == GREETED) {
        snprintf(r->obstacle, sizeof r->obstacle, "what answers there %.200s", reason);
        enter(r, AWAY);
    } else if (r->phase == WELCOMED) {
        snprintf(r->sentence, sizeof r->sentence,
                 "rank 0 %.150s before all had joined; rendezvous %.300s", reason,
                 r->address.shown);
        fail_joining(r, -ECONNRESET);
    } else {
        lose_rank_0(r, reason);
    }
}

static bool on_refused(struct rendezvous *r, struct rendezvous_reader *reader)
{
    int code = (int)rendezvous_get_u32(reader);
    rendezvous_get_text(reader, r->sentence, sizeof r->sentence);
    bool is_known = code == EINVAL || code == EPROTO || code == ETIMEDOUT || code == ECONNRESET ||
                    code == EACCES;
    if (reader->failed || (r->phase != GREETED && r->phase != WELCOMED)) return false;
    fail_joining(r, is_known ? -code : -EPROTO);
    return true;
}

static bool on_again(struct rendezvous *r, struct rendezvous_reader *reader)
{
    rendezvous_get_text(reader, r->obstacle, sizeof r->obstacle);
    if (reader->failed || r->phase != GREETED) return false;
    hang_up(r);
    enter(r, AWAY);
    return true;
}

/* While rank 0 does not listen yet, and its port is one that the system hands out to connecting
 * sockets, a connection to it may be one to itself. */
static bool on_our_own_hello(struct rendezvous *r)
{
    if (r->phase != GREETED) return false;
    snprintf(r->obstacle, sizeof r->obstacle, "nobody answers there");
    hang_up(r);
    enter(r, AWAY);
    return true;
}

static void refuse_rank_0(struct rendezvous *r, const char *why)
{
    snprintf(r->sentence, sizeof r->sentence,
             "rank 0, at the rendezvous %.300s, %s; " SECRET_REMEDY, r->address.shown, why);
    fail_joining(r, -EACCES);
}

static struct secret_claim claim_of(const struct rendezvous *r, enum secret_role role)
{
    bool is_ours = role == SECRET_MEMBER;
    return (struct secret_claim){
        .role = role,
        .prover = is_ours ? r->rank : 0,
        .verifier = is_ours ? 0 : r->rank,
        .prover_nonce = is_ours ? r->our_nonce : r->their_nonce,
        .verifier_nonce = is_ours ? r->their_nonce : r->our_nonce,
        .body = is_ours ? r->hello->data + RENDEZVOUS_HEADER_BYTES : NULL,
        .body_bytes = is_ours ? r->hello->bytes - RENDEZVOUS_HEADER_BYTES : 0,
    };
}

static void respond(struct rendezvous *r)
{
    unsigned char proof[SECRET_PROOF_BYTES];
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_RESPONSE);
    secret_nonce(r->our_nonce);
    const struct secret_claim claim = claim_of(r, SECRET_MEMBER);
    secret_prove(&r->secret, &claim, proof);
    rendezvous_put_bytes(m, r->our_nonce, sizeof r->our_nonce);
    rendezvous_put_bytes(m, proof, sizeof proof);
    rendezvous_put_bytes(m, claim.body, claim.body_bytes);
    r->has_responded = true;
    rendezvous_channel_send(r->channel, rendezvous_message_done(m));
}

static bool on_challenge(struct rendezvous *r, struct rendezvous_reader *reader)
{
    const unsigned char *nonce = rendezvous_get_bytes(reader, SECRET_NONCE_BYTES);
    if (!nonce || !rendezvous_read_all(reader) || r->phase != GREETED || r->has_responded)
        return false;
    memcpy(r->their_nonce, nonce, sizeof r->their_nonce);
    if (r->secret.is_known)
        respond(r);
    else
        refuse_rank_0(r, "asks for the cluster's secret, which this node does not know");
    return true;
}

static bool has_proved(const struct rendezvous *r, const unsigned char *proof)
{
    const struct secret_claim claim = claim_of(r, SECRET_RENDEZVOUS);
    return r->has_responded && secret_check(&r->secret, &claim, proof);
}

static bool on_welcome(struct rendezvous *r, struct rendezvous_reader *reader)
{
    unsigned peer_timeout_ms = rendezvous_get_u32(reader);
    const unsigned char *proof = rendezvous_get_bytes(reader, SECRET_PROOF_BYTES);
    if (!proof || !rendezvous_read_all(reader) || r->phase != GREETED) return false;
    if (r->secret.is_known && !has_proved(r, proof)) {
        refuse_rank_0(r, "does not know the cluster's secret");
        return true;
    }
    rendezvous_channel_watch(r->channel, peer_timeout_ms);
    enter(r, WELCOMED);
    return true;
}

static bool on_start(struct rendezvous *r, struct rendezvous_reader *reader)
{
    struct rendezvous_cluster *c = &r->cluster;
    c->id = rendezvous_get_u64(reader);
    c->shards = rendezvous_get_u32(reader);
    unsigned peer_timeout_ms = rendezvous_get_u32(reader), size = rendezvous_get_u32(reader);
    bool is_sound = c->id != 0 && c->shards > 0 && c->shards <= LOCUS_SHARDS_MAX &&
                    peer_timeout_ms > 0;
    if (r->phase != WELCOMED || !is_sound || size != r->size) return false;
    for (unsigned rank = 0; rank < size; rank++) {
        rendezvous_get_text(reader, c->address[rank], sizeof c->address[rank]);
        c->workers[rank] = rendezvous_get_u32(reader);
        if (c->workers[rank] == 0 || c->workers[rank] > LOCUS_WORKERS_MAX) return false;
    }
    if (!rendezvous_read_all(reader)) return false;
    c->peer_timeout_s = peer_timeout_ms / 1e3;
    rendezvous_hub_agree(&r->hub, peer_timeout_ms);
    secret_forget(&r->secret);
    enter(r, RUNNING);
    return true;
}

static bool on_release(struct rendezvous *r, struct rendezvous_reader *reader)
{
    unsigned code = rendezvous_get_u32(reader);
    rendezvous_get_text(reader, r->answer.text, sizeof r->answer.text);
    if (!rendezvous_read_all(reader) || r->barrier != ARRIVED || code > RENDEZVOUS_ERRNO_MAX)
        return false;
    r->answer.rc = -(int)code;
    r->barrier = RELEASED;
    rendezvous_hub_announce(&r->hub);
    return true;
}

static bool on_present(struct rendezvous *r, const struct rendezvous_reader *reader)
{
    if (!rendezvous_read_all(reader) || r->phase != RUNNING) return false;
    r->is_known_present = true;
    rendezvous_hub_announce(&r->hub);
    return true;
}

static bool on_waiting(struct rendezvous *r, struct rendezvous_reader *reader)
{
    rendezvous_get_text(reader, r->notice, sizeof r->notice);
    rendezvous_hub_announce(&r->hub);
    return rendezvous_read_all(reader);
}

static bool on_left(struct rendezvous *r, const struct rendezvous_reader *reader)
{
    if (!rendezvous_read_all(reader) || r->phase != LEAVING) return false;
    hang_up(r);
    enter(r, LEFT);
    return true;
}

static bool on_lost(struct rendezvous *r, struct rendezvous_reader *reader)
{
    char reason[RENDEZVOUS_TEXT_MAX];
    unsigned rank = rendezvous_get_u32(reader);
    rendezvous_get_text(reader, reason, sizeof reason);
    if (!rendezvous_read_all(reader) || rank >= r->size ||
        (r->phase != RUNNING && r->phase != LEAVING))
        return false;
    uint64_t silent_ns = rendezvous_channel_silence(r->channel);
    if (silent_ns > 0 && rank != 0) { /* rank 0 was cut off, and found others silent */
        rank = 0;
        snprintf(reason, sizeof reason, SILENCE_REASON "%.1f s", (double)silent_ns / 1e9);
    }
    lose(r, rank, reason);
    return true;
}

static bool on_other_version(struct rendezvous *r, unsigned version)
{
    if (r->phase != GREETED) return false;
    snprintf(
        r->sentence, sizeof r->sentence,
        "rank 0 speaks version %u of the protocol, rank %u speaks %d: run the same version of locus on all nodes",
        version, r->rank, RENDEZVOUS_VERSION);
    fail_joining(r, -EPROTO);
    return true;
}

static bool take_message(struct rendezvous *r, const struct rendezvous_header *header,
                         const void *body)
{
    struct rendezvous_reader reader = rendezvous_reader(body, header->length);
    if (header->type == RENDEZVOUS_REFUSED) return on_refused(r, &reader);
    if (header->type == RENDEZVOUS_AGAIN) return on_again(r, &reader);
    if (header->version != RENDEZVOUS_VERSION) return on_other_version(r, header->version);
    switch (header->type) {
    case RENDEZVOUS_HELLO: return on_our_own_hello(r);
    case RENDEZVOUS_CHALLENGE: return on_challenge(r, &reader);
    case RENDEZVOUS_WELCOME: return on_welcome(r, &reader);
    case RENDEZVOUS_START: return on_start(r, &reader);
    case RENDEZVOUS_RELEASE: return on_release(r, &reader);
    case RENDEZVOUS_PRESENT: return on_present(r, &reader);
    case RENDEZVOUS_WAITING: return on_waiting(r, &reader);
    case RENDEZVOUS_LEFT: return on_left(r, &reader);
    case RENDEZVOUS_LOST: return on_lost(r, &reader);
    default: return false;
    }
}

static void on_message(void *context, struct rendezvous_channel *c,
                       const struct rendezvous_header *header, const void *body)
{
    struct rendezvous *r = context;
    if (c != r->channel || take_message(r, header, body)) return;
    rendezvous_channel_close(c);
    on_ended(r, c, -EPROTO, "sent a message that makes no sense");
}

/* The callback runs without the lock: it may take locks of its own, under which others call us. */
static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct rendezvous *r = context;
    (void)now_ns;
    if (r->phase == LOST && r->may_tell && !r->has_told) {
        r->has_told = true;
        rendezvous_hub_unlock(&r->hub);
        r->lost(r->context, (int)r->lost_rank, r->lost_reason);
        rendezvous_hub_lock(&r->hub);
    }
    return RENDEZVOUS_NEVER;
}

static const struct rendezvous_events events = {
    .message = on_message, .ended = on_ended, .tick = on_tick};

/* ---- waiting ---- */

/* Releases the lock for a moment when there is something to print. */
static void print_notice(struct rendezvous *r)
{
    char notice[sizeof r->notice];
    if (!r->notice[0]) return;
    memcpy(notice, r->notice, sizeof notice);
    r->notice[0] = '\0';
    rendezvous_hub_unlock(&r->hub);
    fprintf(stderr, "locus: %s\n", notice);
    rendezvous_hub_lock(&r->hub);
}

/* Until something has changed. That it will is seen to by the heartbeats of rank 0, which sees to
 * all others. */
static void wait_for_rank_0(struct rendezvous *r)
{
    rendezvous_hub_wait(&r->hub, RENDEZVOUS_NEVER);
    print_notice(r);
}

/* ---- joining ---- */

static void describe_delay(const struct rendezvous *r, double seconds,
                           char sentence[2 * RENDEZVOUS_TEXT_MAX])
{
    const char *obstacle = r->obstacle;
    bool had_time = clock_now_ns() >= r->greeted_ns + ANSWER_NS;
    if (r->phase == GREETED && (had_time || !r->obstacle[0]))
        obstacle = "what listens there takes the connection, but does not answer";
    if (r->phase == WELCOMED) obstacle = "rank 0 has let us join, but does not go on";
    snprintf(sentence, 2 * RENDEZVOUS_TEXT_MAX,
             "rank %u of %u could not join for %g s; rendezvous %s: %s", r->rank, r->size, seconds,
             r->address.shown, obstacle);
}

/* Rank 0 reports who is missing to those whom it has let join; the others say themselves what they
 * wait for. */
static void report_delay(struct rendezvous *r)
{
    unsigned seconds = (r->reports + 1) * REPORT_AFTER_S;
    bool is_ours = r->phase == AWAY || r->phase == GREETED;
    if (is_ours && clock_now_ns() >= r->start_ns + seconds * SECOND_NS) {
        r->reports++;
        describe_delay(r, seconds, r->notice);
    }
    print_notice(r);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t left_ns(const struct rendezvous *r)
{
    uint64_t now_ns = clock_now_ns();
    return r->deadline_ns > now_ns ? r->deadline_ns - now_ns : 0;
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / SECOND_NS),
                                   .tv_nsec = (long)(ns % SECOND_NS)};
    nanosleep(&pause, NULL);
}

static void pause_before_retry(struct rendezvous *r, uint64_t *pause_ns)
{
    rendezvous_hub_lock(&r->hub);
    report_delay(r);
    rendezvous_hub_unlock(&r->hub);
    sleep_ns(earlier(*pause_ns, left_ns(r)));
    *pause_ns = earlier(*pause_ns * 3 / 2, PAUSE_MAX_NS);
}

static void greet(struct rendezvous *r, const struct rendezvous_config *c, nng_stream *stream)
{
    struct rendezvous_message *hello =
        rendezvous_hello_write(c, (unsigned)earlier(left_ns(r) / 1000000, INT32_MAX));
    rendezvous_hub_lock(&r->hub);
    struct rendezvous_channel *channel = rendezvous_channel_open(&r->hub, stream, 0);
    if (channel) {
        r->channel = channel;
        r->phase = GREETED;
        r->has_responded = false;
        r->greeted_ns = clock_now_ns();
        rendezvous_message_let_go(r->hello);
        r->hello = rendezvous_message_hold(hello);
        rendezvous_channel_send(channel, hello);
    }
    rendezvous_hub_unlock(&r->hub);
    if (channel) return;
    snprintf(r->obstacle, sizeof r->obstacle, "there is no memory for a connection");
    rendezvous_message_let_go(hello);
    nng_stream_close(stream);
    nng_stream_free(stream);
}

/* When to look up from waiting for rank 0's answer. Rank 0 knows our deadline, and who is missing
 * then: having let us join, it gets a moment to say so. */
static uint64_t answer_due_ns(const struct rendezvous *r)
{
    if (r->phase == WELCOMED) return r->deadline_ns + VERDICT_PATIENCE_NS;
    return earlier(r->deadline_ns, r->start_ns + (r->reports + 1) * REPORT_AFTER_S * SECOND_NS);
}

/* Returns when the attempt has come to anything. */
static enum phase await_verdict(struct rendezvous *r)
{
    rendezvous_hub_lock(&r->hub);
    while (r->phase == GREETED || r->phase == WELCOMED) {
        bool is_late = !rendezvous_hub_wait(&r->hub, answer_due_ns(r));
        report_delay(r);
        if (is_late && left_ns(r) == 0) break;
    }
    print_notice(r); /* that came right before the last word */
    enum phase phase = r->phase;
    rendezvous_hub_unlock(&r->hub);
    return phase;
}

static void describe_obstacle(struct rendezvous *r, int result)
{
    if (result == NNG_ENOFILES)
        snprintf(r->obstacle, sizeof r->obstacle,
                 "this process has no descriptors left: raise `ulimit -n`");
    else
        snprintf(r->obstacle, sizeof r->obstacle, "nobody answers there (%s)",
                 nng_strerror(result));
}

static enum phase attempt(struct rendezvous *r, const struct rendezvous_config *c, const char *url)
{
    nng_stream *stream = NULL;
    uint64_t patience_ns = earlier(DIAL_PATIENCE_NS, left_ns(r));
    int result = rendezvous_dial(url, patience_ns, &stream);
    if (result == 0) {
        greet(r, c, stream);
        return await_verdict(r);
    }
    /* What came before says more than a last attempt that had no time. */
    bool was_hurried = result == NNG_ETIMEDOUT && patience_ns < DIAL_PATIENCE_NS;
    if (!was_hurried || !r->obstacle[0]) describe_obstacle(r, result);
    return AWAY;
}

static int give_up(struct rendezvous *r, double seconds)
{
    char sentence[2 * RENDEZVOUS_TEXT_MAX];
    rendezvous_hub_lock(&r->hub);
    describe_delay(r, seconds, sentence);
    hang_up(r);
    rendezvous_hub_unlock(&r->hub);
    return error_set(-ETIMEDOUT, "%s", sentence);
}

static int reach_rank_0(struct rendezvous *r, const struct rendezvous_config *c)
{
    uint64_t pause_ns = PAUSE_MIN_NS;
    for (unsigned i = 0;; i = (i + 1) % r->address.urls) {
        enum phase phase = attempt(r, c, r->address.url[i]);
        if (phase == RUNNING || phase == LEAVING || phase == LOST) return 0;
        if (phase == FAILED) return error_set(r->failure, "%s", r->sentence);
        if (left_ns(r) == 0) return give_up(r, c->join_timeout_s);
        if (i + 1 == r->address.urls) pause_before_retry(r, &pause_ns);
    }
}

/* A name that the resolver does not know yet is asked for again for a while; if it does not answer,
 * to the deadline. */
static int resolve(struct rendezvous *r)
{
    uint64_t pause_ns = PAUSE_MAX_NS,
             until_ns = earlier(r->start_ns + RESOLVE_PATIENCE_NS, r->deadline_ns);
    for (;;) {
        int rc = rendezvous_address_resolve(&r->address);
        if (rc == 0) return 0;
        if (clock_now_ns() >= (rc == -EAGAIN ? r->deadline_ns : until_ns)) return -EINVAL;
        snprintf(r->obstacle, sizeof r->obstacle, "%s", locus_error());
        pause_before_retry(r, &pause_ns);
    }
}

static int check_seconds(const char *field, double seconds)
{
    if (isfinite(seconds) && seconds > 0 && seconds <= 1e9) return 0;
    return error_set(-EINVAL, "%s is %g: must be a number of seconds above 0, at most 1e9", field,
                     seconds);
}

static int check(const struct rendezvous_config *c)
{
    if (c->size < 2 || c->size > RENDEZVOUS_NODES_MAX)
        return error_set(-EINVAL, "size is %d: must be 2 to %d", c->size, RENDEZVOUS_NODES_MAX);
    if (c->rank < 0 || c->rank >= c->size)
        return error_set(-EINVAL, "rank is %d: must be below size, which is %d", c->rank, c->size);
    if (c->shards > LOCUS_SHARDS_MAX ||
        (c->rank == 0 && c->shards == 0 && c->choice - 1 >= LOCUS_SHARDS_MAX))
        return error_set(-EINVAL, "shards is %u: must be 1 to %d",
                         c->shards ? c->shards : c->choice, LOCUS_SHARDS_MAX);
    if (c->workers == 0 || c->workers > LOCUS_WORKERS_MAX)
        return error_set(-EINVAL, "workers is %u: must be 1 to %d", c->workers, LOCUS_WORKERS_MAX);
    if (c->table_count > LOCUS_TABLES_MAX)
        return error_set(-EINVAL, "table_count is %zu: must be at most %d", c->table_count,
                         LOCUS_TABLES_MAX);
    if (!c->data_address || !c->data_address[0] ||
        strlen(c->data_address) >= RENDEZVOUS_ADDRESS_MAX)
        return error_set(-EINVAL,
                         "the address \"%.100s\" of the data port must have 1 to %d characters",
                         c->data_address ? c->data_address : "", RENDEZVOUS_ADDRESS_MAX - 1);
    struct rendezvous_message *hello = rendezvous_hello_write(c, 0);
    if (!hello)
        return error_set(-EINVAL, "the tables' names have more than %d bytes together",
                         RENDEZVOUS_MESSAGE_MAX);
    bool is_too_long = hello->bytes + RESPONSE_BYTES > RENDEZVOUS_MESSAGE_MAX;
    rendezvous_message_let_go(hello);
    if (is_too_long)
        return error_set(-EINVAL, "the tables' names have more than %d bytes together",
                         RENDEZVOUS_MESSAGE_MAX - RESPONSE_BYTES);
    int rc = check_seconds("peer_timeout_s", c->peer_timeout_s);
    return rc ? rc : check_seconds("join_timeout_s", c->join_timeout_s);
}

static struct rendezvous *new_rendezvous(const struct rendezvous_config *c)
{
    struct rendezvous *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->rank = (unsigned)c->rank;
    r->size = (unsigned)c->size;
    r->lost = c->lost;
    r->context = c->context;
    r->cluster.address = calloc(r->size, sizeof *r->cluster.address);
    r->cluster.workers = calloc(r->size, sizeof *r->cluster.workers);
    if (r->cluster.address && r->cluster.workers && secret_copy(&r->secret, c->secret) == 0)
        return r;
    rendezvous_free(r);
    return NULL;
}

static int join(struct rendezvous *r, const struct rendezvous_config *c)
{
    r->start_ns = clock_now_ns();
    r->deadline_ns = r->start_ns + (uint64_t)(c->join_timeout_s * 1e9);
    int rc = rendezvous_address_parse(&r->address, c->address);
    if (rc == 0) rc = rendezvous_hub_prepare_nng();
    if (rc == 0) rc = rendezvous_hub_start(&r->hub, c->peer_timeout_s, &events, r);
    r->has_hub = rc == 0;
    if (rc == 0) rc = resolve(r);
    if (rc == 0 && !c->loopback_only) rendezvous_address_prefer(&r->address, c->data_address);
    if (rc == 0 && r->rank == 0)
        rc = rendezvous_server_start(&r->server, c, &r->address, r->deadline_ns);
    return rc ? rc : reach_rank_0(r, c);
}

int rendezvous_join(const struct rendezvous_config *c, struct rendezvous **out,
                    struct rendezvous_cluster *cluster)
{
    *out = NULL;
    int rc = check(c);
    if (rc) return rc;
    struct rendezvous *r = new_rendezvous(c);
    if (!r) return error_set(-ENOMEM, "no memory for a rendezvous of %d nodes", c->size);
    rc = join(r, c);
    if (rc) {
        rendezvous_free(r);
        return rc;
    }
    *out = r;
    *cluster = r->cluster;
    rendezvous_hub_lock(&r->hub);
    r->may_tell = r->lost != NULL;
    rendezvous_hub_note(&r->hub);
    rendezvous_hub_unlock(&r->hub);
    return 0;
}

/* ---- in the cluster ---- */

static int lost_error(const struct rendezvous *r)
{
    return error_set(-ECONNRESET, "node %u (%s) %s", r->lost_rank, r->cluster.address[r->lost_rank],
                     r->lost_reason);
}

static struct rendezvous_message *barrier_message(const struct meeting *meeting,
                                                  const struct word *w)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_BARRIER);
    rendezvous_put_u32(m, (meeting->goes_on ? RENDEZVOUS_GOES_ON : 0) |
                              (meeting->needs_all ? RENDEZVOUS_NEEDS_ALL : 0));
    rendezvous_put_u32(m, (uint32_t)-w->rc);
    rendezvous_put_text(m, w->text);
    rendezvous_put_text(m, meeting->name);
    return rendezvous_message_done(m);
}

static int meet(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    r->barrier = ARRIVED;
    rendezvous_channel_send(r->channel, barrier_message(meeting, w));
    while (r->phase == RUNNING && r->barrier == ARRIVED) wait_for_rank_0(r);
    bool was_released = r->barrier == RELEASED;
    *w = r->answer;
    r->barrier = OUTSIDE;
    rendezvous_hub_announce(&r->hub);
    if (!was_released) return lost_error(r);
    return w->rc ? error_set(w->rc, "%s", w->text) : 0;
}

static void say_absent(struct rendezvous *r, bool absent)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_ABSENT);
    rendezvous_put_u32(m, absent);
    rendezvous_channel_send(r->channel, rendezvous_message_done(m));
}

void rendezvous_absent(struct rendezvous *r)
{
    rendezvous_hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, true);
    rendezvous_hub_unlock(&r->hub);
}

int rendezvous_present(struct rendezvous *r)
{
    rendezvous_hub_lock(&r->hub);
    if (r->phase == RUNNING) say_absent(r, false);
    r->is_known_present = false;
    while (r->phase == RUNNING && !r->is_known_present) wait_for_rank_0(r);
    int rc = r->is_known_present ? 0 : lost_error(r);
    rendezvous_hub_unlock(&r->hub);
    return rc;
}

int rendezvous_barrier(struct rendezvous *r, const char *name, bool goes_on)
{
    const struct meeting meeting = {.name = name, .goes_on = goes_on};
    struct word nothing = {.rc = 0};
    return rendezvous_agree(r, &meeting, &nothing);
}

int rendezvous_agree(struct rendezvous *r, const struct meeting *meeting, struct word *w)
{
    rendezvous_hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) wait_for_rank_0(r); /* another thread's */
    INVARIANT(r->phase == RUNNING || r->phase == LOST,
              "a barrier was called while or after leaving the cluster");
    int rc = r->phase == LOST ? lost_error(r) : meet(r, meeting, w);
    rendezvous_hub_unlock(&r->hub);
    return rc;
}

bool rendezvous_report_lost(struct rendezvous *r, int rank, const char *reason)
{
    INVARIANT(rank >= 0 && (unsigned)rank < r->size,
              "a node was reported as lost whose rank does not exist");
    rendezvous_hub_lock(&r->hub);
    bool is_heard = !r->is_stopped && (r->phase == RUNNING || r->phase == LEAVING);
    if (is_heard) {
        struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_REPORT);
        rendezvous_put_u32(m, (uint32_t)rank);
        rendezvous_put_text(m, reason);
        rendezvous_channel_send(r->channel, rendezvous_message_done(m));
        r->has_reported = true;
    }
    bool is_known = !r->is_stopped && r->phase == LOST; /* `lost` was called, or is about to be */
    rendezvous_hub_unlock(&r->hub);
    return is_heard || is_known;
}

/* ---- leaving ---- */

/* Who has reported a loss knows that the cluster has failed, but not yet who failed first; and
 * would pass for the one that failed by leaving before rank 0 has read the report. */
static void await_loss(struct rendezvous *r)
{
    uint64_t until_ns = clock_now_ns() + VERDICT_PATIENCE_NS;
    if (!r->has_reported) return;
    while (r->phase == RUNNING && rendezvous_hub_wait(&r->hub, until_ns)) continue;
}

void rendezvous_await_verdict(struct rendezvous *r)
{
    rendezvous_hub_lock(&r->hub);
    await_loss(r);
    rendezvous_hub_unlock(&r->hub);
}

static void stop(struct rendezvous *r)
{
    if (r->has_hub && !r->is_stopped) {
        rendezvous_hub_lock(&r->hub);
        r->is_stopped = true; /* from now on there may be no channel */
        rendezvous_hub_unlock(&r->hub);
        rendezvous_hub_stop(&r->hub);
    }
    if (r->server) rendezvous_server_stop(r->server);
    r->server = NULL;
}

static void await_others(struct rendezvous *r)
{
    r->phase = LEAVING;
    rendezvous_channel_send(r->channel,
                            rendezvous_message_done(rendezvous_message_new(RENDEZVOUS_LEAVE)));
    while (r->phase == LEAVING) wait_for_rank_0(r);
}

int rendezvous_leave(struct rendezvous *r)
{
    rendezvous_hub_lock(&r->hub);
    while (r->barrier != OUTSIDE && r->phase == RUNNING) wait_for_rank_0(r); /* another thread's */
    await_loss(r);
    if (r->phase == RUNNING) await_others(r);
    int rc = r->phase == LOST ? lost_error(r) : 0;
    rendezvous_hub_unlock(&r->hub);
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
    if (r->has_hub) rendezvous_hub_fini(&r->hub);
    rendezvous_message_let_go(r->hello);
    secret_forget(&r->secret);
    free(r->cluster.address);
    free(r->cluster.workers);
    free(r);
}
