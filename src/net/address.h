/*
 * address.h - "host:port": in text, as the system has it, by route and by interface; where a node
 * listens for its peers, and what it tells them.
 *
 * Callers   any thread
 * Memory    the caller's; lists of the resolver are freed with freeaddrinfo()
 * Waiting   for the resolver, if the host is a name; where a deadline is given, until the name is
 *           known: an unknown name is looked up again for 10 s, and if the resolver does not answer
 *           until the deadline, with a line on stderr every 10 s
 * Life      none; a listening socket is the caller's
 */
#ifndef LOCUS_NET_ADDRESS_H
#define LOCUS_NET_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    ADDRESS_MAX = 64, /* a numeric "host:port", with its 0 */
    ADDRESS_HOST_MAX = 256,
    RENDEZVOUS_URLS_MAX = 8,
    RENDEZVOUS_SHOWN_MAX = 320,
};

struct address {
    struct sockaddr_storage as;
    socklen_t bytes;
};

/* ---- in text ---- */

/* Parses "host:port", "host", ":port" or ":" (any host), or one without a port (0). The host is a
 * name, IPv4, or IPv6, in brackets if a port follows. `what` is its name in the sentence. 0, or
 * -EINVAL with the sentence. */
int address_split(const char *what, const char *text, char host[ADDRESS_HOST_MAX], unsigned *port);
/* The same, looked up. `flags` and `family` are those of getaddrinfo(). */
int address_resolve(const char *what, const char *text, int flags, int family,
                    struct addrinfo **out);
/* Does it have a host, or only a port? NULL has none. */
bool address_has_host(const char *text);
/* Is it this machine's own name, which its list of hosts maps to loopback (Debian: 127.0.1.1),
 * while others know it elsewhere? */
bool address_is_own_name(const char *host, bool all_are_loopback);
/* "host:port", the host numeric. 0 or -EINVAL with the sentence. */
int address_text(const struct address *, unsigned port, char text[ADDRESS_MAX]);

/* ---- as the system has it ---- */

struct address address_from(const struct sockaddr *); /* of IPv4 or IPv6 */
bool address_is_loopback(const struct sockaddr *);
unsigned address_port(const struct address *);
void address_set_port(struct address *, unsigned port);

/* The address from which this machine sends to `rendezvous`, or others, if that is its own name, on
 * loopback for itself; with port 0. `loopback_only`: only addresses of the rendezvous on loopback
 * count. 0, or a negative errno with the sentence: -EACCES if there are only others. */
int address_route(const char *rendezvous, int family, bool loopback_only, uint64_t deadline_ns,
                  struct address *out);
int address_not_on_loopback(const char *rendezvous); /* that sentence */

/* ---- listening ---- */

/* A socket that listens there, does not block, and is closed in children (forked.h). 0 or -errno.
 */
int address_bind(const struct address *, int *fd);

struct address_place {
    /* "host:port", "host" or ":port", where the host may also be an interface ("eth0"); port 0 or
     * no port means any. NULL, "" or only a port: the host is the address from which this machine
     * reaches `rendezvous`: loopback, if the rendezvous is there */
    const char *listen, *rendezvous;
    bool loopback_only;   /* and nowhere else, unless `listen` has a host: there is no secret */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};
/* Listens for peers. `address` is what to tell them; if `listen` means all interfaces, its host is
 * by route, too. 0, or a negative errno with the sentence. */
int address_listen(const struct address_place *, int *listener, char address[ADDRESS_MAX]);

/* ---- of a rendezvous ---- */

struct rendezvous_address {
    char host[ADDRESS_HOST_MAX];
    unsigned port;
    /* as written; for a name, after resolving, followed by its address */
    char shown[RENDEZVOUS_SHOWN_MAX];
    unsigned urls;
    char url[RENDEZVOUS_URLS_MAX][80]; /* "tcp://127.0.0.1:7777": all addresses of the name */
    bool is_loopback[RENDEZVOUS_URLS_MAX];
};

/* Parses "host:port" or "[IPv6]:port". 0 or -EINVAL with the sentence, as all of these. */
int rendezvous_address_parse(struct rendezvous_address *, const char *text);
/* Fills in the addresses, once. */
int rendezvous_address_resolve(struct rendezvous_address *, uint64_t deadline_ns);
/* If the host is this machine's own name, on loopback, others reach it at the address of the data
 * port: unless that is on loopback, too, it comes first, to listen at and to connect to. */
void rendezvous_address_prefer(struct rendezvous_address *, const char *data_address);

#endif
