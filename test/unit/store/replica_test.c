/* Replicas, and main copies that have them: row.h's calls of the shard. What workers do meanwhile is
 * the simulation's (test/sim). */
#include "store/row.h"

#include "common/stores.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>

enum {
    KEYS = 64,
    LENGTH = 24,
    CAPACITY = 64 /* for a row: the compiler does not know its length */,
    POLLS = 16
};

struct fixture {
    struct store store;
    struct mover mover;
    struct reader reader;
    locus_key ours, theirs; /* a key whose home is here, and one whose home is node 1 */
};

static struct fixture *open_store(bool is_full)
{
    const struct locus_table table = {.rows = KEYS, .length = LENGTH};
    const struct store_config c = {.tables = &table,
                                   .table_count = 1,
                                   .shards = 1,
                                   .nodes = 2,
                                   .rank = 0,
                                   .replicates = true,
                                   .is_full = is_full};
    struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    CHECK(f != NULL);
    CHECK_EQ(store_open(&f->store, &c), 0);
    mover_init(&f->mover, &f->store);
    reader_init(&f->reader, &f->store);
    f->ours = f->theirs = 0;
    while (!row_ref_is_home(store_row_ref(&f->store, f->ours))) f->ours++;
    while (row_ref_is_home(store_row_ref(&f->store, f->theirs))) f->theirs++;
    return f;
}

/* Every slot must be back but those of `rows` rows. */
static void end(struct fixture *f, uint64_t rows)
{
    for (int i = 0; i < POLLS; i++) mover_reclaim(&f->mover);
    CHECK_EQ(store_held_rows(&f->store), rows);
    reader_fini(&f->reader);
    mover_fini(&f->mover);
    store_fini(&f->store);
    free(f);
}

/* A test on a fixture f, in whose end so many rows are left. */
#define TEST_OF_REPLICA(name, rows) \
    static void name##__of(struct fixture *); \
    TEST(replica, name) \
    { \
        struct fixture *f = open_store(false); \
        name##__of(f); \
        end(f, rows); \
    } \
    static void name##__of(struct fixture *f)

static struct row_ref ours(struct fixture *f)
{
    return store_row_ref(&f->store, f->ours);
}

static struct row_ref theirs(struct fixture *f)
{
    return store_row_ref(&f->store, f->theirs);
}

/* base, base + step, … */
static const float *row_of(float base, float step)
{
    static float row[8][CAPACITY];
    static int next;
    float *r = row[next++ % 8];
    for (int i = 0; i < LENGTH; i++) r[i] = base + step * (float)i;
    return r;
}

static void check_row(const float *row, float base, float step)
{
    for (int i = 0; i < LENGTH; i++) CHECK(row[i] == base + step * (float)i);
}

static void check_read(struct row_ref s, int where, float base, float step)
{
    float row[CAPACITY] = {0};
    CHECK_EQ(row_read(s, row), where);
    check_row(row, base, step);
}

static const directory_word elsewhere = 1u << 4 | DIRECTORY_ELSEWHERE << 1; /* at node 1, epoch 0 */

static void count(void *context, uint64_t index)
{
    (void)index;
    ++*(int *)context;
}

/* How many keys were marked. */
static int marked(struct fixture *f)
{
    int n = 0;
    dirty_set_take(&f->store.dirty[0], count, &n);
    return n;
}

/* ---- a replica ---- */

/* What is added goes out once, and marks the key with the first change since. */
TEST_OF_REPLICA(collect_returns_updates_once, 0)
{
    float row[CAPACITY];
    CHECK_EQ(row_read(theirs(f), row), -EAGAIN);
    CHECK_EQ(row_replicate(theirs(f), row_of(7, 1)), 0);
    check_read(theirs(f), ROW_ON_REPLICA, 7, 1);
    CHECK(!row_is_dirty(theirs(f)) && marked(f) == 0);
    CHECK_EQ(row_set(theirs(f), row_of(5, 5)), -EAGAIN); /* the owner's business */
    for (int i = 0; i < 3; i++) CHECK_EQ(row_add(theirs(f), row_of(1, 0)), ROW_ON_REPLICA);
    CHECK_EQ(marked(f), 1);
    row_add(theirs(f), row_of(1, 0));
    CHECK_EQ(marked(f), 0); /* dirty all the time: the shard knows */
    CHECK(!row_forget_clean(&f->mover, theirs(f), elsewhere));
    row_collect(theirs(f), row);
    check_row(row, 4, 0);
    CHECK(!row_is_dirty(theirs(f)));
    row_collect(theirs(f), row);
    check_row(row, 0, 0);
    row_add(theirs(f), row_of(2, 1));
    CHECK_EQ(marked(f), 1);
    check_read(theirs(f), ROW_ON_REPLICA, 13, 2);
    row_forget(&f->mover, theirs(f), row, elsewhere);
    check_row(row, 2, 1);
    CHECK_EQ(row_read(theirs(f), row), -EAGAIN);
}

/* ---- what nobody has written ---- */

TEST_OF_REPLICA(of_an_unwritten_row_takes_no_memory, 1)
{
    int is_replica;
    row_track(ours(f));
    CHECK_EQ(row_replicate(theirs(f), NULL), 0);
    CHECK_EQ(store_held_rows(&f->store), 0);
    check_read(ours(f), 0, 0, 0);
    check_read(theirs(f), ROW_ON_REPLICA, 0, 0);
    reader_begin(&f->reader);
    const float *view = row_view(&f->store, theirs(f), NULL, &is_replica);
    check_row(view, 0, 0);
    CHECK_EQ(is_replica, 1);
    CHECK_EQ(row_add(theirs(f), row_of(3, 1)), ROW_ON_REPLICA);
    check_row(view, 0, 0); /* as promised: ask again */
    reader_end(&f->reader);
    CHECK_EQ(row_add(ours(f), row_of(5, 1)), 0);
    CHECK_EQ(marked(f), 2);
    CHECK_EQ(store_held_rows(&f->store), 2);
    check_read(ours(f), 0, 5, 1);
    check_read(theirs(f), ROW_ON_REPLICA, 3, 1);
    row_forget(&f->mover, theirs(f), NULL, directory_elsewhere(1, 1));
}

/* Under full replication all rows of others are replicas of zeros from the start. */
TEST(replica, full_replication_allocates_with_the_first_change)
{
    struct fixture *f = open_store(true);
    float row[CAPACITY];
    check_read(theirs(f), ROW_ON_REPLICA, 0, 0);
    check_read(ours(f), 0, 0, 0);
    CHECK_EQ(store_held_rows(&f->store), 0);
    CHECK_EQ(row_set(theirs(f), row_of(1, 1)), -EAGAIN);
    CHECK_EQ(row_add(theirs(f), row_of(2, 1)), ROW_ON_REPLICA);
    CHECK_EQ(row_add(ours(f), row_of(2, 1)), 0);
    CHECK_EQ(marked(f), 2);
    check_read(theirs(f), ROW_ON_REPLICA, 2, 1);
    row_collect(theirs(f), row);
    check_row(row, 2, 1);
    CHECK_EQ(row_ensure_replica(theirs(f)), 0);
    row_refresh(theirs(f), row_of(8, 8));
    check_read(theirs(f), ROW_ON_REPLICA, 8, 8);
    end(f, 2); /* a main copy, and a pair that counts as one */
}

/* ---- slots ---- */

static uint64_t slot_of(struct row_ref s)
{
    return directory_slot(directory_load(row_ref_word(s)));
}

static void check_alone(struct fixture *f, float first, float last)
{
    float row[CAPACITY];
    CHECK_EQ(row_read_any(theirs(f), row, NULL), ROW_ON_REPLICA);
    check_row(row, first, last);
}

/* So that a reader of one key need not wait for the word to tell where the replica is. While
 * somebody may still look at the last one there, it lies elsewhere. */
TEST_OF_REPLICA(replicate_takes_the_computed_slot_unless_a_reader_holds_it, 0)
{
    CHECK_EQ(row_replicate(theirs(f), row_of(3, 1)), 0);
    CHECK_EQ(slot_of(theirs(f)), row_ref_computed_slot(theirs(f)));
    check_alone(f, 3, 1);
    reader_begin(&f->reader);
    CHECK(row_forget_clean(&f->mover, theirs(f), elsewhere));
    CHECK_EQ(row_replicate(theirs(f), row_of(4, 1)), 0);
    CHECK(slot_of(theirs(f)) != row_ref_computed_slot(theirs(f)));
    check_alone(f, 4, 1);
    reader_end(&f->reader);
    CHECK(row_forget_clean(&f->mover, theirs(f), elsewhere));
    for (int i = 0; i < POLLS; i++) mover_reclaim(&f->mover);
    CHECK_EQ(row_replicate(theirs(f), row_of(5, 1)), 0);
    CHECK_EQ(slot_of(theirs(f)), row_ref_computed_slot(theirs(f)));
    check_alone(f, 5, 1);
    CHECK(row_forget_clean(&f->mover, theirs(f), elsewhere));
}
