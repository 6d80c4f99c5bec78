/*
 * variables.h - the variables of the environment that locus and its programs read, and those that
 * are spelt almost so: a misspelt one is set for nobody.
 *
 * Memory    names are the environment's own, or static
 * Waiting   for stderr
 * Life      none
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stddef.h>

enum { VARIABLES_NAME_MAX = 64 };

/* A variable that begins with LOCUS_, and that nobody reads. Programs have some of their own. */
struct variable {
    char name[VARIABLES_NAME_MAX];
    const char *meant; /* the one that is spelt almost so; NULL: none is */
};

/* How many there are, of which the first `max` are set. */
size_t variables_unread(struct variable *, size_t max);
/* A line on stderr for each that seems misspelt. */
void variables_warn(void);

#endif
