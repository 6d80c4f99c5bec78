#include "checkpoint/files.h"

#include "locus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int result_of(int rc)
{
    return rc < 0 ? -errno : rc;
}

/* A pipe that nobody writes to would be waited for without end, and a device may have none. */
static int open_file(int folder, const char *path, int flags)
{
    struct stat about;
    int more = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (folder == FILES_HERE ? 0 : O_NOFOLLOW);
    int fd = openat(folder, path, flags | more, 0666);
    if (fd < 0) return errno == ENXIO || errno == ELOOP ? FILES_IRREGULAR : -errno;
    int rc = fstat(fd, &about) ? -errno : S_ISREG(about.st_mode) ? fd : FILES_IRREGULAR;
    if (rc < 0) close(fd);
    return rc;
}

const char *files_strerror(int rc)
{
    return rc == FILES_IRREGULAR ? "it is no regular file" : locus_strerror(rc);
}

static int close_file(int fd)
{
    return result_of(close(fd));
}

static ssize_t read_file(int fd, void *to, size_t bytes, uint64_t at)
{
    ssize_t n;
    do n = pread(fd, to, bytes, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t write_file(int fd, const void *from, size_t bytes, uint64_t at)
{
    ssize_t n;
    do n = pwrite(fd, from, bytes, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static void begin_sync(int fd, uint64_t at, uint64_t bytes)
{
    sync_file_range(fd, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
}

static void begin_read(int fd, uint64_t at, uint64_t bytes)
{
    posix_fadvise(fd, (off_t)at, (off_t)bytes, POSIX_FADV_WILLNEED);
}

static int sync_file(int fd)
{
    return result_of(fsync(fd));
}

static int64_t size_of(int fd)
{
    struct stat about;
    return fstat(fd, &about) ? -errno : about.st_size;
}

static int make_folder(const char *path)
{
    return result_of(mkdir(path, 0777));
}

static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0) close(fd);
    return rc;
}

static int open_folder(int folder, const char *path)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (folder == FILES_HERE ? 0 : O_NOFOLLOW);
    return result_of(openat(folder, path, flags));
}

static int list(int folder, files_each *each, void *context)
{
    int fd = open_folder(folder, "."), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return fd < 0 ? fd : -errno;
    for (const struct dirent *e; rc == 0 && (e = readdir(d));) rc = each(context, e->d_name);
    closedir(d);
    return rc;
}

static int rename_file(int folder, const char *from, const char *to)
{
    return result_of(renameat(folder, from, folder, to));
}

static int remove_file(int folder, const char *name)
{
    struct stat about;
    if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW)) return -errno;
    return S_ISREG(about.st_mode) ? result_of(unlinkat(folder, name, 0)) : FILES_IRREGULAR;
}

static int remove_folder(int folder, const char *name)
{
    return result_of(unlinkat(folder, name, AT_REMOVEDIR));
}

static int is_there(const char *path)
{
    if (access(path, F_OK) == 0) return 1;
    return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
}

static const struct files of_the_system = {
    .open = open_file,
    .open_folder = open_folder,
    .close = close_file,
    .read = read_file,
    .write = write_file,
    .begin_sync = begin_sync,
    .begin_read = begin_read,
    .sync = sync_file,
    .size = size_of,
    .make_folder = make_folder,
    .sync_folder = sync_folder,
    .list = list,
    .rename = rename_file,
    .remove = remove_file,
    .remove_folder = remove_folder,
    .is_there = is_there,
};

const struct files *files = &of_the_system;

int files_read(int fd, void *to, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = files->read(fd, (char *)to + done, bytes - done, at + done);
        if (n <= 0) return n < 0 ? (int)n : -ENODATA;
        done += (size_t)n;
    }
    return 0;
}

int files_write(int fd, const void *from, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = files->write(fd, (const char *)from + done, bytes - done, at + done);
        if (n <= 0) return n < 0 ? (int)n : -EIO;
        done += (size_t)n;
    }
    return 0;
}

/* ---- blocks ---- */

enum { ALIGNMENT = 4096, DIGEST_BYTES = DIGEST_HEX / 2 };

void digest_begin(struct digest *d)
{
    crypto_generichash_init(&d->state, NULL, 0, DIGEST_BYTES);
}

void digest_add(struct digest *d, const void *data, size_t bytes)
{
    crypto_generichash_update(&d->state, data, bytes);
}

void digest_end(struct digest *d, char text[DIGEST_TEXT])
{
    unsigned char raw[DIGEST_BYTES];
    crypto_generichash_final(&d->state, raw, sizeof raw);
    sodium_bin2hex(text, DIGEST_TEXT, raw, sizeof raw);
}

void digest_of(const void *data, size_t bytes, char text[DIGEST_TEXT])
{
    struct digest d;
    digest_begin(&d);
    digest_add(&d, data, bytes);
    digest_end(&d, text);
}

int blocks_init(struct blocks *b)
{
    *b = (struct blocks){.fd = -1, .memory = aligned_alloc(ALIGNMENT, BLOCK_BYTES)};
    return b->memory ? 0 : -ENOMEM;
}

static int open_at(struct blocks *b, const char *path, int flags, uint64_t from, uint64_t end)
{
    b->fd = files->open(FILES_HERE, path, flags);
    b->used = b->filled = 0;
    b->at = from;
    b->end = end;
    digest_begin(&b->digest);
    return b->fd < 0 ? b->fd : 0;
}

static int close_blocks(struct blocks *b)
{
    int rc = b->fd >= 0 ? files->close(b->fd) : 0;
    b->fd = -1;
    return rc;
}

void blocks_fini(struct blocks *b)
{
    if (!b->memory) return;
    close_blocks(b);
    free(b->memory);
    b->memory = NULL;
}

/* ---- writing ---- */

int blocks_create(struct blocks *b, const char *path, uint64_t from)
{
    return open_at(b, path, O_WRONLY | O_CREAT | O_EXCL, from, 0);
}

/* The disk begins with the block while its digest is computed and the next one is filled. So little
 * is left for the end to wait for, and other files stay in the page cache. */
static int write_block(struct blocks *b)
{
    int rc = files_write(b->fd, b->memory, b->used, b->at);
    if (rc) return rc;
    files->begin_sync(b->fd, b->at, b->used);
    digest_add(&b->digest, b->memory, b->used);
    b->at += b->used;
    b->used = 0;
    return 0;
}

int blocks_append(struct blocks *b, const void *data, size_t bytes)
{
    int rc = 0;
    for (const unsigned char *from = data; bytes > 0 && rc == 0;) {
        size_t capacity = BLOCK_BYTES - b->used, n = bytes < capacity ? bytes : capacity;
        memcpy(b->memory + b->used, from, n);
        b->used += n;
        from += n;
        bytes -= n;
        if (b->used == BLOCK_BYTES) rc = write_block(b);
    }
    return rc;
}

int blocks_finish(struct blocks *b, const void *head, size_t head_bytes, char digest[DIGEST_TEXT])
{
    int rc = write_block(b);
    if (rc == 0) rc = files_write(b->fd, head, head_bytes, 0);
    if (rc == 0) rc = files->sync(b->fd);
    int closed = close_blocks(b);
    digest_end(&b->digest, digest);
    return rc ? rc : closed;
}

/* ---- reading ---- */

int blocks_open(struct blocks *b, const char *path, uint64_t from, uint64_t end)
{
    return open_at(b, path, O_RDONLY, from, end);
}

static int read_block(struct blocks *b)
{
    uint64_t left = b->end - b->at;
    size_t bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    if (bytes == 0) return -ENODATA;
    files->begin_read(b->fd, b->at + (uint64_t)BLOCKS_AHEAD * BLOCK_BYTES, BLOCK_BYTES);
    int rc = files_read(b->fd, b->memory, bytes, b->at);
    if (rc) return rc;
    digest_add(&b->digest, b->memory, bytes);
    b->at += bytes;
    b->filled = bytes;
    b->used = 0;
    return 0;
}

int blocks_read(struct blocks *b, void *to, size_t bytes)
{
    unsigned char *into = to;
    for (size_t n; bytes > 0; bytes -= n) {
        int rc = b->used == b->filled ? read_block(b) : 0;
        if (rc) return rc;
        size_t left = b->filled - b->used;
        n = bytes < left ? bytes : left;
        memcpy(into, b->memory + b->used, n);
        b->used += n;
        into += n;
    }
    return 0;
}

int blocks_pass(struct blocks *b, uint64_t to)
{
    while (b->at < to) {
        int rc = read_block(b);
        if (rc) return rc;
    }
    b->used = b->filled - (size_t)(b->at - to);
    return 0;
}

void blocks_close(struct blocks *b, char digest[DIGEST_TEXT])
{
    close_blocks(b);
    digest_end(&b->digest, digest);
}
