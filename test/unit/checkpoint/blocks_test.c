#include "checkpoint/blocks.h"

#include "base/ring.h"
#include "common/folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRONT = 4096 };

static unsigned char *bytes_of(size_t n)
{
    unsigned char *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(i * 31 + i / 251);
    return bytes;
}

/* Written in pieces of one size, read in those of another. */
static void goes_round(struct blocks *b, const char *f, size_t n, size_t in, size_t out)
{
    static const char head[] = "head";
    const char *path = folder_path(f, "file");
    unsigned char *bytes = bytes_of(n), *again = malloc(n + 1);
    char written[DIGEST_TEXT], passed[DIGEST_TEXT], front[sizeof head];
    CHECK(again != NULL);
    CHECK_EQ(blocks_create(b, path, FRONT), 0);
    for (size_t at = 0; at < n; at += in)
        CHECK_EQ(blocks_append(b, bytes + at, n - at < in ? n - at : in), 0);
    CHECK_EQ(blocks_finish(b, head, sizeof head, written), 0);
    digest_of(bytes, n, passed);
    CHECK_EQ(strcmp(written, passed), 0);

    CHECK_EQ(blocks_open(b, path, FRONT, FRONT + n, NULL), 0);
    for (size_t at = 0; at < n; at += out)
        CHECK_EQ(blocks_read(b, again + at, n - at < out ? n - at : out), 0);
    blocks_close(b, NULL);
    CHECK_EQ(memcmp(bytes, again, n), 0);
    CHECK_EQ(blocks_open(b, path, FRONT, FRONT + n, NULL), 0);
    CHECK_EQ(blocks_read(b, NULL, n), 0);
    blocks_close(b, passed);
    CHECK_EQ(strcmp(written, passed), 0);

    CHECK_EQ(blocks_open(b, path, 0, sizeof head, NULL), 0);
    CHECK_EQ(blocks_read(b, front, sizeof head), 0);
    blocks_close(b, NULL);
    CHECK_EQ(memcmp(front, head, sizeof head), 0);
    unlink(path);
    free(bytes);
    free(again);
}

TEST(blocks, read_returns_what_append_wrote)
{
    static const size_t sizes[] = {0,
                                   1,
                                   BLOCK_BYTES - 1,
                                   BLOCK_BYTES,
                                   BLOCK_BYTES + 1,
                                   BLOCKS * BLOCK_BYTES,
                                   (BLOCKS + 2) * BLOCK_BYTES + 17};
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    CLOSED_BY(blocks_fini) struct blocks b;
    CHECK_EQ(blocks_init(&b), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        goes_round(&b, f, sizes[i], 1 << 20, 100003);
        goes_round(&b, f, sizes[i], 70001, 3 << 20);
    }
}

TEST(blocks, read_of_a_shorter_file_is_enodata)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    CLOSED_BY(blocks_fini) struct blocks b;
    char text[DIGEST_TEXT];
    CLOSED_BY(free_at) unsigned char *bytes = bytes_of(3 * BLOCK_BYTES);
    const char *path = folder_path(f, "file");
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, path, 0), 0);
    CHECK_EQ(blocks_append(&b, bytes, 2 * BLOCK_BYTES + 5), 0);
    CHECK_EQ(blocks_finish(&b, "", 0, text), 0);
    CHECK_EQ(blocks_open(&b, path, 0, 2 * BLOCK_BYTES + 6, NULL), 0);
    CHECK_EQ(blocks_read(&b, bytes, 2 * BLOCK_BYTES), 0);
    CHECK_EQ(blocks_read(&b, bytes, 6), -ENODATA);
    blocks_close(&b, NULL);
    CHECK_EQ(blocks_open(&b, path, 0, UINT64_C(1) << 40, NULL), 0);
    CHECK_EQ(blocks_read(&b, NULL, UINT64_C(1) << 40), -ENODATA);
    blocks_close(&b, text);
}

/* Pieces from anywhere to anywhere; and the same after one byte has changed. */
static void read_sealed(struct blocks *b, const char *path, const struct seal *seal,
                        const unsigned char *bytes, uint64_t changed)
{
    const uint64_t n = seal->end - seal->from;
    uint64_t places[] = {
        0, 1, SEAL_BYTES - 1, SEAL_BYTES, BLOCK_BYTES + 5, 6 * (uint64_t)BLOCK_BYTES, n - 1, n};
    CLOSED_BY(free_at) unsigned char *again = malloc(n);
    CHECK(again != NULL);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = i; k < sizeof places / sizeof *places; k++) {
            uint64_t from = places[i], to = places[k];
            CHECK_EQ(blocks_open_sealed(b, path, seal->from + from, seal->from + to, seal), 0);
            int rc = blocks_read(b, again, to - from);
            blocks_close(b, NULL);
            bool sees = changed / SEAL_BYTES >= from / SEAL_BYTES && to > from &&
                        changed / SEAL_BYTES <= (to - 1) / SEAL_BYTES;
            CHECK_EQ(rc, sees ? -ESTALE : 0);
            if (!rc) CHECK_EQ(memcmp(again, bytes + from, to - from), 0);
        }
}

TEST(blocks, read_of_sealed_blocks_finds_changed_bytes)
{
    char f[FOLDER_PATH_BYTES], text[DIGEST_TEXT];
    enum { N = 7 * BLOCK_BYTES + 12345 };
    struct blocks b;
    struct seal seal = {.tag = NULL};
    folder_new(f);
    unsigned char *bytes = bytes_of(N), byte;
    const char *path = folder_path(f, "file");
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, path, FRONT), 0);
    CHECK_EQ(blocks_append(&b, bytes, N), 0);
    CHECK_EQ(blocks_finish(&b, "", 0, text), 0);
    CHECK_EQ(seal_begin(&seal, FRONT, FRONT + N), 0);
    CHECK_EQ(blocks_open(&b, path, FRONT, FRONT + N, &seal), 0);
    CHECK_EQ(blocks_read(&b, NULL, N), 0);
    blocks_close(&b, NULL);
    read_sealed(&b, path, &seal, bytes, UINT64_MAX);
    const uint64_t changes[] = {0, SEAL_BYTES, 3 * BLOCK_BYTES - 1, N - 1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        byte = (unsigned char)(bytes[changes[i]] ^ 1);
        CHECK_EQ(pwrite(fd, &byte, 1, (off_t)(FRONT + changes[i])), 1);
        read_sealed(&b, path, &seal, bytes, changes[i]);
        CHECK_EQ(pwrite(fd, bytes + changes[i], 1, (off_t)(FRONT + changes[i])), 1);
    }
    close(fd);
    seal_end(&seal);
    blocks_fini(&b);
    free(bytes);
}

/* Reading the first bytes of a process's memory, where nothing is, is -EIO. */
static void read_an_error(bool has_ring)
{
    CLOSED_BY(blocks_fini) struct blocks b;
    char bytes[100];
    CHECK_EQ(blocks_init(&b), 0);
    if (!has_ring && b.has_ring) {
        ring_close(&b.ring);
        b.has_ring = false;
    }
    CHECK_EQ(blocks_open(&b, "/proc/self/mem", 0, 3 * (uint64_t)BLOCK_BYTES, NULL), 0);
    CHECK_EQ(blocks_read(&b, bytes, sizeof bytes), -EIO);
    blocks_close(&b, NULL);
}

TEST(blocks, read_returns_the_error_of_the_disk)
{
    read_an_error(true);
    read_an_error(false);
}
