#include "net/rendezvous_server.h"

#include "error.h"
#include "net/rendezvous_hello.h"
#include "net/rendezvous_hub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum { REPORT_AFTER_S = 10, NAME_MAX_BYTES = 64, LIST_MAX_BYTES = 160, WHY_MAX_BYTES = 208 };
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t HELLO_PATIENCE_NS = 5 * SECOND_NS; /* for a stranger to say who it is */
static const uint64_t LAST_WORD_PATIENCE_NS = SECOND_NS; /* for a member to hear why it must go */
static const uint64_t PORT_PATIENCE_NS = 2 * SECOND_NS;  /* for an earlier rank 0's port to become free */
static const uint64_t PORT_RETRY_NS = 10000000;
static const uint64_t TURNED_AWAY_NS = SECOND_NS; /* between reports of those */
static const uint64_t ACCEPT_PAUSE_NS = 50000000; /* after accepting has failed: no descriptors, say */
static const uint64_t BEHIND_PAUSE_NS = 2000000;  /* while descriptors wait to be closed, in all ... */
static const uint64_t BEHIND_MAX_NS = SECOND_NS;  /* ... at most so long */
enum { BEHIND_DESCRIPTORS = 32, HELLO_ROOM = 64 << 10 };

/*
 *              all have come           all leave
 *   GATHERING ---------------> RUNNING ----------> LEFT
 *       |                         |
 *       | one differs, leaves     | one is lost
 *       | or does not come        v
 *       +----> REFUSING          LOST
 */
enum state { GATHERING, REFUSING, RUNNING, LOST, LEFT };

struct member {
    struct rendezvous_channel *channel; /* NULL: has not come, or its last word was said */
    char address[RENDEZVOUS_ADDRESS_MAX];
    unsigned workers, peer_timeout_ms;
    bool has_joined, has_arrived, is_absent, is_leaving;
};

/* Something that some wait for: who is missing is reported every 10 s. */
struct waiting_for {
    uint64_t since_ns; /* 0: nobody waits */
    unsigned reports;
};

struct rendezvous_server {
    struct rendezvous_hub hub; /* its lock is ours */
    enum state state;
    unsigned size, shards, peer_timeout_ms;
    char shown[RENDEZVOUS_SHOWN_MAX]; /* the address */
    struct rendezvous_message *hello; /* what rank 0 tells of itself */
    struct rendezvous_hello ours;     /* the same, read */
    struct secret secret;
    struct member *member; /* [size] */
    unsigned joined, arrived, absent, leaving;

    nng_stream_listener *listener; /* NULL: nobody can come any more */
    nng_aio *accepting;
    bool is_accepting;
    uint64_t accept_ns; /* when to accept again, if not now */
    bool lacks_descriptors;
    int usual_descriptor;     /* the lowest free one when nobody had come */
    uint64_t behind_since_ns; /* 0: nng closes as fast as we accept */

    struct waiting_for join, barrier, leave;
    uint64_t deadline_ns; /* of joining: the first member to lose its patience ends it for all */
    double limit_s;       /* that member's whole patience */
    int refusal;
    char sentence[RENDEZVOUS_TEXT_MAX]; /* why: of the refusal, or of a barrier that differs */

    unsigned turned_away;                /* those who could not prove themselves, and have not been reported */
    uint64_t report_ns;                  /* when the next report may be */
    char turned_away_why[WHY_MAX_BYTES]; /* of the last; "": there was none */

    unsigned barrier_rank; /* who came first */
    char barrier_name[NAME_MAX_BYTES];
    bool barrier_differs;
};

/* ---- sending ---- */

static void send_to(struct member *m, struct rendezvous_message *message)
{
    if (m->channel)
        rendezvous_channel_send(m->channel, message);
    else
        rendezvous_message_let_go(message);
}

static void send_to_all(struct rendezvous_server *s, struct rendezvous_message *message)
{
    for (unsigned rank = 0; rank < s->size; rank++) send_to(&s->member[rank], rendezvous_message_hold(message));
    rendezvous_message_let_go(message);
}

static void dismiss(struct member *m, uint64_t patience_ns)
{
    if (m->channel) rendezvous_channel_finish(m->channel, patience_ns);
    m->channel = NULL;
}

static void dismiss_all(struct rendezvous_server *s, uint64_t patience_ns)
{
    for (unsigned rank = 0; rank < s->size; rank++) dismiss(&s->member[rank], patience_ns);
}

static struct rendezvous_message *refusal_message(int rc, const char *sentence)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_REFUSED);
    rendezvous_put_u32(m, (uint32_t)-rc);
    rendezvous_put_text(m, sentence);
    return rendezvous_message_done(m);
}

static void refuse(struct rendezvous_channel *c, int rc, const char *sentence)
{
    rendezvous_channel_send(c, refusal_message(rc, sentence));
    rendezvous_channel_finish(c, LAST_WORD_PATIENCE_NS);
}

/* The cluster cannot form: all who came get the same sentence, and so will all who are yet to come. */
static void refuse_all(struct rendezvous_server *s, int rc)
{
    s->state = REFUSING;
    s->refusal = rc;
    send_to_all(s, refusal_message(rc, s->sentence));
    dismiss_all(s, LAST_WORD_PATIENCE_NS);
}

static void send_away(struct rendezvous_server *s, struct rendezvous_channel *c)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_AGAIN);
    char reason[RENDEZVOUS_TEXT_MAX];
    snprintf(reason, sizeof reason, "another cluster, of %u nodes, has not ended there", s->size);
    rendezvous_put_text(m, reason);
    rendezvous_channel_send(c, rendezvous_message_done(m));
    rendezvous_channel_finish(c, LAST_WORD_PATIENCE_NS);
}

/* ---- who is missing ---- */

static bool has_not_joined(const struct member *m)
{
    return !m->has_joined;
}

static bool has_not_arrived(const struct member *m)
{
    return !m->has_arrived && !m->is_absent && !m->is_leaving;
}

static bool does_not_leave(const struct member *m)
{
    return !m->is_leaving;
}

/* "rank 3", "ranks 0, 4 to 9", "ranks 1, 3, 5 and 80 more" */
static bool list_ranks(const struct rendezvous_server *s, bool (*is_missing)(const struct member *),
                       char list[LIST_MAX_BYTES])
{
    char ranks[LIST_MAX_BYTES - 32] = "";
    unsigned count = 0, more = 0;
    size_t length = 0;
    for (unsigned first = 0, last; first < s->size; first = last + 1) {
        last = first;
        if (!is_missing(&s->member[first])) continue;
        while (last + 1 < s->size && is_missing(&s->member[last + 1])) last++;
        if (last == first + 1) last = first; /* two are no row */
        count += last - first + 1;
        if (length + 24 > sizeof ranks)
            more += last - first + 1;
        else if (first == last)
            length += (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u", length ? ", " : "", first);
        else
            length +=
                (size_t)snprintf(ranks + length, sizeof ranks - length, "%s%u to %u", length ? ", " : "", first, last);
    }
    int end = snprintf(list, LIST_MAX_BYTES, "rank%s %s", count == 1 ? "" : "s", ranks);
    if (more) snprintf(list + end, LIST_MAX_BYTES - (size_t)end, " and %u more", more);
    return count != 1;
}

static void describe_missing(const struct rendezvous_server *s, double seconds, char sentence[RENDEZVOUS_TEXT_MAX])
{
    char list[LIST_MAX_BYTES];
    bool are_many = list_ranks(s, has_not_joined, list);
    int n = snprintf(sentence, RENDEZVOUS_TEXT_MAX, "%s of %u %s not joined after %g s; rendezvous %.100s%s", list,
                     s->size, are_many ? "have" : "has", seconds, s->shown,
                     s->lacks_descriptors ? "; rank 0 has no descriptors left: raise `ulimit -n`" : "");
    if (s->turned_away_why[0])
        snprintf(sentence + n, RENDEZVOUS_TEXT_MAX - (size_t)n, "; refused was: %s", s->turned_away_why);
}

static void begin_waiting(struct waiting_for *w)
{
    if (w->since_ns == 0) *w = (struct waiting_for){.since_ns = clock_now_ns()};
}

/* Is it time to report? Then after how many seconds, else 0. */
static unsigned report_now(struct waiting_for *w, uint64_t now_ns, uint64_t *due_ns)
{
    if (w->since_ns == 0) return 0;
    unsigned seconds = (w->reports + 1) * REPORT_AFTER_S;
    uint64_t at_ns = w->since_ns + seconds * SECOND_NS;
    if (now_ns < at_ns) {
        if (at_ns < *due_ns) *due_ns = at_ns;
        return 0;
    }
    w->reports++;
    return seconds;
}

static struct rendezvous_message *waiting_message(const char *sentence)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_WAITING);
    rendezvous_put_text(m, sentence);
    return rendezvous_message_done(m);
}

static void report_join(struct rendezvous_server *s, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[RENDEZVOUS_TEXT_MAX];
    unsigned seconds = report_now(&s->join, now_ns, due_ns);
    if (seconds == 0) return;
    describe_missing(s, seconds, sentence);
    send_to_all(s, waiting_message(sentence));
}

static void report_barrier(struct rendezvous_server *s, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[RENDEZVOUS_TEXT_MAX], list[LIST_MAX_BYTES];
    unsigned seconds = report_now(&s->barrier, now_ns, due_ns);
    if (seconds == 0) return;
    list_ranks(s, has_not_arrived, list);
    snprintf(sentence, sizeof sentence, "barrier \"%s\" has waited %u s for %s", s->barrier_name, seconds, list);
    struct rendezvous_message *m = waiting_message(sentence);
    for (unsigned rank = 0; rank < s->size; rank++)
        if (s->member[rank].has_arrived) send_to(&s->member[rank], rendezvous_message_hold(m));
    rendezvous_message_let_go(m);
}

static void report_leave(struct rendezvous_server *s, uint64_t now_ns, uint64_t *due_ns)
{
    char sentence[RENDEZVOUS_TEXT_MAX], list[LIST_MAX_BYTES];
    unsigned seconds = report_now(&s->leave, now_ns, due_ns);
    if (seconds == 0) return;
    list_ranks(s, does_not_leave, list);
    snprintf(sentence, sizeof sentence, "leaving the cluster has waited %u s for %s", seconds, list);
    struct rendezvous_message *m = waiting_message(sentence);
    for (unsigned rank = 0; rank < s->size; rank++)
        if (s->member[rank].is_leaving) send_to(&s->member[rank], rendezvous_message_hold(m));
    rendezvous_message_let_go(m);
}

/* ---- losing a member ---- */

static void lose(struct rendezvous_server *s, unsigned rank, const char *reason)
{
    if (s->state == GATHERING) {
        snprintf(s->sentence, sizeof s->sentence, "rank %u of %u %.200s before all had joined; rendezvous %.200s", rank,
                 s->size, reason, s->shown);
        refuse_all(s, -ECONNRESET);
    }
    if (s->state != RUNNING) return;
    s->state = LOST;
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_LOST);
    rendezvous_put_u32(m, rank);
    rendezvous_put_text(m, reason);
    send_to_all(s, rendezvous_message_done(m));
    /* The lost one may be stopped: it finds the message when it goes on, and nobody waits for it. */
    s->member[rank].channel = NULL;
    dismiss_all(s, LAST_WORD_PATIENCE_NS);
}

static void on_ended(void *context, struct rendezvous_channel *c, int rc, const char *reason)
{
    struct rendezvous_server *s = context;
    (void)rc;
    if (c->rank < 0 || s->member[c->rank].channel != c) return;
    s->member[c->rank].channel = NULL;
    /* Members that end their connections after we did not run gave us up, and rightly so. */
    uint64_t absence_ns = rendezvous_hub_absence(&s->hub);
    char absence[RENDEZVOUS_TEXT_MAX];
    snprintf(absence, sizeof absence, "did not run for %.1f s", (double)absence_ns / 1e9);
    if (absence_ns)
        lose(s, 0, absence);
    else
        lose(s, (unsigned)c->rank, reason);
}

/* It sent what a node of locus does not send. */
static void reject(struct rendezvous_server *s, struct rendezvous_channel *c)
{
    on_ended(s, c, -EPROTO, "sent a message that makes no sense");
    rendezvous_channel_close(c);
}

/* ---- joining ---- */

static uint64_t random_id(void)
{
    uint64_t id = 0;
    while (id == 0)
        if (getrandom(&id, sizeof id, 0) != sizeof id) id = clock_now_ns();
    return id;
}

static void say_who_was_turned_away(struct rendezvous_server *s)
{
    char sentence[RENDEZVOUS_TEXT_MAX];
    if (s->turned_away == 0 || !s->member[0].channel) return;
    int n = snprintf(sentence, sizeof sentence, "refused: %s", s->turned_away_why);
    if (s->turned_away > 1) snprintf(sentence + n, sizeof sentence - (size_t)n, " (and %u more)", s->turned_away - 1);
    s->turned_away = 0;
    send_to(&s->member[0], waiting_message(sentence));
}

static void report_turned_away(struct rendezvous_server *s, uint64_t now_ns, uint64_t *due_ns)
{
    if (s->turned_away > 0 && now_ns >= s->report_ns) {
        say_who_was_turned_away(s);
        s->report_ns = now_ns + TURNED_AWAY_NS;
    }
    if (s->turned_away > 0 && s->report_ns < *due_ns) *due_ns = s->report_ns;
}

/* Who loses patience with a node first ends the cluster for all. */
static unsigned shortest_timeout(const struct rendezvous_server *s)
{
    unsigned shortest = s->peer_timeout_ms;
    for (unsigned rank = 0; rank < s->size; rank++)
        if (s->member[rank].peer_timeout_ms < shortest) shortest = s->member[rank].peer_timeout_ms;
    return shortest;
}

static void start_cluster(struct rendezvous_server *s)
{
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_START);
    unsigned peer_timeout_ms = shortest_timeout(s);
    rendezvous_put_u64(m, random_id());
    rendezvous_put_u32(m, s->shards);
    rendezvous_put_u32(m, peer_timeout_ms);
    rendezvous_put_u32(m, s->size);
    for (unsigned rank = 0; rank < s->size; rank++) {
        rendezvous_put_text(m, s->member[rank].address);
        rendezvous_put_u32(m, s->member[rank].workers);
    }
    s->state = RUNNING;
    s->join.since_ns = 0;
    say_who_was_turned_away(s);
    rendezvous_hub_agree(&s->hub, peer_timeout_ms);
    send_to_all(s, rendezvous_message_done(m));
}

/* `proof`: ours, or zeros. */
static void welcome(struct rendezvous_server *s, struct rendezvous_channel *c, const struct rendezvous_hello *h,
                    const unsigned char proof[SECRET_PROOF_BYTES])
{
    struct member *m = &s->member[h->rank];
    struct rendezvous_message *message = rendezvous_message_new(RENDEZVOUS_WELCOME);
    uint64_t deadline_ns = clock_now_ns() + (uint64_t)h->patience_ms * 1000000;
    rendezvous_put_u32(message, s->peer_timeout_ms);
    rendezvous_put_bytes(message, proof, SECRET_PROOF_BYTES);
    *m =
        (struct member){.channel = c, .workers = h->workers, .peer_timeout_ms = h->peer_timeout_ms, .has_joined = true};
    memcpy(m->address, h->address, sizeof m->address);
    rendezvous_channel_watch(c, h->peer_timeout_ms);
    rendezvous_channel_send(c, rendezvous_message_done(message));
    begin_waiting(&s->join);
    if (deadline_ns < s->deadline_ns) {
        s->deadline_ns = deadline_ns;
        s->limit_s = h->join_timeout_ms / 1e3;
    }
    if (++s->joined == s->size) start_cluster(s);
}

/* Rank 0 is of our own process: nobody else comes before it. */
static bool is_taken(const struct rendezvous_server *s, const struct rendezvous_hello *h)
{
    return s->member[h->rank].has_joined || (h->rank == 0 && strcmp(h->address, s->ours.address) != 0);
}

static void refuse_twin(const struct rendezvous_server *s, struct rendezvous_channel *c,
                        const struct rendezvous_hello *h)
{
    char sentence[RENDEZVOUS_TEXT_MAX];
    const char *address = h->rank == 0 ? s->ours.address : s->member[h->rank].address;
    snprintf(sentence, sizeof sentence,
             "rank %u of %u is taken: the node at %s joined with it, then the one at %s came; rendezvous %.200s",
             h->rank, s->size, address, h->address, s->shown);
    refuse(c, -EINVAL, sentence);
}

/* ---- who proves to know the secret ---- */

/* The cluster waits on for the node that should have come. Rank 0's member says so on stderr, at most once a second:
 * somebody may knock without end. */
static void turn_away(struct rendezvous_server *s, struct rendezvous_channel *c, int rc)
{
    s->turned_away++;
    rendezvous_hub_note(&s->hub); /* for the report */
    refuse(c, rc, s->turned_away_why);
}

static void turn_away_for_secret(struct rendezvous_server *s, struct rendezvous_channel *c, unsigned rank,
                                 const char *why)
{
    char peer[RENDEZVOUS_PEER_BYTES];
    rendezvous_channel_show_peer(c, peer);
    snprintf(s->turned_away_why, sizeof s->turned_away_why, "node %u (%s) %s; " SECRET_REMEDY, rank, peer, why);
    turn_away(s, c, -EACCES);
}

static void challenge(struct rendezvous_server *s, struct rendezvous_channel *c, const struct rendezvous_hello *h)
{
    if (!h->has_secret) {
        turn_away_for_secret(s, c, h->rank, "does not know the cluster's secret");
        return;
    }
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_CHALLENGE);
    c->is_challenged = true;
    secret_nonce(c->nonce);
    rendezvous_put_bytes(m, c->nonce, sizeof c->nonce);
    rendezvous_channel_send(c, rendezvous_message_done(m));
}

static const unsigned char no_proof[SECRET_PROOF_BYTES];

/* ---- who comes ---- */

/* As all others were: rank 0 waits until it has heard it. */
static void refuse_too(const struct rendezvous_server *s, struct rendezvous_channel *c, unsigned rank)
{
    c->rank = (int)rank;
    refuse(c, s->refusal, s->sentence);
}

static void refuse_version(struct rendezvous_server *s, struct rendezvous_channel *c, unsigned rank, unsigned version)
{
    char sentence[WHY_MAX_BYTES];
    snprintf(sentence, sizeof sentence,
             "rank %u speaks version %u of the protocol, rank 0 speaks %d: run the same version of locus on all nodes",
             rank, version, RENDEZVOUS_VERSION);
    if (s->secret.is_known) { /* of another version nobody can tell whether it belongs here */
        memcpy(s->turned_away_why, sentence, sizeof s->turned_away_why);
        turn_away(s, c, -EPROTO);
    } else {
        memcpy(s->sentence, sentence, sizeof sentence);
        refuse_all(s, -EPROTO);
        refuse_too(s, c, rank);
    }
}

/* It has proved itself, if that is asked for. */
static void let_in(struct rendezvous_server *s, struct rendezvous_channel *c, const struct rendezvous_hello *h,
                   const unsigned char proof[SECRET_PROOF_BYTES])
{
    c->rank = (int)h->rank;
    if (s->state == GATHERING && rendezvous_hello_differs(h, &s->ours, s->shards, s->sentence, sizeof s->sentence))
        refuse_all(s, -EINVAL);
    if (s->state == REFUSING)
        refuse(c, s->refusal, s->sentence);
    else if (is_taken(s, h))
        refuse_twin(s, c, h);
    else
        welcome(s, c, h, proof);
}

static void on_hello(struct rendezvous_server *s, struct rendezvous_channel *c, const struct rendezvous_header *header,
                     const void *body)
{
    struct rendezvous_hello h;
    bool speaks_ours = header->version == RENDEZVOUS_VERSION;
    bool sound = speaks_ours ? rendezvous_hello_read(&h, body, header->length)
                             : rendezvous_hello_read_rank(&h, body, header->length);
    if (!sound || c->is_challenged)
        rendezvous_channel_close(c);
    else if (s->state != GATHERING && s->state != REFUSING)
        send_away(s, c);
    else if (!speaks_ours && s->state == GATHERING)
        refuse_version(s, c, h.rank, header->version);
    else if (!speaks_ours)
        refuse_too(s, c, h.rank);
    else if (s->secret.is_known)
        challenge(s, c, &h);
    else if (h.has_secret)
        turn_away_for_secret(s, c, h.rank, "knows a secret, but rank 0 of this cluster has none");
    else
        let_in(s, c, &h, no_proof);
}

static void on_response(struct rendezvous_server *s, struct rendezvous_channel *c,
                        const struct rendezvous_header *header, const void *body)
{
    struct rendezvous_reader r = rendezvous_reader(body, header->length);
    const unsigned char *nonce = rendezvous_get_bytes(&r, SECRET_NONCE_BYTES);
    const unsigned char *proof = rendezvous_get_bytes(&r, SECRET_PROOF_BYTES);
    struct rendezvous_hello h;
    unsigned char ours[SECRET_PROOF_BYTES];
    size_t bytes = (size_t)(r.end - r.at);
    if (!proof || !c->is_challenged || !rendezvous_hello_read(&h, r.at, bytes)) {
        rendezvous_channel_close(c);
        return;
    }
    if (s->state != GATHERING && s->state != REFUSING) {
        send_away(s, c);
        return;
    }
    const struct secret_claim theirs = {.role = SECRET_MEMBER,
                                        .prover = h.rank,
                                        .prover_nonce = nonce,
                                        .verifier_nonce = c->nonce,
                                        .body = r.at,
                                        .body_bytes = bytes};
    if (!secret_check(&s->secret, &theirs, proof)) {
        turn_away_for_secret(s, c, h.rank, "does not know the cluster's secret");
        return;
    }
    const struct secret_claim claim = {
        .role = SECRET_RENDEZVOUS, .verifier = h.rank, .prover_nonce = c->nonce, .verifier_nonce = nonce};
    secret_prove(&s->secret, &claim, ours);
    let_in(s, c, &h, ours);
}

static void give_up_joining(struct rendezvous_server *s)
{
    describe_missing(s, s->limit_s, s->sentence);
    refuse_all(s, -ETIMEDOUT);
}

/* ---- barriers, leaving, reports ---- */

/* A node that leaves, or is absent, counts as arrived at every barrier of the others. */
static void release_if_all_are_there(struct rendezvous_server *s)
{
    if (s->arrived == 0 || s->arrived + s->absent + s->leaving < s->size) return;
    struct rendezvous_message *m = rendezvous_message_new(RENDEZVOUS_RELEASE);
    rendezvous_put_u32(m, s->barrier_differs ? EINVAL : 0);
    rendezvous_put_text(m, s->barrier_differs ? s->sentence : "");
    m = rendezvous_message_done(m);
    for (unsigned rank = 0; rank < s->size; rank++) {
        if (!s->member[rank].has_arrived) continue;
        s->member[rank].has_arrived = false;
        send_to(&s->member[rank], rendezvous_message_hold(m));
    }
    rendezvous_message_let_go(m);
    s->arrived = 0;
    s->barrier_differs = false;
    s->barrier.since_ns = 0;
}

static void compare_name(struct rendezvous_server *s, unsigned rank, const char *name)
{
    if (s->arrived == 0) {
        s->barrier_rank = rank;
        memcpy(s->barrier_name, name, sizeof s->barrier_name);
    } else if (!s->barrier_differs && strcmp(s->barrier_name, name) != 0) {
        s->barrier_differs = true;
        snprintf(s->sentence, sizeof s->sentence, "rank %u came to barrier \"%s\", rank %u to barrier \"%s\"", rank,
                 name, s->barrier_rank, s->barrier_name);
    }
}

static bool on_barrier(struct rendezvous_server *s, unsigned rank, struct rendezvous_reader *r)
{
    struct member *m = &s->member[rank];
    char name[NAME_MAX_BYTES];
    rendezvous_get_text(r, name, sizeof name);
    if (!rendezvous_read_all(r) || m->has_arrived || m->is_absent || m->is_leaving) return false;
    compare_name(s, rank, name);
    m->has_arrived = true;
    s->arrived++;
    begin_waiting(&s->barrier);
    release_if_all_are_there(s);
    return true;
}

static void set_absent(struct rendezvous_server *s, struct member *m, bool absent)
{
    s->absent += absent - m->is_absent;
    m->is_absent = absent;
}

static bool on_absent(struct rendezvous_server *s, unsigned rank, struct rendezvous_reader *r)
{
    unsigned absent = rendezvous_get_u32(r);
    struct member *m = &s->member[rank];
    if (!rendezvous_read_all(r) || absent > 1 || m->has_arrived || m->is_leaving) return false;
    set_absent(s, m, absent);
    release_if_all_are_there(s);
    return true;
}

static void close_listener(struct rendezvous_server *s)
{
    if (!s->listener) return;
    nng_stream_listener_close(s->listener);
    nng_stream_listener_free(s->listener); /* returns when the descriptor is closed */
    s->listener = NULL;
}

/* The port is given back before anybody hears that all leave, so that the next cluster finds it free. Who has come for
 * it already is cut off, and tries again. */
static void let_all_leave(struct rendezvous_server *s)
{
    close_listener(s);
    for (struct rendezvous_channel *c = s->hub.first; c; c = c->next)
        if (c->rank < 0) rendezvous_channel_close(c);
    s->state = LEFT;
    send_to_all(s, rendezvous_message_done(rendezvous_message_new(RENDEZVOUS_LEFT)));
    dismiss_all(s, s->hub.timeout_ns);
}

static bool on_leave(struct rendezvous_server *s, unsigned rank, const struct rendezvous_reader *r)
{
    struct member *m = &s->member[rank];
    if (!rendezvous_read_all(r) || m->is_leaving || m->has_arrived) return false;
    set_absent(s, m, false);
    m->is_leaving = true;
    s->leaving++;
    begin_waiting(&s->leave);
    if (s->leaving == s->size)
        let_all_leave(s);
    else
        release_if_all_are_there(s);
    return true;
}

static bool on_report(struct rendezvous_server *s, struct rendezvous_reader *r)
{
    char reason[RENDEZVOUS_TEXT_MAX];
    unsigned rank = rendezvous_get_u32(r);
    rendezvous_get_text(r, reason, sizeof reason);
    if (!rendezvous_read_all(r) || rank >= s->size) return false;
    lose(s, rank, reason);
    return true;
}

static bool on_message_of_member(struct rendezvous_server *s, unsigned rank, const struct rendezvous_header *header,
                                 const void *body)
{
    struct rendezvous_reader r = rendezvous_reader(body, header->length);
    if (header->version != RENDEZVOUS_VERSION || s->state != RUNNING) return false;
    switch (header->type) {
    case RENDEZVOUS_BARRIER: return on_barrier(s, rank, &r);
    case RENDEZVOUS_ABSENT: return on_absent(s, rank, &r);
    case RENDEZVOUS_LEAVE: return on_leave(s, rank, &r);
    case RENDEZVOUS_REPORT: return on_report(s, &r);
    default: return false;
    }
}

static void on_message(void *context, struct rendezvous_channel *c, const struct rendezvous_header *header,
                       const void *body)
{
    struct rendezvous_server *s = context;
    if (c->rank < 0) {
        if (header->type == RENDEZVOUS_HELLO)
            on_hello(s, c, header, body);
        else if (header->type == RENDEZVOUS_RESPONSE && header->version == RENDEZVOUS_VERSION)
            on_response(s, c, header, body);
        else
            rendezvous_channel_close(c);
        return;
    }
    /* One that we gave up has gone on: it has still to read that. */
    if (s->member[c->rank].channel != c) return;
    if (!on_message_of_member(s, (unsigned)c->rank, header, body)) reject(s, c);
}

/* ---- accepting ---- */

/* Makes room for one more: who has been silent for longest must go, before those that have said something. */
static void limit_strangers(struct rendezvous_server *s)
{
    struct rendezvous_channel *oldest = NULL;
    unsigned strangers = 0;
    for (struct rendezvous_channel *c = s->hub.last; c; c = c->previous) {
        if (c->rank >= 0 || c->is_closed) continue;
        strangers++;
        if (!oldest || !c->is_challenged || oldest->is_challenged) oldest = c;
    }
    if (strangers >= RENDEZVOUS_STRANGERS_MAX + s->size) rendezvous_channel_close(oldest);
}

static unsigned channels_max(const struct rendezvous_server *s)
{
    return 2 * (RENDEZVOUS_STRANGERS_MAX + s->size);
}

/* The system hands out the lowest that is free. -1: there is none, as accepting will find, too. */
static int lowest_descriptor(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd >= 0) close(fd);
    return fd;
}

/* nng closes a descriptor some time after the connection was freed, one by one, and on a busy machine falls behind
 * strangers that come and go: they would use up the descriptors of the process. When it does not get better, the
 * descriptors are the application's. */
static bool is_behind(struct rendezvous_server *s, uint64_t now_ns)
{
    int fd = lowest_descriptor();
    bool is_high = fd > s->usual_descriptor + (int)s->hub.channels + BEHIND_DESCRIPTORS;
    if (!is_high) {
        s->behind_since_ns = 0;
        return false;
    }
    if (s->behind_since_ns == 0) s->behind_since_ns = now_ns;
    if (now_ns - s->behind_since_ns < BEHIND_MAX_NS) return true;
    s->usual_descriptor = fd;
    s->behind_since_ns = 0;
    return false;
}

/* Not before those that end have ended: else a flood of strangers would fill the memory faster than it is freed. */
static void accept_next(struct rendezvous_server *s)
{
    uint64_t now_ns = clock_now_ns();
    s->accept_ns = 0;
    if (!s->listener || s->is_accepting || s->hub.channels >= channels_max(s)) return;
    if (is_behind(s, now_ns)) {
        s->accept_ns = now_ns + BEHIND_PAUSE_NS;
        return;
    }
    s->is_accepting = true;
    nng_stream_listener_accept(s->listener, s->accepting);
}

static void take_stranger(struct rendezvous_server *s, nng_stream *stream)
{
    if (s->listener) limit_strangers(s);
    if (s->listener && rendezvous_channel_open(&s->hub, stream, clock_now_ns() + HELLO_PATIENCE_NS)) return;
    nng_stream_close(stream);
    nng_stream_free(stream);
}

static void on_accepted(void *context)
{
    struct rendezvous_server *s = context;
    rendezvous_hub_lock(&s->hub);
    s->is_accepting = false;
    int result = nng_aio_result(s->accepting);
    if (result == 0) take_stranger(s, nng_aio_get_output(s->accepting, 0));
    if (result == NNG_ENOFILES) s->lacks_descriptors = true;
    if (result == 0)
        accept_next(s);
    else
        s->accept_ns = clock_now_ns() + ACCEPT_PAUSE_NS;
    if (s->accept_ns) rendezvous_hub_note(&s->hub);
    rendezvous_hub_unlock(&s->hub);
}

/* ---- time ---- */

static uint64_t on_tick(void *context, uint64_t now_ns)
{
    struct rendezvous_server *s = context;
    uint64_t due_ns = RENDEZVOUS_NEVER;
    if (now_ns >= s->accept_ns) accept_next(s);
    if (s->accept_ns) due_ns = s->accept_ns;
    if (s->state == GATHERING) {
        if (now_ns >= s->deadline_ns) give_up_joining(s);
        if (s->deadline_ns < due_ns) due_ns = s->deadline_ns;
        report_join(s, now_ns, &due_ns);
        report_turned_away(s, now_ns, &due_ns);
    } else if (s->state == RUNNING) {
        report_barrier(s, now_ns, &due_ns);
        report_leave(s, now_ns, &due_ns);
    }
    return due_ns;
}

static const struct rendezvous_events events = {.message = on_message, .ended = on_ended, .tick = on_tick};

/* ---- life ---- */

static int listening_failed(const char *shown, int result)
{
    const char *what = "rank 0 cannot listen at the rendezvous";
    switch (result) {
    case NNG_EADDRINUSE:
        return error_set(-EADDRINUSE,
                         "%s %.300s: the port is taken, by another program or by a cluster that still runs: end it, or "
                         "choose another port",
                         what, shown);
    case NNG_EADDRINVAL:
        return error_set(-EINVAL,
                         "%s %.300s: this machine has no such address: give an address of the machine of rank 0", what,
                         shown);
    case NNG_EPERM: return error_set(-EACCES, "%s %.300s: it is not permitted: choose a port above 1023", what, shown);
    case NNG_ENOFILES: return error_set(-EMFILE, "%s %.300s: no descriptors are left: raise `ulimit -n`", what, shown);
    default: return error_set(-EIO, "%s %.300s: %s", what, shown, nng_strerror(result));
    }
}

static int not_on_loopback(const char *shown)
{
    return error_set(-EACCES,
                     "the rendezvous %.300s is not on loopback, and the cluster has no secret: " SECRET_REMEDY
                     ", or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN",
                     shown);
}

static int listen_at(struct rendezvous_server *s, const char *url)
{
    nng_stream_listener *l;
    int result = nng_stream_listener_alloc(&l, url);
    if (result) return result;
    /* nng's own default for streams is to let small messages wait for acknowledgements of earlier ones. */
    result = nng_stream_listener_set_bool(l, NNG_OPT_TCP_NODELAY, true);
    if (result == 0) result = nng_stream_listener_listen(l);
    if (result == 0)
        s->listener = l;
    else
        nng_stream_listener_free(l);
    return result;
}

static int listen_at_any(struct rendezvous_server *s, const struct rendezvous_address *a)
{
    int result = NNG_EADDRINVAL;
    for (unsigned i = 0; i < a->urls; i++) {
        result = listen_at(s, a->url[i]);
        if (result == 0 || result == NNG_EADDRINUSE) return result;
    }
    return result;
}

static int start_listening(struct rendezvous_server *s, const struct rendezvous_address *a, uint64_t deadline_ns)
{
    const struct timespec pause = {.tv_nsec = (long)PORT_RETRY_NS};
    uint64_t until_ns = clock_now_ns() + PORT_PATIENCE_NS;
    if (until_ns > deadline_ns) until_ns = deadline_ns;
    int result = listen_at_any(s, a);
    while (result == NNG_EADDRINUSE && clock_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        result = listen_at_any(s, a);
    }
    return result ? listening_failed(a->shown, result) : 0;
}

static void free_server(struct rendezvous_server *s)
{
    nng_aio_free(s->accepting);
    rendezvous_message_let_go(s->hello);
    secret_forget(&s->secret);
    free(s->member);
    free(s);
}

static struct rendezvous_server *new_server(const struct rendezvous_config *c, const struct rendezvous_address *a,
                                            uint64_t deadline_ns)
{
    struct rendezvous_server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->size = (unsigned)c->size;
    s->member = calloc(s->size, sizeof *s->member);
    s->hello = rendezvous_hello_write(c, 0);
    bool ok = s->member && s->hello && nng_aio_alloc(&s->accepting, on_accepted, s) == 0 &&
              rendezvous_hello_read(&s->ours, s->hello->data + RENDEZVOUS_HEADER_BYTES,
                                    s->hello->bytes - RENDEZVOUS_HEADER_BYTES);
    if (!ok) {
        free_server(s);
        return NULL;
    }
    memcpy(s->shown, a->shown, sizeof s->shown);
    if (c->secret) s->secret = *c->secret;
    s->shards = c->shards ? c->shards : c->choice;
    s->peer_timeout_ms = s->ours.peer_timeout_ms;
    s->deadline_ns = deadline_ns;
    s->limit_s = c->join_timeout_s;
    return s;
}

int rendezvous_server_start(struct rendezvous_server **out, const struct rendezvous_config *c,
                            const struct rendezvous_address *a, uint64_t deadline_ns)
{
    struct rendezvous_address allowed = *a;
    if (c->loopback_only && !rendezvous_address_keep_loopback(&allowed)) return not_on_loopback(a->shown);
    struct rendezvous_server *s = new_server(c, a, deadline_ns);
    if (!s) return error_set(-ENOMEM, "no memory for a rendezvous of %d nodes", c->size);
    int rc = start_listening(s, &allowed, deadline_ns);
    s->usual_descriptor = lowest_descriptor();
    if (rc == 0) rc = rendezvous_hub_start(&s->hub, c->peer_timeout_s, &events, s);
    if (rc) {
        close_listener(s);
        free_server(s);
        return rc;
    }
    /* A hello that differs from ours may be longer, but not as long as a message of a member. */
    rendezvous_hub_lock(&s->hub);
    size_t hello_max = 2 * s->hello->bytes + HELLO_ROOM;
    s->hub.stranger_bytes_max = hello_max < RENDEZVOUS_MESSAGE_MAX ? hello_max : RENDEZVOUS_MESSAGE_MAX;
    rendezvous_hub_unlock(&s->hub);
    *out = s; /* accepting begins with the hub's first tick */
    return 0;
}

void rendezvous_server_stop(struct rendezvous_server *s)
{
    rendezvous_hub_lock(&s->hub);
    close_listener(s);
    rendezvous_hub_unlock(&s->hub);
    rendezvous_hub_drain(&s->hub);
    nng_aio_stop(s->accepting);
    rendezvous_hub_stop(&s->hub);
    rendezvous_hub_fini(&s->hub);
    free_server(s);
}
