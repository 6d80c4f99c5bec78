/*
 * mesh_address.h - "host:port" in text, as the system has it, by route and by interface.
 *
 * Callers   mesh.c, mesh_listener.c, address.c
 * Memory    the caller's; lists of the resolver are freed with freeaddrinfo()
 * Waiting   for the resolver, when the host is a name. mesh_address_route: for a name that is not
 *           known, too
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

/* "host:port", "host", ":port" or ":" (any host); the host a name, IPv4, or IPv6, in brackets when
 * a port follows. `what` is how the sentence calls it. `flags` and `family` as for getaddrinfo(). 0
 * or -EINVAL with the sentence. */
int mesh_address_resolve(const char *what, const char *text, int flags, int family,
                         struct addrinfo **out);

/* Has it a host, or a port only? */
bool mesh_address_has_host(const char *text);
/* Its port, 0 when there is none. 0 or -EINVAL with the sentence. */
int mesh_address_port_of(const char *what, const char *text, unsigned *port);

/* Is it this machine's name for itself, which its own list of hosts has on loopback (Debian's:
 * 127.0.1.1), and others elsewhere? */
bool mesh_address_is_own_name(const char *host, bool all_are_loopback);
/* The address by which this machine sends to `rendezvous`, with port 0; if that is the machine's
 * own name, on loopback for itself, the one by which it reaches others. A name that is not known is
 * looked up again for 10 s; while the resolver itself does not answer, to the deadline.
 * `loopback_only`: other addresses of the rendezvous do not count. 0, or a negative errno with the
 * sentence: -EACCES when it has only such. */
int mesh_address_route(const char *rendezvous, int family, bool loopback_only, uint64_t deadline_ns,
                       struct mesh_address *out);

/* If the host is an interface's name: its address, of `family` if it has one (AF_UNSPEC: any), with
 * the port of the text. 0; -ENOENT: there is no such interface; or another negative errno with the
 * sentence. */
int mesh_address_of_interface(const char *text, int family, struct mesh_address *out);
/* "lo, eth0" */
void mesh_address_list_interfaces(char *list, size_t bytes);

/* The sentence for -EMFILE and -ENFILE. Returns rc. */
int mesh_address_no_descriptor(int rc);

/* A bound socket's own. */
int mesh_address_of(int fd, struct mesh_address *out);

bool mesh_address_is_any(const struct mesh_address *);
bool mesh_address_is_loopback(const struct sockaddr *);
unsigned mesh_address_port(const struct mesh_address *);
void mesh_address_set_port(struct mesh_address *, unsigned port);
/* "host:port", the host numeric. 0 or -EINVAL with the sentence. */
int mesh_address_text(const struct mesh_address *, unsigned port, char text[MESH_ADDRESS_MAX]);

#endif
