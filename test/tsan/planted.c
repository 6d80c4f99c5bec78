/*
 * Wrong uses of Concurrency Kit: ThreadSanitizer must report every one. The flags between the
 * threads are relaxed: they bring the steps into the order that goes wrong quietly, and tell the
 * sanitizer of no order at all.
 */
#include "test.h"

#include <ck_epoch.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static int step;

static void reach(int n)
{
    __atomic_store_n(&step, n, __ATOMIC_RELAXED);
}

static void wait_for(int n)
{
    while (__atomic_load_n(&step, __ATOMIC_RELAXED) < n) sched_yield();
}

/* ---- rows and their readers ---- */

struct row {
    int value;
    ck_epoch_entry_t entry;
};
CK_EPOCH_CONTAINER(struct row, entry, row_of)

static ck_epoch_t epoch;
static ck_epoch_record_t reader, writer;
static struct row *row;

static void row_free(ck_epoch_entry_t *entry)
{
    free(row_of(entry));
}

static void open_table(void)
{
    row = calloc(1, sizeof *row);
    ck_epoch_init(&epoch);
    ck_epoch_register(&epoch, &reader, NULL);
    ck_epoch_register(&epoch, &writer, NULL);
}

static void *read_after_the_section(void *unused)
{
    ck_epoch_section_t section;
    ck_epoch_begin(&reader, &section);
    struct row *mine = ck_pr_load_ptr(&row);
    ck_epoch_end(&reader, &section);
    CHECK_EQ(mine->value, 0);
    reach(1);
    return unused;
}

TEST(planted, a_read_after_its_section)
{
    pthread_t thread;
    open_table();
    pthread_create(&thread, NULL, read_after_the_section, NULL);
    wait_for(1);
    ck_epoch_call(&writer, &row->entry, row_free);
    ck_epoch_barrier(&writer);
    pthread_join(thread, NULL);
}

static void *read_in_a_section(void *unused)
{
    ck_epoch_section_t section;
    ck_epoch_begin(&reader, &section);
    struct row *mine = ck_pr_load_ptr(&row);
    CHECK_EQ(mine->value, 0);
    ck_epoch_end(&reader, &section);
    reach(1);
    return unused;
}

TEST(planted, a_free_without_a_grace_period)
{
    pthread_t thread;
    open_table();
    pthread_create(&thread, NULL, read_in_a_section, NULL);
    wait_for(1);
    free(row);
    pthread_join(thread, NULL);
}
