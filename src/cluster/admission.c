#include "cluster/admission.h"

#include "cluster/hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const uint64_t LAST_WORD_TIMEOUT_NS = 1000000000; /* for a node to hear why it must go */
enum { HELLO_SPARE = 64 << 10 };

/* ---- the members ---- */

void members_send_one(struct member *m, struct message *message)
{
    if (m->channel)
        channel_send(m->channel, message);
    else
        message_let_go(message);
}

void members_send_some(struct members *all, bool (*is_meant)(const struct member *),
                       struct message *message)
{
    for (unsigned rank = 0; rank < all->size; rank++)
        if (!is_meant || is_meant(&all->member[rank]))
            members_send_one(&all->member[rank], message_hold(message));
    message_let_go(message);
}

void members_dismiss(struct members *all, uint64_t timeout_ns)
{
    for (struct member *m = all->member; m < all->member + all->size; m++) {
        if (m->channel) channel_finish(m->channel, timeout_ns);
        m->channel = NULL;
    }
}

bool members_list(const struct members *all, bool (*is_missing)(const struct member *),
                  char list[MEMBERS_LIST_BYTES])
{
    char ranks[MEMBERS_LIST_BYTES - 32] = "";
    unsigned count = 0, more = 0;
    size_t length = 0;
    for (unsigned first = 0, last; first < all->size; first = last + 1) {
        last = first;
        if (!is_missing(&all->member[first])) continue;
        while (last + 1 < all->size && is_missing(&all->member[last + 1])) last++;
        if (last == first + 1) last = first; /* two are no row */
        count += last - first + 1;
        if (length + 24 > sizeof ranks)
            more += last - first + 1;
        else if (first == last)
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u",
                                       length ? ", " : "", first);
        else
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u to %u",
                                       length ? ", " : "", first, last);
    }
    int end = snprintf(list, MEMBERS_LIST_BYTES, "rank%s %s", count == 1 ? "" : "s", ranks);
    if (more) snprintf(list + end, MEMBERS_LIST_BYTES - (size_t)end, " and %u more", more);
    return count != 1;
}

void waiting_begin(struct reminder *w)
{
    if (w->since_ns == 0) *w = (struct reminder){.since_ns = time_now_ns()};
}

unsigned waiting_report(struct reminder *w, uint64_t now_ns, uint64_t *due_ns)
{
    if (w->since_ns == 0) return 0;
    unsigned seconds = reminder_due(w, now_ns);
    *due_ns = time_earlier(*due_ns, reminder_next_ns(w));
    return seconds;
}

struct message *waiting_message(const char *sentence)
{
    struct message *m = message_new(MESSAGE_WAITING);
    message_put_text(m, sentence);
    return message_done(m);
}

/* ---- refusing ---- */

/* Who has come, and has proved itself if that is asked for. */
struct visitor {
    struct channel *channel;
    const struct hello *hello;
};

/* That we know the secret, and say what `body` has. `v`: NULL, or who can tell. */
static void put_proof(const struct admission *a, struct message *m, const struct visitor *v,
                      const void *body, size_t body_bytes)
{
    unsigned char proof[SECRET_PROOF_BYTES] = {0};
    if (v && v->channel->is_challenged)
        secret_answer(&a->secret, &v->channel->talk, SECRET_RENDEZVOUS, body, body_bytes, proof);
    message_put_bytes(m, proof, sizeof proof);
}

/* `v`: NULL, or who does not believe it without a proof. */
static struct message *refusal_message(const struct admission *a, int rc, const char *sentence,
                                       const struct visitor *v)
{
    struct message *m = message_new(MESSAGE_REFUSED);
    message_put_u32(m, (uint32_t)-rc);
    message_put_text(m, sentence);
    if (m) put_proof(a, m, v, m->data + MESSAGE_HEADER_BYTES, m->bytes - MESSAGE_HEADER_BYTES);
    return message_done(m);
}

static void refuse_with(struct channel *c, struct message *refusal)
{
    channel_send(c, refusal);
    channel_finish(c, LAST_WORD_TIMEOUT_NS);
}

static void refuse(const struct admission *a, const struct visitor *v, int rc, const char *sentence)
{
    refuse_with(v->channel, refusal_message(a, rc, sentence, v));
}

/* The cluster cannot form: all peers that have come get the same sentence, and so do all that come
 * later. */
static void refuse_all(struct admission *a, int rc)
{
    a->state = ADMISSION_REFUSING;
    a->refusal = rc;
    /* they have been welcomed, with a proof */
    members_send_some(a->members, NULL, refusal_message(a, rc, a->sentence, NULL));
    members_dismiss(a->members, LAST_WORD_TIMEOUT_NS);
}

/* All have come, and this one is not missing, or not to be let in now. */
static bool is_late(const struct admission *a, unsigned rank)
{
    bool is_missing = rank < a->members->size && a->members->member[rank].is_lost;
    return a->state == ADMISSION_COMPLETE && !(a->is_open && is_missing);
}

static void send_away(struct admission *a, struct channel *c)
{
    struct message *m = message_new(MESSAGE_AGAIN);
    char reason[MESSAGE_TEXT_MAX];
    snprintf(reason, sizeof reason, "another cluster, of %u nodes, has not ended there%s",
             a->members->size, a->survives ? ", nor given up one of this rank" : "");
    message_put_text(m, reason);
    channel_send(c, message_done(m));
    channel_finish(c, LAST_WORD_TIMEOUT_NS);
}

/* ---- who is missing ---- */

static bool has_not_joined(const struct member *m)
{
    return !m->has_joined;
}

static void describe_missing(const struct admission *a, double seconds,
                             char sentence[MESSAGE_TEXT_MAX])
{
    char list[MEMBERS_LIST_BYTES];
    bool are_many = members_list(a->members, has_not_joined, list);
    int n = snprintf(
        sentence, MESSAGE_TEXT_MAX, "%s of %u %s not joined after %g s; rendezvous %.100s%s", list,
        a->members->size, are_many ? "have" : "has", seconds, a->shown,
        a->acceptor->lacks_descriptors ? "; rank 0 has no descriptors left: raise `ulimit -n`"
                                       : "");
    if (a->turned_away_why[0])
        snprintf(sentence + n, MESSAGE_TEXT_MAX - (size_t)n, "; refused was: %s",
                 a->turned_away_why);
}

/* ---- joining ---- */

static uint64_t random_id(void)
{
    uint64_t id = 0;
    while (id == 0)
        if (getrandom(&id, sizeof id, 0) != sizeof id) id = time_now_ns();
    return id;
}

static void say_who_was_turned_away(struct admission *a)
{
    char sentence[MESSAGE_TEXT_MAX];
    if (a->turned_away == 0 || !a->members->member[0].channel) return;
    int n = snprintf(sentence, sizeof sentence, "refused: %s", a->turned_away_why);
    if (a->turned_away > 1)
        snprintf(sentence + n, sizeof sentence - (size_t)n, " (and %u more)", a->turned_away - 1);
    a->turned_away = 0;
    members_send_one(&a->members->member[0], waiting_message(sentence));
}

/* The first member whose time for joining is over ends the cluster for all. */
static unsigned shortest_timeout(const struct admission *a)
{
    const struct members *all = a->members;
    unsigned shortest = a->peer_timeout_ms;
    for (unsigned rank = 0; rank < all->size; rank++)
        if (all->member[rank].peer_timeout_ms < shortest)
            shortest = all->member[rank].peer_timeout_ms;
    return shortest;
}

static struct message *start_message(struct admission *a)
{
    struct message *m = message_new(MESSAGE_START);
    const struct members *all = a->members;
    a->id = random_id();
    message_put_u64(m, a->id);
    message_put_u32(m, a->shards);
    message_put_u32(m, (unsigned)(a->hub->timeout_ns / 1000000));
    message_put_u32(m, all->size);
    for (unsigned rank = 0; rank < all->size; rank++) {
        message_put_text(m, all->member[rank].address);
        message_put_u32(m, all->member[rank].workers);
    }
    message_put_u32(m, all->changes);
    for (uint32_t i = 0; i < all->changes; i++) {
        message_put_u32(m, all->change[i].kind);
        message_put_u32(m, all->change[i].node);
    }
    return message_done(m);
}

static void start_cluster(struct admission *a)
{
    hub_agree(a->hub, shortest_timeout(a));
    a->state = ADMISSION_COMPLETE;
    if (!a->survives) secret_forget(&a->secret); /* whoever comes now is sent away */
    acceptor_calm(a->acceptor);
    a->waiting.since_ns = 0;
    say_who_was_turned_away(a);
    members_send_some(a->members, NULL, start_message(a));
}

static void count(struct admission *a, const struct hello *h)
{
    uint64_t deadline_ns = time_now_ns() + (uint64_t)h->timeout_ms * 1000000;
    waiting_begin(&a->waiting);
    if (deadline_ns < a->deadline_ns) {
        a->deadline_ns = deadline_ns;
        a->limit_s = h->join_timeout_ms / 1e3;
    }
    if (++a->joined == a->members->size) start_cluster(a);
}

static void welcome(struct admission *a, const struct visitor *v)
{
    const struct hello *h = v->hello;
    struct member *m = &a->members->member[h->rank];
    struct message *message = message_new(MESSAGE_WELCOME);
    bool is_complete = a->state == ADMISSION_COMPLETE;
    message_put_u32(message, a->peer_timeout_ms);
    put_proof(a, message, v, NULL, 0);
    *m = (struct member){.channel = v->channel,
                         .workers = h->workers,
                         .peer_timeout_ms = h->peer_timeout_ms,
                         .has_joined = true,
                         .is_lost = is_complete};
    memcpy(m->address, h->address, sizeof m->address);
    channel_watch(v->channel, h->peer_timeout_ms);
    channel_send(v->channel, message_done(message));
    if (is_complete)
        members_send_one(m, start_message(a));
    else
        count(a, h);
}

/* Rank 0 is of our own process: nobody else comes before it. */
static bool is_taken(const struct admission *a, const struct hello *h)
{
    const struct member *m = &a->members->member[h->rank];
    return (m->has_joined && !m->is_lost) ||
           (h->rank == 0 && strcmp(h->address, a->ours.address) != 0);
}

static void refuse_twin(const struct admission *a, const struct visitor *v)
{
    const struct hello *h = v->hello;
    char sentence[MESSAGE_TEXT_MAX];
    const char *address = h->rank == 0 ? a->ours.address : a->members->member[h->rank].address;
    snprintf(
        sentence, sizeof sentence,
        "rank %u of %u is taken: the node at %s joined with it, then the one at %s came; rendezvous %.200s",
        h->rank, a->members->size, address, h->address, a->shown);
    refuse(a, v, -EINVAL, sentence);
}

/* ---- who proves to know the secret ---- */

/* The cluster continues to wait for the right node. Rank 0's member reports this on stderr, at once
 * and then every 10 s, because a peer may try again and again. */
static void turn_away(struct admission *a, struct channel *c, int rc)
{
    a->turned_away++;
    hub_note(a->hub); /* for the report */
    refuse_with(c, refusal_message(a, rc, a->turned_away_why, NULL));
}

static void turn_away_for_secret(struct admission *a, struct channel *c, unsigned rank,
                                 const char *why)
{
    char peer[ADDRESS_MAX];
    streams_show_peer(c->stream, peer);
    snprintf(a->turned_away_why, sizeof a->turned_away_why, "node %u (%s) %s; " SECRET_REMEDY, rank,
             peer, why);
    turn_away(a, c, -EACCES);
}

static void challenge(struct admission *a, struct channel *c, const struct hello *h)
{
    if (!h->has_secret) {
        turn_away_for_secret(a, c, h->rank, "does not know the cluster's secret");
        return;
    }
    struct message *m = message_new(MESSAGE_CHALLENGE);
    c->is_challenged = true;
    secret_nonce(c->talk.our_nonce);
    message_put_bytes(m, c->talk.our_nonce, sizeof c->talk.our_nonce);
    channel_send(c, message_done(m));
}

/* ---- who comes ---- */

/* As all others were: rank 0 waits until it has heard it. */
static void refuse_too(const struct admission *a, struct channel *c, unsigned rank)
{
    c->rank = (int)rank;
    refuse_with(c, refusal_message(a, a->refusal, a->sentence, NULL));
}

static void refuse_version(struct admission *a, struct channel *c, unsigned rank, unsigned version)
{
    char sentence[ADMISSION_WHY_BYTES];
    snprintf(
        sentence, sizeof sentence,
        "rank %u speaks version %u of the protocol, rank 0 speaks %d: run the same version of locus on all nodes",
        rank, version, MESSAGE_VERSION);
    if (a->secret.is_known ||
        a->state ==
            ADMISSION_COMPLETE) { /* of another version nobody can tell whether it belongs here */
        memcpy(a->turned_away_why, sentence, sizeof a->turned_away_why);
        turn_away(a, c, -EPROTO);
    } else {
        memcpy(a->sentence, sentence, sizeof sentence);
        refuse_all(a, -EPROTO);
        refuse_too(a, c, rank);
    }
}

static void let_in(struct admission *a, const struct visitor *v)
{
    const struct hello *h = v->hello;
    v->channel->rank = (int)h->rank;
    bool differs = a->state != ADMISSION_REFUSING &&
                   hello_differs(h, &a->ours, a->shards, a->sentence, sizeof a->sentence);
    if (differs && a->state == ADMISSION_GATHERING) refuse_all(a, -EINVAL);
    if (a->state == ADMISSION_REFUSING)
        refuse(a, v, a->refusal, a->sentence);
    else if (differs)
        refuse(a, v, -EINVAL, a->sentence);
    else if (is_taken(a, h))
        refuse_twin(a, v);
    else
        welcome(a, v);
}

static void on_hello(struct admission *a, struct channel *c, const struct message_header *header,
                     const void *body)
{
    struct hello h;
    bool speaks_ours = header->version == MESSAGE_VERSION;
    bool sound = speaks_ours ? hello_read(&h, body, header->length)
                             : hello_read_rank(&h, body, header->length);
    if (!sound || c->is_challenged)
        channel_close(c);
    else if (is_late(a, h.rank))
        send_away(a, c);
    else if (!speaks_ours && a->state != ADMISSION_REFUSING)
        refuse_version(a, c, h.rank, header->version);
    else if (!speaks_ours)
        refuse_too(a, c, h.rank);
    else if (a->secret.is_known)
        challenge(a, c, &h);
    else if (h.has_secret)
        turn_away_for_secret(a, c, h.rank, "knows a secret, but rank 0 of this cluster has none");
    else
        let_in(a, &(struct visitor){.channel = c, .hello = &h});
}

static void on_response(struct admission *a, struct channel *c, const struct message_header *header,
                        const void *body)
{
    struct message_reader r = message_reader(body, header->length);
    const unsigned char *nonce = message_get_bytes(&r, SECRET_NONCE_BYTES);
    const unsigned char *proof = message_get_bytes(&r, SECRET_PROOF_BYTES);
    struct hello h;
    size_t bytes = (size_t)(r.end - r.at);
    if (!proof || !c->is_challenged || !hello_read(&h, r.at, bytes)) {
        channel_close(c);
        return;
    }
    if (is_late(a, h.rank)) {
        send_away(a, c);
        return;
    }
    c->talk.their_rank = h.rank;
    memcpy(c->talk.their_nonce, nonce, sizeof c->talk.their_nonce);
    if (!secret_hear(&a->secret, &c->talk, SECRET_MEMBER, r.at, bytes, proof)) {
        turn_away_for_secret(a, c, h.rank, "does not know the cluster's secret");
        return;
    }
    let_in(a, &(struct visitor){.channel = c, .hello = &h});
}

void admission_message(struct admission *a, struct channel *c, const struct message_header *header,
                       const void *body)
{
    if (header->type == MESSAGE_HELLO)
        on_hello(a, c, header, body);
    else if (header->type == MESSAGE_RESPONSE && header->version == MESSAGE_VERSION)
        on_response(a, c, header, body);
    else
        channel_close(c);
}

/* ---- who goes ---- */

static void give_up_joining(struct admission *a)
{
    describe_missing(a, a->limit_s, a->sentence);
    refuse_all(a, -ETIMEDOUT);
}

/* When the time-out is over, members leave because others did not come: those are named. */
void admission_lose(struct admission *a, unsigned rank, const char *reason)
{
    if (a->state != ADMISSION_GATHERING) return;
    if (time_now_ns() >= a->deadline_ns) {
        give_up_joining(a);
        return;
    }
    snprintf(a->sentence, sizeof a->sentence,
             "rank %u of %u %.200s before all had joined; rendezvous %.200s", rank,
             a->members->size, reason, a->shown);
    refuse_all(a, -ECONNRESET);
}

/* ---- time ---- */

static void report_missing(struct admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[MESSAGE_TEXT_MAX];
    unsigned seconds = waiting_report(&a->waiting, now_ns, due_ns);
    if (seconds == 0) return;
    describe_missing(a, seconds, sentence);
    members_send_some(a->members, NULL, waiting_message(sentence));
}

static void report_turned_away(struct admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    if (a->turned_away > 0 && now_ns >= a->report_ns) {
        say_who_was_turned_away(a);
        a->report_ns = now_ns + REMINDER_NS;
    }
    if (a->turned_away > 0 && a->report_ns < *due_ns) *due_ns = a->report_ns;
}

void admission_tick(struct admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    report_turned_away(a, now_ns, due_ns);
    if (a->state != ADMISSION_GATHERING) return;
    if (now_ns >= a->deadline_ns) give_up_joining(a);
    if (a->deadline_ns < *due_ns) *due_ns = a->deadline_ns;
    report_missing(a, now_ns, due_ns);
}

/* ---- life ---- */

int admission_init(struct admission *a, const struct rendezvous_config *c,
                   const struct rendezvous_address *address, uint64_t deadline_ns)
{
    a->hello = hello_write(c, 0);
    bool ok = a->hello && hello_read(&a->ours, a->hello->data + MESSAGE_HEADER_BYTES,
                                     a->hello->bytes - MESSAGE_HEADER_BYTES);
    if (!ok) return -ENOMEM;
    memcpy(a->shown, address->shown, sizeof a->shown);
    if (secret_copy(&a->secret, c->secret)) return -ENOMEM;
    a->shards = c->node.shards ? c->node.shards : c->choice;
    a->survives = c->node.survives;
    a->peer_timeout_ms = a->ours.peer_timeout_ms;
    a->deadline_ns = deadline_ns;
    a->limit_s = c->node.join_timeout_s;
    return 0;
}

void admission_fini(struct admission *a)
{
    message_let_go(a->hello);
    secret_forget(&a->secret);
}

void admission_begin(struct admission *a)
{
    /* A hello that differs from ours may be longer, but not as long as a message of a member. */
    size_t hello_max = 2 * a->hello->bytes + HELLO_SPARE;
    a->hub->unauthenticated_bytes_max = hello_max < MESSAGE_MAX ? hello_max : MESSAGE_MAX;
}
