/*
 * port.h - ports of this machine that nobody has, for tests that run beside each other.
 *
 * Callers   any thread
 * Memory    a descriptor for each port
 * Waiting   none
 * Life      a port is this process' until it ends, in use or not: a test may need one at which
 *           nobody answers
 */
#ifndef TEST_COMMON_PORT_H
#define TEST_COMMON_PORT_H

int port_new(void);
/* The first of `count` ports that follow each other. */
int port_new_row(int count);

#endif
