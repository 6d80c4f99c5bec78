/*
 * mesh_address.h - "host:port" in text, as the system has it, by route and by interface.
 *
 * Memory    the caller's; lists of the resolver are freed with freeaddrinfo()
 * Waiting   for the resolver, if the host is a name. mesh_address_await and _route also wait for
 *           a name to become known
 * Life      none
 */
#ifndef LOCUS_NET_MESH_ADDRESS_H
#define LOCUS_NET_MESH_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { MESH_ADDRESS_MAX = 64 }; /* "host:port", with its 0 */

struct mesh_address {
    struct sockaddr_storage as;
    socklen_t bytes;
};

/* Parses "host:port", "host", ":port" or ":" (any host). The host is a name, IPv4, or IPv6, in
 * brackets if a port follows. `what` is its name in the sentence. `flags` and `family` are those of
 * getaddrinfo(). Returns 0, or -EINVAL with the sentence. */
int mesh_address_resolve(const char *what, const char *text, int flags, int family,
                         struct addrinfo **out);

/* Does it have a host, or only a port? */
bool mesh_address_has_host(const char *text);
/* Its port; 0 if there is none. Returns 0, or -EINVAL with the sentence. */
int mesh_address_port_of(const char *what, const char *text, unsigned *port);

/* Is it this machine's own name, which its list of hosts maps to loopback (Debian: 127.0.1.1),
 * while others know it elsewhere? */
bool mesh_address_is_own_name(const char *host, bool all_are_loopback);
/* The addresses of `rendezvous`. An unknown name is looked up again for 10 s; if the resolver does
 * not answer, until the deadline, with a line on stderr every 10 s. 0, or -EINVAL with the
 * sentence. */
int mesh_address_await(const char *rendezvous, int family, uint64_t deadline_ns,
                       struct addrinfo **all);
/* The address from which this machine sends to `rendezvous`, with port 0. If `rendezvous` is the
 * machine's own name, on loopback for itself, it is the address from which the machine reaches
 * others. It is looked up as above. `loopback_only`: only addresses of the rendezvous on loopback
 * count. Returns 0, or a negative errno with the sentence: -EACCES if there are only others. */
int mesh_address_route(const char *rendezvous, int family, bool loopback_only, uint64_t deadline_ns,
                       struct mesh_address *out);

/* If the host is the name of an interface: the interface's address, of `family` if it has one
 * (AF_UNSPEC: any), with the port of the text. Returns 0; -ENOENT: there is no such interface; or
 * another negative errno with the sentence. */
int mesh_address_of_interface(const char *text, int family, struct mesh_address *out);
/* "lo, eth0" */
void mesh_address_list_interfaces(char *list, size_t bytes);

/* The sentence for -EMFILE and -ENFILE. Returns rc. */
int mesh_address_no_descriptor(int rc);

/* The address of a bound socket. */
int mesh_address_of(int fd, struct mesh_address *out);

bool mesh_address_is_any(const struct mesh_address *);
bool mesh_address_is_loopback(const struct sockaddr *);
unsigned mesh_address_port(const struct mesh_address *);
void mesh_address_set_port(struct mesh_address *, unsigned port);
/* "host:port", the host numeric. 0 or -EINVAL with the sentence. */
int mesh_address_text(const struct mesh_address *, unsigned port, char text[MESH_ADDRESS_MAX]);

#endif
