/*
 * files.h - the file system as checkpoints use it: the system's, or a test's replacement, which
 * fails on demand, or loses what was not synced; and a file from its front to its end in blocks.
 *
 * Every call returns 0 or a negative errno, without a sentence: the caller knows the file.
 *
 * Memory    BLOCK_BYTES, from blocks_init to blocks_fini
 * Waiting   for the disk
 * Life      blocks_init; blocks_create, append, finish, or blocks_open, read, close, any number of
 *           times; blocks_fini. A replacement is there before any call, until after the last
 */
#ifndef LOCUS_CHECKPOINT_FILES_H
#define LOCUS_CHECKPOINT_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    FILES_IRREGULAR = -EBADMSG, /* there is a pipe, a folder, a device */
    FILES_HERE = AT_FDCWD,      /* the working directory */
};

/* Called with each name in a folder, "." and ".." included, until it is not 0, which is
 * returned. */
typedef int files_each(void *context, const char *name);

struct files {
    /* A file descriptor. `flags` as for open(2); O_CLOEXEC is always added. Or
     * FILES_IRREGULAR. In a `folder` that is not FILES_HERE: the file of that name itself, behind
     * no link. */
    int (*open)(int folder, const char *path, int flags);
    /* A folder, likewise; for `open`, `list`, `rename` and `remove` in it, `sync` and `close`. */
    int (*open_folder)(int folder, const char *path);
    int (*close)(int fd);
    /* As pread(2), pwrite(2): may do less than was wanted. Never -EINTR. */
    ssize_t (*read)(int fd, void *, size_t bytes, uint64_t at);
    ssize_t (*write)(int fd, const void *, size_t bytes, uint64_t at);
    /* The disk may begin to write these bytes, so that less must be synced at the end; or to read
     * them, for they will be asked for. */
    void (*begin_sync)(int fd, uint64_t at, uint64_t bytes);
    void (*begin_read)(int fd, uint64_t at, uint64_t bytes);
    int (*sync)(int fd);
    int64_t (*size)(int fd);
    int (*make_folder)(const char *path);
    int (*sync_folder)(const char *path);
    int (*list)(int folder, files_each *, void *context);
    int (*rename)(int folder, const char *from, const char *to);
    /* A regular file, and an empty folder; nothing else. */
    int (*remove)(int folder, const char *name);
    int (*remove_folder)(int folder, const char *name);
    int (*is_there)(const char *path); /* 1: it is; 0 */
};

/* The one in use. */
extern const struct files *files;

/* Why a file cannot be read: what open, read or size have returned. */
const char *files_strerror(int rc);
/* All of the bytes. -ENODATA: there are not so many. */
int files_read(int fd, void *, size_t bytes, uint64_t at);
/* All of the bytes. -EIO: nothing more is written. */
int files_write(int fd, const void *, size_t bytes, uint64_t at);

/* BLAKE2b of 32 bytes, as 64 hexadecimal digits: what `b2sum -l 256` prints. */
enum { DIGEST_HEX = 64, DIGEST_TEXT = DIGEST_HEX + 1 };

struct digest {
    crypto_generichash_state state;
};

void digest_begin(struct digest *);
void digest_add(struct digest *, const void *data, size_t bytes);
void digest_end(struct digest *, char text[DIGEST_TEXT]);
void digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT]);

enum { BLOCK_BYTES = 1 << 20, BLOCKS_AHEAD = 4 };

/* With the digest of what passes. The disk writes a block while the next one is filled, and reads
 * some ahead. */
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
/* `digest`, if all was read or passed over: of that. */
void blocks_close(struct blocks *, char digest[DIGEST_TEXT]);

#endif
