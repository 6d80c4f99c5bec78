/*
 * islands.h - nodes on one machine that reach each other only through proxies.
 *
 * Each node's process lives in a network namespace of its own, an island, whose loopback is its
 * own, too. Node r listens at the same address on every island's map, islands_address(r): on its
 * own island it is there itself, on the others a proxy is, which has one socket there and one on
 * r's island. Likewise for the rendezvous. So nodes need not know about proxies, and nothing can
 * pass beside them.
 *
 * Making namespaces is a privilege on some systems: islands_open() skips the test where it is not
 * granted.
 *
 * Callers   the test's main thread
 * Life      islands_open, children started between islands_enter and islands_leave, islands_close
 */
#ifndef LOCUS_TEST_ISLANDS_H
#define LOCUS_TEST_ISLANDS_H

#include "process.h"
#include "proxy.h"

enum { ISLANDS_MAX = 4 };

struct islands {
    int count, home;
    int space[ISLANDS_MAX];
    /* [from][to]: for the connections that node `from` makes to node `to`. Of two nodes the one of
     * higher rank connects. */
    struct proxy *link[ISLANDS_MAX][ISLANDS_MAX];
    struct proxy *rendezvous[ISLANDS_MAX]; /* [from], to rank 0's; NULL for rank 0 */
};

void islands_open(struct islands *, int count);
/* Children end before. */
void islands_close(struct islands *);

void islands_enter(const struct islands *, int which);
void islands_leave(const struct islands *);

/* Where node `rank` listens for peers. */
void islands_address(int rank, char address[ADDRESS_BYTES]);
void islands_rendezvous(char address[ADDRESS_BYTES]);

/* On all data connections between two nodes: the direction is that from a to b. */
void islands_stall(struct islands *, int a, int b, bool stalled);
/* Everything that passes, the rendezvous included. */
void islands_delay(struct islands *, double seconds);

#endif
