/* Who may join: who proves that it knows the cluster's secret. */
#include "cluster/peers.h"
#include "net/secret.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MASK = 0x5a };

static void init_sharing(struct node *n, int size, const struct secret *s)
{
    nodes_init(n, size, nodes_address());
    for (int rank = 0; rank < size; rank++) n[rank].config.secret = s;
}

/* How often the key lies in what this process may write. `masked` is the key but for a mask, so
 * that it is not found itself. */
static unsigned count_keys(const unsigned char masked[SECRET_KEY_BYTES])
{
    unsigned long from, to;
    unsigned found = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strncmp(mode, "rw", 2) != 0)
            continue;
        for (const unsigned char *at = (void *)from;
             at + SECRET_KEY_BYTES <= (const unsigned char *)to; at++) {
            unsigned i = 0;
            while (i < SECRET_KEY_BYTES && (at[i] ^ MASK) == masked[i]) i++;
            found += i == SECRET_KEY_BYTES;
        }
    }
    fclose(maps);
    return found;
}

/* Nothing needs it once all have joined. */
TEST(rendezvous, key_is_wiped_when_all_have_joined)
{
#if defined(LOCUS_ASAN) || defined(LOCUS_TSAN)
    SKIP("a sanitizer's shadow is too large to be searched");
#endif
    struct node n[3];
    unsigned char masked[SECRET_KEY_BYTES];
    struct secret s = secret_of("open sesame");
    for (unsigned i = 0; i < sizeof masked; i++) masked[i] = s.key[i] ^ MASK;
    CHECK_EQ(count_keys(masked), 1);
    init_sharing(n, 3, &s);
    nodes_join(n, 3);
    secret_forget(&s);
    CHECK_EQ(count_keys(masked), 0);
    nodes_meet(n, 3);
    nodes_leave(n, 3);
}

/* It is told, unless a busy machine took all its time: then it gets more. */
static void be_turned_away(struct node *unauthenticated, const char *sentence)
{
    unauthenticated->config.node.join_timeout_s = 0.5;
    do {
        node_join(unauthenticated);
        unauthenticated->config.node.join_timeout_s *= 4;
    } while (unauthenticated->rc == -ETIMEDOUT &&
             unauthenticated->config.node.join_timeout_s < 120);
    nodes_check(unauthenticated, 1, -EACCES, sentence);
}

/* At once or when its time is over; the others go on waiting, and rank 2 joins in the end. */
TEST(rendezvous, node_of_another_secret_is_refused_and_the_others_wait_on)
{
    struct secret right = secret_of("open sesame"), wrong = secret_of("open barley");
    const struct {
        const struct secret *ours, *theirs;
        const char *sentence;
    } cases[] = {
        {&right, NULL,
         ") does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes"},
        {&right, &wrong,
         ") does not know the cluster's secret; set LOCUS_SECRET to the same on all nodes"},
        {NULL, &right,
         ") knows a secret, but rank 0 of this cluster has none; set LOCUS_SECRET to the same on "
         "all nodes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct node n[3], unauthenticated;
        char text[TEXT_BYTES];
        init_sharing(n, 3, cases[i].ours);
        node_init(&unauthenticated, 2, 3, n[0].config.node.rendezvous);
        unauthenticated.config.secret = cases[i].theirs;
        struct caught c = stderr_catch();
        node_start(&n[0], node_join);
        node_start(&n[1], node_join);
        be_turned_away(&unauthenticated, cases[i].sentence);
        CHECK_STR(unauthenticated.error, "node 2 (127.0.0.1:");
        node_start(&n[2], node_join);
        nodes_finish(n, 3);
        stderr_release(&c, text, sizeof text);
        nodes_check(n, 3, 0, "");
        CHECK_STR(text, "locus: refused: ");
        CHECK_STR(text, cases[i].sentence);
        nodes_leave(n, 3);
    }
}

TEST(rendezvous, refused_node_is_named_when_nobody_else_comes)
{
    struct node n[2], unauthenticated;
    struct secret s = secret_of("open sesame");
    init_sharing(n, 2, &s);
    n[0].config.node.join_timeout_s = 3;
    node_init(&unauthenticated, 1, 2, n[0].config.node.rendezvous);
    node_start(&n[0], node_join);
    node_join(&unauthenticated);
    CHECK_EQ(unauthenticated.rc, -EACCES);
    node_finish(&n[0]);
    nodes_check(n, 1, -ETIMEDOUT, "rank 1 of 2 has not joined after 3 s; rendezvous 127.0.0.1:");
    CHECK_STR(n[0].error, "; refused was: node 1 (127.0.0.1:");
    CHECK_STR(n[0].error, "does not know the cluster's secret");
}

/* An unauthenticated peer's RESPONSE as node `n`, which knows the secret. */
static size_t make_response(const struct node *n, const unsigned char *challenge,
                            unsigned char *data)
{
    unsigned char proof[SECRET_PROOF_BYTES];
    struct secret_talk talk = {.our_rank = (unsigned)n->config.node.rank};
    unsigned char hello[TEXT_BYTES], *body = hello + MESSAGE_HEADER_BYTES;
    size_t bytes = peer_hello(&n->config, hello, sizeof hello) - MESSAGE_HEADER_BYTES;
    secret_nonce(talk.our_nonce);
    memcpy(talk.their_nonce, challenge, sizeof talk.their_nonce);
    secret_answer(n->config.secret, &talk, SECRET_MEMBER, body, bytes, proof);
    struct message *m = message_new(MESSAGE_RESPONSE);
    message_put_bytes(m, talk.our_nonce, sizeof talk.our_nonce);
    message_put_bytes(m, proof, sizeof proof);
    message_put_bytes(m, body, bytes);
    m = message_done(m);
    memcpy(data, m->data, m->bytes);
    bytes = m->bytes;
    message_let_go(m);
    return bytes;
}

/* Connects, says hello and hears the challenge. */
static int be_challenged(const struct node *n, unsigned char challenge[SECRET_NONCE_BYTES])
{
    unsigned char data[TEXT_BYTES];
    int fd = peer_connect(n->config.node.rendezvous);
    peer_say_hello(fd, &n->config);
    CHECK_EQ(peer_hear(fd, MESSAGE_CHALLENGE, data, sizeof data),
             MESSAGE_HEADER_BYTES + SECRET_NONCE_BYTES);
    memcpy(challenge, data + MESSAGE_HEADER_BYTES, SECRET_NONCE_BYTES);
    return fd;
}

static void be_refused(int fd)
{
    char sentence[TEXT_BYTES];
    peer_read_refusal(fd, sentence, sizeof sentence);
    CHECK_STR(sentence, "node 1 (127.0.0.1:");
    CHECK_STR(sentence, "does not know the cluster's secret");
}

TEST(rendezvous, response_is_good_for_its_challenge_alone)
{
    struct node n[2];
    struct secret s = secret_of("open sesame");
    unsigned char challenge[SECRET_NONCE_BYTES] = {0}, response[TEXT_BYTES], welcome[TEXT_BYTES];
    init_sharing(n, 2, &s);
    node_start(&n[0], node_join);

    int fd = peer_connect(n[0].config.node.rendezvous); /* before it was asked */
    peer_say(fd, response, make_response(&n[1], challenge, response));
    CHECK(peer_is_cut_off(fd, 3000));

    fd = be_challenged(&n[1], challenge);
    size_t bytes = make_response(&n[1], challenge, response);
    int other = be_challenged(&n[1], challenge);
    peer_say(other, response, bytes); /* overheard, and played back */
    be_refused(other);

    other = be_challenged(&n[1], challenge);
    bytes = make_response(&n[1], challenge, response);
    response[bytes - 5] ^= 1; /* its last value: what it says of itself is vouched for, too */
    peer_say(other, response, bytes);
    be_refused(other);
    close(fd);

    fd = be_challenged(&n[1], challenge);
    peer_say(fd, response, make_response(&n[1], challenge, response));
    CHECK_EQ(peer_hear(fd, MESSAGE_WELCOME, welcome, sizeof welcome),
             MESSAGE_HEADER_BYTES + 4 + SECRET_PROOF_BYTES);
    struct secret_talk talk = {.our_rank = 1};
    memcpy(talk.their_nonce, challenge, sizeof talk.their_nonce);
    memcpy(talk.our_nonce, response + MESSAGE_HEADER_BYTES, sizeof talk.our_nonce);
    CHECK(secret_hear(&s, &talk, SECRET_RENDEZVOUS, NULL, 0, welcome + MESSAGE_HEADER_BYTES + 4));
    node_finish(&n[0]);
    CHECK_EQ(n[0].rc, 0);
    close(fd);
    node_leave(&n[0]);
}

/* ---- what answers in place of rank 0 ---- */

static const unsigned char zeros[SECRET_PROOF_BYTES];

static void say_challenge(int fd)
{
    struct message *m = message_new(MESSAGE_CHALLENGE);
    message_put_bytes(m, zeros, sizeof zeros);
    peer_say_message(fd, m);
}

/* Challenges, and hears the response. Returns where the member's own proof is. */
static const unsigned char *hear_response(int fd, unsigned char data[TEXT_BYTES])
{
    say_challenge(fd);
    peer_hear(fd, MESSAGE_RESPONSE, data, TEXT_BYTES);
    return data + MESSAGE_HEADER_BYTES + SECRET_NONCE_BYTES;
}

static void say_refusal(int fd, const unsigned char *proof)
{
    struct message *m = message_new(MESSAGE_REFUSED);
    message_put_u32(m, EINVAL);
    message_put_text(m, "go home");
    if (proof) message_put_bytes(m, proof, SECRET_PROOF_BYTES);
    peer_say_message(fd, m);
}

/* What would end a node's joining. */
enum { SAYINGS = 6 };

static void say(int fd, int which)
{
    static const unsigned char other_version[] = {'l', 'o', 'c', 'r', 9, 0, 8, 0, 0, 0, 0, 0};
    unsigned char data[TEXT_BYTES];
    switch (which) {
    case 0: peer_say_message(fd, peer_welcome(zeros)); break;
    case 1: peer_say_message(fd, peer_welcome(hear_response(fd, data))); break;
    case 2: say_refusal(fd, NULL); break;
    case 3: say_refusal(fd, hear_response(fd, data)); break;
    case 4: peer_say(fd, other_version, sizeof other_version); break;
    default: peer_say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    }
}

/* Somebody listens at rank 0's address before it, and proves nothing. The node says so once, tries again, and joins when rank 0 is there. */
TEST(rendezvous, rank_0_that_has_proved_nothing_ends_no_joining)
{
    unsigned char data[TEXT_BYTES];
    char text[TEXT_BYTES];
    struct secret s = secret_of("open sesame");
    for (int i = 0; i < SAYINGS; i++) {
        struct node n[2];
        struct caught c = stderr_catch();
        init_sharing(n, 2, &s);
        struct impostor impostor = impostor_meet(&n[1]);
        for (int again = 0; again < 3; again++) {
            if (again) impostor_meet_again(&impostor);
            peer_hear(impostor.fd, MESSAGE_HELLO, data, sizeof data);
            say(impostor.fd, i);
            CHECK(peer_is_cut_off(impostor.fd, 10000));
        }
        close(impostor.listener);
        node_join(&n[0]);
        node_finish(&n[1]);
        stderr_release(&c, text, sizeof text);
        nodes_check(n, 2, 0, "");
        const char *said = strstr(text, "locus: rank 1 of 2 still tries to join at 127.0.0.1:");
        CHECK(said);
        CHECK_STR(said, ": what answers there does not prove that it knows this node's secret: ");
        CHECK(!strstr(said, "\nlocus: ")); /* once */
        nodes_leave(n, 2);
    }
}

/* A node without a secret has nothing to ask a proof of. */
TEST(rendezvous, secret_that_rank_0_asks_for_is_named)
{
    unsigned char data[TEXT_BYTES];
    struct node n;
    node_init(&n, 1, 2, nodes_address());
    CLOSED_BY(impostor_close) struct impostor i = impostor_meet(&n);
    peer_hear(i.fd, MESSAGE_HELLO, data, sizeof data);
    say_challenge(i.fd);
    node_finish(&n);
    CHECK_EQ(n.rc, -EACCES);
    CHECK_STR(n.error, "rank 0, at the rendezvous 127.0.0.1:");
    CHECK_STR(n.error, "asks for the cluster's secret, which this node does not know; set");
}

/* A refusal that rank 0 has proved ends it at once. */
TEST(rendezvous, refusal_with_a_proof_is_believed)
{
    struct node n[2];
    struct secret s = secret_of("open sesame");
    init_sharing(n, 2, &s);
    n[0].config.node.shards = 2;
    n[1].config.node.shards = 4;
    n[1].config.node.join_timeout_s = 10;
    nodes_do(n, 2, node_join);
    nodes_check(n, 2, -EINVAL, "rank 1 has shards 4, rank 0 has 2");
}

TEST(rendezvous, peer_that_does_not_answer_the_challenge_is_cut_off)
{
    struct node n[2];
    struct secret s = secret_of("open sesame");
    unsigned char challenge[SECRET_NONCE_BYTES];
    init_sharing(n, 2, &s);
    node_start(&n[0], node_join);
    int fd = be_challenged(&n[1], challenge);
    CHECK(peer_is_cut_off(fd, 60000));
    node_join(&n[1]);
    node_finish(&n[0]);
    nodes_check(n, 2, 0, "");
    nodes_leave(n, 2);
}

TEST(rendezvous, without_a_secret_rank_0_stays_on_loopback)
{
    static const char *const cases[][2] = {
        {"192.0.2.1:7777",
         "192.0.2.1:7777\" is not on loopback, and the cluster has no secret: set LOCUS_SECRET"},
        {"0.0.0.0:7777",
         "or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN"},
    };
    struct node n[2];
    for (int i = 0; i < 2; i++) {
        node_init(&n[0], 0, 2, cases[i][0]);
        n[0].config.loopback_only = true;
        node_check_wrong(&n[0], -EACCES, cases[i][1]);
    }
    nodes_init(n, 2, nodes_address());
    n[0].config.loopback_only = n[1].config.loopback_only = true;
    nodes_join(n, 2);
    nodes_leave(n, 2);
}

/* The first loses its place when so many have been accepted, each a hundredth of a second after
 * the one before. */
TEST(rendezvous, flood_of_connections_to_a_running_job_is_accepted_slowly)
{
    enum { PLACES = UNAUTHENTICATED_MAX + 2, FLOOD = PLACES + 20 };
    struct node n[2];
    int fd[FLOOD];
    nodes_form(n, 2);
    uint64_t began_ns = now_ns();
    for (int i = 0; i < FLOOD; i++) fd[i] = peer_connect(n[0].config.node.rendezvous);
    CHECK(peer_is_cut_off(fd[0], 60000));
    CHECK(now_ns() - began_ns > (PLACES - 1) * SECOND / 100);
    nodes_meet(n, 2);
    for (int i = 1; i < FLOOD; i++) close(fd[i]);
    nodes_leave(n, 2);
}
