#include "store/row.h"

#include "common/stores.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KEYS = 12,
    CAPACITY = 40,
    POLLS = 16,
};

/* A store with a reader and a mover. Its memory outlives them: the epoch knows their records until
 * the store ends. */
struct fixture {
    struct store store;
    struct mover mover;
    struct reader reader, other;
};

static struct fixture *open_tables(const struct locus_table *t, size_t count, unsigned shards,
                                   unsigned nodes)
{
    struct fixture *f = aligned_alloc(128, (sizeof *f + 127) / 128 * 128);
    CHECK(f != NULL);
    CHECK_EQ(store_init(&f->store, t, count, shards, nodes, 0), 0);
    mover_init(&f->mover, &f->store);
    reader_init(&f->reader, &f->store);
    reader_init(&f->other, &f->store);
    return f;
}

static struct fixture *open_rows(uint32_t length)
{
    struct locus_table t = {.rows = KEYS, .length = length};
    return open_tables(&t, 1, 1, 1);
}

static void end(struct fixture **at)
{
    struct fixture *f = *at;
    reader_fini(&f->reader);
    reader_fini(&f->other);
    mover_fini(&f->mover);
    store_fini(&f->store);
    free(f);
}

static struct row_ref row_ref_of(struct fixture *f, locus_key key)
{
    return store_row_ref(&f->store, key);
}

static directory_word word_of(struct fixture *f, locus_key key)
{
    return *row_ref_word(row_ref_of(f, key));
}

/* Different in each element, so that shifted rows are seen. */
static float *pattern(float *row, uint32_t length, float base)
{
    for (uint32_t i = 0; i < length; i++) row[i] = base + (float)i;
    return row;
}

static void check_pattern(const float *row, uint32_t length, float base)
{
    for (uint32_t i = 0; i < length; i++) CHECK(row[i] == base + (float)i);
}

static void check_zero(const float *row, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) CHECK(row[i] == 0);
}

static void take(struct fixture *f, locus_key key, float *row, bool written)
{
    bool was_written = !written;
    CHECK_EQ(row_take(&f->mover, row_ref_of(f, key), row, &was_written, directory_elsewhere(3, 7)),
             0);
    CHECK_EQ(was_written, written);
    CHECK(word_of(f, key) == directory_elsewhere(3, 7));
}

static void poll(struct fixture *f)
{
    for (int i = 0; i < POLLS; i++) mover_reclaim(&f->mover);
}

TEST(row, set_rows_of_any_length_are_read)
{
    const uint32_t lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 100, 1000, 100000};
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct fixture *f = open_rows(lengths[l]);
        float *row = calloc(lengths[l] + CAPACITY, sizeof *row);
        CHECK(row != NULL);
        for (locus_key k = 0; k < KEYS; k += 5)
            CHECK_EQ(row_set(row_ref_of(f, k), pattern(row, lengths[l], (float)k * 100)), 0);
        for (locus_key k = 0; k < KEYS; k++) {
            CHECK_EQ(row_read(row_ref_of(f, k), row), 0);
            if (k % 5 == 0)
                check_pattern(row, lengths[l], (float)k * 100);
            else
                check_zero(row, lengths[l]); /* never written, without a slot */
        }
        CHECK_EQ(store_held_rows(&f->store), (KEYS + 4) / 5);
        free(row);
        end(&f);
    }
}

struct doubling {
    int calls;
    uint32_t length;
};

/* Twice what it was, and one more. */
static void double_row(void *doubling, float *row, uint32_t length)
{
    struct doubling *d = doubling;
    d->calls++;
    d->length = length;
    for (uint32_t i = 0; i < length; i++) row[i] = 2 * row[i] + 1;
}

TEST(row, edit_applies_the_function_to_rows_of_any_length)
{
    for (uint32_t length = 1; length < CAPACITY / 2; length++) {
        struct fixture *f = open_rows(length);
        float row[CAPACITY], scratch[2 * CAPACITY];
        struct doubling d = {0};
        const struct row_edit edit = {.change = double_row, .context = &d, .scratch = scratch};
        for (int i = 1; i <= 5; i++) {
            directory_word before = word_of(f, 3);
            /* the first time it was never written */
            CHECK_EQ(row_edit(row_ref_of(f, 3), &edit, NULL), 0);
            CHECK(word_of(f, 3) != before);
            CHECK_EQ(d.calls, i);
            CHECK_EQ(d.length, length);
            CHECK_EQ(row_read(row_ref_of(f, 3), row), 0);
            for (uint32_t j = 0; j < length; j++) CHECK(row[j] == (float)((1 << i) - 1));
        }
        CHECK_EQ(row_read(row_ref_of(f, 2), row), 0);
        for (uint32_t j = 0; j < length; j++) CHECK(row[j] == 0);
        end(&f);
    }
}

TEST(row, take_and_put_refuse_a_second_time)
{
    CLOSED_BY(end) struct fixture *f = open_rows(16);
    float row[CAPACITY], out[CAPACITY];
    bool written = true;
    pattern(row, 16, 1);
    CHECK_EQ(row_put(row_ref_of(f, 0), row), -EEXIST); /* never written is here too */
    CHECK_EQ(row_put(row_ref_of(f, 0), NULL), -EEXIST);
    CHECK_EQ(row_set(row_ref_of(f, 0), row), 0);
    CHECK_EQ(row_put(row_ref_of(f, 0), out), -EEXIST);
    take(f, 0, out, true);
    pattern(out, 16, 44);
    CHECK_EQ(row_take(&f->mover, row_ref_of(f, 0), out, &written, directory_elsewhere(1, 1)),
             -EAGAIN);
    check_pattern(out, 16, 44);
    CHECK(word_of(f, 0) == directory_elsewhere(3, 7));
    CHECK_EQ(row_put(row_ref_of(f, 0), NULL), 0);
    CHECK_EQ(row_put(row_ref_of(f, 0), NULL), -EEXIST);
}

TEST(row, put_takes_the_home_slot_once_no_reader_holds_it)
{
    CLOSED_BY(end) struct fixture *f = open_rows(16);
    float row[CAPACITY];
    CHECK_EQ(row_set(row_ref_of(f, 4), pattern(row, 16, 1)), 0);
    CHECK_EQ(directory_slot(word_of(f, 4)), 4);
    reader_begin(&f->reader);
    take(f, 4, row, true);
    poll(f);
    CHECK_EQ(row_put(row_ref_of(f, 4), row), 0);
    CHECK(directory_slot(word_of(f, 4)) != 4);
    CHECK(directory_slot(word_of(f, 4)) >= KEYS); /* and nobody else's */
    reader_end(&f->reader);
    take(f, 4, row, true);
    poll(f);
    CHECK_EQ(row_put(row_ref_of(f, 4), row), 0);
    CHECK_EQ(directory_slot(word_of(f, 4)), 4);
}

/* ---- no slot left ---- */

/* Rows leave and come back under an open section until no slot is left for the next one. */
static uint64_t use_up_slots(struct fixture *f, locus_key key)
{
    float row[CAPACITY];
    uint64_t moves = 0;
    int rc = 0;
    pattern(row, 16, 1);
    for (; rc == 0; moves++) {
        CHECK(moves < 200000);
        take(f, key, row, true);
        mover_reclaim(&f->mover);
        rc = row_put(row_ref_of(f, key), row);
    }
    CHECK_EQ(rc, -ENOMEM);
    return moves;
}

TEST(row, write_without_a_free_slot_does_nothing)
{
    struct locus_table t = {.rows = KEYS, .length = 16};
    CLOSED_BY(end) struct fixture *f = open_tables(&t, 1, 1, 2);
    float row[CAPACITY], many[3 * 16];
    locus_key at_home = 0, other = 0;
    while (!row_ref_is_home(row_ref_of(f, at_home))) at_home++;
    while (row_ref_is_home(row_ref_of(f, other))) other++;
    CHECK_EQ(row_set(row_ref_of(f, at_home), pattern(row, 16, 1)), 0);
    /* here now, never written, and without a home slot */
    CHECK_EQ(row_put(row_ref_of(f, other), NULL), 0);
    reader_begin(&f->reader);
    use_up_slots(f, at_home);
    CHECK_EQ(row_add(row_ref_of(f, other), row), -ENOMEM);
    CHECK_EQ(row_set(row_ref_of(f, other), row), -ENOMEM);
    CHECK(word_of(f, other) == directory_empty()); /* and not latched */

    const locus_key keys[] = {other, at_home, other};
    struct missed_row missed[3];
    int rc = 0;
    memset(many, 0, sizeof many);
    CHECK_EQ(rows_write(&f->store, NULL, keys, 3, many, ROW_ADD, missed, NULL, &rc), 3);
    CHECK_EQ(rc, -ENOMEM);
    for (size_t i = 0; i < 3; i++) CHECK(missed[i].position == i && missed[i].offset == 16 * i);

    reader_end(&f->reader);
    poll(f);
    CHECK_EQ(row_add(row_ref_of(f, other), pattern(row, 16, 8)), 0);
    CHECK_EQ(row_read(row_ref_of(f, other), row), 0);
    check_pattern(row, 16, 8);
}

static void one_gradient(void *context, const float *values, float *gradient, uint32_t length)
{
    (void)context, (void)values;
    for (uint32_t i = 0; i < length; i++) gradient[i] = 1;
}

TEST(row, step_without_a_free_slot_is_not_counted)
{
    struct locus_table t = {.rows = KEYS, .length = 5, .optimizer = LOCUS_ADAM};
    CLOSED_BY(end) struct fixture *f = open_tables(&t, 1, 1, 2);
    float row[CAPACITY], scratch[2 * CAPACITY];
    locus_key at_home = 0, other = 0;
    while (!row_ref_is_home(row_ref_of(f, at_home))) at_home++;
    while (row_ref_is_home(row_ref_of(f, other))) other++;
    const uint64_t *steps = &f->store.optimizer[0].steps;
    CHECK_EQ(row_set(row_ref_of(f, at_home), pattern(row, 5, 1)), 0);
    CHECK_EQ(row_put(row_ref_of(f, other), NULL), 0);
    reader_begin(&f->reader);
    use_up_slots(f, at_home);
    CHECK_EQ(row_step_in_place(row_ref_of(f, other), one_gradient, NULL, scratch, NULL), -ENOMEM);
    CHECK_EQ(*steps, 0);
    reader_end(&f->reader);
    poll(f);
    CHECK_EQ(row_step_in_place(row_ref_of(f, other), one_gradient, NULL, scratch, NULL), 0);
    CHECK_EQ(*steps, 1);
}

/* ---- grace periods ---- */

/* There is always a section open, but never the same one for long. */
TEST(row, reclaim_frees_slots_under_overlapping_sections)
{
    CLOSED_BY(end) struct fixture *f = open_rows(16);
    float row[CAPACITY];
    for (locus_key k = 0; k < KEYS; k++)
        CHECK_EQ(row_set(row_ref_of(f, k), pattern(row, 16, 1)), 0);
    reader_begin(&f->reader);
    for (locus_key k = 0; k < KEYS; k++) take(f, k, row, true);
    for (int i = 0; i < 20; i++) {
        reader_begin(&f->other);
        mover_reclaim(&f->mover);
        reader_end(&f->reader);
        reader_begin(&f->reader);
        mover_reclaim(&f->mover);
        reader_end(&f->other);
    }
    CHECK_EQ(store_held_rows(&f->store), 0);
    reader_end(&f->reader);
}

struct section {
    struct fixture *of;
    bool is_open;
    FILE *said;
};

/* Until somebody has said so. */
static void *read_for_long(void *section)
{
    struct section *s = section;
    char one;
    reader_begin(&s->of->reader);
    __atomic_store_n(&s->is_open, true, __ATOMIC_SEQ_CST);
    while (pread(fileno(s->said), &one, 1, 0) != 1) usleep(1000);
    reader_end(&s->of->reader);
    return NULL;
}

/* The node answers nobody meanwhile, so somebody must hear why. */
TEST(row, mover_wait_reports_a_long_section)
{
    struct section s = {.of = open_rows(16), .said = tmpfile()};
    char said[1024] = "";
    float row[CAPACITY];
    pthread_t thread;
    int before = dup(STDERR_FILENO);
    CHECK(s.said != NULL);
    CHECK_EQ(row_set(row_ref_of(s.of, 2), pattern(row, 16, 5)), 0);
    CHECK_EQ(pthread_create(&thread, NULL, read_for_long, &s), 0);
    while (!__atomic_load_n(&s.is_open, __ATOMIC_SEQ_CST)) sched_yield();
    take(s.of, 2, row, true);
    dup2(fileno(s.said), STDERR_FILENO);
    mover_wait(&s.of->mover);
    dup2(before, STDERR_FILENO);
    CHECK_EQ(store_held_rows(&s.of->store), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(pread(fileno(s.said), said, sizeof said - 1, 0) > 0);
    CHECK_STR(said, "locus: a read section has been open for 2 s while more rows came");
    fclose(s.said);
    close(before);
    end(&s.of);
}

/* Who would wait for ever says so. */
TEST(row, mover_make_room_ends_the_process_where_no_slot_will_come)
{
    CLOSED_BY(end)
    struct fixture *f = open_tables(&(struct locus_table){.rows = KEYS, .length = 1}, 1, 1, 2);
    FILE *said = tmpfile();
    char text[1024] = "";
    int status;
    CHECK(said != NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(said), STDERR_FILENO);
        mover_make_room(&f->mover);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    CHECK(pread(fileno(said), text, sizeof text - 1, 0) > 0);
    CHECK_STR(text, "there is no slot for a row, and none that waits for its readers");
    fclose(said);
}
