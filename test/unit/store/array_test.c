/* Where no row ever leaves: what a part is that has all its rows, and one that has not. */
#include "store/row.h"

#include "common/stores.h"
#include "threads.h"

#include <stdlib.h>

enum { KEYS = 70, LENGTH = 5, CAPACITY = 40 };

struct fixture {
    struct store store;
    struct reader reader;
};

static struct fixture *open_alone(uint64_t keys, uint32_t length, bool has_one_writer)
{
    const struct locus_table table = {.rows = keys, .length = length};
    const struct store_config c = {.tables = &table,
                                   .table_count = 1,
                                   .shards = 1,
                                   .nodes = 1,
                                   .is_alone = true,
                                   .has_one_writer = has_one_writer};
    struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    CHECK(f != NULL);
    CHECK_EQ(store_open(&f->store, &c), 0);
    reader_init(&f->reader, &f->store);
    return f;
}

static void end(struct fixture **at)
{
    struct fixture *f = *at;
    reader_fini(&f->reader);
    store_fini(&f->store);
    free(f);
}

static struct row_ref row_ref_of(struct fixture *f, locus_key key)
{
    return store_row_ref(&f->store, key);
}

static float value_of(locus_key key, uint32_t i)
{
    return (float)(key * 16 + i);
}

static void set(struct fixture *f, locus_key key)
{
    float row[CAPACITY];
    for (uint32_t i = 0; i < LENGTH; i++) row[i] = value_of(key, i);
    CHECK_EQ(row_set(row_ref_of(f, key), row), 0);
}

static void set_all(struct fixture *f)
{
    for (locus_key key = 0; key < KEYS; key++) set(f, key);
}

static const float *view(struct fixture *f, locus_key key)
{
    int is_replica = -1;
    const float *row = row_view(&f->store, row_ref_of(f, key), NULL, &is_replica);
    CHECK(row != NULL);
    CHECK_EQ(is_replica, 0);
    return row;
}

static void check_row(struct fixture *f, locus_key key, float more)
{
    float row[CAPACITY];
    CHECK_EQ(row_read(row_ref_of(f, key), row), 0);
    for (uint32_t i = 0; i < LENGTH; i++) {
        CHECK(row[i] == value_of(key, i) + more);
        CHECK(view(f, key)[i] == row[i]);
    }
}

static void add_one(void *context, float *row, uint32_t length)
{
    *(unsigned *)context += 1;
    for (uint32_t i = 0; i < length; i++) row[i] += 1;
}

/* Each kind of access, to each key. */
static void access_all(struct fixture *f)
{
    float scratch[CAPACITY], ones[CAPACITY] = {1, 1, 1, 1, 1};
    unsigned calls = 0;
    const struct row_edit edit = {.change = add_one, .context = &calls, .scratch = scratch};
    for (locus_key key = 0; key < KEYS; key++) {
        check_row(f, key, 0);
        CHECK_EQ(row_add(row_ref_of(f, key), ones), 0);
        check_row(f, key, 1);
        CHECK_EQ(row_edit(row_ref_of(f, key), &edit, NULL), 0);
        check_row(f, key, 2);
        CHECK_EQ(row_write_own(row_ref_of(f, key), ones, ROW_ADD), 0);
        CHECK_EQ(row_edit_own(row_ref_of(f, key), &edit), 0);
        check_row(f, key, 4);
        set(f, key);
        check_row(f, key, 0);
    }
    CHECK_EQ(calls, 2 * KEYS);
}

TEST(array, partition_becomes_an_array_with_its_last_row)
{
    CLOSED_BY(end) struct fixture *f = open_alone(KEYS, LENGTH, true);
    const struct partition *p = f->store.partition;
    for (locus_key key = KEYS; key-- > 0;) {
        CHECK(!p->is_array && !p->plain);
        CHECK(view(f, key)[0] == 0);
        set(f, key);
    }
    CHECK(p->is_array && p->plain);
    directory_word before = *row_ref_word(row_ref_of(f, 7));
    access_all(f);
    CHECK(*row_ref_word(row_ref_of(f, 7)) == before); /* nobody is told anything */
    CHECK_EQ(store_held_rows(&f->store), KEYS);
}

/* Others may be at work in a row: who reads a copy, or writes, goes by its word. */
TEST(array, with_several_writers_serves_views_only)
{
    CLOSED_BY(end) struct fixture *f = open_alone(KEYS, LENGTH, false);
    set_all(f);
    CHECK(f->store.partition->is_array && !f->store.partition->plain);
    directory_word before = *row_ref_word(row_ref_of(f, 7));
    set(f, 7);
    CHECK(directory_version(*row_ref_word(row_ref_of(f, 7))) == directory_version(before) + 1);
    access_all(f);
}

/* One of several who write all rows for the first time, and look at theirs while the part becomes
 * an array. */
struct writer {
    struct fixture *f;
    locus_key first;
};

enum { WRITERS = 3 };

static void *write_some(void *writer)
{
    const struct writer *w = writer;
    for (int time = 0; time < 2; time++) {
        for (locus_key key = w->first; key < KEYS; key += WRITERS) {
            set(w->f, key);
            check_row(w->f, key, 0);
        }
    }
    return NULL;
}

TEST(array, partition_becomes_an_array_while_several_write)
{
    for (int round = 0; round < 20; round++) {
        struct fixture *f = open_alone(KEYS, LENGTH, false);
        struct writer writer[WRITERS];
        for (unsigned i = 0; i < WRITERS; i++) writer[i] = (struct writer){.f = f, .first = i};
        threads_run(write_some, writer, sizeof *writer, WRITERS);
        CHECK(f->store.partition->is_array && !f->store.partition->plain);
        end(&f);
    }
}

TEST(array, partition_with_movers_is_no_array)
{
    const struct locus_table table = {.rows = KEYS, .length = LENGTH};
    CLOSED_BY(end) struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    CHECK(f != NULL);
    CHECK_EQ(store_init(&f->store, &table, 1, 1, 1, 0), 0);
    reader_init(&f->reader, &f->store);
    set_all(f);
    CHECK(!f->store.partition->is_array && !f->store.partition->plain);
}

/* First writes here and there go to spare slots, which are dense (slab.h); such a part is none for
 * good. */
TEST(array, partition_with_rows_in_spare_slots_is_no_array)
{
    enum { ROWS = 24576, FLOATS = 1024, STRIDE = 512 };
    CLOSED_BY(end) struct fixture *f = open_alone(ROWS, FLOATS, true);
    CLOSED_BY(free_at) float *row = calloc(FLOATS, sizeof *row);
    for (locus_key round = 0; round < STRIDE; round++) {
        for (locus_key key = round; key < ROWS; key += STRIDE) {
            row[0] = (float)key;
            CHECK_EQ(row_set(row_ref_of(f, key), row), 0);
        }
    }
    CHECK_EQ(store_held_rows(&f->store), ROWS);
    CHECK(!f->store.partition->is_array && !f->store.partition->plain);
    for (locus_key key = 0; key < ROWS; key++) CHECK(view(f, key)[0] == (float)key);
}
