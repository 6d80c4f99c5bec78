/*
 * blocks.h - a file from its front to its end in large blocks, with the digest of what passes:
 * BLAKE2b of 32 bytes, as 64 hexadecimal digits, which is what `b2sum -l 256` prints.
 *
 * The disk writes a block while the next one is filled, and reads some ahead.
 *
 * Memory    BLOCK_BYTES, from init to fini
 * Waiting   for the disk
 * Life      blocks_init; blocks_create, append, finish, or blocks_open, read, close, any number of
 *           times; blocks_fini. digest_begin, digest_add, digest_end
 *
 * Every function returns 0 or a negative errno without a sentence: the caller knows the file.
 */
#ifndef LOCUS_CHECKPOINT_BLOCKS_H
#define LOCUS_CHECKPOINT_BLOCKS_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX = 64, DIGEST_TEXT = DIGEST_HEX + 1 };

struct digest {
    crypto_generichash_state state;
};

void digest_begin(struct digest *);
void digest_add(struct digest *, const void *data, size_t bytes);
void digest_end(struct digest *, char text[DIGEST_TEXT]);
void digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT]);

enum { BLOCK_BYTES = 1 << 20, BLOCKS_AHEAD = 4 };

struct blocks {
    unsigned char *memory;
    int fd;
    size_t used, filled; /* of the block; filled: reading */
    uint64_t at, end;    /* of the next block; reading: of the file */
    struct digest digest;
};

int blocks_init(struct blocks *);
void blocks_fini(struct blocks *);

/* A new file, whose first bytes, up to `from`, are written last. */
int blocks_create(struct blocks *, const char *path, uint64_t from);
int blocks_append(struct blocks *, const void *data, size_t bytes);
/* Writes `head`, of at most `from` bytes, to the front, and syncs the file. Closes it in any case.
 * `digest` is that of what was appended. */
int blocks_finish(struct blocks *, const void *head, size_t head_bytes, char digest[DIGEST_TEXT]);

/* An existing file, of which the bytes from `from` to `end` are to be read. */
int blocks_open(struct blocks *, const char *path, uint64_t from, uint64_t end);
/* The next bytes. -ENODATA: the file is shorter than was said. */
int blocks_read(struct blocks *, void *to, size_t bytes);
/* Passes over all bytes before `to`, which may be where it is. */
int blocks_pass(struct blocks *, uint64_t to);
/* Bytes from anywhere in the file, which the digest does not have. */
int blocks_peek(const struct blocks *, void *to, size_t bytes, uint64_t at);
/* `digest`, if all was read or passed over: of that. */
void blocks_close(struct blocks *, char digest[DIGEST_TEXT]);

#endif
