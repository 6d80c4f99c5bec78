/*
 * made_up.h - what all data that is made up needs: its sizes from the command line, ranks by Zipf's
 * law, and what was drawn before.
 *
 * Callers   any thread, each with structs of its own
 * Memory    16 to 32 bytes a number that was drawn
 * Waiting   never
 */
#ifndef APPS_MADE_UP_H
#define APPS_MADE_UP_H

#include "rng.h"

#include <stdbool.h>
#include <stddef.h>

struct made_up_size {
    const char *name; /* "rows" */
    uint64_t least, most, is;
};

/* Reads "1000x100x20000", an option's value, into n sizes; gives up when it is no such text, or
 * beyond the limits. `form` says how to write it: "ROWSxCOLUMNSxCELLS, as 1000x100x20000". */
void made_up_sizes(const char *option, const char *text, const char *form, struct made_up_size *,
                   size_t n);
/* Gives up unless the size is within its limits: for those that follow from other sizes. */
void made_up_check(const char *option, const char *text, const struct made_up_size *);

/* A rank below `count`, of which r is as frequent as (r + 1)^-exponent, about: the inverse of the
 * integral. */
uint32_t made_up_rank(struct rng *, uint32_t count, double exponent);

/* What is frequent is soon all there: after so many draws in vain draw evenly, so that making
 * ends. */
enum { MADE_UP_DRAWS = 64 };

struct made_up_seen {
    uint64_t *numbers; /* number + 1; 0: free */
    uint64_t slots;
};

void made_up_seen_init(struct made_up_seen *, uint64_t most);
void made_up_seen_fini(struct made_up_seen *);
/* False: it was there. */
bool made_up_is_new(struct made_up_seen *, uint64_t number);

#endif
