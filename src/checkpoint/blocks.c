#include "checkpoint/blocks.h"

#include "checkpoint/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- */

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

static int close_file(struct blocks *b)
{
    int rc = b->fd >= 0 ? files->close(b->fd) : 0;
    b->fd = -1;
    return rc;
}

void blocks_fini(struct blocks *b)
{
    if (!b->memory) return;
    close_file(b);
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
    int closed = close_file(b);
    digest_end(&b->digest, digest);
    return rc ? rc : closed;
}

/* ---- reading ---- */

int blocks_open(struct blocks *b, const char *path, uint64_t from, uint64_t end)
{
    return open_at(b, path, O_RDONLY, from, end);
}

int blocks_peek(const struct blocks *b, void *to, size_t bytes, uint64_t at)
{
    ssize_t n = files_read(b->fd, to, bytes, at);
    return n < 0 ? (int)n : (size_t)n < bytes ? -ENODATA : 0;
}

static int read_block(struct blocks *b)
{
    uint64_t left = b->end - b->at;
    size_t bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    if (bytes == 0) return -ENODATA;
    files->begin_read(b->fd, b->at + (uint64_t)BLOCKS_AHEAD * BLOCK_BYTES, BLOCK_BYTES);
    int rc = blocks_peek(b, b->memory, bytes, b->at);
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
    close_file(b);
    digest_end(&b->digest, digest);
}
