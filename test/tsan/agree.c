/* Correct uses of Concurrency Kit: ThreadSanitizer must have nothing to say about them. */
#include "test.h"

#include <ck_epoch.h>
#include <ck_fifo.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { ROUNDS = 20000, READERS = 2 };

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    CHECK_EQ(pthread_create(thread, NULL, run, argument), 0);
}

/* ---- a fifo from one thread to another hands over what its pointers point to ---- */

struct line {
    ck_fifo_spsc_t fifo;
    int values[ROUNDS];
    ck_fifo_spsc_entry_t entries[ROUNDS + 1];
};

static void *fill_line(void *argument)
{
    struct line *l = argument;
    for (int i = 0; i < ROUNDS; i++) {
        l->values[i] = i;
        ck_fifo_spsc_enqueue(&l->fifo, &l->entries[i + 1], &l->values[i]);
    }
    return NULL;
}

TEST(ck, spsc_fifo_hands_over_memory)
{
    static struct line l;
    pthread_t producer;
    ck_fifo_spsc_init(&l.fifo, &l.entries[0]);
    start(&producer, fill_line, &l);
    for (int i = 0; i < ROUNDS; i++) {
        int *value;
        while (!ck_fifo_spsc_dequeue(&l.fifo, &value)) sched_yield();
        CHECK_EQ(*value, i);
    }
    pthread_join(producer, NULL);
}

/* ---- an epoch keeps a row until its readers have left ---- */

struct row {
    int value, same;
    ck_epoch_entry_t entry;
};

struct table {
    ck_epoch_t epoch;
    struct row *row;
    int over;
    ck_epoch_record_t records[READERS + 1];
};

CK_EPOCH_CONTAINER(struct row, entry, row_of)

static int rows_alive;

static void row_free(ck_epoch_entry_t *entry)
{
    struct row *row = row_of(entry);
    row->value = row->same = -1;
    free(row);
    rows_alive--;
}

static struct row *row_new(int value)
{
    struct row *row = malloc(sizeof *row);
    CHECK(row);
    row->value = row->same = value;
    rows_alive++;
    return row;
}

struct reader {
    struct table *table;
    ck_epoch_record_t *record;
};

static void *read_rows(void *argument)
{
    struct reader *r = argument;
    while (!ck_pr_load_int(&r->table->over)) {
        ck_epoch_section_t section;
        ck_epoch_begin(r->record, &section);
        struct row *row = ck_pr_load_ptr(&r->table->row);
        int value = row->value, same = row->same;
        ck_epoch_end(r->record, &section);
        CHECK_EQ(value, same);
    }
    return NULL;
}

static void replace_rows(struct table *t, ck_epoch_record_t *record)
{
    for (int i = 1; i <= ROUNDS; i++) {
        struct row *old = t->row;
        ck_pr_store_ptr(&t->row, row_new(i));
        ck_epoch_call(record, &old->entry, row_free);
        if (i % 16 == 0) ck_epoch_poll(record);
        if (i % 4096 == 0) ck_epoch_synchronize(record);
    }
}

TEST(ck, an_epoch_frees_rows_behind_their_readers)
{
    static struct table t;
    pthread_t threads[READERS];
    struct reader readers[READERS];
    ck_epoch_init(&t.epoch);
    t.row = row_new(0);
    for (int i = 0; i <= READERS; i++) ck_epoch_register(&t.epoch, &t.records[i], NULL);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){&t, &t.records[i]};
        start(&threads[i], read_rows, &readers[i]);
    }
    replace_rows(&t, &t.records[READERS]);
    ck_epoch_barrier(&t.records[READERS]);
    CHECK_EQ(rows_alive, 1);
    ck_pr_store_int(&t.over, 1);
    for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    free(t.row);
}

/* ---- a record that one thread gave up serves another ---- */

static void *use_a_record(void *argument)
{
    ck_epoch_t *epoch = argument;
    ck_epoch_record_t *record = ck_epoch_recycle(epoch, NULL);
    CHECK(record);
    for (int i = 0; i < 100; i++) {
        ck_epoch_section_t section;
        ck_epoch_begin(record, &section);
        ck_epoch_end(record, &section);
    }
    ck_epoch_unregister(record);
    return NULL;
}

TEST(ck, an_epoch_record_passes_between_threads)
{
    static ck_epoch_t epoch;
    static ck_epoch_record_t records[READERS];
    pthread_t threads[READERS];
    ck_epoch_init(&epoch);
    for (int i = 0; i < READERS; i++) {
        ck_epoch_register(&epoch, &records[i], NULL);
        ck_epoch_unregister(&records[i]);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < READERS; i++) start(&threads[i], use_a_record, &epoch);
        for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    }
}
