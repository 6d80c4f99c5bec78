/*
 * Both sides of a rendezvous, with a secret or without: rank 0 with any number of connections that
 * say anything in any order, and a node that joins where something answers anything: sound
 * messages, changed ones, parts of them, bytes. They must neither fail nor hang nor lose memory,
 * whatever becomes of the cluster, and the connections of rank 0 stay bounded.
 *
 * The first byte says which side is tried, or the readers of a hello alone.
 */
#include "input.h"
#include "nng.h"

#include "base/time.h"
#include "cluster/message.h"
#include "cluster/rendezvous.h"
#include "cluster/server.h"
#include "net/secret.h"

#include <pthread.h>

enum {
    SIZE = 3,
    MEMBER = 1, /* the rank of the node that joins */
    ACTIVE_MAX = 8,
    BURST_MAX = 90,
    MEETINGS_MAX = 80,
    FLOODS_MAX = 3,
    STEPS_MAX = 400,
    MEMBER_STEPS_MAX = 100,
    MEMBER_PEERS = 4
};
static const uint64_t JOIN_NS = 60000000000;
#define ADDRESS "127.0.0.1:7777"

static const struct locus_table tables[] = {{.name = "rows", .rows = 100, .length = 4},
                                            {.name = "others", .rows = 10, .length = 16}};
static struct secret secret;

struct others {
    struct input in;
    bool has_secret;
    unsigned floods;        /* how often there were many of something, which takes time */
    int active[ACTIVE_MAX]; /* the connections that steps are about, -1: none */
    int peer;               /* of who answers as rank 0 */
    unsigned peers;
};

static void ignore_view(void *context, const struct change *change, const char *reason)
{
    (void)context, (void)reason;
    MUST(change->number > 0 && change->node > 0 && change->node < SIZE);
}

static void ignore_joining(void *context, uint64_t id, unsigned rank, const char *address)
{
    (void)context, (void)id, (void)address;
    MUST(rank > 0 && rank < SIZE);
}

static void ignore_loss(void *context, int rank, const char *reason)
{
    (void)context, (void)reason;
    MUST(rank >= 0 && rank < SIZE);
}

static struct rendezvous_config config_of(bool has_secret, int rank)
{
    return (struct rendezvous_config){.node = {.rank = rank,
                                               .size = SIZE,
                                               .rendezvous = ADDRESS,
                                               .tables = tables,
                                               .table_count = 1,
                                               .technique = LOCUS_STATIC,
                                               .shards = 1,
                                               .workers = 1,
                                               .join_timeout_s = 60,
                                               .peer_timeout_s = 10,
                                               .survives = !has_secret},
                                      .secret = has_secret ? &secret : NULL,
                                      .view = ignore_view,
                                      .joining = ignore_joining,
                                      .lost = ignore_loss,
                                      .data_address = "127.0.0.1:4711"};
}

/* ---- what both say --------------------------------------------------------------------------- */

/* Some of its bytes replaced, and sent, perhaps not all of them. */
static void send_changed(struct input *in, int peer, struct message *m)
{
    MUST(m);
    for (unsigned n = input_below(in, 16); n > 13; n--) {
        size_t at = input_byte(in) % m->bytes;
        m->data[at] = input_byte(in);
    }
    peer_send(peer, m->data, input_rarely(in, 16) ? input_byte(in) % m->bytes : m->bytes);
    message_let_go(m);
}

static void send_whole(int peer, struct message *m)
{
    if (m) peer_send(peer, m->data, m->bytes);
    message_let_go(m);
    peer_settle();
}

static void send_bytes(struct input *in, int peer)
{
    size_t bytes;
    const uint8_t *at = input_bytes(in, input_byte(in), &bytes);
    peer_send(peer, at, bytes);
}

static void end_or_reset(struct input *in, int peer)
{
    if (input_below(in, 2))
        peer_end(peer);
    else
        peer_reset(peer);
}

static void reset_all(void)
{
    peer_settle();
    for (int i = 0; i < PEERS_MAX; i++) peer_reset(i);
}

/* ---- what members say ------------------------------------------------------------------------ */

/* The connection that a step is about. */
static int choose(struct others *c)
{
    int *peer = &c->active[input_below(&c->in, ACTIVE_MAX)];
    if (*peer < 0) *peer = peer_connect();
    return *peer;
}

static void send_hello(struct others *c, int peer)
{
    struct rendezvous_config config = config_of(c->has_secret, (int)input_below(&c->in, SIZE));
    unsigned how = input_below(&c->in, 32);
    if (how == 1) config.node.size = 2 + (int)input_below(&c->in, 8);
    if (how == 2) config.secret = c->has_secret ? NULL : &secret;
    struct message *m = hello_write(&config, 60000);
    if (how == 3) m->data[4]++; /* the version */
    send_changed(&c->in, peer, m);
}

/* What answers the challenge that the peer has heard last: nonce, proof, and the hello again. NULL:
 * there is none. */
static struct message *response(const struct others *c, int peer, int rank)
{
    static const unsigned char nonce[SECRET_NONCE_BYTES] = "ours";
    unsigned char heard[MESSAGE_HEADER_BYTES + SECRET_NONCE_BYTES], proof[SECRET_PROOF_BYTES];
    if (peer_heard(peer, heard, sizeof heard) < sizeof heard) return NULL;
    if (message_header(heard).type != MESSAGE_CHALLENGE) return NULL;
    struct rendezvous_config config = config_of(c->has_secret, rank);
    struct message *hello = hello_write(&config, 60000);
    const unsigned char *body = hello->data + MESSAGE_HEADER_BYTES;
    size_t bytes = hello->bytes - MESSAGE_HEADER_BYTES;
    struct secret_talk talk = {.our_rank = (unsigned)rank};
    memcpy(talk.our_nonce, nonce, sizeof nonce);
    memcpy(talk.their_nonce, heard + MESSAGE_HEADER_BYTES, sizeof talk.their_nonce);
    secret_answer(&secret, &talk, SECRET_MEMBER, body, bytes, proof);
    struct message *m = message_new(MESSAGE_RESPONSE);
    message_put_bytes(m, nonce, sizeof nonce);
    message_put_bytes(m, proof, sizeof proof);
    message_put_bytes(m, body, bytes);
    message_let_go(hello);
    return message_done(m);
}

static void send_response(struct others *c, int peer)
{
    struct message *m = response(c, peer, (int)input_below(&c->in, SIZE));
    if (m && input_rarely(&c->in, 8)) m->data[MESSAGE_HEADER_BYTES + input_below(&c->in, 64)]++;
    if (m) send_changed(&c->in, peer, m);
}

/* Everybody has come: what follows is about a cluster that runs. */
static void form(struct others *c)
{
    for (int rank = 0; rank < SIZE; rank++) {
        struct rendezvous_config config = config_of(c->has_secret, rank);
        int peer = c->active[rank] = peer_connect();
        send_whole(peer, hello_write(&config, 60000));
        if (c->has_secret) send_whole(peer, response(c, peer, rank));
    }
}

/* Of any type, with numbers and texts as its body. */
static void send_any(struct others *c, int peer)
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
    send_changed(&c->in, peer, message_done(m));
}

/* What a member says. */
static void send_sound(struct others *c, int peer)
{
    static const enum message_type types[] = {MESSAGE_BARRIER,  MESSAGE_ABSENT,   MESSAGE_LEAVE,
                                              MESSAGE_REPORT,   MESSAGE_REPAIRED, MESSAGE_HEARTBEAT,
                                              MESSAGE_CONNECTED};
    enum message_type type = types[input_below(&c->in, sizeof types / sizeof *types)];
    struct message *m = message_new(type);
    if (type == MESSAGE_BARRIER) {
        unsigned flags = input_below(&c->in, 9);
        struct word word = {.rc = -(int)input_below(&c->in, 3), .number = {1, 2}};
        if (!input_below(&c->in, 2)) snprintf(word.text, sizeof word.text, "a word");
        word.count = input_below(&c->in, 4) ? 0 : 2;
        message_put_u32(m, flags);
        message_put_text(m, word.count ? "sum" : "open");
        message_put_word(m, &word);
    }
    if (type == MESSAGE_ABSENT) message_put_u32(m, input_below(&c->in, 2));
    if (type == MESSAGE_REPAIRED) message_put_u32(m, input_below(&c->in, SIZE));
    if (type == MESSAGE_REPORT) message_put_u32(m, input_below(&c->in, SIZE));
    if (type == MESSAGE_REPORT) message_put_text(m, "closed the connection");
    if (type == MESSAGE_CONNECTED) message_put_u64(m, input_byte(&c->in)); /* a wild guess */
    if (type == MESSAGE_CONNECTED) message_put_text(m, input_below(&c->in, 2) ? "cannot" : "");
    send_changed(&c->in, peer, message_done(m));
}

/* Barriers, one after the other, whoever reads that they are over. */
static void meet_often(struct others *c)
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

/* A flood is so many that the oldest unauthenticated peers must go. */
static void flood(struct others *c)
{
    if (c->floods++ >= FLOODS_MAX) return;
    if (!input_below(&c->in, 2)) {
        meet_often(c);
        return;
    }
    for (unsigned n = input_below(&c->in, BURST_MAX); n > 0; n--) peer_connect();
}

static void leave(struct others *c)
{
    int *peer = &c->active[input_below(&c->in, ACTIVE_MAX)];
    if (*peer >= 0) end_or_reset(&c->in, *peer);
    *peer = -1;
}

static void step(struct others *c)
{
    unsigned what = input_below(&c->in, 16);
    int peer = what < 13 ? choose(c) : -1;
    if (what < 13 && peer < 0) return;
    if (what < 3)
        send_hello(c, peer);
    else if (what == 3)
        send_response(c, peer);
    else if (what < 8)
        send_sound(c, peer);
    else if (what < 11)
        send_any(c, peer);
    else if (what == 11)
        send_bytes(&c->in, peer);
    else if (what == 12)
        peer_pace(peer, input_byte(&c->in), input_byte(&c->in) / 2);
    else if (what == 13)
        leave(c);
    else if (what == 14)
        flood(c);
    else
        peer_refuse_next();
    if (input_below(&c->in, 4)) peer_settle();
}

static void try_rank_0(struct others *c)
{
    const struct rendezvous_address address = {
        .shown = ADDRESS, .urls = 1, .url = {"tcp://" ADDRESS}};
    const struct rendezvous_config config = config_of(c->has_secret, 0);
    struct server *s;
    for (unsigned i = 0; i < ACTIVE_MAX; i++) c->active[i] = -1;
    bool is_late = input_rarely(&c->in, 64);
    MUST(server_start(&s, &config, &address, time_now_ns() + (is_late ? 0 : JOIN_NS)) == 0);
    peer_await_accept();
    if (input_below(&c->in, 2)) form(c);
    for (unsigned i = 0; i < STEPS_MAX && input_left(&c->in) > 0; i++) step(c);
    reset_all();
    server_stop(s);
}

/* ---- what rank 0 says ------------------------------------------------------------------------ */

/* It has heard a response to its challenge: the proof is ours, over what the message has, or over
 * nothing. Without a secret, zeros. */
static void put_proof(const struct others *z, struct message *m, const unsigned char *nonce,
                      bool covers_message)
{
    unsigned char heard[1024], proof[SECRET_PROOF_BYTES] = {0};
    struct rendezvous_config config = config_of(z->has_secret, MEMBER);
    struct message *hello = hello_write(&config, 1);
    size_t bytes = SECRET_NONCE_BYTES + SECRET_PROOF_BYTES + hello->bytes;
    message_let_go(hello);
    MUST(bytes < sizeof heard);
    if (z->has_secret && peer_heard(z->peer, heard, bytes) == bytes) {
        struct secret_talk talk = {.their_rank = MEMBER};
        memcpy(talk.our_nonce, nonce, sizeof talk.our_nonce);
        memcpy(talk.their_nonce, heard + MESSAGE_HEADER_BYTES, sizeof talk.their_nonce);
        secret_answer(&secret, &talk, SECRET_RENDEZVOUS, m->data + MESSAGE_HEADER_BYTES,
                      covers_message ? m->bytes - MESSAGE_HEADER_BYTES : 0, proof);
    }
    message_put_bytes(m, proof, sizeof proof);
}

static void put_start(struct others *z, struct message *m)
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
    unsigned changes = input_rarely(&z->in, 4) ? input_below(&z->in, 4) : 0;
    message_put_u32(m, changes);
    while (changes-- > 0) {
        message_put_u32(m, input_below(&z->in, CHANGE_KINDS + 1));
        message_put_u32(m, input_below(&z->in, SIZE + 1));
    }
}

static enum message_type choose_type(struct others *z)
{
    static const enum message_type types[] = {MESSAGE_CHALLENGE, MESSAGE_WELCOME, MESSAGE_START,
                                              MESSAGE_RELEASE,   MESSAGE_LEFT,    MESSAGE_LOST,
                                              MESSAGE_WAITING,   MESSAGE_REFUSED, MESSAGE_AGAIN,
                                              MESSAGE_VIEW,      MESSAGE_JOINING};
    unsigned what = input_below(&z->in, 16);
    if (what < sizeof types / sizeof *types) return types[what];
    return (enum message_type)input_below(&z->in, MESSAGE_CONNECTED + 1);
}

static struct message *make_message(struct others *z, enum message_type type)
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
    case MESSAGE_VIEW:
        message_put_u32(m, 1 + input_below(&z->in, 3));
        message_put_u32(m, input_below(&z->in, CHANGE_KINDS + 1));
        message_put_u32(m, input_below(&z->in, SIZE + 1));
        message_put_text(m, "is a sentence");
        break;
    case MESSAGE_JOINING:
        message_put_u64(m, input_byte(&z->in));
        message_put_u32(m, input_below(&z->in, SIZE + 1));
        message_put_text(m, input_below(&z->in, 2) ? "127.0.0.1:4711" : "");
        break;
    case MESSAGE_WAITING:
    case MESSAGE_AGAIN: message_put_text(m, "waits"); break;
    default: break;
    }
    return message_done(m);
}

/* So that the node has joined, and what follows is about a cluster that runs. */
static void begin_well(struct others *z)
{
    if (z->has_secret) send_whole(z->peer, make_message(z, MESSAGE_CHALLENGE));
    send_whole(z->peer, make_message(z, MESSAGE_WELCOME));
    send_whole(z->peer, make_message(z, MESSAGE_START));
}

static void answer(struct others *z)
{
    unsigned what = input_below(&z->in, 16);
    if (what < 12) {
        send_changed(&z->in, z->peer, make_message(z, choose_type(z)));
    } else if (what == 12) {
        send_bytes(&z->in, z->peer);
    } else if (what == 13) {
        peer_pace(z->peer, input_byte(&z->in), input_byte(&z->in));
    } else if (what == 14 && z->peers++ < MEMBER_PEERS) {
        end_or_reset(&z->in, z->peer);
        z->peer = peer_connect();
    }
    if (input_below(&z->in, 4)) peer_settle();
}

/* In the end every connection breaks, and nobody answers any more. */
static void *be_rank_0(void *argument)
{
    struct others *z = argument;
    peer_await_taken(z->peer);
    if (input_below(&z->in, 4)) begin_well(z);
    for (unsigned i = 0; i < MEMBER_STEPS_MAX && input_left(&z->in) > 0; i++) answer(z);
    reset_all();
    return NULL;
}

/* Joining, a barrier and leaving end, one way or the other, and nothing is left. */
static void join_and_leave(bool has_secret)
{
    struct rendezvous *r;
    struct rendezvous_cluster cluster;
    struct rendezvous_config config = config_of(has_secret, MEMBER);
    config.node.join_timeout_s = 0.01;
    if (rendezvous_join(&config, &r, &cluster)) return;
    MUST(cluster.id && cluster.shards > 0 && cluster.shards <= LOCUS_SHARDS_MAX &&
         cluster.peer_timeout_s > 0);
    const struct meeting meeting = {.name = "open"};
    struct word nothing = {.rc = 0};
    if (rendezvous_agree(r, &meeting, &nothing) == 0) rendezvous_leave(r, false);
    rendezvous_free(r);
}

static void try_member(struct others *z)
{
    pthread_t thread;
    bool has_secret = z->has_secret;
    z->peer = peer_connect();
    MUST(pthread_create(&thread, NULL, be_rank_0, z) == 0);
    join_and_leave(has_secret);
    pthread_join(thread, NULL);
}

/* ---- the readers of a hello, alone ------------------------------------------------------------ */

/* A body of exactly that size. */
static void read_hello(const unsigned char *from, size_t bytes, const struct hello *ours)
{
    struct hello h;
    char sentence[MESSAGE_TEXT_MAX];
    unsigned char *body = fuzz_copy(from, bytes);
    hello_read_rank(&h, body, bytes);
    if (hello_read(&h, body, bytes)) {
        MUST(h.rank < h.size && strlen(h.address) < sizeof h.address);
        if (hello_differs(&h, ours, 1, sentence, sizeof sentence))
            MUST(strlen(sentence) < sizeof sentence);
    }
    free(body);
}

/* Ours with some bytes replaced, for chance alone would hardly ever come through, and the input. */
static void try_hello(struct input *in)
{
    struct hello ours;
    struct rendezvous_config c = config_of(false, MEMBER);
    c.node.table_count = 1 + input_below(in, 2);
    struct message *m = hello_write(&c, 60000);
    unsigned char *body = m->data + MESSAGE_HEADER_BYTES;
    size_t bytes = m->bytes - MESSAGE_HEADER_BYTES;
    MUST(hello_read(&ours, body, bytes));
    c.node.table_count = 1 + input_below(in, 2);
    struct message *theirs = hello_write(&c, 60000);
    body = theirs->data + MESSAGE_HEADER_BYTES;
    bytes = theirs->bytes - MESSAGE_HEADER_BYTES;
    for (unsigned n = input_below(in, 8); n > 0; n--) {
        size_t at = input_number(in, 2) % bytes;
        body[at] = input_byte(in);
    }
    read_hello(body, input_rarely(in, 4) ? input_number(in, 2) % (bytes + 1) : bytes, &ours);
    read_hello(in->at, input_left(in), &ours);
    message_let_go(theirs);
    message_let_go(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct others o = {.in = input_of(data, size)};
    unsigned what = input_below(&o.in, 4);
    if (!secret.is_known)
        MUST(secret_from_text(&secret, "the secret", "a secret", strlen("a secret")) == 0);
    nng_reset();
    if (what == 3) {
        try_hello(&o.in);
        return 0;
    }
    o.has_secret = input_byte(&o.in) & 1;
    if (what == 0)
        try_member(&o);
    else
        try_rank_0(&o);
    return 0;
}
