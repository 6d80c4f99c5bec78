/*
 * port.h - a port of loopback for rank 0's rendezvous, that nobody else is given as long as we hold
 * it.
 *
 * The kernel lets two sockets have one address when both have set SO_REUSEADDR and none listens.
 * The launcher holds such a socket and never listens; rank 0's rendezvous sets the option, too, and
 * can listen there, and again after a restart. Meanwhile the kernel deals the port out to nobody:
 * neither to another launcher that asks for any port, nor to a connecting socket. So launches at
 * the same time cannot collide, and no attempt is ever repeated.
 *
 * Memory    one descriptor
 * Waiting   port_has_formed alone, for an answer at most PORT_ANSWER_US
 * Life      port_hold, port_release
 */
#ifndef LOCUS_RUN_PORT_H
#define LOCUS_RUN_PORT_H

enum { PORT_ADDRESS_BYTES = 32, PORT_ANSWER_US = 200000 };

struct port {
    int fd;
    char address[PORT_ADDRESS_BYTES]; /* "127.0.0.1:40000"; "[::1]:40000" where there is no IPv4 */
};

/* `number` 0: any. 0, or STATUS_FAILED with a sentence. */
int port_hold(struct port *, unsigned number);
/* 1: all nodes have joined there, or it cannot be asked: rank 0 has no secret, or speaks another
 * version, or it is no rendezvous; 0: not yet all; -1: nobody answers. */
int port_has_formed(const struct port *, unsigned nodes);
void port_release(struct port *);

#endif
