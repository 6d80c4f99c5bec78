/*
 * every.h - how often something happens in a training: --eval-every and --checkpoint-every.
 *
 * 2: epochs; 30s: seconds; 500k, 2M: thousands and millions of examples; 0: never.
 *
 * Callers   any thread
 * Memory    the caller's
 * Waiting   never
 */
#ifndef APPS_EVERY_H
#define APPS_EVERY_H

#include <stdbool.h>
#include <stdint.h>

/* One of them at most is not 0. */
struct every {
    uint64_t epochs;
    double seconds, examples;
};

/* False: the text is none of these. */
bool every_read(struct every *, const char *text);

static inline bool every_is_ever(const struct every *e)
{
    return e->epochs > 0 || e->seconds > 0 || e->examples > 0;
}

#endif
