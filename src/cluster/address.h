/*
 * address.h - "host:port" of a rendezvous, and the addresses behind a host's name.
 *
 * Memory    the caller's
 * Waiting   rendezvous_address_resolve, if the host is a name: until it is known (mesh_address.h)
 * Life      none
 */
#ifndef LOCUS_CLUSTER_ADDRESS_H
#define LOCUS_CLUSTER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { RENDEZVOUS_URLS_MAX = 8, RENDEZVOUS_HOST_MAX = 256, RENDEZVOUS_SHOWN_MAX = 320 };

struct rendezvous_address {
    char host[RENDEZVOUS_HOST_MAX], port[8];
    /* as written; for a name, after resolving, followed by its address */
    char shown[RENDEZVOUS_SHOWN_MAX];
    unsigned urls;
    char url[RENDEZVOUS_URLS_MAX][80]; /* "tcp://127.0.0.1:7777": all addresses of the name */
    bool is_loopback[RENDEZVOUS_URLS_MAX];
};

/* Parses "host:port" or "[IPv6]:port". -EINVAL with the sentence in locus_error(). */
int rendezvous_address_parse(struct rendezvous_address *, const char *text);
/* Fills in the addresses, once. 0 or -EINVAL, with the sentence. */
int rendezvous_address_resolve(struct rendezvous_address *, uint64_t deadline_ns);
/* If the host is this machine's own name, on loopback, others reach it at the address of the data
 * port. So that address comes first, to listen at and to connect to. Otherwise, or if the data port
 * is on loopback, too, nothing changes. */
void rendezvous_address_prefer(struct rendezvous_address *, const char *data_address);
/* Keeps only the addresses on loopback. false: there are none. */
bool rendezvous_address_keep_loopback(struct rendezvous_address *);

#endif
