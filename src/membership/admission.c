#include "membership/admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const uint64_t SECOND_NS = 1000000000;
static const uint64_t LAST_WORD_TIMEOUT_NS = SECOND_NS; /* for a node to hear why it must go */
/* Between reports of those: who has another secret comes again until its time is over. */
static const uint64_t TURNED_AWAY_NS = SECOND_NS, TURNED_AWAY_NS_MAX = 16 * SECOND_NS;
enum { HELLO_SPARE = 64 << 10 };

/* ---- refusing ---- */

/* Who has come, and has proved itself if that is asked for. */
struct visitor {
    struct rendezvous_channel *channel;
    const struct rendezvous_hello *hello;
};

/* That we know the secret, and say what `body` has. `v`: NULL, or who can tell. */
static void put_proof(const struct rendezvous_admission *a, struct rendezvous_message *m,
                      const struct visitor *v, const void *body, size_t body_bytes)
{
    unsigned char proof[SECRET_PROOF_BYTES] = {0};
    if (v && v->channel->is_challenged) {
        struct secret_claim claim = secret_claim_of(&v->channel->talk, SECRET_RENDEZVOUS, true);
        claim.body = body;
        claim.body_bytes = body_bytes;
        secret_prove(&a->secret, &claim, proof);
    }
    rendezvous_put_bytes(m, proof, sizeof proof);
}

/* `v`: NULL, or who does not believe it without a proof. */
static struct rendezvous_message *refusal_message(const struct rendezvous_admission *a, int rc,
                                                  const char *sentence, const struct visitor *v)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_REFUSED);
    rendezvous_put_u32(m, (uint32_t)-rc);
    rendezvous_put_text(m, sentence);
    if (m)
        put_proof(a, m, v, m->data + RENDEZVOUS_HEADER_BYTES, m->bytes - RENDEZVOUS_HEADER_BYTES);
    return rendezvous_message_done(m);
}

static void refuse_with(struct rendezvous_channel *c, struct rendezvous_message *refusal)
{
    rendezvous_channel_send(c, refusal);
    rendezvous_channel_finish(c, LAST_WORD_TIMEOUT_NS);
}

static void refuse(const struct rendezvous_admission *a, const struct visitor *v, int rc,
                   const char *sentence)
{
    refuse_with(v->channel, refusal_message(a, rc, sentence, v));
}

/* The cluster cannot form: all peers that have come get the same sentence, and so do all that come
 * later. */
static void refuse_all(struct rendezvous_admission *a, int rc)
{
    a->state = RENDEZVOUS_REFUSING;
    a->refusal = rc;
    /* they have been welcomed, with a proof */
    rendezvous_members_send(a->members, refusal_message(a, rc, a->sentence, NULL));
    rendezvous_members_dismiss(a->members, LAST_WORD_TIMEOUT_NS);
}

static void send_away(struct rendezvous_admission *a, struct rendezvous_channel *c)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_AGAIN);
    char reason[RENDEZVOUS_TEXT_MAX];
    snprintf(reason, sizeof reason, "another cluster, of %u nodes, has not ended there",
             a->members->size);
    rendezvous_put_text(m, reason);
    rendezvous_channel_send(c, rendezvous_message_done(m));
    rendezvous_channel_finish(c, LAST_WORD_TIMEOUT_NS);
}

/* ---- who is missing ---- */

static bool has_not_joined(const struct rendezvous_member *m)
{
    return !m->has_joined;
}

static void describe_missing(const struct rendezvous_admission *a, double seconds,
                             char sentence[RENDEZVOUS_TEXT_MAX])
{
    char list[RENDEZVOUS_LIST_BYTES];
    bool are_many = rendezvous_members_list(a->members, has_not_joined, list);
    int n = snprintf(
        sentence, RENDEZVOUS_TEXT_MAX, "%s of %u %s not joined after %g s; rendezvous %.100s%s",
        list, a->members->size, are_many ? "have" : "has", seconds, a->shown,
        a->acceptor->lacks_descriptors ? "; rank 0 has no descriptors left: raise `ulimit -n`"
                                       : "");
    if (a->turned_away_why[0])
        snprintf(sentence + n, RENDEZVOUS_TEXT_MAX - (size_t)n, "; refused was: %s",
                 a->turned_away_why);
}

/* ---- joining ---- */

static uint64_t random_id(void)
{
    uint64_t id = 0;
    while (id == 0)
        if (getrandom(&id, sizeof id, 0) != sizeof id) id = clock_now_ns();
    return id;
}

static void say_who_was_turned_away(struct rendezvous_admission *a)
{
    char sentence[RENDEZVOUS_TEXT_MAX];
    if (a->turned_away == 0 || !a->members->member[0].channel) return;
    int n = snprintf(sentence, sizeof sentence, "refused: %s", a->turned_away_why);
    if (a->turned_away > 1)
        snprintf(sentence + n, sizeof sentence - (size_t)n, " (and %u more)", a->turned_away - 1);
    a->turned_away = 0;
    rendezvous_member_send(&a->members->member[0], rendezvous_waiting_message(sentence));
}

/* The first member whose time for joining is over ends the cluster for all. */
static unsigned shortest_timeout(const struct rendezvous_admission *a)
{
    const struct rendezvous_members *all = a->members;
    unsigned shortest = a->peer_timeout_ms;
    for (unsigned rank = 0; rank < all->size; rank++)
        if (all->member[rank].peer_timeout_ms < shortest)
            shortest = all->member[rank].peer_timeout_ms;
    return shortest;
}

static void start_cluster(struct rendezvous_admission *a)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_START);
    const struct rendezvous_members *all = a->members;
    unsigned peer_timeout_ms = shortest_timeout(a);
    rendezvous_put_u64(m, random_id());
    rendezvous_put_u32(m, a->shards);
    rendezvous_put_u32(m, peer_timeout_ms);
    rendezvous_put_u32(m, all->size);
    for (unsigned rank = 0; rank < all->size; rank++) {
        rendezvous_put_text(m, all->member[rank].address);
        rendezvous_put_u32(m, all->member[rank].workers);
    }
    a->state = RENDEZVOUS_COMPLETE;
    secret_forget(&a->secret); /* whoever comes now is sent away */
    rendezvous_acceptor_calm(a->acceptor);
    a->waiting.since_ns = 0;
    say_who_was_turned_away(a);
    rendezvous_hub_agree(a->hub, peer_timeout_ms);
    rendezvous_members_send(a->members, rendezvous_message_done(m));
}

static void welcome(struct rendezvous_admission *a, const struct visitor *v)
{
    const struct rendezvous_hello *h = v->hello;
    struct rendezvous_member *m = &a->members->member[h->rank];
    struct rendezvous_message *message = rendezvous_message_new(RENDEZVOUS_WELCOME);
    uint64_t deadline_ns = clock_now_ns() + (uint64_t)h->timeout_ms * 1000000;
    rendezvous_put_u32(message, a->peer_timeout_ms);
    put_proof(a, message, v, NULL, 0);
    *m = (struct rendezvous_member){.channel = v->channel,
                                    .workers = h->workers,
                                    .peer_timeout_ms = h->peer_timeout_ms,
                                    .has_joined = true};
    memcpy(m->address, h->address, sizeof m->address);
    rendezvous_channel_watch(v->channel, h->peer_timeout_ms);
    rendezvous_channel_send(v->channel, rendezvous_message_done(message));
    rendezvous_waiting_begin(&a->waiting);
    if (deadline_ns < a->deadline_ns) {
        a->deadline_ns = deadline_ns;
        a->limit_s = h->join_timeout_ms / 1e3;
    }
    if (++a->joined == a->members->size) start_cluster(a);
}

/* Rank 0 is of our own process: nobody else comes before it. */
static bool is_taken(const struct rendezvous_admission *a, const struct rendezvous_hello *h)
{
    return a->members->member[h->rank].has_joined ||
           (h->rank == 0 && strcmp(h->address, a->ours.address) != 0);
}

static void refuse_twin(const struct rendezvous_admission *a, const struct visitor *v)
{
    const struct rendezvous_hello *h = v->hello;
    char sentence[RENDEZVOUS_TEXT_MAX];
    const char *address = h->rank == 0 ? a->ours.address : a->members->member[h->rank].address;
    snprintf(
        sentence, sizeof sentence,
        "rank %u of %u is taken: the node at %s joined with it, then the one at %s came; rendezvous %.200s",
        h->rank, a->members->size, address, h->address, a->shown);
    refuse(a, v, -EINVAL, sentence);
}

/* ---- who proves to know the secret ---- */

/* The cluster continues to wait for the right node. Rank 0's member reports this on stderr, at most
 * once a second, because a peer may try again and again. */
static void turn_away(struct rendezvous_admission *a, struct rendezvous_channel *c, int rc)
{
    a->turned_away++;
    rendezvous_hub_note(a->hub); /* for the report */
    refuse_with(c, refusal_message(a, rc, a->turned_away_why, NULL));
}

static void turn_away_for_secret(struct rendezvous_admission *a, struct rendezvous_channel *c,
                                 unsigned rank, const char *why)
{
    char peer[RENDEZVOUS_PEER_BYTES];
    rendezvous_channel_show_peer(c, peer);
    snprintf(a->turned_away_why, sizeof a->turned_away_why, "node %u (%s) %s; " SECRET_REMEDY, rank,
             peer, why);
    turn_away(a, c, -EACCES);
}

static void challenge(struct rendezvous_admission *a, struct rendezvous_channel *c,
                      const struct rendezvous_hello *h)
{
    if (!h->has_secret) {
        turn_away_for_secret(a, c, h->rank, "does not know the cluster's secret");
        return;
    }
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_CHALLENGE);
    c->is_challenged = true;
    secret_nonce(c->talk.our_nonce);
    rendezvous_put_bytes(m, c->talk.our_nonce, sizeof c->talk.our_nonce);
    rendezvous_channel_send(c, rendezvous_message_done(m));
}

/* ---- who comes ---- */

/* As all others were: rank 0 waits until it has heard it. */
static void refuse_too(const struct rendezvous_admission *a, struct rendezvous_channel *c,
                       unsigned rank)
{
    c->rank = (int)rank;
    refuse_with(c, refusal_message(a, a->refusal, a->sentence, NULL));
}

static void refuse_version(struct rendezvous_admission *a, struct rendezvous_channel *c,
                           unsigned rank, unsigned version)
{
    char sentence[RENDEZVOUS_WHY_BYTES];
    snprintf(
        sentence, sizeof sentence,
        "rank %u speaks version %u of the protocol, rank 0 speaks %d: run the same version of locus on all nodes",
        rank, version, RENDEZVOUS_VERSION);
    if (a->secret.is_known) { /* of another version nobody can tell whether it belongs here */
        memcpy(a->turned_away_why, sentence, sizeof a->turned_away_why);
        turn_away(a, c, -EPROTO);
    } else {
        memcpy(a->sentence, sentence, sizeof sentence);
        refuse_all(a, -EPROTO);
        refuse_too(a, c, rank);
    }
}

static void let_in(struct rendezvous_admission *a, const struct visitor *v)
{
    const struct rendezvous_hello *h = v->hello;
    v->channel->rank = (int)h->rank;
    if (a->state == RENDEZVOUS_GATHERING &&
        rendezvous_hello_differs(h, &a->ours, a->shards, a->sentence, sizeof a->sentence))
        refuse_all(a, -EINVAL);
    if (a->state == RENDEZVOUS_REFUSING)
        refuse(a, v, a->refusal, a->sentence);
    else if (is_taken(a, h))
        refuse_twin(a, v);
    else
        welcome(a, v);
}

static void on_hello(struct rendezvous_admission *a, struct rendezvous_channel *c,
                     const struct rendezvous_header *header, const void *body)
{
    struct rendezvous_hello h;
    bool speaks_ours = header->version == RENDEZVOUS_VERSION;
    bool sound = speaks_ours ? rendezvous_hello_read(&h, body, header->length)
                             : rendezvous_hello_read_rank(&h, body, header->length);
    if (!sound || c->is_challenged)
        rendezvous_channel_close(c);
    else if (a->state == RENDEZVOUS_COMPLETE)
        send_away(a, c);
    else if (!speaks_ours && a->state == RENDEZVOUS_GATHERING)
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

static void on_response(struct rendezvous_admission *a, struct rendezvous_channel *c,
                        const struct rendezvous_header *header, const void *body)
{
    struct rendezvous_reader r = rendezvous_reader(body, header->length);
    const unsigned char *nonce = rendezvous_get_bytes(&r, SECRET_NONCE_BYTES);
    const unsigned char *proof = rendezvous_get_bytes(&r, SECRET_PROOF_BYTES);
    struct rendezvous_hello h;
    size_t bytes = (size_t)(r.end - r.at);
    if (!proof || !c->is_challenged || !rendezvous_hello_read(&h, r.at, bytes)) {
        rendezvous_channel_close(c);
        return;
    }
    if (a->state == RENDEZVOUS_COMPLETE) {
        send_away(a, c);
        return;
    }
    c->talk.their_rank = h.rank;
    memcpy(c->talk.their_nonce, nonce, sizeof c->talk.their_nonce);
    struct secret_claim theirs = secret_claim_of(&c->talk, SECRET_MEMBER, false);
    theirs.body = r.at;
    theirs.body_bytes = bytes;
    if (!secret_check(&a->secret, &theirs, proof)) {
        turn_away_for_secret(a, c, h.rank, "does not know the cluster's secret");
        return;
    }
    let_in(a, &(struct visitor){.channel = c, .hello = &h});
}

void rendezvous_admission_message(struct rendezvous_admission *a, struct rendezvous_channel *c,
                                  const struct rendezvous_header *header, const void *body)
{
    if (header->type == RENDEZVOUS_HELLO)
        on_hello(a, c, header, body);
    else if (header->type == RENDEZVOUS_RESPONSE && header->version == RENDEZVOUS_VERSION)
        on_response(a, c, header, body);
    else
        rendezvous_channel_close(c);
}

/* ---- who goes ---- */

static void give_up_joining(struct rendezvous_admission *a)
{
    describe_missing(a, a->limit_s, a->sentence);
    refuse_all(a, -ETIMEDOUT);
}

/* When the time-out is over, members leave because others did not come: those are named. */
void rendezvous_admission_lose(struct rendezvous_admission *a, unsigned rank, const char *reason)
{
    if (a->state != RENDEZVOUS_GATHERING) return;
    if (clock_now_ns() >= a->deadline_ns) {
        give_up_joining(a);
        return;
    }
    snprintf(a->sentence, sizeof a->sentence,
             "rank %u of %u %.200s before all had joined; rendezvous %.200s", rank,
             a->members->size, reason, a->shown);
    refuse_all(a, -ECONNRESET);
}

/* ---- time ---- */

static void report_missing(struct rendezvous_admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[RENDEZVOUS_TEXT_MAX];
    unsigned seconds = rendezvous_waiting_report(&a->waiting, now_ns, due_ns);
    if (seconds == 0) return;
    describe_missing(a, seconds, sentence);
    rendezvous_members_send(a->members, rendezvous_waiting_message(sentence));
}

static void report_turned_away(struct rendezvous_admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    if (a->turned_away > 0 && now_ns >= a->report_ns) {
        say_who_was_turned_away(a);
        a->report_ns = now_ns + a->report_pause_ns;
        if (a->report_pause_ns < TURNED_AWAY_NS_MAX) a->report_pause_ns *= 2;
    }
    if (a->turned_away > 0 && a->report_ns < *due_ns) *due_ns = a->report_ns;
}

void rendezvous_admission_tick(struct rendezvous_admission *a, uint64_t now_ns, uint64_t *due_ns)
{
    if (a->state != RENDEZVOUS_GATHERING) return;
    if (now_ns >= a->deadline_ns) give_up_joining(a);
    if (a->deadline_ns < *due_ns) *due_ns = a->deadline_ns;
    report_missing(a, now_ns, due_ns);
    report_turned_away(a, now_ns, due_ns);
}

/* ---- life ---- */

int rendezvous_admission_init(struct rendezvous_admission *a, const struct rendezvous_config *c,
                              const struct rendezvous_address *address, uint64_t deadline_ns)
{
    a->hello = rendezvous_hello_write(c, 0);
    bool ok = a->hello && rendezvous_hello_read(&a->ours, a->hello->data + RENDEZVOUS_HEADER_BYTES,
                                                a->hello->bytes - RENDEZVOUS_HEADER_BYTES);
    if (!ok) return -ENOMEM;
    memcpy(a->shown, address->shown, sizeof a->shown);
    if (secret_copy(&a->secret, c->secret)) return -ENOMEM;
    a->shards = c->shards ? c->shards : c->choice;
    a->peer_timeout_ms = a->ours.peer_timeout_ms;
    a->report_pause_ns = TURNED_AWAY_NS;
    a->deadline_ns = deadline_ns;
    a->limit_s = c->join_timeout_s;
    return 0;
}

void rendezvous_admission_fini(struct rendezvous_admission *a)
{
    rendezvous_message_let_go(a->hello);
    secret_forget(&a->secret);
}

void rendezvous_admission_begin(struct rendezvous_admission *a)
{
    /* A hello that differs from ours may be longer, but not as long as a message of a member. */
    size_t hello_max = 2 * a->hello->bytes + HELLO_SPARE;
    a->hub->unauthenticated_bytes_max = hello_max < RENDEZVOUS_MESSAGE_MAX ? hello_max
                                                                           : RENDEZVOUS_MESSAGE_MAX;
}
