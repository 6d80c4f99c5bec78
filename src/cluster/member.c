#include "cluster/member.h"

#include "base/error.h"
#include "cluster/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void member_hang_up(struct rendezvous *r)
{
    if (r->channel) channel_close(r->channel);
    r->channel = NULL;
}

void member_send(struct rendezvous *r, struct message *m)
{
    if (r->channel)
        channel_send(r->channel, m);
    else
        message_let_go(m);
}

static void enter(struct rendezvous *r, enum member_phase phase)
{
    r->phase = phase;
    hub_note(&r->hub);
}

static void fail_joining(struct rendezvous *r, int rc)
{
    r->failure = rc;
    member_hang_up(r);
    enter(r, FAILED);
}

static void lose(struct rendezvous *r, unsigned rank, const char *reason)
{
    r->lost_rank = rank;
    snprintf(r->lost_reason, sizeof r->lost_reason, "%s", reason);
    member_hang_up(r);
    enter(r, LOST);
}

/* The connection to rank 0 has ended while the cluster ran. */
static void lose_rank_0(struct rendezvous *r, const char *reason)
{
    char absence[MESSAGE_TEXT_MAX];
    uint64_t absence_ns = hub_absence(&r->hub);
    snprintf(absence, sizeof absence, "did not run for %.1f s", (double)absence_ns / 1e9);
    if (absence_ns) {
        lose(r, r->rank, absence); /* we were given up, not they */
    } else if (r->phase == RUNNING && r->living > 2 && silence_is_reason(reason)) {
        /* The links to the others are silent, too, within a heartbeat, or they are not. */
        r->clear_ns = time_now_ns() + silence_beat_ns(r->hub.timeout_ns) * 6 / 5;
        snprintf(r->lost_reason, sizeof r->lost_reason, "%s", reason);
        hub_note(&r->hub);
    } else {
        lose(r, 0, reason);
    }
}

/* Who finds all others silent was cut off itself. */
static void clear_up(struct rendezvous *r)
{
    unsigned others = 0, most = r->living - 2; /* beside us and rank 0 */
    char reason[MESSAGE_TEXT_MAX];
    for (unsigned i = 0; i < r->silent.count; i++) others += r->silent.rank[i] != 0;
    if (most >= MEMBER_SILENT_MAX) most = MEMBER_SILENT_MAX - 1;
    snprintf(reason, sizeof reason, "%s", others >= most ? VERDICT_CUT_OFF : r->lost_reason);
    lose(r, others >= most ? r->rank : 0, reason);
}

/* Tries again, until the deadline: then joining returns `rc`, and says `why`. */
static void stay_away(struct rendezvous *r, int rc, const char *why)
{
    snprintf(r->obstacle, sizeof r->obstacle, "%s", why);
    r->obstacle_rc = rc;
    member_hang_up(r);
    enter(r, AWAY);
}

/* Before the WELCOME: `r->sentence` is why this node cannot join. Whoever knows the secret believes
 * it from rank 0 alone: another that listens there may say anything. */
static void turn_back(struct rendezvous *r, int rc, bool is_proved)
{
    if (is_proved || !r->secret.is_known) {
        fail_joining(r, rc);
        return;
    }
    char why[MESSAGE_TEXT_MAX];
    snprintf(why, sizeof why,
             "what answers there does not prove that it knows this node's secret: %.400s",
             r->sentence);
    if (!r->has_doubted)
        snprintf(r->notice, sizeof r->notice, "rank %u of %u still tries to join at %.300s: %s",
                 r->rank, r->size, r->address.shown, why);
    r->has_doubted = true;
    stay_away(r, -EACCES, why);
}

static void on_ended(void *context, struct channel *c, int rc, const char *reason)
{
    struct rendezvous *r = context;
    if (c != r->channel) return;
    r->channel = NULL;
    if (r->phase == GREETED && rc == -EPROTO) {
        snprintf(
            r->sentence, sizeof r->sentence,
            "what answers at %.300s is no rendezvous of locus: give the address and port of rank 0's",
            r->address.shown);
        turn_back(r, -EPROTO, false);
    } else if (r->phase == GREETED) {
        char why[MESSAGE_TEXT_MAX];
        snprintf(why, sizeof why, "what answers there %.200s", reason);
        stay_away(r, -ETIMEDOUT, why);
    } else if (r->phase == WELCOMED) {
        snprintf(r->sentence, sizeof r->sentence,
                 "rank 0 %.150s before all had joined; rendezvous %.300s", reason,
                 r->address.shown);
        fail_joining(r, -ECONNRESET);
    } else {
        lose_rank_0(r, reason);
    }
}

static bool on_again(struct rendezvous *r, struct message_reader *reader)
{
    char why[MESSAGE_TEXT_MAX];
    message_get_text(reader, why, sizeof why);
    if (reader->failed || r->phase != GREETED) return false;
    stay_away(r, -ETIMEDOUT, why);
    return true;
}

/* If rank 0 does not listen yet and its port is an ephemeral one, a connecting socket may be
 * connected to itself. */
static bool on_our_own_hello(struct rendezvous *r)
{
    if (r->phase != GREETED) return false;
    stay_away(r, -ETIMEDOUT, "nobody answers there");
    return true;
}

static void refuse_rank_0(struct rendezvous *r, const char *why)
{
    snprintf(r->sentence, sizeof r->sentence,
             "rank 0, at the rendezvous %.300s, %s; " SECRET_REMEDY, r->address.shown, why);
    turn_back(r, -EACCES, false);
}

static void respond(struct rendezvous *r, const unsigned char their_nonce[SECRET_NONCE_BYTES])
{
    unsigned char proof[SECRET_PROOF_BYTES];
    struct message *m = message_new(MESSAGE_RESPONSE);
    struct secret_talk *talk = &r->channel->talk;
    *talk = (struct secret_talk){.our_rank = r->rank};
    secret_nonce(talk->our_nonce);
    memcpy(talk->their_nonce, their_nonce, sizeof talk->their_nonce);
    r->channel->is_challenged = true;
    const unsigned char *hello = r->hello->data + MESSAGE_HEADER_BYTES;
    size_t bytes = r->hello->bytes - MESSAGE_HEADER_BYTES;
    secret_answer(&r->secret, talk, SECRET_MEMBER, hello, bytes, proof);
    message_put_bytes(m, talk->our_nonce, sizeof talk->our_nonce);
    message_put_bytes(m, proof, sizeof proof);
    message_put_bytes(m, hello, bytes);
    member_send(r, message_done(m));
}

static bool on_challenge(struct rendezvous *r, struct message_reader *reader)
{
    const unsigned char *nonce = message_get_bytes(reader, SECRET_NONCE_BYTES);
    if (!nonce || !message_read_all(reader) || r->phase != GREETED || r->channel->is_challenged)
        return false;
    if (r->secret.is_known)
        respond(r, nonce);
    else
        refuse_rank_0(r, "asks for the cluster's secret, which this node does not know");
    return true;
}

/* `proof`: NULL if there is none. */
static bool has_proved(const struct rendezvous *r, const unsigned char *proof, const void *body,
                       size_t body_bytes)
{
    return proof && r->channel->is_challenged &&
           secret_hear(&r->secret, &r->channel->talk, SECRET_RENDEZVOUS, body, body_bytes, proof);
}

static bool on_refused(struct rendezvous *r, struct message_reader *reader)
{
    const unsigned char *body = reader->at;
    int code = (int)message_get_u32(reader);
    message_get_text(reader, r->sentence, sizeof r->sentence);
    bool is_known = code == EINVAL || code == EPROTO || code == ETIMEDOUT || code == ECONNRESET ||
                    code == EACCES;
    if (reader->failed || (r->phase != GREETED && r->phase != WELCOMED)) return false;
    size_t bytes = (size_t)(reader->at - body);
    const unsigned char *proof = message_get_bytes(reader, SECRET_PROOF_BYTES);
    turn_back(r, is_known ? -code : -EPROTO,
              r->phase == WELCOMED || has_proved(r, proof, body, bytes));
    return true;
}

static bool on_welcome(struct rendezvous *r, struct message_reader *reader)
{
    unsigned peer_timeout_ms = message_get_u32(reader);
    const unsigned char *proof = message_get_bytes(reader, SECRET_PROOF_BYTES);
    if (!proof || !message_read_all(reader) || r->phase != GREETED) return false;
    if (r->secret.is_known && !has_proved(r, proof, NULL, 0)) {
        refuse_rank_0(r, "does not know the cluster's secret");
        return true;
    }
    channel_watch(r->channel, peer_timeout_ms);
    enter(r, WELCOMED);
    return true;
}

/* false: that cannot be after what was before. */
static bool change_members(struct rendezvous *r, uint32_t kind, unsigned rank)
{
    bool joins = kind == CHANGE_JOINS;
    if (kind >= CHANGE_KINDS || rank == 0 || rank >= r->size || r->is_lost[rank] != joins)
        return false;
    r->is_lost[rank] = !joins;
    r->living += joins ? 1 : -1u;
    return true;
}

/* Of a cluster that runs: before the change by which this node is a member. */
static bool read_history(struct rendezvous *r, struct message_reader *reader)
{
    struct rendezvous_cluster *c = &r->cluster;
    c->changes = message_get_u32(reader);
    if (c->changes == 0) return true;
    if (!r->seen || c->changes > CHANGES_MAX) return false;
    c->history = calloc(c->changes, sizeof *c->history);
    for (uint32_t i = 0; c->history && i < c->changes; i++) {
        uint32_t kind = message_get_u32(reader), rank = message_get_u32(reader);
        c->history[i] = (struct change){i + 1, kind, rank};
        if (!change_members(r, kind, rank)) return false;
    }
    r->view.change =
        (struct change){c->changes + 1, CHANGE_JOINS, r->rank}; /* which we begin with */
    r->view.repaired = c->changes;
    return c->history && r->is_lost[r->rank];
}

static bool on_start(struct rendezvous *r, struct message_reader *reader)
{
    struct rendezvous_cluster *c = &r->cluster;
    if (r->phase != WELCOMED) return false; /* a second one changes nothing */
    c->id = message_get_u64(reader);
    c->shards = message_get_u32(reader);
    unsigned peer_timeout_ms = message_get_u32(reader), size = message_get_u32(reader);
    bool is_sound = c->id != 0 && c->shards > 0 && c->shards <= LOCUS_SHARDS_MAX &&
                    peer_timeout_ms > 0;
    if (!is_sound || size != r->size) return false;
    for (unsigned rank = 0; rank < size; rank++) {
        message_get_text(reader, c->address[rank], sizeof c->address[rank]);
        c->workers[rank] = message_get_u32(reader);
        if (c->workers[rank] == 0 || c->workers[rank] > LOCUS_WORKERS_MAX) return false;
    }
    if (!read_history(r, reader) || !message_read_all(reader)) return false;
    c->peer_timeout_s = peer_timeout_ms / 1e3;
    hub_agree(&r->hub, peer_timeout_ms);
    secret_forget(&r->secret);
    enter(r, RUNNING);
    return true;
}

static bool on_release(struct rendezvous *r, struct message_reader *reader)
{
    if (r->barrier != ARRIVED || !message_get_word(reader, &r->answer) || !message_read_all(reader))
        return false;
    r->barrier = RELEASED;
    hub_announce(&r->hub);
    return true;
}

static bool on_present(struct rendezvous *r, const struct message_reader *reader)
{
    if (!message_read_all(reader) || r->phase != RUNNING) return false;
    r->is_known_present = true;
    hub_announce(&r->hub);
    return true;
}

static bool on_waiting(struct rendezvous *r, struct message_reader *reader)
{
    if (r->phase == GREETED) return false;
    message_get_text(reader, r->notice, sizeof r->notice);
    hub_announce(&r->hub);
    return message_read_all(reader);
}

static bool on_left(struct rendezvous *r, const struct message_reader *reader)
{
    if (!message_read_all(reader) || r->phase != LEAVING) return false;
    member_hang_up(r);
    enter(r, LEFT);
    return true;
}

static bool on_lost(struct rendezvous *r, struct message_reader *reader)
{
    char reason[MESSAGE_TEXT_MAX];
    unsigned rank = message_get_u32(reader);
    message_get_text(reader, reason, sizeof reason);
    if (!message_read_all(reader) || rank >= r->size ||
        (r->phase != RUNNING && r->phase != LEAVING))
        return false;
    uint64_t silent_ns = channel_silence(r->channel);
    if (silent_ns > 0 && rank != 0) { /* rank 0 was cut off, and found others silent */
        rank = 0;
        snprintf(reason, sizeof reason, SILENCE_REASON "%.1f s", (double)silent_ns / 1e9);
    }
    lose(r, rank, reason);
    return true;
}

static void forget_reported(struct reported *of, unsigned rank)
{
    for (unsigned i = 0; i < of->count; i++)
        if (of->rank[i] == rank) of->rank[i] = of->rank[--of->count];
}

static bool keep_news(struct rendezvous *r, struct message_reader *reader)
{
    struct news *n = calloc(1, sizeof *n);
    if (!n) return false;
    n->change = r->view.change;
    message_get_text(reader, n->reason, sizeof n->reason);
    if (!r->view.first) r->view.end = &r->view.first;
    *r->view.end = n;
    r->view.end = &n->next;
    return true;
}

/* Unless it is a loss the next one comes when all have answered this one. What was reported until now
 * is decided. */
static bool on_view(struct rendezvous *r, struct message_reader *reader)
{
    uint32_t number = message_get_u32(reader), kind = message_get_u32(reader),
             rank = message_get_u32(reader);
    const struct change *last = &r->view.change;
    bool is_ours = rank == r->rank && kind == CHANGE_JOINS && number == last->number;
    bool is_leave = kind == CHANGE_LEAVES;
    bool is_next = (rank != r->rank || (is_leave && r->phase == LEAVING)) &&
                   (last->number == r->view.repaired || kind == CHANGE_LOST) &&
                   number == last->number + 1;
    /* Who leaves is a member until we have repaired that: until then it may be lost. */
    bool is_lost = last->kind == CHANGE_LEAVES && kind == CHANGE_LOST && number == last->number &&
                   rank == last->node && rank != r->rank;
    if ((r->phase != RUNNING && r->phase != LEAVING) || !r->seen ||
        !(is_ours || is_next || is_lost) || rank >= r->size)
        return false;
    if (is_leave ? r->is_lost[rank]
                 : !(is_lost && r->is_lost[rank]) && !change_members(r, kind, rank))
        return false;
    r->view.change = (struct change){number, kind, rank};
    if (kind == CHANGE_JOINS && !is_ours)
        memcpy(r->cluster.address[rank], r->newcomer.address, sizeof r->newcomer.address);
    r->has_reported = false;
    forget_reported(&r->silent, rank);
    forget_reported(&r->failed, rank);
    hub_note(&r->hub);
    return is_ours || (keep_news(r, reader) && message_read_all(reader)); /* we began with ours */
}

static bool on_joining(struct rendezvous *r, struct message_reader *reader)
{
    r->newcomer.id = message_get_u64(reader);
    r->newcomer.rank = message_get_u32(reader);
    message_get_text(reader, r->newcomer.address, sizeof r->newcomer.address);
    r->newcomer.is_news = true;
    hub_note(&r->hub);
    return message_read_all(reader) && r->seen && r->newcomer.rank < r->size &&
           r->newcomer.rank != r->rank && r->is_lost[r->newcomer.rank];
}

static bool on_other_version(struct rendezvous *r, unsigned version)
{
    if (r->phase != GREETED) return false;
    snprintf(
        r->sentence, sizeof r->sentence,
        "rank 0 speaks version %u of the protocol, rank %u speaks %d: run the same version of locus on all nodes",
        version, r->rank, MESSAGE_VERSION);
    turn_back(r, -EPROTO, false);
    return true;
}

static bool take_message(struct rendezvous *r, const struct message_header *header,
                         const void *body)
{
    struct message_reader reader = message_reader(body, header->length);
    if (header->type == MESSAGE_REFUSED) return on_refused(r, &reader);
    if (header->type == MESSAGE_AGAIN) return on_again(r, &reader);
    if (header->version != MESSAGE_VERSION) return on_other_version(r, header->version);
    switch (header->type) {
    case MESSAGE_HELLO: return on_our_own_hello(r);
    case MESSAGE_CHALLENGE: return on_challenge(r, &reader);
    case MESSAGE_WELCOME: return on_welcome(r, &reader);
    case MESSAGE_START: return on_start(r, &reader);
    case MESSAGE_RELEASE: return on_release(r, &reader);
    case MESSAGE_PRESENT: return on_present(r, &reader);
    case MESSAGE_WAITING: return on_waiting(r, &reader);
    case MESSAGE_LEFT: return on_left(r, &reader);
    case MESSAGE_LOST: return on_lost(r, &reader);
    case MESSAGE_VIEW: return on_view(r, &reader);
    case MESSAGE_JOINING: return on_joining(r, &reader);
    default: return false;
    }
}

static void on_message(void *context, struct channel *c, const struct message_header *header,
                       const void *body)
{
    struct rendezvous *r = context;
    if (c != r->channel || take_message(r, header, body)) return;
    channel_close(c);
    on_ended(r, c, -EPROTO, "sent a message that makes no sense");
}

static void tell_view(struct rendezvous *r)
{
    struct news *n = r->view.first;
    r->view.first = n->next;
    hub_unlock(&r->hub);
    r->seen(r->context, &n->change, n->reason);
    free(n);
    hub_lock(&r->hub);
}

static void tell_joining(struct rendezvous *r)
{
    char address[ADDRESS_MAX];
    uint64_t id = r->newcomer.id;
    unsigned rank = r->newcomer.rank;
    memcpy(address, r->newcomer.address, sizeof address);
    r->newcomer.is_news = false;
    hub_unlock(&r->hub);
    r->joins(r->context, id, rank, address);
    hub_lock(&r->hub);
}

/* Callbacks run without the lock: they may take locks of their own, under which others call us. */
static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct rendezvous *r = context;
    if (r->clear_ns && r->phase != RUNNING) r->clear_ns = 0;
    if (r->clear_ns && now_ns < r->clear_ns) return r->clear_ns;
    if (r->clear_ns) clear_up(r);
    if (r->phase == LOST && r->may_tell && !r->has_told) {
        r->has_told = true;
        hub_unlock(&r->hub);
        r->lost(r->context, (int)r->lost_rank, r->lost_reason);
        hub_lock(&r->hub);
    }
    if (r->newcomer.is_news && r->phase != LOST && r->may_tell) tell_joining(r);
    while (r->view.first && r->phase != LOST && r->may_tell) tell_view(r);
    return HUB_NEVER;
}

const struct hub_events member_events = {.message = on_message, .ended = on_ended, .tick = on_tick};

/* ---- waiting ---- */

void member_print_notice(struct rendezvous *r)
{
    char notice[sizeof r->notice];
    if (!r->notice[0]) return;
    memcpy(notice, r->notice, sizeof notice);
    r->notice[0] = '\0';
    hub_unlock(&r->hub);
    fprintf(stderr, "locus: %s\n", notice);
    hub_lock(&r->hub);
}

void member_wait(struct rendezvous *r)
{
    hub_wait(&r->hub, HUB_NEVER);
    member_print_notice(r);
}
