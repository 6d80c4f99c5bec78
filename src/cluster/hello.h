/*
 * hello.h - the first message of a node: who it is, and its configuration, which must be equal on
 * all nodes.
 *
 * Memory    a hello that was read points into the message
 * Waiting   never
 * Life      none
 */
#ifndef LOCUS_CLUSTER_HELLO_H
#define LOCUS_CLUSTER_HELLO_H

#include "cluster/agreement.h"
#include "cluster/message.h"

struct hello {
    unsigned rank, size;
    unsigned peer_timeout_ms;
    unsigned join_timeout_ms; /* as configured, for the sentence */
    unsigned timeout_ms;      /* what is left of it */
    char address[ADDRESS_MAX];
    unsigned workers;
    struct message_reader equal; /* protocol/config.h */
    unsigned shards;             /* 0: any */
    bool has_secret;             /* the node has one, perhaps not the cluster's */
    unsigned table_count;
    struct message_reader tables;
};

/* NULL: no memory, or the names of tables are too long. */
struct message *hello_write(const struct rendezvous_config *, unsigned timeout_ms);

/* Only rank and size, from a hello of any protocol version. */
bool hello_read_rank(struct hello *, const void *body, size_t bytes);
/* false: hello_write() cannot have written this. */
bool hello_read(struct hello *, const void *body, size_t bytes);

/* Do they differ where they must be equal? Then the sentence names the first difference. `shards`:
 * what rank 0 has decided. */
bool hello_differs(const struct hello *theirs, const struct hello *ours, unsigned shards,
                   char *sentence, size_t capacity);

#endif
