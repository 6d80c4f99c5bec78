/*
 * ids.h - ids of a file that become sizes: where they are few and some are large, they are numbered
 * anew, so that a large one costs nothing.
 *
 * Callers   one thread
 * Memory    while it works, some 100 bytes an id that differs from the others
 * Waiting   never
 */
#ifndef APPS_IDS_H
#define APPS_IDS_H

#include "names.h"

#include <stdbool.h>

/* `count` ids, `stride` bytes apart, all below *bound. If far fewer differ: they become 0, 1, ...
 * in their order, *bound becomes how many there are, and `names`, which is empty, gets each one's
 * decimal text, `plus` added. Returns whether they did. */
bool ids_number(uint32_t *ids, size_t count, size_t stride, uint32_t *bound, uint32_t plus,
                struct names *names);

#endif
