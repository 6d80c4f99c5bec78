/*
 * team.h - threads that help one thread with its work.
 *
 * Work is cut into parts, which threads take one after the other: the caller as well as the
 * helpers. So a helper that does not run in time costs nothing; the caller then does its parts.
 *
 * Callers   one thread at a time
 * Memory    its own; the parts' is the caller's
 * Waiting   team_do() for parts that a helper has begun; a helper without work sleeps
 * Life      team_new, team_do any number of times, team_free
 */
#ifndef LOCUS_BASE_TEAM_H
#define LOCUS_BASE_TEAM_H

struct team;

/* Does part number `part`; must not use the team. */
typedef void team_work(void *context, unsigned part);

/* NULL: no memory, or no threads; locus_error() has the sentence. */
struct team *team_new(unsigned helpers);
/* Returns when all parts are done. NULL: the caller does them all. */
void team_do(struct team *, unsigned parts, team_work *, void *context);
void team_free(struct team *); /* NULL is allowed */

#endif
