/*
 * Rank 0's rendezvous, with a secret or without, and with any number of connections that say
 * anything in any order: sound messages, changed ones, parts of them, bytes. It must neither fail
 * nor hang nor lose memory, whatever becomes of the cluster, and its connections stay bounded.
 */
#include "input.h"
#include "nng.h"

#include "base/clock.h"
#include "membership/hello.h"
#include "membership/server.h"
#include "net/secret.h"

enum {
    SIZE = 3,
    ACTIVE_MAX = 8,
    BURST_MAX = 90,
    MEETINGS_MAX = 80,
    CROWDS_MAX = 3,
    STEPS_MAX = 400
};
static const uint64_t JOIN_NS = 60000000000;

static const struct locus_table tables[] = {{.name = "rows", .rows = 100, .length = 4}};

struct crowd {
    struct input in;
    bool has_secret;
    unsigned crowds;        /* how often there were many of something, which takes time */
    int active[ACTIVE_MAX]; /* the connections that steps are about, -1: none */
};

static struct secret secret;

static struct rendezvous_config config_of(const struct crowd *c, int rank)
{
    return (struct rendezvous_config){.node = {.rank = rank,
                                               .size = SIZE,
                                               .tables = tables,
                                               .table_count = 1,
                                               .technique = LOCUS_STATIC,
                                               .shards = 1,
                                               .workers = 1,
                                               .join_timeout_s = 60,
                                               .peer_timeout_s = 10},
                                      .secret = c->has_secret ? &secret : NULL,
                                      .data_address = "127.0.0.1:4711"};
}

/* The connection that a step is about. */
static int choose(struct crowd *c)
{
    int *peer = &c->active[input_below(&c->in, ACTIVE_MAX)];
    if (*peer < 0) *peer = peer_connect();
    return *peer;
}

/* Some of its bytes replaced, and sent. */
static void send_message(struct crowd *c, int peer, struct message *m)
{
    MUST(m);
    for (unsigned n = input_below(&c->in, 16); n > 13; n--) {
        size_t at = input_byte(&c->in) % m->bytes;
        m->data[at] = input_byte(&c->in);
    }
    size_t bytes = input_rarely(&c->in, 16) ? input_byte(&c->in) % m->bytes : m->bytes;
    peer_send(peer, m->data, bytes);
    message_let_go(m);
}

static void send_hello(struct crowd *c, int peer)
{
    struct rendezvous_config config = config_of(c, (int)input_below(&c->in, SIZE));
    unsigned how = input_below(&c->in, 32);
    if (how == 1) config.node.size = 2 + (int)input_below(&c->in, 8);
    if (how == 2) config.secret = c->has_secret ? NULL : &secret;
    struct message *m = hello_write(&config, 60000);
    if (how == 3) m->data[4]++; /* the version */
    send_message(c, peer, m);
}

/* What answers the challenge that the peer has heard last: nonce, proof, and the hello again. NULL:
 * there is none. */
static struct message *response(const struct crowd *c, int peer, int rank)
{
    static const unsigned char nonce[SECRET_NONCE_BYTES] = "ours";
    unsigned char heard[MESSAGE_HEADER_BYTES + SECRET_NONCE_BYTES], proof[SECRET_PROOF_BYTES];
    if (peer_heard(peer, heard, sizeof heard) < sizeof heard) return NULL;
    if (message_header(heard).type != MESSAGE_CHALLENGE) return NULL;
    struct rendezvous_config config = config_of(c, rank);
    struct message *hello = hello_write(&config, 60000);
    const unsigned char *body = hello->data + MESSAGE_HEADER_BYTES;
    size_t bytes = hello->bytes - MESSAGE_HEADER_BYTES;
    const struct secret_claim claim = {.role = SECRET_MEMBER,
                                       .prover = (unsigned)rank,
                                       .prover_nonce = nonce,
                                       .verifier_nonce = heard + MESSAGE_HEADER_BYTES,
                                       .body = body,
                                       .body_bytes = bytes};
    secret_prove(&secret, &claim, proof);
    struct message *m = message_new(MESSAGE_RESPONSE);
    message_put_bytes(m, nonce, sizeof nonce);
    message_put_bytes(m, proof, sizeof proof);
    message_put_bytes(m, body, bytes);
    message_let_go(hello);
    return message_done(m);
}

static void send_response(struct crowd *c, int peer)
{
    struct message *m = response(c, peer, (int)input_below(&c->in, SIZE));
    if (m && input_rarely(&c->in, 8)) m->data[MESSAGE_HEADER_BYTES + input_below(&c->in, 64)]++;
    if (m) send_message(c, peer, m);
}

static void send_whole(int peer, struct message *m)
{
    if (m) peer_send(peer, m->data, m->bytes);
    message_let_go(m);
    peer_settle();
}

/* Everybody has come: what follows is about a cluster that runs. */
static void form(struct crowd *c)
{
    for (int rank = 0; rank < SIZE; rank++) {
        struct rendezvous_config config = config_of(c, rank);
        int peer = c->active[rank] = peer_connect();
        send_whole(peer, hello_write(&config, 60000));
        if (c->has_secret) send_whole(peer, response(c, peer, rank));
    }
}

/* Of any type, with numbers and texts as its body. */
static void send_any(struct crowd *c, int peer)
{
    struct message *m = message_new((enum message_type)input_below(&c->in, 24));
    for (unsigned n = input_below(&c->in, 4); n > 0; n--) {
        size_t bytes;
        char text[17] = "";
        switch (input_below(&c->in, 4)) {
        case 0: message_put_u32(m, input_below(&c->in, 8)); break;
        case 1: message_put_u32(m, (uint32_t)input_number(&c->in, 4)); break;
        case 2: message_put_u64(m, input_number(&c->in, 8)); break;
        default: {
            const uint8_t *at = input_bytes(&c->in, input_below(&c->in, sizeof text), &bytes);
            memcpy(text, at, bytes);
            message_put_text(m, text);
        }
        }
    }
    send_message(c, peer, message_done(m));
}

/* What a member says. */
static void send_sound(struct crowd *c, int peer)
{
    static const enum message_type types[] = {MESSAGE_BARRIER, MESSAGE_ABSENT, MESSAGE_LEAVE,
                                              MESSAGE_REPORT, MESSAGE_HEARTBEAT};
    enum message_type type = types[input_below(&c->in, sizeof types / sizeof *types)];
    struct message *m = message_new(type);
    if (type == MESSAGE_BARRIER) {
        unsigned flags = input_below(&c->in, 5);
        struct word word = {.rc = -(int)input_below(&c->in, 3), .number = {1, 2}};
        if (!input_below(&c->in, 2)) snprintf(word.text, sizeof word.text, "a word");
        word.count = input_below(&c->in, 4) ? 0 : 2;
        message_put_u32(m, flags);
        message_put_text(m, word.count ? "sum" : "open");
        message_put_word(m, &word);
    }
    if (type == MESSAGE_ABSENT) message_put_u32(m, input_below(&c->in, 2));
    if (type == MESSAGE_REPORT) message_put_u32(m, input_below(&c->in, SIZE));
    if (type == MESSAGE_REPORT) message_put_text(m, "closed the connection");
    send_message(c, peer, message_done(m));
}

static void send_bytes(struct crowd *c, int peer)
{
    size_t bytes;
    const uint8_t *at = input_bytes(&c->in, input_byte(&c->in), &bytes);
    peer_send(peer, at, bytes);
}

/* So many that the oldest unauthenticated peers must go. */
static void burst(struct crowd *c)
{
    for (unsigned n = input_below(&c->in, BURST_MAX); n > 0; n--) peer_connect();
}

static void leave(struct crowd *c)
{
    int *peer = &c->active[input_below(&c->in, ACTIVE_MAX)];
    if (*peer < 0) return;
    if (input_below(&c->in, 2))
        peer_end(*peer);
    else
        peer_reset(*peer);
    *peer = -1;
}

/* Barriers, one after the other, whoever reads that they are over. */
static void meet_often(struct crowd *c)
{
    for (unsigned n = input_below(&c->in, MEETINGS_MAX); n > 0; n--) {
        for (int rank = 0; rank < SIZE; rank++) {
            if (c->active[rank] < 0) continue;
            struct message *m = message_new(MESSAGE_BARRIER);
            message_put_u32(m, n % 2);
            message_put_text(m, "open");
            message_put_word(m, &(struct word){.rc = 0});
            send_whole(c->active[rank], message_done(m));
        }
    }
}

static void step(struct crowd *c)
{
    unsigned what = input_below(&c->in, 16);
    int peer = what < 13 ? choose(c) : -1;
    if (what < 13 && peer < 0) return;
    switch (what) {
    case 0:
    case 1:
    case 2: send_hello(c, peer); break;
    case 3: send_response(c, peer); break;
    case 4:
    case 5:
    case 6:
    case 7: send_sound(c, peer); break;
    case 8:
    case 9:
    case 10: send_any(c, peer); break;
    case 11: send_bytes(c, peer); break;
    case 12: peer_pace(peer, input_byte(&c->in), input_byte(&c->in) / 2); break;
    case 13: leave(c); break;
    case 14:
        if (c->crowds++ < CROWDS_MAX) input_below(&c->in, 2) ? burst(c) : meet_often(c);
        break;
    default: peer_refuse_next();
    }
    if (input_below(&c->in, 4)) peer_settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct crowd c = {.in = input_of(data, size)};
    const struct rendezvous_address address = {
        .shown = "127.0.0.1:7777", .urls = 1, .url = {"tcp://127.0.0.1:7777"}};
    c.has_secret = input_byte(&c.in) & 1;
    if (!secret.is_known)
        MUST(secret_from_text(&secret, "the secret", "a secret", strlen("a secret")) == 0);
    const struct rendezvous_config config = config_of(&c, 0);
    struct server *s;
    for (unsigned i = 0; i < ACTIVE_MAX; i++) c.active[i] = -1;
    nng_reset();
    bool is_late = input_rarely(&c.in, 64);
    MUST(server_start(&s, &config, &address, clock_now_ns() + (is_late ? 0 : JOIN_NS)) == 0);
    peer_await_accept();
    if (input_below(&c.in, 2)) form(&c);
    for (unsigned i = 0; i < STEPS_MAX && input_left(&c.in) > 0; i++) step(&c);
    peer_settle();
    for (int i = 0; i < PEERS_MAX; i++) peer_reset(i);
    server_stop(s);
    return 0;
}
