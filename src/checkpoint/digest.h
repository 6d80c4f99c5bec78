/*
 * digest.h - BLAKE2b of 32 bytes, as 64 hexadecimal digits: what `b2sum -l 256` prints.
 *
 * Memory    the caller's
 * Waiting   never
 * Life      digest_begin, digest_add, digest_end
 */
#ifndef LOCUS_CHECKPOINT_DIGEST_H
#define LOCUS_CHECKPOINT_DIGEST_H

#include <sodium.h>
#include <stddef.h>

enum { DIGEST_HEX = 64, DIGEST_TEXT = DIGEST_HEX + 1 };

struct digest {
    crypto_generichash_state state;
};

void digest_begin(struct digest *);
void digest_add(struct digest *, const void *data, size_t bytes);
void digest_end(struct digest *, char text[DIGEST_TEXT]);
void digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT]);

#endif
