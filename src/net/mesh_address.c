#include "net/mesh_address.h"

#include "base/error.h"
#include "base/time.h"
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

enum { HOST_BYTES = 256, PORT_BYTES = 16 };
static const uint64_t SECOND_NS = 1000000000;
/* launchers publish names while nodes start already */
static const uint64_t NAME_TIMEOUT_NS = 10 * SECOND_NS;
static const uint64_t NAME_RETRY_NS = SECOND_NS / 5;

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

static bool split(const char *text, char host[HOST_BYTES], char port[PORT_BYTES])
{
    const char *end = end_of_host(text);
    if (!end) return false;
    const char *rest = end + (*end == ']');
    text += *text == '[';
    int host_bytes = snprintf(host, HOST_BYTES, "%.*s", (int)(end - text), text);
    int port_bytes = snprintf(port, PORT_BYTES, "%s", *rest && rest[1] ? rest + 1 : "0");
    return host_bytes < HOST_BYTES && port_bytes < PORT_BYTES;
}

static int is_malformed(const char *what, const char *text)
{
    return error_set(-EINVAL, "%s \"%.200s\" is not of the form host:port, with a port up to 65535",
                     what, text ? text : "");
}

bool mesh_address_has_host(const char *text)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    return !split(text, host, port) || *host;
}

int mesh_address_port_of(const char *what, const char *text, unsigned *port)
{
    char host[HOST_BYTES], number[PORT_BYTES], *end = number;
    long value = split(text, host, number) ? strtol(number, &end, 10) : -1;
    if (value < 0 || value > 65535 || *end) return is_malformed(what, text);
    *port = (unsigned)value;
    return 0;
}

/* -EINVAL: malformed. -ENOENT: not known. -EAGAIN: the resolver could not be asked. */
static int look_up(const char *what, const char *text, int flags, int family, struct addrinfo **out)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    unsigned number = 0;
    *out = NULL;
    if (!text || mesh_address_port_of(what, text, &number) || !split(text, host, port))
        return is_malformed(what, text);
    int rc = getaddrinfo(*host ? host : NULL, port, &hints, out);
    if (rc == 0) return 0;
    return error_set(rc == EAI_AGAIN ? -EAGAIN : -ENOENT, "%s \"%.200s\" is not known: %s", what,
                     text, gai_strerror(rc));
}

int mesh_address_resolve(const char *what, const char *text, int flags, int family,
                         struct addrinfo **out)
{
    return look_up(what, text, flags, family, out) ? -EINVAL : 0;
}

int mesh_address_of(int fd, struct mesh_address *out)
{
    out->bytes = sizeof out->as;
    return getsockname(fd, (struct sockaddr *)&out->as, &out->bytes) ? -errno : 0;
}

/* Connecting a datagram socket sends nothing: the kernel only looks up the route. */
static int route_to(const struct addrinfo *to, struct mesh_address *out)
{
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    int rc = connect(fd, to->ai_addr, to->ai_addrlen) ? -errno : mesh_address_of(fd, out);
    close(fd);
    return rc;
}

void mesh_address_set_port(struct mesh_address *a, unsigned port)
{
    /* At the same place in both families. */
    ((struct sockaddr_in *)&a->as)->sin_port = htons((uint16_t)port);
}

int mesh_address_await(const char *rendezvous, int family, uint64_t deadline_ns,
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

int mesh_address_no_descriptor(int rc)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    return error_set(rc, "no descriptor for a socket: raise `ulimit -n`, which is %llu",
                     (unsigned long long)limit.rlim_cur);
}

static int no_route(int rc, const char *rendezvous, int family)
{
    if (rc == -EACCES)
        return error_set(
            rc,
            "the rendezvous \"%.200s\" is not on loopback, and the cluster has no secret: " SECRET_REMEDY
            ", or, where the whole network is trusted, name the address to listen at with LOCUS_LISTEN",
            rendezvous);
    if (rc == -EMFILE || rc == -ENFILE) return mesh_address_no_descriptor(rc);
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

static bool is_global(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) return true;
    return a->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static bool is_numeric(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

bool mesh_address_is_own_name(const char *host, bool all_are_loopback)
{
    return all_are_loopback && !is_numeric(host) && strncasecmp(host, "localhost", 9) != 0 &&
           strncmp(host, "ip6-", 4) != 0;
}

static bool is_own_name(const char *rendezvous, const struct addrinfo *all)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    bool are_loopback = true;
    for (; all; all = all->ai_next) are_loopback &= mesh_address_is_loopback(all->ai_addr);
    return split(rendezvous, host, port) && mesh_address_is_own_name(host, are_loopback);
}

/* The address from which this machine reaches others: that of the default route, or else any that
 * is not on loopback. Nothing is sent to find it. */
static int route_outside(struct mesh_address *out)
{
    struct sockaddr_in somewhere = {.sin_family = AF_INET, .sin_port = htons(9)};
    const struct addrinfo a = {.ai_family = AF_INET,
                               .ai_addr = (struct sockaddr *)&somewhere,
                               .ai_addrlen = sizeof somewhere};
    struct ifaddrs *all;
    int rc = -ENETUNREACH;
    inet_pton(AF_INET, "192.0.2.1", &somewhere.sin_addr); /* RFC 5737: nobody has it */
    if (route_to(&a, out) == 0 && !mesh_address_is_loopback((struct sockaddr *)&out->as)) return 0;
    if (getifaddrs(&all)) return -errno;
    for (const struct ifaddrs *i = all; i && rc; i = i->ifa_next) {
        if (!i->ifa_addr || !is_global(i->ifa_addr) || mesh_address_is_loopback(i->ifa_addr))
            continue;
        out->bytes = i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                       : sizeof(struct sockaddr_in6);
        memcpy(&out->as, i->ifa_addr, out->bytes);
        rc = 0;
    }
    freeifaddrs(all);
    return rc;
}

int mesh_address_route(const char *rendezvous, int family, bool loopback_only, uint64_t deadline_ns,
                       struct mesh_address *out)
{
    struct addrinfo *all;
    int rc = mesh_address_await(rendezvous, family, deadline_ns, &all);
    if (rc) return rc;
    rc = !loopback_only && is_own_name(rendezvous, all) ? route_outside(out) : -EACCES;
    for (struct addrinfo *a = all; a && rc; a = a->ai_next) {
        if (loopback_only && !mesh_address_is_loopback(a->ai_addr)) continue;
        rc = route_to(a, out);
        family = a->ai_family;
    }
    freeaddrinfo(all);
    if (rc) return no_route(rc, rendezvous, family);
    mesh_address_set_port(out, 0);
    return 0;
}

/* ---- interfaces ---- */

static const struct ifaddrs *find_address(const struct ifaddrs *all, const char *name, int family)
{
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || strcmp(i->ifa_name, name) != 0 || !is_global(i->ifa_addr)) continue;
        if (family == AF_UNSPEC || i->ifa_addr->sa_family == family) return i;
    }
    return NULL;
}

int mesh_address_of_interface(const char *text, int family, struct mesh_address *out)
{
    char host[HOST_BYTES], port[PORT_BYTES];
    struct ifaddrs *all;
    unsigned number = 0;
    if (!split(text, host, port) || !*host || if_nametoindex(host) == 0) return -ENOENT;
    int rc = mesh_address_port_of("the address for peers", text, &number);
    if (rc) return rc;
    if (getifaddrs(&all))
        return error_set(-errno, "the interfaces cannot be listed: %s", locus_strerror(-errno));
    const struct ifaddrs *found = find_address(all, host, family);
    if (!found) found = find_address(all, host, AF_UNSPEC);
    if (found) {
        out->bytes = found->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                           : sizeof(struct sockaddr_in6);
        memcpy(&out->as, found->ifa_addr, out->bytes);
        mesh_address_set_port(out, number);
    }
    freeifaddrs(all);
    return found ? 0
                 : error_set(-EADDRNOTAVAIL,
                             "the interface \"%.64s\" has no address: give it one, or name another",
                             host);
}

void mesh_address_list_interfaces(char *list, size_t bytes)
{
    struct if_nameindex *all = if_nameindex();
    size_t length = 0;
    *list = '\0';
    for (const struct if_nameindex *i = all; i && i->if_index && length < bytes; i++)
        length +=
            (size_t)snprintf(list + length, bytes - length, "%s%s", length ? ", " : "", i->if_name);
    if (all) if_freenameindex(all);
}

/* ---- what an address is ---- */

bool mesh_address_is_any(const struct mesh_address *a)
{
    if (a->as.ss_family == AF_INET)
        return ((const struct sockaddr_in *)&a->as)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&a->as)->sin6_addr);
}

bool mesh_address_is_loopback(const struct sockaddr *a)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (a->sa_family != AF_INET6) return false;
    return IN6_IS_ADDR_LOOPBACK(six) ||
           (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
}

unsigned mesh_address_port(const struct mesh_address *a)
{
    return ntohs(((const struct sockaddr_in *)&a->as)->sin_port);
}

int mesh_address_text(const struct mesh_address *a, unsigned port, char text[MESH_ADDRESS_MAX])
{
    char host[HOST_BYTES];
    int rc = getnameinfo((const struct sockaddr *)&a->as, a->bytes, host, sizeof host, NULL, 0,
                         NI_NUMERICHOST);
    if (rc) return error_set(-EINVAL, "an address cannot be shown: %s", gai_strerror(rc));
    int n = snprintf(text, MESH_ADDRESS_MAX, a->as.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
                     host, port);
    return n < MESH_ADDRESS_MAX ? 0 : error_set(-EINVAL, "the address %s is too long", host);
}
