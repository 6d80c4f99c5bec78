/*
 * explain.h - what this node knows of one key, for `locus explain`: GET /key?key=K, or with
 * &table=T for row K of that table.
 *
 * The answer is lines of text, each with a word and its value (docs/guides/observe.md). A question
 * that cannot be answered gets an HTTP status that says so, and a sentence.
 *
 * Memory    a text of EXPLAIN_BYTES_MAX at most
 * Waiting   for the key's shard, as reactor.h says
 * Life      none
 */
#ifndef LOCUS_OBSERVE_EXPLAIN_H
#define LOCUS_OBSERVE_EXPLAIN_H

#include "observe/httpd.h"

enum { EXPLAIN_BYTES_MAX = 16384 };

/* `node` is a locus *. */
void explain_key(void *node, const struct httpd_request *, struct httpd_reply *);

#endif
