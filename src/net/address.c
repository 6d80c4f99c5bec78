#include "net/address.h"

#include "base/error.h"
#include "base/time.h"
#include "net/forked.h"
#include "net/secret.h"
#include "locus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    PORT_BYTES = 8,
    /* connections that wait while we are still at the rendezvous; more wait with their senders */
    BACKLOG = 4096,
};
static const uint64_t SECOND_NS = 1000000000;
/* launchers publish names while nodes start already */
static const uint64_t NAME_TIMEOUT_NS = 10 * SECOND_NS;
static const uint64_t NAME_RETRY_NS = SECOND_NS / 5;
static const char *const FOR_PEERS = "the address for peers";

/* ---- in text ---- */

/* The end of the host, where ":port" or the terminating 0 begins; NULL: not of that form. Two
 * colons without brackets mean an IPv6 address without a port. */
static const char *end_of_host(const char *text)
{
    const char *end = strrchr(text, ':');
    if (*text == '[') {
        end = strchr(text, ']');
        return end && (end[1] == ':' || end[1] == '\0') ? end : NULL;
    }
    return end && end == strchr(text, ':') ? end : text + strlen(text);
}

/* false: the host is malformed. *port is -1 if the port is. */
static bool split(const char *text, char host[ADDRESS_HOST_MAX], long *port)
{
    const char *end = end_of_host(text);
    if (!end) return false;
    const char *digits = end + (*end == ']');
    digits += *digits == ':';
    text += *text == '[';
    *port = strspn(digits, "0123456789") == strlen(digits) ? strtol(digits, NULL, 10) : -1;
    if (*port > 65535) *port = -1;
    return snprintf(host, ADDRESS_HOST_MAX, "%.*s", (int)(end - text), text) < ADDRESS_HOST_MAX;
}

int address_split(const char *what, const char *text, char host[ADDRESS_HOST_MAX], unsigned *port)
{
    long number = -1;
    if (!text || !split(text, host, &number) || number < 0)
        return error_set(-EINVAL,
                         "%s \"%.200s\" is not of the form host:port, with a port up to 65535",
                         what, text ? text : "");
    *port = (unsigned)number;
    return 0;
}

bool address_has_host(const char *text)
{
    char host[ADDRESS_HOST_MAX];
    long port;
    return text && (!split(text, host, &port) || *host);
}

/* -EINVAL: malformed. -ENOENT: not known. -EAGAIN: the resolver could not be asked. */
static int look_up(const char *what, const char *text, int flags, int family, struct addrinfo **out)
{
    char host[ADDRESS_HOST_MAX], digits[PORT_BYTES];
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    unsigned port = 0;
    *out = NULL;
    int rc = address_split(what, text, host, &port);
    if (rc) return rc;
    snprintf(digits, sizeof digits, "%u", port);
    rc = getaddrinfo(*host ? host : NULL, digits, &hints, out);
    if (rc == 0) return 0;
    return error_set(rc == EAI_AGAIN ? -EAGAIN : -ENOENT, "%s \"%.200s\" is not known: %s", what,
                     text, gai_strerror(rc));
}

int address_resolve(const char *what, const char *text, int flags, int family,
                    struct addrinfo **out)
{
    return look_up(what, text, flags, family, out) ? -EINVAL : 0;
}

/* Waits for it to be known, as the header says. */
static int await_name(const char *rendezvous, int family, uint64_t deadline_ns,
                      struct addrinfo **all)
{
    const struct timespec pause = {.tv_nsec = (long)NAME_RETRY_NS};
    struct reminder waits = {.since_ns = time_now_ns()};
    for (;;) {
        int rc = look_up("the rendezvous", rendezvous, 0, family, all);
        uint64_t now_ns = time_now_ns();
        bool is_hopeless = rc == -EINVAL ||
                           (rc == -ENOENT && now_ns >= waits.since_ns + NAME_TIMEOUT_NS);
        if (rc == 0) return 0;
        if (is_hopeless || now_ns >= deadline_ns) return -EINVAL;
        unsigned seconds = reminder_due(&waits, now_ns);
        if (seconds) fprintf(stderr, "locus: after %u s %s\n", seconds, locus_error());
        nanosleep(&pause, NULL);
    }
}

static int show_host(const struct address *a, char host[ADDRESS_HOST_MAX])
{
    int rc = getnameinfo((const struct sockaddr *)&a->as, a->bytes, host, ADDRESS_HOST_MAX, NULL, 0,
                         NI_NUMERICHOST);
    return rc ? error_set(-EINVAL, "an address cannot be shown: %s", gai_strerror(rc)) : 0;
}

int address_text(const struct address *a, unsigned port, char text[ADDRESS_MAX])
{
    char host[ADDRESS_HOST_MAX];
    int rc = show_host(a, host);
    if (rc) return rc;
    const char *form = a->as.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u";
    if (snprintf(text, ADDRESS_MAX, form, host, port) < ADDRESS_MAX) return 0;
    return error_set(-EINVAL, "the address %s is too long", host);
}

/* ---- as the system has it ---- */

struct address address_from(const struct sockaddr *a)
{
    struct address to = {.bytes = a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                           : sizeof(struct sockaddr_in)};
    memcpy(&to.as, a, to.bytes);
    return to;
}

static int address_of(int fd, struct address *out)
{
    out->bytes = sizeof out->as;
    return getsockname(fd, (struct sockaddr *)&out->as, &out->bytes) ? -errno : 0;
}

/* At the same place in both families. */
unsigned address_port(const struct address *a)
{
    return ntohs(((const struct sockaddr_in *)&a->as)->sin_port);
}

void address_set_port(struct address *a, unsigned port)
{
    ((struct sockaddr_in *)&a->as)->sin_port = htons((uint16_t)port);
}

static bool is_any(const struct address *a)
{
    if (a->as.ss_family == AF_INET)
        return ((const struct sockaddr_in *)&a->as)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&a->as)->sin6_addr);
}

bool address_is_loopback(const struct sockaddr *a)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (a->sa_family != AF_INET6) return false;
    return IN6_IS_ADDR_LOOPBACK(six) ||
           (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
}

static bool is_global(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) return true;
    return a->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool address_is_own_name(const char *host, bool all_are_loopback)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    bool is_numeric = inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
    return all_are_loopback && !is_numeric && strncasecmp(host, "localhost", 9) != 0 &&
           strncmp(host, "ip6-", 4) != 0;
}

/* ---- by route ---- */

int address_not_on_loopback(const char *rendezvous)
{
    return error_set(
        -EACCES,
        "the rendezvous \"%.200s\" is not on loopback, and the cluster has no secret: " SECRET_REMEDY
        ", or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN",
        rendezvous);
}

static int no_descriptor(int rc)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    return error_set(rc, "no descriptor for a socket: raise `ulimit -n`, which is %llu",
                     (unsigned long long)limit.rlim_cur);
}

static int no_route(int rc, const char *rendezvous, int family)
{
    if (rc == -EACCES) return address_not_on_loopback(rendezvous);
    if (rc == -EMFILE || rc == -ENFILE) return no_descriptor(rc);
    if (rc == -EAFNOSUPPORT)
        return error_set(
            rc,
            "the rendezvous \"%.200s\" is an %s address, and this machine has no %s: give it as %s",
            rendezvous, family == AF_INET ? "IPv4" : "IPv6", family == AF_INET ? "IPv4" : "IPv6",
            family == AF_INET ? "IPv6, like [fd00::1]:7777" : "IPv4, like 10.0.0.1:7777");
    return error_set(
        rc,
        "no way to the rendezvous \"%.200s\": %s; connect this machine to that network, or give another "
        "address of rank 0 with LOCUS_RENDEZVOUS",
        rendezvous, locus_strerror(rc));
}

/* Connecting a datagram socket sends nothing: the kernel only looks up the route. */
static int route_to(const struct sockaddr *to, struct address *out)
{
    int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int rc = connect(fd, to, address_from(to).bytes) ? -errno : address_of(fd, out);
    close(fd);
    return rc;
}

/* Of the interface; NULL: of any that is not on loopback. 0 or -EADDRNOTAVAIL. */
static int address_of_interface(const char *name, int family, struct address *out)
{
    struct ifaddrs *all;
    int rc = -EADDRNOTAVAIL;
    if (getifaddrs(&all)) return -errno;
    for (const struct ifaddrs *i = all; i && rc; i = i->ifa_next) {
        if (!i->ifa_addr || !is_global(i->ifa_addr)) continue;
        if (name ? strcmp(i->ifa_name, name) != 0 : address_is_loopback(i->ifa_addr)) continue;
        if (family != AF_UNSPEC && i->ifa_addr->sa_family != family) continue;
        *out = address_from(i->ifa_addr);
        rc = 0;
    }
    freeifaddrs(all);
    return rc;
}

/* The address from which this machine reaches others: that of the default route, or else any that
 * is not on loopback. Nothing is sent to find it. */
static int route_outside(struct address *out)
{
    struct sockaddr_in somewhere = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, "192.0.2.1", &somewhere.sin_addr); /* RFC 5737: nobody has it */
    if (route_to((const struct sockaddr *)&somewhere, out) == 0 &&
        !address_is_loopback((const struct sockaddr *)&out->as))
        return 0;
    return address_of_interface(NULL, AF_UNSPEC, out) ? -ENETUNREACH : 0;
}

static bool is_own_name(const char *rendezvous, const struct addrinfo *all)
{
    char host[ADDRESS_HOST_MAX];
    bool are_loopback = true;
    long port;
    for (; all; all = all->ai_next) are_loopback &= address_is_loopback(all->ai_addr);
    return split(rendezvous, host, &port) && address_is_own_name(host, are_loopback);
}

int address_route(const char *rendezvous, int family, bool loopback_only, uint64_t deadline_ns,
                  struct address *out)
{
    struct addrinfo *all;
    int rc = await_name(rendezvous, family, deadline_ns, &all);
    if (rc) return rc;
    rc = !loopback_only && is_own_name(rendezvous, all) ? route_outside(out) : -EACCES;
    for (struct addrinfo *a = all; a && rc; a = a->ai_next) {
        if (loopback_only && !address_is_loopback(a->ai_addr)) continue;
        rc = route_to(a->ai_addr, out);
        family = a->ai_family;
    }
    freeaddrinfo(all);
    if (rc) return no_route(rc, rendezvous, family);
    address_set_port(out, 0);
    return 0;
}

/* ---- listening ---- */

/* "lo, eth0" */
static const char *list_interfaces(char list[128])
{
    struct if_nameindex *all = if_nameindex();
    size_t length = 0, bytes = 128;
    *list = '\0';
    for (const struct if_nameindex *i = all; i && i->if_index && length < bytes; i++)
        length +=
            (size_t)snprintf(list + length, bytes - length, "%s%s", length ? ", " : "", i->if_name);
    if (all) if_freenameindex(all);
    return list;
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
        return error_set(
            rc,
            "the address for peers \"%.200s\" belongs to no interface of this machine: set LOCUS_LISTEN to "
            "one that does, or to an interface (%s)",
            where, list_interfaces(interfaces));
    case -EACCES:
        return error_set(
            rc, "the port of the address for peers \"%.200s\" is reserved: use one above 1023",
            where);
    case -EMFILE:
    case -ENFILE: return no_descriptor(rc);
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

int address_bind(const struct address *a, int *out)
{
    int on = 1, fd = socket(a->as.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&a->as, a->bytes) || listen(fd, BACKLOG)) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    forked_register(fd);
    *out = fd;
    return 0;
}

static int listen_at_name(const char *where, int *listener)
{
    char interfaces[128];
    struct addrinfo *all;
    int rc = address_resolve(FOR_PEERS, where, AI_PASSIVE, AF_UNSPEC, &all);
    if (rc)
        return error_set(rc,
                         "%s; set LOCUS_LISTEN to an address of this machine or an interface (%s)",
                         locus_error(), list_interfaces(interfaces));
    rc = -EADDRNOTAVAIL;
    for (struct addrinfo *a = all; a && rc; a = a->ai_next) {
        const struct address at = address_from(a->ai_addr);
        rc = address_bind(&at, listener);
    }
    freeaddrinfo(all);
    return rc ? cannot_listen(rc, where) : 0;
}

/* An address of the family in which the nodes speak with the rendezvous, if it has one. */
static int find_interface(const struct address_place *p, const char *name, struct address *own)
{
    struct address route = {.bytes = 0};
    int family = AF_UNSPEC;
    if (p->rendezvous && address_route(p->rendezvous, family, false, p->deadline_ns, &route) == 0)
        family = route.as.ss_family;
    int rc = address_of_interface(name, family, own);
    if (rc == -EADDRNOTAVAIL) rc = address_of_interface(name, AF_UNSPEC, own);
    if (rc == -EADDRNOTAVAIL)
        return error_set(rc, "the interface \"%.64s\" has no address: give it one, or name another",
                         name);
    return rc ? error_set(rc, "the interfaces cannot be listed: %s", locus_strerror(rc)) : 0;
}

static int listen_there(const struct address_place *p, int *listener)
{
    char host[ADDRESS_HOST_MAX] = "";
    unsigned port = 0;
    struct address own;
    int rc = p->listen ? address_split(FOR_PEERS, p->listen, host, &port) : 0;
    if (rc) return rc;
    if (*host && !if_nametoindex(host)) return listen_at_name(p->listen, listener);
    rc = *host ? find_interface(p, host, &own)
               : address_route(p->rendezvous, AF_UNSPEC, p->loopback_only, p->deadline_ns, &own);
    if (rc) return rc;
    address_set_port(&own, port);
    rc = address_bind(&own, listener);
    return rc ? cannot_listen(rc, *host || port ? p->listen : "by route to the rendezvous") : 0;
}

static int tell_address(const struct address_place *p, int listener, char address[ADDRESS_MAX])
{
    struct address own;
    int rc = address_of(listener, &own);
    if (rc) return error_set(rc, "a listening socket without an address: %s", locus_strerror(rc));
    unsigned port = address_port(&own);
    /* IPv6 for all interfaces includes IPv4 */
    int family = own.as.ss_family == AF_INET ? AF_INET : AF_UNSPEC;
    if (is_any(&own)) rc = address_route(p->rendezvous, family, false, p->deadline_ns, &own);
    return rc ? rc : address_text(&own, port, address);
}

int address_listen(const struct address_place *p, int *listener, char address[ADDRESS_MAX])
{
    *listener = -1;
    *address = '\0';
    int rc = listen_there(p, listener);
    if (!rc) rc = tell_address(p, *listener, address);
    if (rc && *listener >= 0) {
        forked_end(*listener);
        *listener = -1;
    }
    return rc;
}

/* ---- of a rendezvous ---- */

static int not_an_address(const char *text, const char *why)
{
    return error_set(-EINVAL, "the rendezvous \"%.200s\" %s", text, why);
}

int rendezvous_address_parse(struct rendezvous_address *a, const char *text)
{
    long port;
    *a = (struct rendezvous_address){.urls = 0};
    if (!text)
        return error_set(-EINVAL,
                         "the rendezvous is not given: it must be \"host:port\" of rank 0");
    const char *colon = strrchr(text, ':');
    if (!colon) return not_an_address(text, "has no port: write host:port");
    if (*text != '[' && colon != strchr(text, ':'))
        return not_an_address(text,
                              "is ambiguous: write an IPv6 address in brackets, like [::1]:7777");
    if (!split(text, a->host, &port) || !*a->host)
        return not_an_address(text, "has no host: write host:port");
    if (port < 1) return not_an_address(text, "has no port from 1 to 65535: write host:port");
    a->port = (unsigned)port;
    snprintf(a->shown, sizeof a->shown, "%s", text);
    return 0;
}

static void insert(struct rendezvous_address *a, unsigned at, const struct sockaddr *found)
{
    char host[ADDRESS_HOST_MAX], text[ADDRESS_MAX];
    const struct address own = address_from(found);
    if (show_host(&own, host) || address_text(&own, a->port, text)) return;
    if (a->urls == RENDEZVOUS_URLS_MAX) a->urls--;
    memmove(a->url[at + 1], a->url[at], (a->urls - at) * sizeof *a->url);
    memmove(a->is_loopback + at + 1, a->is_loopback + at, (a->urls - at) * sizeof *a->is_loopback);
    snprintf(a->url[at], sizeof *a->url, "tcp://%s", text);
    a->is_loopback[at] = address_is_loopback(found);
    a->urls++;
    if (at > 0 || strcmp(host, a->host) == 0) return;
    size_t length = strcspn(a->shown, " ");
    snprintf(a->shown + length, sizeof a->shown - length, " (%s)", host);
}

int rendezvous_address_resolve(struct rendezvous_address *a, uint64_t deadline_ns)
{
    struct addrinfo *all;
    int rc = await_name(a->shown, AF_UNSPEC, deadline_ns, &all);
    if (rc) return rc;
    for (struct addrinfo *i = all; i && a->urls < RENDEZVOUS_URLS_MAX; i = i->ai_next)
        insert(a, a->urls, i->ai_addr);
    freeaddrinfo(all);
    return a->urls ? 0 : not_an_address(a->shown, "has no address of IPv4 or IPv6");
}

void rendezvous_address_prefer(struct rendezvous_address *a, const char *data_address)
{
    struct addrinfo *own;
    bool are_loopback = a->urls > 0;
    for (unsigned i = 0; i < a->urls; i++) are_loopback &= a->is_loopback[i];
    if (!address_is_own_name(a->host, are_loopback) ||
        address_resolve("the address", data_address, AI_NUMERICHOST, AF_UNSPEC, &own))
        return;
    if (!address_is_loopback(own->ai_addr)) insert(a, 0, own->ai_addr);
    freeaddrinfo(own);
}
