#include "checkpoint/files.h"

#include "common/folder.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRONT = 4096 };

/* What `b2sum -l 256` prints of these bytes. */
TEST(blocks, digest_is_blake2b)
{
    char text[DIGEST_TEXT];
    digest_of("", 0, text);
    CHECK_EQ(strcmp(text, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"), 0);
    digest_of("abc", 3, text);
    CHECK_EQ(strcmp(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"), 0);
}

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
    blocks_close(b, passed);
    CHECK_EQ(memcmp(bytes, again, n), 0);
    CHECK_EQ(strcmp(written, passed), 0);

    CHECK_EQ(blocks_open(b, path, 0, sizeof head), 0);
    CHECK_EQ(blocks_read(b, front, sizeof head), 0);
    blocks_close(b, passed);
    CHECK_EQ(memcmp(front, head, sizeof head), 0);
    unlink(path);
    free(bytes);
    free(again);
}

TEST(blocks, read_returns_what_append_wrote)
{
    static const size_t sizes[] = {
        0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 4 * BLOCK_BYTES, 6 * BLOCK_BYTES + 17};
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
    CHECK_EQ(blocks_open(&b, path, 0, 2 * BLOCK_BYTES + 6), 0);
    CHECK_EQ(blocks_read(&b, bytes, 2 * BLOCK_BYTES), 0);
    CHECK_EQ(blocks_read(&b, bytes, 6), -ENODATA);
    CHECK_EQ(files_read(b.fd, bytes, 6, 2 * BLOCK_BYTES), -ENODATA);
    blocks_close(&b, text);
    CHECK_EQ(blocks_open(&b, path, 0, UINT64_C(1) << 40), 0);
    CHECK_EQ(blocks_pass(&b, UINT64_C(1) << 40), -ENODATA);
    blocks_close(&b, text);
}

/* Passed over from anywhere to anywhere. */
TEST(blocks, pass_goes_on_where_it_is_told)
{
    enum { N = 3 * BLOCK_BYTES + 12345 };
    const uint64_t places[] = {0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 5, N - 1, N};
    char f[FOLDER_PATH_BYTES], written[DIGEST_TEXT], passed[DIGEST_TEXT];
    folder_new(f);
    CLOSED_BY(blocks_fini) struct blocks b;
    CLOSED_BY(free_at) unsigned char *bytes = bytes_of(N);
    const char *path = folder_path(f, "file");
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_create(&b, path, FRONT), 0);
    CHECK_EQ(blocks_append(&b, bytes, N), 0);
    CHECK_EQ(blocks_finish(&b, "", 0, written), 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = i; k < sizeof places / sizeof *places; k++) {
            unsigned char byte = 0, peeked = 0;
            CHECK_EQ(blocks_open(&b, path, FRONT, FRONT + N), 0);
            CHECK_EQ(blocks_pass(&b, FRONT + places[i]), 0);
            CHECK_EQ(files_read(b.fd, &peeked, 1, FRONT + N - 1), 0);
            CHECK_EQ(peeked, bytes[N - 1]);
            CHECK_EQ(blocks_pass(&b, FRONT + places[k]), 0);
            CHECK_EQ(blocks_read(&b, &byte, 1), places[k] == N ? -ENODATA : 0);
            if (places[k] < N) CHECK_EQ(byte, bytes[places[k]]);
            CHECK_EQ(blocks_pass(&b, FRONT + N), 0);
            blocks_close(&b, passed);
            CHECK_EQ(strcmp(written, passed), 0);
        }
}

/* Reading the first bytes of a process's memory, where nothing is, is -EIO. */
TEST(blocks, read_returns_the_error_of_the_disk)
{
    CLOSED_BY(blocks_fini) struct blocks b;
    char bytes[100], text[DIGEST_TEXT];
    CHECK_EQ(blocks_init(&b), 0);
    CHECK_EQ(blocks_open(&b, "/proc/self/mem", 0, 3 * (uint64_t)BLOCK_BYTES), 0);
    CHECK_EQ(blocks_read(&b, bytes, sizeof bytes), -EIO);
    CHECK_EQ(blocks_pass(&b, BLOCK_BYTES), -EIO);
    CHECK_EQ(files_read(b.fd, bytes, sizeof bytes, 0), -EIO);
    blocks_close(&b, text);
}
