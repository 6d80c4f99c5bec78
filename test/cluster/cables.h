/*
 * cables.h - hosts of a test's own: network namespaces on a bridge, each with a cable that can be
 * pulled. Needs root.
 *
 *     struct cables c;
 *     cables_need();                     skips the test where that cannot be
 *     cables_lay(&c, 4);                 hosts 0 ... 3 with the addresses 10.77.0.1 ... 10.77.0.4
 *     child_start(&node, "role", "%s", cables_host(&c, 2));
 *     cables_pull(&c, 2, true);
 *     cables_remove(&c);
 *
 * A child enters its host before it does anything else: cables_enter(). What a test that failed
 * leaves is removed by the next.
 */
#ifndef LOCUS_TEST_CABLES_H
#define LOCUS_TEST_CABLES_H

#include "process.h"

struct cables {
    char name[48]; /* NAME0 has the bridge, NAME1 ... are the hosts */
    int hosts;
};

void cables_need(void);
bool cables_can(void); /* for who does something else instead */
void cables_lay(struct cables *, int hosts);
void cables_remove(struct cables *);
/* Valid until the next call. */
const char *cables_host(const struct cables *, int host);
void cables_pull(const struct cables *, int host, bool out);

/* What `from` sends to `to` is lost, silently, or no longer. */
void cables_lose(const struct cables *, int from, int to, bool lost);

/* Packets of more than 1000 bytes, from that host and to it, are lost, silently. */
void cables_narrow(const struct cables *, int host);

/* In a child. */
void cables_enter(const char *host);
/* From then on its list of hosts (/etc/hosts) is that. */
void cables_know(const char *hosts);

#endif
