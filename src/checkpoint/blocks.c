#include "checkpoint/blocks.h"

#include "base/ring.h"
#include "checkpoint/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 4096 };
_Static_assert(BLOCK_BYTES % SEAL_BYTES == 0, "pieces of a seal lie in one block");

int blocks_init(struct blocks *b)
{
    *b = (struct blocks){.fd = -1};
    b->memory = aligned_alloc(ALIGNMENT, (size_t)BLOCKS * BLOCK_BYTES);
    if (!b->memory) return -ENOMEM;
    b->has_ring = files->has_ring &&
                  ring_open(&b->ring, BLOCKS, &(struct io_uring_params){.flags = 0}) == 0;
    return 0;
}

static unsigned char *memory_of(const struct blocks *b, unsigned i)
{
    return b->memory + (size_t)i * BLOCK_BYTES;
}

/* What is left of a block, by ordinary calls. */
static int complete(const struct blocks *b, unsigned i, size_t done)
{
    const struct block *block = &b->block[i];
    while (done < block->bytes) {
        unsigned char *from = memory_of(b, i) + done;
        size_t bytes = block->bytes - done;
        uint64_t at = block->at + done;
        ssize_t n = block->is_write ? files->write(b->fd, from, bytes, at)
                                    : files->read(b->fd, from, bytes, at);
        if (n < 0) return (int)n;
        if (n == 0) return block->is_write ? -EIO : -ENODATA;
        done += (size_t)n;
    }
    if (block->is_write) files->begin_sync(b->fd, block->at, block->bytes);
    return 0;
}

/* The kernel has no memory just now, or we were interrupted. */
static bool is_passing(int rc)
{
    return rc == -EINTR || rc == -EAGAIN || rc == -EBUSY;
}

/* The ring does not work: the block has failed, and with it the file; the next goes without. */
static void give_up(struct blocks *b, unsigned i, int rc)
{
    b->block[i].result = rc;
    b->block[i].is_under_way = false;
    b->is_broken = true;
}

static void submit(struct blocks *b, unsigned i)
{
    struct block *block = &b->block[i];
    struct io_uring_sqe *sqe = b->has_ring && !b->is_broken ? io_uring_get_sqe(&b->ring) : NULL;
    block->result = 0;
    block->is_under_way = sqe != NULL;
    if (!sqe) {
        block->result = complete(b, i, 0);
        return;
    }
    if (block->is_write)
        io_uring_prep_write(sqe, b->fd, memory_of(b, i), (unsigned)block->bytes, block->at);
    else
        io_uring_prep_read(sqe, b->fd, memory_of(b, i), (unsigned)block->bytes, block->at);
    sqe->user_data = i;
    int rc;
    do rc = io_uring_submit(&b->ring);
    while (is_passing(rc));
    if (rc < 0) give_up(b, i, rc);
}

/* The result of block i, once it is there. */
static int await(struct blocks *b, unsigned i)
{
    while (b->block[i].is_under_way) {
        struct io_uring_cqe *cqe;
        int rc = io_uring_wait_cqe(&b->ring, &cqe);
        if (is_passing(rc)) continue;
        if (rc < 0) {
            give_up(b, i, rc);
            break;
        }
        unsigned done = (unsigned)cqe->user_data;
        int n = cqe->res;
        io_uring_cqe_seen(&b->ring, cqe);
        b->block[done].is_under_way = false;
        b->block[done].result =
            n < 0 && n != -EINTR && n != -EAGAIN ? n : complete(b, done, n < 0 ? 0 : (size_t)n);
    }
    return b->block[i].result;
}

static int await_all(struct blocks *b)
{
    int rc = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        int done = await(b, i);
        if (rc == 0) rc = done;
        b->block[i].result = 0;
    }
    return rc;
}

static int open_at(struct blocks *b, const char *path, int flags, uint64_t from, uint64_t end)
{
    b->fd = files->open(FILES_HERE, path, flags);
    if (b->fd < 0) return b->fd;
    memset(b->block, 0, sizeof b->block);
    b->current = 0;
    b->used = 0;
    b->at = from;
    b->end = end;
    b->to_seal = NULL;
    b->sealed = NULL;
    digest_begin(&b->digest);
    return 0;
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
    await_all(b);
    close_file(b);
    if (b->has_ring) ring_close(&b->ring);
    free(b->memory);
    b->memory = NULL;
}

/* ---- writing ---- */

int blocks_create(struct blocks *b, const char *path, uint64_t from)
{
    return open_at(b, path, O_WRONLY | O_CREAT | O_EXCL, from, 0);
}

/* The current block is on its way to the disk; meanwhile its digest is computed. Then the next
 * block, as soon as it is free. */
static int send_current(struct blocks *b)
{
    unsigned i = b->current;
    b->block[i] = (struct block){.at = b->at, .bytes = b->used, .is_write = true};
    submit(b, i);
    digest_add(&b->digest, memory_of(b, i), b->used);
    b->at += b->used;
    b->used = 0;
    b->current = (i + 1) % BLOCKS;
    return await(b, b->current);
}

int blocks_append(struct blocks *b, const void *data, size_t bytes)
{
    int rc = 0;
    for (const unsigned char *from = data; bytes > 0 && rc == 0;) {
        size_t capacity = BLOCK_BYTES - b->used, n = bytes < capacity ? bytes : capacity;
        memcpy(memory_of(b, b->current) + b->used, from, n);
        b->used += n;
        from += n;
        bytes -= n;
        if (b->used == BLOCK_BYTES) rc = send_current(b);
    }
    return rc;
}

int blocks_finish(struct blocks *b, const void *head, size_t head_bytes, char digest[DIGEST_TEXT])
{
    int rc = b->used > 0 ? send_current(b) : 0, all = await_all(b);
    if (rc == 0) rc = all;
    if (rc == 0) rc = files_write(b->fd, head, head_bytes, 0);
    if (rc == 0) rc = files->sync(b->fd);
    int closed = close_file(b);
    digest_end(&b->digest, digest);
    return rc ? rc : closed;
}

/* ---- reading ---- */

static void ask_for(struct blocks *b, unsigned i)
{
    uint64_t left = b->end - b->at;
    b->block[i] = (struct block){.at = b->at, .bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES};
    if (left == 0) return;
    b->at += b->block[i].bytes;
    submit(b, i);
}

static void ask_for_all(struct blocks *b)
{
    for (unsigned i = 0; i < BLOCKS; i++) ask_for(b, i);
}

int blocks_open(struct blocks *b, const char *path, uint64_t from, uint64_t end, struct seal *seal)
{
    int rc = open_at(b, path, O_RDONLY, from, end);
    if (rc) return rc;
    b->to_seal = seal;
    ask_for_all(b);
    return 0;
}

int blocks_open_sealed(struct blocks *b, const char *path, uint64_t from, uint64_t end,
                       const struct seal *s)
{
    uint64_t before = (from - s->from) % SEAL_BYTES, over = (end - s->from) % SEAL_BYTES;
    uint64_t more = over ? SEAL_BYTES - over : 0;
    int rc = open_at(b, path, O_RDONLY, from - before, s->end - end < more ? s->end : end + more);
    if (rc) return rc;
    b->sealed = s;
    b->used = before;
    ask_for_all(b);
    return 0;
}

/* A block that has arrived, piece by piece: is it what it must be? */
static int see(struct blocks *b, unsigned i)
{
    struct block *block = &b->block[i];
    if (block->is_seen) return 0;
    block->is_seen = true;
    if (!b->to_seal && !b->sealed) return 0;
    for (size_t at = 0, n; at < block->bytes; at += n) {
        n = block->bytes - at < SEAL_BYTES ? block->bytes - at : SEAL_BYTES;
        if (b->to_seal)
            seal_put(b->to_seal, block->at + at, memory_of(b, i) + at, n);
        else if (!seal_holds(b->sealed, block->at + at, memory_of(b, i) + at, n))
            return -ESTALE;
    }
    return 0;
}

/* Some of the next bytes, `most` at most, and their number; NULL, and why in *rc. */
static const unsigned char *next_bytes(struct blocks *b, uint64_t most, size_t *n, int *rc)
{
    unsigned i = b->current;
    *rc = await(b, i);
    if (*rc == 0) *rc = see(b, i);
    if (*rc) return NULL;
    size_t left = b->block[i].bytes - b->used;
    *n = most < left ? most : left;
    if (*n == 0) *rc = -ENODATA;
    const unsigned char *at = memory_of(b, i) + b->used;
    b->used += *n;
    return *n ? at : NULL;
}

/* When the current block is used up: it is asked for more, and the next one's turn comes. */
static void go_on(struct blocks *b)
{
    unsigned i = b->current;
    if (b->used < b->block[i].bytes) return;
    b->used = 0;
    b->current = (i + 1) % BLOCKS;
    ask_for(b, i);
}

int blocks_read(struct blocks *b, void *to, uint64_t bytes)
{
    unsigned char *into = to;
    size_t n;
    int rc = 0;
    for (; bytes > 0; bytes -= n) {
        const unsigned char *at = next_bytes(b, bytes, &n, &rc);
        if (!at) break;
        if (!b->sealed) digest_add(&b->digest, at, n);
        if (into) memcpy(into, at, n), into += n;
        go_on(b);
    }
    return rc;
}

void blocks_close(struct blocks *b, char digest[DIGEST_TEXT])
{
    await_all(b);
    close_file(b);
    if (digest) digest_end(&b->digest, digest);
}
