#include "cluster/address.h"

#include "base/error.h"
#include "net/mesh_address.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int not_an_address(const char *text, const char *why)
{
    return error_set(-EINVAL, "the rendezvous \"%.200s\" %s", text, why);
}

static int copy_port(struct rendezvous_address *a, const char *text, const char *port)
{
    char *end;
    long number = strtol(port, &end, 10);
    if (*port < '0' || *port > '9' || *end || number < 1 || number > 65535)
        return not_an_address(text, "has no port from 1 to 65535: write host:port");
    snprintf(a->port, sizeof a->port, "%ld", number);
    return 0;
}

int rendezvous_address_parse(struct rendezvous_address *a, const char *text)
{
    *a = (struct rendezvous_address){0};
    if (!text)
        return error_set(-EINVAL,
                         "the rendezvous is not given: it must be \"host:port\" of rank 0");
    const char *colon = strrchr(text, ':'), *host = text, *end = colon;
    if (!colon) return not_an_address(text, "has no port: write host:port");
    if (*text == '[') {
        host = text + 1;
        end = colon > host && colon[-1] == ']' ? colon - 1 : host;
    } else if (memchr(text, ':', (size_t)(colon - text))) {
        return not_an_address(text,
                              "is ambiguous: write an IPv6 address in brackets, like [::1]:7777");
    }
    size_t length = (size_t)(end - host);
    if (length == 0 || length >= sizeof a->host)
        return not_an_address(text, "has no host: write host:port");
    memcpy(a->host, host, length);
    snprintf(a->shown, sizeof a->shown, "%s", text);
    return copy_port(a, text, colon + 1);
}

static void add_url(struct rendezvous_address *a, const struct addrinfo *found)
{
    char host[64];
    if (found->ai_family != AF_INET && found->ai_family != AF_INET6) return;
    if (getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST))
        return;
    const char *form = found->ai_family == AF_INET6 ? "tcp://[%s]:%s" : "tcp://%s:%s";
    a->is_loopback[a->urls] = mesh_address_is_loopback(found->ai_addr);
    snprintf(a->url[a->urls++], sizeof *a->url, form, host, a->port);
    bool is_a_name = strcmp(host, a->host) != 0;
    if (is_a_name && a->urls == 1) {
        size_t length = strcspn(a->shown, " ");
        snprintf(a->shown + length, sizeof a->shown - length, " (%s)", host);
    }
}

int rendezvous_address_resolve(struct rendezvous_address *a, uint64_t deadline_ns)
{
    struct addrinfo *all;
    int rc = mesh_address_await(a->shown, AF_UNSPEC, deadline_ns, &all);
    if (rc) return rc;
    for (struct addrinfo *i = all; i && a->urls < RENDEZVOUS_URLS_MAX; i = i->ai_next)
        add_url(a, i);
    freeaddrinfo(all);
    return a->urls ? 0 : not_an_address(a->shown, "has no address of IPv4 or IPv6");
}

void rendezvous_address_prefer(struct rendezvous_address *a, const char *data_address)
{
    const char *colon = strrchr(data_address, ':');
    bool are_loopback = a->urls > 0;
    for (unsigned i = 0; i < a->urls; i++) are_loopback &= a->is_loopback[i];
    if (!colon || !mesh_address_is_own_name(a->host, are_loopback)) return;
    if (strncmp(data_address, "127.", 4) == 0 || strncmp(data_address, "[::1]", 5) == 0) return;
    if (a->urls == RENDEZVOUS_URLS_MAX) a->urls--;
    memmove(a->url[1], a->url[0], a->urls * sizeof *a->url);
    memmove(a->is_loopback + 1, a->is_loopback, a->urls * sizeof *a->is_loopback);
    snprintf(a->url[0], sizeof *a->url, "tcp://%.*s:%s", (int)(colon - data_address), data_address,
             a->port);
    a->is_loopback[0] = false;
    a->urls++;
    size_t length = strcspn(a->shown, " ");
    snprintf(a->shown + length, sizeof a->shown - length, " (%.*s)", (int)(colon - data_address),
             data_address);
}

bool rendezvous_address_keep_loopback(struct rendezvous_address *a)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < a->urls; i++) {
        if (!a->is_loopback[i]) continue;
        memmove(a->url[kept], a->url[i], sizeof *a->url);
        a->is_loopback[kept++] = true;
    }
    a->urls = kept;
    return kept > 0;
}
