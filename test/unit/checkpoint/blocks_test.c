#include "checkpoint/blocks.h"

#include "base/ring.h"
#include "common/folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

    CHECK_EQ(blocks_open(b, path, FRONT, FRONT + n), 0);
    for (size_t at = 0; at < n; at += out)
        CHECK_EQ(blocks_read(b, again + at, n - at < out ? n - at : out), 0);
    blocks_close(b, NULL);
    CHECK_EQ(memcmp(bytes, again, n), 0);
    CHECK_EQ(blocks_open(b, path, FRONT, FRONT + n), 0);
    CHECK_EQ(blocks_pass(b, n), 0);
    blocks_close(b, passed);
    CHECK_EQ(strcmp(written, passed), 0);

    CHECK_EQ(blocks_open(b, path, 0, sizeof head), 0);
    CHECK_EQ(blocks_read(b, front, sizeof head), 0);
    blocks_close(b, NULL);
    CHECK_EQ(memcmp(front, head, sizeof head), 0);
    unlink(path);
    free(bytes);
    free(again);
}

TEST(blocks, what_was_written_is_read)
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
    struct blocks b;
    CHECK_EQ(blocks_init(&b), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        goes_round(&b, f, sizes[i], 1 << 20, 100003);
        goes_round(&b, f, sizes[i], 70001, 3 << 20);
    }
    blocks_fini(&b);
    folder_remove(f);
}

TEST(blocks, a_file_that_is_shorter_than_was_said_ends_too_early)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    struct blocks b;
    char text[DIGEST_TEXT];
    unsigned char *bytes = bytes_of(3 * BLOCK_BYTES);
    const char *path = folder_path(f, "file");
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, path, 0), 0);
    CHECK_EQ(blocks_append(&b, bytes, 2 * BLOCK_BYTES + 5), 0);
    CHECK_EQ(blocks_finish(&b, "", 0, text), 0);
    CHECK_EQ(blocks_open(&b, path, 0, 2 * BLOCK_BYTES + 6), 0);
    CHECK_EQ(blocks_read(&b, bytes, 2 * BLOCK_BYTES), 0);
    CHECK_EQ(blocks_read(&b, bytes, 6), -ENODATA);
    blocks_close(&b, NULL);
    CHECK_EQ(blocks_open(&b, path, 0, UINT64_C(1) << 40), 0);
    CHECK_EQ(blocks_pass(&b, UINT64_C(1) << 40), -ENODATA);
    blocks_close(&b, text);
    blocks_fini(&b);
    free(bytes);
    folder_remove(f);
}

TEST(blocks, nobody_writes_over_a_file)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    struct blocks b;
    char text[DIGEST_TEXT];
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, folder_path(f, "file"), 0), 0);
    CHECK_EQ(blocks_finish(&b, "", 0, text), 0);
    CHECK_EQ(blocks_create(&b, folder_path(f, "file"), 0), -EEXIST);
    CHECK_EQ(blocks_create(&b, folder_path(f, "no/file"), 0), -ENOENT);
    CHECK_EQ(blocks_open(&b, folder_path(f, "none"), 0, 1), -ENOENT);
    blocks_fini(&b);
    folder_remove(f);
}

/* As when somebody gives up in the middle. */
TEST(blocks, may_end_while_some_are_under_way)
{
    char f[FOLDER_PATH_BYTES];
    folder_new(f);
    struct blocks b;
    unsigned char *bytes = bytes_of(BLOCKS * BLOCK_BYTES);
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, folder_path(f, "file"), 0), 0);
    CHECK_EQ(blocks_append(&b, bytes, BLOCKS * BLOCK_BYTES), 0);
    blocks_fini(&b);
    free(bytes);
    folder_remove(f);
}

/* Reading the first bytes of a process's memory, where nothing is, is -EIO. */
static void read_an_error(bool has_ring)
{
    struct blocks b;
    char bytes[100];
    CHECK_EQ(blocks_init(&b), 0);
    if (!has_ring && b.has_ring) {
        ring_close(&b.ring);
        b.has_ring = false;
    }
    CHECK_EQ(blocks_open(&b, "/proc/self/mem", 0, 3 * (uint64_t)BLOCK_BYTES), 0);
    CHECK_EQ(blocks_read(&b, bytes, sizeof bytes), -EIO);
    blocks_close(&b, NULL);
    blocks_fini(&b);
}

TEST(blocks, what_a_disk_says_is_passed_on)
{
    read_an_error(true);
    read_an_error(false);
}
