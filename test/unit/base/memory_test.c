#include "base/memory.h"

#include "test.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
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

TEST(memory, reserve_is_zero_aligned_and_backed_by_nothing_until_it_is_used)
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
        CHECK(sizes[i] < MEMORY_CHUNK_BYTES || (uintptr_t)p % MEMORY_CHUNK_BYTES == 0);
        CHECK_EQ(resident(p, sizes[i]), 0);
        for (size_t at = 0; at < sizes[i]; at += 1021) CHECK_EQ(p[at], 0);
        if (sizes[i]) p[0] = p[sizes[i] - 1] = 1;
        memory_release(p, sizes[i]);
    }
}

/* ---- huge pages where memory is dense ---- */

/* Bytes of huge pages in the maps that [p, p + bytes) has a part in. */
static size_t huge(const char *p, size_t bytes)
{
    char line[512];
    size_t sum = 0, kilobytes;
    bool is_ours = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    CHECK(f != NULL);
    while (fgets(line, sizeof line, f)) {
        uintptr_t from, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &end) == 2)
            is_ours = from < (uintptr_t)p + bytes && end > (uintptr_t)p;
        if (is_ours && sscanf(line, "AnonHugePages: %zu", &kilobytes) == 1) sum += kilobytes << 10;
    }
    fclose(f);
    return sum;
}

/* Writes to the first `pages` pages of a chunk. */
static void write_pages(char *p, size_t bytes, size_t chunk, size_t pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < pages; i++) {
        char *at = p + chunk * MEMORY_CHUNK_BYTES + i * page;
        memory_touched(p, bytes, at, 100);
        *at = 1;
    }
}

/* Does the kernel make huge pages when it is asked for them? */
static bool has_huge_pages(void)
{
    size_t bytes = 2 * (size_t)MEMORY_CHUNK_BYTES;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    bool has = false;
    if (madvise(p, bytes, MADV_HUGEPAGE) == 0) {
        memset(p, 1, bytes);
        has = huge(p, bytes) > 0;
    }
    munmap(p, bytes);
    return has;
}

enum { CHUNKS = 8 };
static const size_t eight = CHUNKS * (size_t)MEMORY_CHUNK_BYTES;

TEST(memory, touched_makes_dense_chunks_huge_pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = MEMORY_CHUNK_BYTES / page;
    if (!has_huge_pages()) SKIP("this system has no huge pages");
    char *p = memory_reserve(eight);
    CHECK(p != NULL);
    write_pages(p, eight, 2, pages / 2 - 1);
    CHECK_EQ(huge(p, eight), 0);
    CHECK_EQ(resident(p, eight), (pages / 2 - 1) * page);
    write_pages(p, eight, 2, pages / 2);
    CHECK_EQ(huge(p, eight), MEMORY_CHUNK_BYTES);
    write_pages(p, eight, 3, 1);
    CHECK_EQ(huge(p, eight), 2 * MEMORY_CHUNK_BYTES);
    write_pages(p, eight, 4, 1); /* behind one that is huge, but not dense */
    write_pages(p, eight, 1, 1);
    CHECK_EQ(huge(p, eight), 2 * MEMORY_CHUNK_BYTES);
    for (size_t i = 0; i < pages / 2; i++) CHECK_EQ(p[2 * MEMORY_CHUNK_BYTES + i * page], 1);
    memory_release(p, eight);
    p = memory_reserve(eight); /* a row longer than a chunk is announced as one range */
    memory_touched(p, eight, p + 100, 3 * (size_t)MEMORY_CHUNK_BYTES);
    memset(p + 100, 1, 3 * (size_t)MEMORY_CHUNK_BYTES);
    CHECK_EQ(huge(p, eight), 4 * MEMORY_CHUNK_BYTES);
    memory_release(p, eight);
}

TEST(memory, discard_begins_with_small_pages_again)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = MEMORY_CHUNK_BYTES / page;
    char *p = memory_reserve(eight);
    CHECK(p != NULL);
    for (int round = 0; round < 1000; round++)
        for (size_t i = 0; i < CHUNKS; i++) write_pages(p, eight, i, 1);
    CHECK_EQ(resident(p, eight), CHUNKS * page); /* a write alone in its chunk costs a page */
    memory_discard(p, eight, p, eight);
    for (int round = 0; round < 3; round++) {
        write_pages(p, eight, 1, pages);
        CHECK_EQ(resident(p, eight), MEMORY_CHUNK_BYTES);
        memory_discard(p, eight, p + MEMORY_CHUNK_BYTES, MEMORY_CHUNK_BYTES);
        CHECK_EQ(resident(p, eight), 0);
        write_pages(p, eight, 1, 1);
        CHECK_EQ(resident(p, eight), page);
        memory_discard(p, eight, p, eight);
    }
    memory_release(p, eight);
}

/* Each huge page alone between small ones is two maps of the 65,530 that a process may have. */
TEST(memory, huge_pages_leave_the_process_half_of_its_maps)
{
    enum { DENSE = 1 << 15 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = DENSE * 2 * (size_t)MEMORY_CHUNK_BYTES;
    for (int round = 0; round < 2; round++) {
        char *p = memory_reserve(bytes);
        if (!p) SKIP("no address space of 128 GiB");
        for (size_t i = 0; i < DENSE; i++)
            memory_touched(p, bytes, p + 2 * i * MEMORY_CHUNK_BYTES, MEMORY_CHUNK_BYTES / 2 + page);
        void *map[1 << 14];
        for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
            int access = i % 2 ? PROT_READ : PROT_NONE; /* neighbours differ: a map each */
            map[i] = mmap(NULL, page, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(map[i] != MAP_FAILED);
        }
        for (size_t i = 0; i < sizeof map / sizeof *map; i++) munmap(map[i], page);
        memory_release(p, bytes);
    }
}

/* ---- giving back ---- */

TEST(memory, discard_takes_whole_pages_only)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 8 * page;
    char *p = memory_reserve(bytes);
    CHECK(p != NULL);
    memset(p, 7, bytes);
    memory_discard(p, bytes, p + page + 1, 3 * page); /* two whole ones, and parts of two */
    for (size_t i = 0; i < bytes; i++) CHECK_EQ(p[i], i / page == 2 || i / page == 3 ? 0 : 7);
    memory_discard(p, bytes, p + 5 * page + 1, page - 2);
    CHECK_EQ(p[5 * page + 1], 7);
    memset(p, 8, bytes); /* can be used again */
    memory_release(p, bytes);
}

TEST(memory, release_unmaps_the_range_only)
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

TEST(memory, reserve_refuses_too_much)
{
    CHECK(memory_reserve(SIZE_MAX) == NULL);
    CHECK(memory_reserve(SIZE_MAX - 4095) == NULL);
    CHECK(memory_reserve(SIZE_MAX - MEMORY_CHUNK_BYTES) == NULL);
    CHECK(memory_reserve(SIZE_MAX / 2) == NULL);
    CHECK(memory_reserve((size_t)1 << 60) == NULL);
}
