#include "base/memory.h"

#include "test.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of [p, p + bytes) that are backed by pages. */
static size_t resident(void *p, size_t bytes)
{
    static unsigned char pages[(64 << 20) / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (bytes + page - 1) / page, in = 0;
    CHECK(count <= sizeof pages);
    CHECK_EQ(mincore(p, bytes, pages), 0);
    for (size_t i = 0; i < count; i++) in += (pages[i] & 1) * page;
    return in;
}

TEST(memory, reserved_memory_is_zero_and_writable_to_its_last_byte)
{
    const size_t sizes[] = {0,
                            1,
                            4095,
                            4096,
                            4097,
                            MEMORY_CHUNK_BYTES - 1,
                            MEMORY_CHUNK_BYTES,
                            MEMORY_CHUNK_BYTES + 1,
                            3 * MEMORY_CHUNK_BYTES + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = memory_reserve(sizes[i]);
        CHECK(p != NULL);
        for (size_t at = 0; at < sizes[i]; at += 1021) CHECK_EQ(p[at], 0);
        if (sizes[i]) p[0] = p[sizes[i] - 1] = 1;
        memory_release(p, sizes[i]);
    }
}

TEST(memory, large_reservations_begin_at_a_chunk)
{
    void *p[8];
    for (int i = 0; i < 8; i++) {
        size_t bytes = MEMORY_CHUNK_BYTES * (size_t)(i + 1) + 4096 * (size_t)i;
        p[i] = memory_reserve(bytes);
        CHECK(p[i] != NULL);
        CHECK_EQ((uintptr_t)p[i] % MEMORY_CHUNK_BYTES, 0);
    }
    for (int i = 0; i < 8; i++)
        memory_release(p[i], MEMORY_CHUNK_BYTES * (size_t)(i + 1) + 4096 * (size_t)i);
}

TEST(memory, nothing_is_used_before_it_is_written)
{
    size_t bytes = 32 << 20;
    char *p = memory_reserve(bytes);
    CHECK(p != NULL);
    CHECK_EQ(resident(p, bytes), 0);
    p[bytes / 2] = 1;
    CHECK(resident(p, bytes) > 0);
    CHECK(resident(p, bytes) <= MEMORY_CHUNK_BYTES);
    memory_release(p, bytes);
}

TEST(memory, discarded_pages_are_given_back_and_zero)
{
    size_t bytes = 4 * (size_t)MEMORY_CHUNK_BYTES;
    char *p = memory_reserve(bytes);
    CHECK(p != NULL);
    memset(p, 7, bytes);
    CHECK_EQ(resident(p, bytes), bytes);
    memory_discard(p + MEMORY_CHUNK_BYTES, MEMORY_CHUNK_BYTES);
    CHECK_EQ(resident(p, bytes), bytes - MEMORY_CHUNK_BYTES);
    for (size_t i = 0; i < bytes; i += 509) CHECK_EQ(p[i], i / MEMORY_CHUNK_BYTES == 1 ? 0 : 7);
    CHECK_EQ(p[MEMORY_CHUNK_BYTES - 1], 7);
    CHECK_EQ(p[2 * MEMORY_CHUNK_BYTES], 7);
    memset(p, 8, bytes); /* can be used again */
    memory_release(p, bytes);
}

TEST(memory, only_whole_pages_within_the_range_are_discarded)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 8 * page;
    char *p = memory_reserve(bytes);
    CHECK(p != NULL);
    memset(p, 7, bytes);
    memory_discard(p + page + 1, 3 * page); /* two whole ones, and parts of two */
    for (size_t i = 0; i < bytes; i++) CHECK_EQ(p[i], i / page == 2 || i / page == 3 ? 0 : 7);
    memory_discard(p + 5 * page + 1, page - 2);
    CHECK_EQ(p[5 * page + 1], 7);
    memory_release(p, bytes);
}

TEST(memory, released_memory_is_gone_and_its_neighbours_are_not)
{
    size_t bytes = MEMORY_CHUNK_BYTES + 5;
    char *p = memory_reserve(bytes), *q = memory_reserve(bytes);
    CHECK(p && q);
    p[0] = q[0] = q[bytes - 1] = 1;
    memory_release(p, bytes);
    CHECK(msync(p, 4096, MS_ASYNC) != 0); /* not mapped */
    CHECK(msync(p + bytes - 5, 4096, MS_ASYNC) != 0);
    CHECK_EQ(q[0] + q[bytes - 1], 2);
    memory_release(q, bytes);
    memory_release(NULL, 17);
}

TEST(memory, more_than_there_can_be_is_refused)
{
    CHECK(memory_reserve(SIZE_MAX) == NULL);
    CHECK(memory_reserve(SIZE_MAX - 4095) == NULL);
    CHECK(memory_reserve(SIZE_MAX - MEMORY_CHUNK_BYTES) == NULL);
    CHECK(memory_reserve(SIZE_MAX / 2) == NULL);
    CHECK(memory_reserve((size_t)1 << 60) == NULL);
}
