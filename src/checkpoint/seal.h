/*
 * seal.h - the bytes of a file as they were when they were verified, to be compared when they are
 * read again: a tag of each SEAL_BYTES, under a key that nobody else knows (Poly1305).
 *
 * Memory    SEAL_TAG for each SEAL_BYTES: 256 bytes a MiB
 * Waiting   never
 * Life      zeroed; seal_begin, seal_put for each piece, any number of seal_holds; seal_end
 */
#ifndef LOCUS_CHECKPOINT_SEAL_H
#define LOCUS_CHECKPOINT_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_BYTES = 1 << 16, SEAL_TAG = 16, SEAL_KEY = 32 };

struct seal {
    uint64_t from, end; /* bytes of the file */
    unsigned char key[SEAL_KEY];
    unsigned char (*tag)[SEAL_TAG];
};

/* 0 or -ENOMEM; what there was before is given back. */
int seal_begin(struct seal *, uint64_t from, uint64_t end);
void seal_end(struct seal *);

/* Bytes at a multiple of SEAL_BYTES behind `from`, as many as that or up to `end`. */
void seal_put(struct seal *, uint64_t at, const void *data, size_t bytes);
/* Are they the same? */
bool seal_holds(const struct seal *, uint64_t at, const void *data, size_t bytes);

#endif
