/* What few rows of a large table cost the nodes of a cluster in memory that is really used: a page
 * of each array that knows their keys, wherever they lie. (Of one node: unit test memory_cost.) */
#include "common/zero_page.h"
#include "team.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    NODES = 2,
    CALL = 100,
    PAGE = 4096,
    NOISE_BYTES = 24 << 20, /* the heap's, threads', links' */
};

enum deed { READ, WRITE, INTEND };

struct trial {
    enum deed deed;
    uint64_t calls;
    long pages_a_key;
    long before_kb;
};

static void do_call(struct seat *s, enum deed deed, float *rows)
{
    uint64_t keys = s->team->tables[0].rows;
    locus_key key[CALL];
    for (int i = 0; i < CALL; i++)
        key[i] = ((uint64_t)seat_random(s, 1u << 31) << 20 ^ seat_random(s, 1u << 31)) % keys;
    if (deed == INTEND) {
        locus_clock next = locus_current_clock(s->worker) + 1;
        CHECK_EQ(locus_intent(s->worker, key, CALL, next, next + 1), 0);
        locus_advance_clock(s->worker);
    }
    if (deed == WRITE)
        CHECK_EQ(locus_push(s->worker, key, CALL, rows), 0);
    else
        CHECK_EQ(locus_pull(s->worker, key, CALL, rows), 0);
}

/* Both nodes are in this process. */
static void body(struct seat *s)
{
    struct trial *t = s->team->shared;
    CLOSED_BY(free_at) float *rows = calloc((size_t)CALL * s->team->tables[0].length, sizeof *rows);
    CHECK(rows != NULL);
    seat_barrier(s);
    if (s->number == 0) t->before_kb = footprint_now().resident_kb;
    seat_barrier(s);
    for (uint64_t i = 0; i < t->calls; i++) do_call(s, t->deed, rows);
    seat_barrier(s);
    if (s->number == 0) {
        long grown_kb = footprint_now().resident_kb - t->before_kb;
        long keys = (long)(NODES * t->calls * CALL);
        CHECK(grown_kb <= (keys * t->pages_a_key * PAGE + NOISE_BYTES) / 1024);
    }
    seat_barrier(s);
}

static void cost(uint64_t keys, uint32_t length, struct trial t)
{
    const struct locus_table table = {.rows = keys, .length = length};
    if (IS_SANITIZED) SKIP("a sanitizer's shadow is resident memory too");
    if (sysconf(_SC_AVPHYS_PAGES) < (3072L << 20) / sysconf(_SC_PAGESIZE))
        SKIP("3 GiB of memory are not free here");
    team_run(&(struct team){TEAM_OF(NODES, 1, 1, LOCUS_ADAPTIVE, &table, 1), .shared = &t}, body);
}

/* Half of the keys are remote: who asks remembers that it did. */
TEST(memory_cost, pull_of_rows_that_nobody_wrote)
{
    if (!IS_SANITIZED && !kernel_has_zero_page())
        SKIP("this kernel has no page of zeros for what is only read");
    cost(100 * 1000 * 1000, 128, (struct trial){.deed = READ, .calls = 200, .pages_a_key = 1});
}

/* The owner's word and row, and half of the time what the asker remembers. */
TEST(memory_cost, push_of_a_few_rows)
{
    cost(10 * 1000 * 1000, 16, (struct trial){.deed = WRITE, .calls = 10, .pages_a_key = 3});
}

/* Words and what is remembered on both nodes. */
TEST(memory_cost, intent_for_a_few_rows)
{
    cost(100 * 1000 * 1000, 128, (struct trial){.deed = INTEND, .calls = 20, .pages_a_key = 4});
}
