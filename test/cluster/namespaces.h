/*
 * namespaces.h - nodes on one machine that reach each other only through proxies.
 *
 * Each node's process lives in a network namespace of its own, whose loopback is its own, too. Node
 * r listens at namespaces_address(r), which is the same in each: in its own namespace the node is
 * there, in the others a proxy is, with one socket there and one in r's. Likewise for the
 * rendezvous. So nodes need not know about proxies, and nothing can pass beside them.
 *
 * Making namespaces is a privilege on some systems: namespaces_open() skips the test where it is
 * not granted.
 *
 * Callers   the test's main thread
 * Life      namespaces_open, children started between namespaces_enter and namespaces_leave,
 *           namespaces_close
 */
#ifndef LOCUS_TEST_NAMESPACES_H
#define LOCUS_TEST_NAMESPACES_H

#include "process.h"
#include "proxy.h"

enum { NAMESPACES_MAX = 4 };

struct namespaces {
    int count, home;
    int space[NAMESPACES_MAX];
    /* [from][to]: for the connections that node `from` makes to node `to`. Of two nodes the one of
     * higher rank connects. */
    struct proxy *link[NAMESPACES_MAX][NAMESPACES_MAX];
    struct proxy *rendezvous[NAMESPACES_MAX]; /* [from], to rank 0's; NULL for rank 0 */
};

void namespaces_open(struct namespaces *, int count);
/* Children end before. */
void namespaces_close(struct namespaces *);

void namespaces_enter(const struct namespaces *, int which);
void namespaces_leave(const struct namespaces *);

/* Where node `rank` listens for peers. */
void namespaces_address(int rank, char address[ADDRESS_BYTES]);
void namespaces_rendezvous(char address[ADDRESS_BYTES]);

/* On all data connections between two nodes: the direction is that from a to b. */
void namespaces_stall(struct namespaces *, int a, int b, bool stalled);
/* Everything that passes, the rendezvous included. */
void namespaces_delay(struct namespaces *, double seconds);

#endif
