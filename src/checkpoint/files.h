/*
 * files.h - the file system as checkpoints use it: the system's, or a test's replacement, which
 * fails on demand, or loses what was not synced.
 *
 * Every call returns a negative errno when it fails.
 *
 * Memory    none
 * Waiting   for the disk
 * Life      none; a replacement is installed before any other call and removed after the last
 */
#ifndef LOCUS_CHECKPOINT_FILES_H
#define LOCUS_CHECKPOINT_FILES_H

#include <errno.h>
#include <fcntl.h>
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
/* As many as there are, up to `bytes`; how many. */
ssize_t files_read(int fd, void *, size_t bytes, uint64_t at);
/* All of the bytes. -EIO: nothing more is written. */
int files_write(int fd, const void *, size_t bytes, uint64_t at);

#endif
