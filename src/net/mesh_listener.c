#include "net/mesh_listener.h"

#include "base/error.h"
#include "net/forked.h"
#include "net/mesh_address.h"
#include "locus.h"

#include <errno.h>
#include <unistd.h>

/* connections that wait while we are still at the rendezvous; more wait with their senders */
enum { BACKLOG = 4096 };

static int bind_and_listen(const struct sockaddr *at, socklen_t bytes, int *listener)
{
    int on = 1;
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, at, bytes) || listen(fd, BACKLOG)) {
        int rc = -errno;
        forked_end(fd);
        return rc;
    }
    forked_register(fd);
    *listener = fd;
    return 0;
}

static int cannot_listen(int rc, const char *where)
{
    char interfaces[128];
    switch (rc) {
    case -EADDRINUSE:
        return error_set(
            rc,
            "the port of the address for peers \"%.200s\" is taken: choose another with LOCUS_LISTEN",
            where);
    case -EADDRNOTAVAIL:
        mesh_address_list_interfaces(interfaces, sizeof interfaces);
        return error_set(
            rc,
            "the address for peers \"%.200s\" belongs to no interface of this machine: set LOCUS_LISTEN to "
            "one that does, or to an interface (%s)",
            where, interfaces);
    case -EACCES:
        return error_set(
            rc, "the port of the address for peers \"%.200s\" is reserved: use one above 1023",
            where);
    case -EMFILE:
    case -ENFILE: return mesh_address_no_descriptor(rc);
    case -EAFNOSUPPORT:
        return error_set(
            rc,
            "the address for peers \"%.200s\" is of a family that this machine does not have: %s",
            where, "give an IPv4 address instead of IPv6, or the other way round");
    default:
        return error_set(rc, "cannot listen for peers at \"%.200s\": %s", where,
                         locus_strerror(rc));
    }
}

/* The name of an address or an interface. */
static int listen_at_name(const char *where, int *listener)
{
    char interfaces[128];
    struct addrinfo *all;
    int rc = mesh_address_resolve("the address for peers", where, AI_PASSIVE, AF_UNSPEC, &all);
    if (rc) {
        mesh_address_list_interfaces(interfaces, sizeof interfaces);
        return error_set(rc,
                         "%s; set LOCUS_LISTEN to an address of this machine or an interface (%s)",
                         locus_error(), interfaces);
    }
    rc = -EADDRNOTAVAIL;
    for (struct addrinfo *a = all; a && rc; a = a->ai_next)
        rc = bind_and_listen(a->ai_addr, a->ai_addrlen, listener);
    freeaddrinfo(all);
    return rc ? cannot_listen(rc, where) : 0;
}

static int listen_at_interface(const struct mesh_place *p, int *listener)
{
    struct mesh_address own;
    int rc = mesh_address_of_interface(p->listen, AF_UNSPEC, &own);
    if (rc) return rc;
    /* One of the family in which the nodes speak with the rendezvous, if it has one. */
    if (p->rendezvous &&
        mesh_address_route(p->rendezvous, AF_UNSPEC, false, p->deadline_ns, &own) == 0)
        rc = mesh_address_of_interface(p->listen, own.as.ss_family, &own);
    if (!rc) rc = bind_and_listen((const struct sockaddr *)&own.as, own.bytes, listener);
    return rc ? cannot_listen(rc, p->listen) : 0;
}

static int listen_at(const struct mesh_place *p, int *listener)
{
    int rc = listen_at_interface(p, listener);
    return rc == -ENOENT ? listen_at_name(p->listen, listener) : rc;
}

static int listen_by_route(const struct mesh_place *p, int *listener)
{
    struct mesh_address own;
    unsigned port = 0;
    int rc = p->listen && *p->listen
                 ? mesh_address_port_of("the address for peers", p->listen, &port)
                 : 0;
    if (!rc)
        rc = mesh_address_route(p->rendezvous, AF_UNSPEC, p->loopback_only, p->deadline_ns, &own);
    if (rc) return rc;
    mesh_address_set_port(&own, port);
    rc = bind_and_listen((const struct sockaddr *)&own.as, own.bytes, listener);
    return rc ? cannot_listen(rc, port ? p->listen : "by route to the rendezvous") : 0;
}

static int tell_address(const struct mesh_place *p, int listener, char address[MESH_ADDRESS_MAX])
{
    struct mesh_address own;
    int rc = mesh_address_of(listener, &own);
    if (rc) return error_set(rc, "a listening socket without an address: %s", locus_strerror(rc));
    unsigned port = mesh_address_port(&own);
    /* IPv6 for all interfaces includes IPv4 */
    int family = own.as.ss_family == AF_INET ? AF_INET : AF_UNSPEC;
    if (mesh_address_is_any(&own))
        rc = mesh_address_route(p->rendezvous, family, false, p->deadline_ns, &own);
    return rc ? rc : mesh_address_text(&own, port, address);
}

bool mesh_is_told_where(const char *listen)
{
    return listen && mesh_address_has_host(listen);
}

int mesh_listen(const struct mesh_place *p, int *listener, char address[MESH_ADDRESS_MAX])
{
    *listener = -1;
    *address = '\0';
    int rc = mesh_is_told_where(p->listen) ? listen_at(p, listener) : listen_by_route(p, listener);
    if (!rc) rc = tell_address(p, *listener, address);
    if (rc && *listener >= 0) {
        close(*listener);
        *listener = -1;
    }
    return rc;
}
