/*
 * peers.h - bare sockets that speak with a rendezvous: as somebody who comes to rank 0, or in place
 * of rank 0.
 */
#ifndef TEST_MEMBERSHIP_PEERS_H
#define TEST_MEMBERSHIP_PEERS_H

#include "cluster/message.h"
#include "cluster/nodes.h"

/* ---- bytes ---- */

/* Tries until somebody listens there. */
int peer_connect(const char *address);
void peer_say(int fd, const void *data, size_t bytes);
/* Closes it, too. Has the other side ended the connection, within the time and without a word? */
bool peer_is_cut_off(int fd, int limit_ms);

/* ---- messages ---- */

/* A whole message of a member, to be spoilt. Returns its bytes. */
size_t peer_hello(const struct rendezvous_config *, unsigned char *data, size_t capacity);
void peer_say_hello(int fd, const struct rendezvous_config *);
/* A WELCOME without its length. */
struct message *peer_welcome(const unsigned char *proof);
void peer_say_message(int fd, struct message *);
/* The next message but heartbeats, of the type that is expected, as it came. Returns its bytes. */
size_t peer_hear(int fd, enum message_type, unsigned char *data, size_t capacity);
/* The sentence of the REFUSED that rank 0 sent; closes the connection. */
void peer_read_refusal(int fd, char *sentence, size_t capacity);
/* Speaks as node `n`, and has been let in on return. */
int peer_join(const struct node *);

/* ---- in place of rank 0 ---- */

struct impostor {
    int listener, fd;
};

/* Listens at the node's address, starts it joining, and has its connection on return. */
struct impostor impostor_meet(struct node *);
/* As rank 0 of three it lets in who has said hello: so many changes, of the members, two numbers each,
 * have been. */
void impostor_let_in(const struct impostor *, const uint32_t *changes, unsigned count);
/* The same node once more, which must come. */
void impostor_meet_again(struct impostor *);
void impostor_close(const struct impostor *);

#endif
