/*
 * blocks.h - a file from its front to its end in large aligned blocks, several of them under way
 * (io_uring), with the digest of what passes.
 *
 * Where the kernel refuses io_uring, which a cluster of one does not need, blocks are written and
 * read one after the other.
 *
 * Memory    BLOCKS of BLOCK_BYTES, from init to fini
 * Waiting   for the disk
 * Life      blocks_init; blocks_create, append, finish, or blocks_open, read, close, any number of
 *           times; blocks_fini
 *
 * Every function returns 0 or a negative errno without a sentence: the caller knows the file.
 */
#ifndef LOCUS_CHECKPOINT_BLOCKS_H
#define LOCUS_CHECKPOINT_BLOCKS_H

#include "checkpoint/digest.h"
#include "checkpoint/seal.h"

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

enum { BLOCKS = 4, BLOCK_BYTES = 1 << 20 };

struct block {
    uint64_t at;  /* in the file */
    size_t bytes; /* of it */
    int result;
    bool is_under_way, is_write, is_seen;
};

struct blocks {
    unsigned char *memory;
    struct io_uring ring;
    bool has_ring, is_broken;
    int fd;
    struct block block[BLOCKS];
    unsigned current;
    size_t used;      /* of the current block: filled, or taken */
    uint64_t at, end; /* of the next block that begins; reading: of the file */
    struct digest digest;
    struct seal *to_seal;      /* reading: with what arrives */
    const struct seal *sealed; /* or: what must arrive */
};

int blocks_init(struct blocks *);
void blocks_fini(struct blocks *);

/* A new file, whose first bytes, up to `from`, are written last. */
int blocks_create(struct blocks *, const char *path, uint64_t from);
int blocks_append(struct blocks *, const void *data, size_t bytes);
/* Writes `head`, of at most `from` bytes, to the front, and syncs the file. Closes it in any case.
 * `digest` is that of what was appended. */
int blocks_finish(struct blocks *, const void *head, size_t head_bytes, char digest[DIGEST_TEXT]);

/* An existing file, of which the bytes from `from` to `end` are to be read. `seal`, or NULL: has
 * begun, for just these bytes; it is whole when they are read. */
int blocks_open(struct blocks *, const char *path, uint64_t from, uint64_t end, struct seal *);
/* Some of the bytes that were sealed, wherever they are. */
int blocks_open_sealed(struct blocks *, const char *path, uint64_t from, uint64_t end,
                       const struct seal *);
/* The next bytes; `to` NULL: passes over them. -ENODATA: the file is shorter than was said;
 * -ESTALE: it is not what was sealed, and nothing of that is given out. */
int blocks_read(struct blocks *, void *to, uint64_t bytes);
/* `digest`, or NULL: of what was read, unless it was sealed. */
void blocks_close(struct blocks *, char digest[DIGEST_TEXT]);

#endif
