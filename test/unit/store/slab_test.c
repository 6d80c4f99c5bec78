#include "store/slab.h"

#include "base/memory.h"
#include "common/stores.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t throw_dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static size_t resident(const void *p, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)p % page;
    size_t count = (before + bytes + page - 1) / page, in = 0;
    unsigned char *pages = calloc(1, count);
    CHECK(pages != NULL);
    CHECK_EQ(mincore((void *)((uintptr_t)p - before), before + bytes, pages), 0);
    for (size_t i = 0; i < count; i++) in += (pages[i] & 1) * page;
    free(pages);
    return in;
}

TEST(slab, take_fails_without_free_slots)
{
    struct slab_density d = {0};
    CLOSED_BY(slab_fini) struct slab s;
    CHECK(slab_init(&s, 2, 5, 5, &d));
    uint64_t count = 0;
    while (slab_take(&s, SLAB_NONE) != SLAB_NONE) count++;
    CHECK(count >= 2 * 5); /* all keys, and as many that wait for a grace period */
    CHECK_EQ(s.held, count);
    CHECK_EQ(slab_take(&s, 2), 2); /* home slots are kept for their keys */
    CHECK(slab_take(&s, 2) == SLAB_NONE);
    CHECK(slab_take(&s, SLAB_NONE) == SLAB_NONE);
    CHECK_EQ(s.held, count + 1);
    slab_give(&s, 7);
    CHECK_EQ(slab_take(&s, SLAB_NONE), 7);
}

TEST(slab, init_refuses_more_than_the_address_space)
{
    struct slab_density d = {0};
    struct slab s;
    CHECK(!slab_init(&s, 1 << 20, UINT64_C(1) << 40, UINT64_C(1) << 40, &d));
    CHECK(!slab_init(&s, 1 << 20, UINT64_C(1) << 50, UINT64_C(1) << 50, &d));
}

TEST(slab, give_frees_memory)
{
    struct slab_density d = {0};
    CLOSED_BY(slab_fini) struct slab s;
    const uint64_t keys = 20 * (MEMORY_CHUNK_BYTES / 400);
    CHECK(slab_init(&s, 100, keys, keys, &d));
    for (uint64_t k = 0; k < keys; k++) memset(slab_row(&s, slab_take(&s, k)), 1, 400);
    CHECK(resident(s.rows, keys * 400) >= keys * 400);
    CHECK(slab_touched_bytes(&s) >= keys * 400);
    /* in no order: keys is no multiple of it */
    for (uint64_t k = 0; k < keys; k++) slab_give(&s, k * 7919 % keys);
    CHECK_EQ(s.held, 0);
    CHECK_EQ(d.held_bytes, 0);
    CHECK_EQ(slab_touched_bytes(&s), MEMORY_CHUNK_BYTES); /* one is kept for the next row */
    CHECK_EQ(d.touched_bytes, MEMORY_CHUNK_BYTES);
    CHECK(resident(s.rows, keys * 400) <= MEMORY_CHUNK_BYTES);
}

/* Few random rows of large tables: touched chunks stay below twice the rows and the slack, which is
 * one for all slabs of a node. The last of the chunks of each is touched by spare slots, too. */
static void check_density(int slabs)
{
    struct slab_density d = {0};
    struct slab s[4];
    uint64_t dice = 2;
    const uint64_t keys = 40 * 1000 * 1000 / (uint64_t)slabs;
    for (int i = 0; i < slabs; i++) CHECK(slab_init(&s[i], 16, keys, keys, &d));
    for (int i = 0; i < 100000; i++) {
        CHECK(slab_take(&s[i % slabs], throw_dice(&dice) % keys) != SLAB_NONE);
        CHECK(d.touched_bytes <= 2 * d.held_bytes + SLAB_SLACK_BYTES + slabs * MEMORY_CHUNK_BYTES);
    }
    for (int i = 0; i < slabs; i++) slab_fini(&s[i]);
}

TEST(slab, random_rows_touch_at_most_twice_their_bytes_and_one_slack)
{
    check_density(1);
    check_density(4);
}

/* Against a plain list of who has what, and the density counted anew. */

struct model {
    struct slab slab;
    struct slab_density density;
    uint64_t *slot; /* in use */
    size_t count;
    unsigned char *used; /* by slot */
};

static void recount(struct model *m)
{
    struct slab *s = &m->slab;
    int64_t held = 0, touched = 0;
    uint64_t last_home = (s->home_slots * s->row_bytes - 1) / MEMORY_CHUNK_BYTES;
    for (uint64_t chunk = 0; chunk * MEMORY_CHUNK_BYTES < s->slots * s->row_bytes; chunk++) {
        uint64_t begin = chunk * MEMORY_CHUNK_BYTES, end = begin + MEMORY_CHUNK_BYTES, rows = 0;
        for (size_t i = 0; i < m->count; i++)
            rows += m->slot[i] * s->row_bytes < end && (m->slot[i] + 1) * s->row_bytes > begin;
        CHECK_EQ(s->chunk_rows[chunk], rows);
        if (end > s->slots * s->row_bytes) end = s->slots * s->row_bytes;
        bool is_touched = rows > 0 || s->empty == chunk;
        touched += is_touched && chunk <= last_home ? (int64_t)(end - begin) : 0;
    }
    for (size_t i = 0; i < m->count; i++)
        held += m->slot[i] < s->home_slots ? (int64_t)s->row_bytes : 0;
    CHECK_EQ(m->density.held_bytes, held);
    CHECK_EQ(m->density.touched_bytes, touched);
    CHECK_EQ(s->held, m->count);
}

/* The last float of the row; of those that have pages of their own anyway, the first. */
static float *last_of(struct model *m, uint64_t slot)
{
    uint64_t floats = m->slab.row_bytes / sizeof(float);
    return slab_row(&m->slab, slot) + (floats < 1 << 18 ? floats - 1 : 0);
}

static void take_one(struct model *m, uint64_t home)
{
    uint64_t slot = slab_take(&m->slab, home);
    if (slot == SLAB_NONE) return;
    CHECK(slot < m->slab.slots);
    CHECK_EQ(m->used[slot], 0);
    CHECK(slot >= m->slab.home_slots || slot == home || slot < m->slab.next_spare);
    m->used[slot] = 1;
    m->slot[m->count++] = slot;
    *slab_row(&m->slab, slot) = *last_of(m, slot) = (float)slot;
}

static void give_one(struct model *m, size_t i)
{
    uint64_t slot = m->slot[i];
    /* no other row lies there, and nobody gave its chunk back */
    CHECK(*slab_row(&m->slab, slot) == (float)slot && *last_of(m, slot) == (float)slot);
    slab_give(&m->slab, slot);
    m->used[slot] = 0;
    m->slot[i] = m->slot[--m->count];
}

static void same_as_a_list(uint32_t length, uint64_t keys, uint64_t seed)
{
    struct model m = {.count = 0};
    uint64_t dice = seed;
    CHECK(slab_init(&m.slab, length, keys, keys, &m.density));
    m.slot = calloc(m.slab.slots, sizeof *m.slot);
    m.used = calloc(m.slab.slots, 1);
    CHECK(m.slot && m.used);
    for (int step = 0; step < 2000; step++) {
        bool grows = step / 400 % 2 == 0;
        if (throw_dice(&dice) % 4 < (grows ? 3 : 1))
            take_one(&m, throw_dice(&dice) % 3 ? throw_dice(&dice) % keys : SLAB_NONE);
        else if (m.count > 0)
            give_one(&m, throw_dice(&dice) % m.count);
        if (step % 50 == 0) recount(&m);
    }
    while (m.count > 0) give_one(&m, m.count - 1);
    recount(&m);
    slab_fini(&m.slab);
    free(m.slot);
    free(m.used);
}

TEST(slab, take_and_give_agree_with_a_plain_list)
{
    same_as_a_list(1, 300, 1);
    same_as_a_list(16, 1000000, 2);
    same_as_a_list(1000, 5000, 3);
    same_as_a_list(100000, 300, 4);  /* five rows to a chunk, most across two */
    same_as_a_list(1 << 20, 200, 5); /* two chunks a row */
    same_as_a_list(700001, 200, 6);
}

static void give_twice(void)
{
    struct slab_density d = {0};
    struct slab s;
    signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr) || !slab_init(&s, 1, 10, 10, &d)) _exit(0);
    uint64_t slot = slab_take(&s, 3);
    slab_give(&s, slot);
    slab_give(&s, slot);
    _exit(0);
}

TEST(slab, give_twice_aborts)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) give_twice();
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}
