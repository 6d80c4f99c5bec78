/*
 * answering.h - a server on loopback that gives every request the same answer: what a command makes
 * of nodes that say something odd.
 *
 * Callers   the test's thread
 * Memory    static; the text is kept by reference
 * Waiting   never
 * Life      answering_start(); the thread ends with the process
 */
#ifndef LOCUS_TEST_ANSWERING_H
#define LOCUS_TEST_ANSWERING_H

/* Returns the port. `text` begins with HTTP's status. */
unsigned answering_start(const char *text);
/* The same, with one text to the first two requests and another one to all others. */
unsigned answering_turns(const char *first, const char *then);

#endif
