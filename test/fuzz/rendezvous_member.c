/*
 * A node that joins, and what answers at its rendezvous says anything: what rank 0 would say,
 * changed, in another order, or bytes. Joining, a barrier and leaving end, one way or the other,
 * and nothing is left.
 */
#include "input.h"
#include "nng.h"

#include "membership/hello.h"
#include "membership/rendezvous.h"
#include "net/secret.h"

#include <pthread.h>

enum { RANK = 1, SIZE = 3, STEPS_MAX = 100, PEERS = 4 };
static const double JOIN_S = 0.01;

static const struct locus_table tables[] = {{.name = "rows", .rows = 100, .length = 4}};
static struct secret secret;

struct rank_0 {
    struct input in;
    bool has_secret;
    int peer; /* the connection that it speaks on */
    unsigned peers;
};

static struct rendezvous_config config_of(const struct rank_0 *z)
{
    return (struct rendezvous_config){.node = {.rank = RANK,
                                               .size = SIZE,
                                               .rendezvous = "127.0.0.1:7777",
                                               .tables = tables,
                                               .table_count = 1,
                                               .technique = LOCUS_STATIC,
                                               .shards = 1,
                                               .workers = 1,
                                               .join_timeout_s = JOIN_S,
                                               .peer_timeout_s = 10},
                                      .data_address = "127.0.0.1:4711",
                                      .secret = z->has_secret ? &secret : NULL};
}

/* ---- what rank 0 says ------------------------------------------------------------------------ */

/* It has heard a response to its challenge: the proof is ours, over what the message has, or over
 * nothing. Without a secret, zeros. */
static void put_proof(const struct rank_0 *z, struct message *m, const unsigned char *nonce,
                      bool covers_message)
{
    unsigned char heard[1024], proof[SECRET_PROOF_BYTES] = {0};
    struct rendezvous_config config = config_of(z);
    struct message *hello = hello_write(&config, 1);
    size_t bytes = SECRET_NONCE_BYTES + SECRET_PROOF_BYTES + hello->bytes;
    message_let_go(hello);
    MUST(bytes < sizeof heard);
    if (z->has_secret && peer_heard(z->peer, heard, bytes) == bytes) {
        const struct secret_claim claim = {
            .role = SECRET_RENDEZVOUS,
            .verifier = RANK,
            .prover_nonce = nonce,
            .verifier_nonce = heard + MESSAGE_HEADER_BYTES,
            .body = m->data + MESSAGE_HEADER_BYTES,
            .body_bytes = covers_message ? m->bytes - MESSAGE_HEADER_BYTES : 0};
        secret_prove(&secret, &claim, proof);
    }
    message_put_bytes(m, proof, sizeof proof);
}

static void put_start(struct rank_0 *z, struct message *m)
{
    unsigned size = input_rarely(&z->in, 16) ? input_byte(&z->in) : SIZE;
    message_put_u64(m, 1 + input_byte(&z->in));
    message_put_u32(m, 1);
    message_put_u32(m, 1000);
    message_put_u32(m, size);
    for (unsigned rank = 0; rank < size; rank++) {
        message_put_text(m, "127.0.0.1:4711");
        message_put_u32(m, 1);
    }
}

static enum message_type choose_type(struct rank_0 *z)
{
    static const enum message_type types[] = {MESSAGE_CHALLENGE, MESSAGE_WELCOME, MESSAGE_START,
                                              MESSAGE_RELEASE,   MESSAGE_LEFT,    MESSAGE_LOST,
                                              MESSAGE_WAITING,   MESSAGE_REFUSED, MESSAGE_AGAIN};
    unsigned what = input_below(&z->in, 16);
    if (what < sizeof types / sizeof *types) return types[what];
    return (enum message_type)input_below(&z->in, MESSAGE_ABSENT + 2);
}

static struct message *make_message(struct rank_0 *z, enum message_type type)
{
    static const unsigned char nonce[SECRET_NONCE_BYTES] = "rank 0's";
    struct message *m = message_new(type);
    switch (type) {
    case MESSAGE_CHALLENGE: message_put_bytes(m, nonce, sizeof nonce); break;
    case MESSAGE_WELCOME:
        message_put_u32(m, 1000);
        put_proof(z, m, nonce, false);
        break;
    case MESSAGE_START: put_start(z, m); break;
    case MESSAGE_RELEASE:
    case MESSAGE_LOST:
    case MESSAGE_REFUSED:
        message_put_u32(m, input_below(&z->in, 128));
        message_put_text(m, "is a sentence");
        if (type == MESSAGE_RELEASE) message_put_u32(m, 0);
        if (type == MESSAGE_REFUSED && input_below(&z->in, 4)) put_proof(z, m, nonce, true);
        break;
    case MESSAGE_WAITING:
    case MESSAGE_AGAIN: message_put_text(m, "waits"); break;
    default: break;
    }
    return message_done(m);
}

static void send_message(struct rank_0 *z)
{
    struct message *m = make_message(z, choose_type(z));
    MUST(m);
    for (unsigned n = input_below(&z->in, 16); n > 13; n--) {
        size_t at = input_byte(&z->in) % m->bytes;
        m->data[at] = input_byte(&z->in);
    }
    peer_send(z->peer, m->data,
              input_rarely(&z->in, 16) ? input_byte(&z->in) % m->bytes : m->bytes);
    message_let_go(m);
}

static void send_well(struct rank_0 *z, enum message_type type)
{
    struct message *m = make_message(z, type);
    peer_send(z->peer, m->data, m->bytes);
    message_let_go(m);
    peer_settle();
}

/* So that the node has joined, and what follows is about a cluster that runs. */
static void begin_well(struct rank_0 *z)
{
    if (z->has_secret) send_well(z, MESSAGE_CHALLENGE);
    send_well(z, MESSAGE_WELCOME);
    send_well(z, MESSAGE_START);
}

static void send_bytes(struct rank_0 *z)
{
    size_t bytes;
    const uint8_t *at = input_bytes(&z->in, input_byte(&z->in), &bytes);
    peer_send(z->peer, at, bytes);
}

static void step(struct rank_0 *z)
{
    unsigned what = input_below(&z->in, 16);
    if (what < 12)
        send_message(z);
    else if (what == 12)
        send_bytes(z);
    else if (what == 13)
        peer_pace(z->peer, input_byte(&z->in), input_byte(&z->in));
    else if (what == 14 && z->peers < PEERS)
        input_below(&z->in, 2) ? peer_end(z->peer) : peer_reset(z->peer), z->peer = peer_connect(),
                                                                          z->peers++;
    if (input_below(&z->in, 4)) peer_settle();
}

/* In the end every connection breaks, and nobody answers any more. */
static void *be_rank_0(void *argument)
{
    struct rank_0 *z = argument;
    peer_await_taken(z->peer);
    if (input_below(&z->in, 4)) begin_well(z);
    for (unsigned i = 0; i < STEPS_MAX && input_left(&z->in) > 0; i++) step(z);
    peer_settle();
    for (int i = 0; i < PEERS_MAX; i++) peer_reset(i);
    return NULL;
}

/* ---- the node -------------------------------------------------------------------------------- */

static void join_and_leave(const struct rank_0 *z)
{
    struct rendezvous *r;
    struct rendezvous_cluster cluster;
    struct rendezvous_config config = config_of(z);
    if (rendezvous_join(&config, &r, &cluster)) return;
    MUST(cluster.id && cluster.shards > 0 && cluster.shards <= LOCUS_SHARDS_MAX &&
         cluster.peer_timeout_s > 0);
    const struct meeting meeting = {.name = "open"};
    struct word nothing = {.rc = 0};
    if (rendezvous_agree(r, &meeting, &nothing) == 0) rendezvous_leave(r);
    rendezvous_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rank_0 z = {.in = input_of(data, size)};
    pthread_t thread;
    nng_reset();
    if (!secret.is_known)
        MUST(secret_from_text(&secret, "the secret", "a secret", strlen("a secret")) == 0);
    z.has_secret = input_byte(&z.in) & 1;
    z.peer = peer_connect();
    MUST(pthread_create(&thread, NULL, be_rank_0, &z) == 0);
    const struct rank_0 as_it_was = {.has_secret = z.has_secret};
    join_and_leave(&as_it_was);
    pthread_join(thread, NULL);
    return 0;
}
